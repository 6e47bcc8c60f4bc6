/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads /proc/kallsyms; see kernel_names.h.
 */
#include "kernel_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "digits.h"
#include "skein/status.h"
#include "text_whole.h"

#define HIDDEN_LINES  256 /* all of them hidden: so are the others */
#define MODULES_BYTES ((size_t)16 << 20)
#define TEXTS_BYTES   ((size_t)64 << 20)

struct kernel_names {
    const char *symbols, *modules;
    struct kernel_table table;
    struct buf placed; /* which modules were where when it was read */
    bool placed_known;
    uint64_t reads;
};

/* ---- lines ---- */

static bool hex_get(const char **at, uint64_t *value)
{
    const char *p = *at;
    *value = 0;
    for (int digit; p < *at + 16 && (digit = digit_hex(*p)) >= 0; p++)
        *value = *value << 4 | (unsigned)digit;
    bool some = p > *at;
    *at = p;
    return some;
}

static const char *text_at(const struct kernel_table *table, uint32_t at)
{
    return (const char *)table->texts.data + at;
}

static uint32_t text_put(struct kernel_table *table, const char *text, size_t n)
{
    uint32_t at = (uint32_t)table->texts.len;
    buf_put(&table->texts, text, n);
    buf_put_u8(&table->texts, '\0');
    return at;
}

/* "ffffffff81000000 T _text\t[module]" */
static void line_take(struct kernel_table *table, const char *line)
{
    struct kernel_function function;
    const char *at = line;
    if (!hex_get(&at, &function.start) || at[0] != ' ' || at[1] == '\0' || at[2] != ' ')
        return;
    table->lines++;
    table->hidden += function.start == 0;
    if (strchr("tTwW", at[1]) == NULL || function.start == 0)
        return;
    if (table->count == KERNEL_FUNCTIONS_MAX || table->texts.len > TEXTS_BYTES ||
        !array_grow(table->functions, table->count + 1, &table->cap)) {
        table->texts.status = SKEIN_NO_MEMORY;
        return;
    }
    at += 3;
    size_t n = strcspn(at, " \t");
    const char *owner = at + n + strspn(at + n, " \t");
    function.text = text_put(table, at, n);
    if (table->texts.status == SKEIN_OK && strcmp(text_at(table, table->owner), owner) != 0)
        table->owner = text_put(table, owner, strlen(owner));
    function.owner = table->owner;
    if (table->texts.status == SKEIN_OK)
        table->functions[table->count++] = function;
}

void kernel_table_feed(struct kernel_table *table, const char *bytes, size_t n)
{
    if (table->texts.len == 0)
        table->owner = text_put(table, "", 0);
    for (const char *end = bytes + n; bytes < end;) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        size_t some = (size_t)((stop != NULL ? stop : end) - bytes);
        size_t room = sizeof table->line - 1 - table->line_bytes;
        memcpy(table->line + table->line_bytes, bytes, some < room ? some : room);
        table->line_bytes += some < room ? some : room;
        bytes += some;
        if (stop == NULL)
            return;
        table->line[table->line_bytes] = '\0';
        line_take(table, table->line);
        table->line_bytes = 0;
        bytes++;
    }
}

/* Of several names for one place the first is taken: texts lie in the order of lines. */
static int functions_compare(const void *a, const void *b)
{
    const struct kernel_function *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->text < y->text ? -1 : x->text > y->text;
}

int kernel_table_end(struct kernel_table *table)
{
    size_t kept = 0;
    bool sorted = true;
    for (size_t i = 1; i < table->count && sorted; i++)
        sorted = table->functions[i - 1].start <= table->functions[i].start;
    if (!sorted)
        qsort(table->functions, table->count, sizeof *table->functions, functions_compare);
    for (size_t i = 0; i < table->count; i++)
        if (kept == 0 || table->functions[i].start != table->functions[kept - 1].start)
            table->functions[kept++] = table->functions[i];
    table->count = kept;
    if (table->texts.status != SKEIN_OK)
        return table->texts.status;
    return table->lines > 0 && table->hidden == table->lines ? SKEIN_REFUSED : SKEIN_OK;
}

void kernel_table_fini(struct kernel_table *table)
{
    free(table->functions);
    buf_fini(&table->texts);
    *table = (struct kernel_table){.count = 0};
}

/* ---- finding ---- */

/* Those of BPF and of probes come and go without a trace. */
static bool is_module(const char *owner)
{
    return owner[0] == '[' && strcmp(owner, "[bpf]") != 0 && strncmp(owner, "[__", 3) != 0;
}

