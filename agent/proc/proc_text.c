/* SPDX-License-Identifier: Apache-2.0
 *
 * Words and numbers; see proc_text.h. Owns nothing, reads no file.
 */
#include "proc_text.h"

#include <string.h>

#include "digits.h"

bool text_number(const char **at, uint64_t *value)
{
    const char *p = *at;
    while (*p == ' ' || *p == '\t')
        p++;
    if (!digits_take(&p, value))
        return false;
    *at = p;
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

bool text_id(const char *text, uint32_t *id)
{
    uint64_t value;
    if (!text_number(&text, &value) || *text != '\0' || value == 0 || value > INT32_MAX)
        return false;
    *id = (uint32_t)value;
    return true;
}

const char *text_stat(const char *text, char *name, size_t bytes)
{
    const char *begin = strchr(text, '('), *end = strrchr(text, ')');
    if (begin == NULL || end == NULL || end < begin || end[1] != ' ' || end[2] <= ' ' ||
        end[2] > '~')
        return NULL;
    size_t n = (size_t)(end - begin) - 1;
    n = n < bytes ? n : bytes - 1;
    memcpy(name, begin + 1, n);
    name[n] = '\0';
    return end + 2;
}

bool text_stat_number(const char *fields, unsigned field, uint64_t *value)
{
    const char *at = text_words_skip(fields, field - 3);
    return at != NULL && text_number(&at, value);
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

bool text_last_number(const char *text, const char *beginning, uint64_t *value)
{
    const char *at = text_line_find(text, beginning);
    bool found = false;
    while (at != NULL && text_number(&at, value))
        found = true;
    return found;
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
