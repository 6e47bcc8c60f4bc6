/* SPDX-License-Identifier: Apache-2.0
 *
 * Words and numbers; see proc_text.h. Owns nothing, reads no file.
 */
#include "proc_text.h"

#include <string.h>

bool text_number(const char **at, uint64_t *value)
{
    const char *p = *at;
    while (*p == ' ' || *p == '\t')
        p++;
    if (*p < '0' || *p > '9')
        return false;
    uint64_t v = 0;
    for (; *p >= '0' && *p <= '9'; p++) {
        unsigned digit = (unsigned)(*p - '0');
        if (v > (UINT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *at = p;
    *value = v;
    return true;
}

bool text_number_add(const char **at, uint64_t *sum)
{
    uint64_t v;
    if (!text_number(at, &v) || v > UINT64_MAX - *sum)
        return false;
    *sum += v;
    return true;
}

bool text_numbers(const char **at, uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!text_number(at, &values[i]))
            return false;
    return true;
}

const char *text_words_skip(const char *at, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        while (*at == ' ')
            at++;
        if (*at == '\0' || *at == '\n')
            return NULL;
        while (*at != ' ' && *at != '\0' && *at != '\n')
            at++;
    }
    return at;
}

const char *text_line_next(const char *text)
{
    const char *end = strchr(text, '\n');
    return end == NULL ? NULL : end + 1;
}

const char *text_line_find(const char *text, const char *beginning)
{
    size_t n = strlen(beginning);
    for (; text != NULL; text = text_line_next(text))
        if (strncmp(text, beginning, n) == 0)
            return text + n;
    return NULL;
}

bool text_value(const char *text, const char *key, uint64_t *value)
{
    size_t n = strlen(key);
    for (; text != NULL; text = text_line_next(text)) {
        if (strncmp(text, key, n) != 0)
            continue;
        const char *at = text + n;
        at += *at == ':';
        if (*at == ' ' || *at == '\t')
            return text_number(&at, value);
    }
    return false;
}

/* The line is at its end too where the text is cut. */
static bool is_line_end(char c)
{
    return c == '\0' || c == '\n';
}

bool text_column(const char *text, const char *beginning, const char *name, uint64_t *value)
{
    const char *names = text_line_find(text, beginning);
    const char *numbers = names == NULL ? NULL : text_line_find(names, beginning);
    size_t n = strlen(name);
    while (numbers != NULL) {
        while (*names == ' ')
            names++;
        size_t word = strcspn(names, " \n");
        if (is_line_end(*names))
            return false;
        if (word == n && memcmp(names, name, n) == 0)
            return text_number(&numbers, value);
        names += word;
        numbers = text_words_skip(numbers, 1);
    }
    return false;
}