const struct kernel_function *kernel_table_find(const struct kernel_table *table, uint64_t address,
                                                bool modules_same, bool *sure)
{
    size_t i = 0;
    *sure = false;
    array_find(i, 0, table->count, table->functions[i].start <= address);
    if (i == 0)
        return NULL;
    const struct kernel_function *function = &table->functions[i - 1];
    if (address - function->start >= KERNEL_REACH_MAX)
        return NULL;
    const char *owner = text_at(table, function->owner);
    *sure = i < table->count && strcmp(owner, text_at(table, table->functions[i].owner)) == 0 &&
            (owner[0] == '\0' || (modules_same && is_module(owner)));
    return function;
}

/* ---- the files ---- */

int kernel_names_new(const char *symbols, const char *modules, struct kernel_names **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->symbols = symbols != NULL ? symbols : "/proc/kallsyms";
    (*out)->modules = modules != NULL ? modules : "/proc/modules";
    return SKEIN_OK;
}

void kernel_names_free(struct kernel_names **names_p)
{
    struct kernel_names *names = *names_p;
    *names_p = NULL;
    if (names == NULL)
        return;
    kernel_table_fini(&names->table);
    buf_fini(&names->placed);
    free(names);
}

uint64_t kernel_names_reads(const struct kernel_names *known)
{
    return known->reads;
}

/* "nf_tables 311296 0 - Live 0xffffffffc0a00000": name, size and place of each module. False: nobody
 * says; a kernel without modules has no such file. */
static bool modules_read(const char *path, struct buf *placed)
{
    struct buf text = {0};
    buf_clear(placed);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    int status = text_whole_read(fd, MODULES_BYTES, &text);
    close(fd);
    char *rest = (char *)text.data, *line;
    while (status == SKEIN_OK && (line = strsep(&rest, "\n")) != NULL) {
        const char *word;
        for (unsigned i = 0; (word = strsep(&line, " ")) != NULL; i++)
            if (i == 0 || i == 1 || i == 5)
                buf_put(placed, word, strlen(word) + 1);
    }
    buf_fini(&text);
    return status == SKEIN_OK && placed->status == SKEIN_OK;
}

static bool modules_are_same(const struct kernel_names *known)
{
    struct buf now = {0};
    bool same = known->placed_known && modules_read(known->modules, &now) &&
                now.len == known->placed.len &&
                (now.len == 0 || memcmp(now.data, known->placed.data, now.len) == 0);
    buf_fini(&now);
    return same;
}

static int table_read(const char *path, struct kernel_table *table)
{
    char bytes[16384];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n;
    if (fd < 0)
        return SKEIN_IO;
    while ((n = read(fd, bytes, sizeof bytes)) > 0 || (n < 0 && errno == EINTR)) {
        if (n > 0)
            kernel_table_feed(table, bytes, (size_t)n);
        if (table->hidden >= HIDDEN_LINES && table->hidden == table->lines)
            break;
    }
    close(fd);
    int status = kernel_table_end(table);
    return n < 0 ? SKEIN_IO : status;
}

/* Reads it anew. Half a table would give names of functions in front of those it lacks. */
static int names_renew(struct kernel_names *known)
{
    known->reads++;
    kernel_table_fini(&known->table);
    known->placed_known = modules_read(known->modules, &known->placed);
    int status = table_read(known->symbols, &known->table);
    if (status != SKEIN_OK)
        kernel_table_fini(&known->table);
    known->placed_known = modules_are_same(known); /* while it was read, too */
    return status;
}

/* Says whether all is sure. */
static bool names_set(const struct kernel_names *known, bool modules_same,
                      struct kernel_name *names, size_t count)
{
    bool all = true, sure;
    for (size_t i = 0; i < count; i++) {
        const struct kernel_function *function =
            kernel_table_find(&known->table, names[i].address, modules_same, &sure);
        names[i].text = function != NULL ? text_at(&known->table, function->text) : NULL;
        all = all && sure;
    }
    return all;
}

int64_t kernel_names_find(struct kernel_names *known, struct kernel_name *names, size_t count)
{
    int64_t found = 0;
    int status = SKEIN_OK;
    if (!names_set(known, modules_are_same(known), names, count)) {
        status = names_renew(known);
        (void)names_set(known, true, names, count);
    }
    for (size_t i = 0; i < count; i++)
        found += names[i].text != NULL;
    return status != SKEIN_OK ? status : found;
}
