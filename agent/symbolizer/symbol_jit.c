/* SPDX-License-Identifier: Apache-2.0
 *
 * Perf maps; see symbol_jit.h.
 */
#include "symbol_jit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "symbol_demangle.h"
#include "text_whole.h"

#define JIT_BYTES_MAX (UINT64_C(64) << 20)
#define JIT_BACK      64 /* functions in front that are looked at: their neighbours may lie in them */

struct jit_function {
    uint64_t start, end;
    size_t at; /* of the name in the text; also the order of compilation */
};

struct symbol_jit {
    char *text;
    struct jit_function *functions;
    size_t count, cap;
};

/* False: the line is none. Ends the name. */
static bool line_read(char *line, const char *text, struct jit_function *function)
{
    char *end;
    if (*line == ' ' || *line == '-' || *line == '+')
        return false;
    errno = 0;
    uint64_t start = strtoull(line, &end, 16);
    if (end == line || *end != ' ')
        return false;
    char *number = end + 1;
    if (*number == ' ' || *number == '-' || *number == '+')
        return false;
    uint64_t bytes = strtoull(number, &end, 16);
    if (end == number || *end != ' ' || end[1] == '\0' || errno != 0 || bytes == 0 ||
        bytes > UINT64_MAX - start)
        return false;
    *function = (struct jit_function){start, start + bytes, (size_t)(end + 1 - text)};
    return true;
}

static int functions_compare(const void *a, const void *b)
{
    const struct jit_function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static int lines_read(struct symbol_jit *jit)
{
    for (char *line = jit->text; *line != '\0';) {
        char *next = line + strcspn(line, "\n");
        bool last = *next == '\0';
        *next = '\0';
        struct jit_function function;
        if (line_read(line, jit->text, &function)) {
            if (!array_grow(jit->functions, jit->count + 1, &jit->cap))
                return SKEIN_NO_MEMORY;
            jit->functions[jit->count++] = function;
        }
        line = last ? next : next + 1;
    }
    if (jit->count > 0)
        qsort(jit->functions, jit->count, sizeof *jit->functions, functions_compare);
    return SKEIN_OK;
}

int symbol_jit_open(int fd, struct symbol_jit **out)
{
    *out = NULL;
    struct symbol_jit *jit = calloc(1, sizeof *jit);
    if (jit == NULL)
        return SKEIN_NO_MEMORY;
    struct buf text = {0};
    int status = text_whole_read(fd, JIT_BYTES_MAX, &text);
    jit->text = (char *)text.data;
    if (status == SKEIN_OK)
        status = lines_read(jit);
    if (status != SKEIN_OK) {
        symbol_jit_free(&jit);
        return status;
    }
    *out = jit;
    return SKEIN_OK;
}

void symbol_jit_free(struct symbol_jit **jit_p)
{
    struct symbol_jit *jit = *jit_p;
    *jit_p = NULL;
    if (jit == NULL)
        return;
    free(jit->text);
    free(jit->functions);
    free(jit);
}

void symbol_jit_put(const struct symbol_jit *jit, uint64_t address, struct buf *out)
{
    size_t i = 0;
    array_find(i, 0, jit->count, jit->functions[i].start <= address);
    const struct jit_function *found = NULL;
    for (size_t back = 0; back < JIT_BACK && i > 0; back++) {
        const struct jit_function *function = &jit->functions[--i];
        if (address < function->end && (found == NULL || function->at > found->at))
            found = function;
    }
    buf_put_uleb(out, found != NULL);
    if (found == NULL)
        return;
    symbol_demangle_put(out, jit->text + found->at);
    symbol_text_put(out, NULL);
    buf_put_uleb(out, 0);
}
