/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts of a program that is about to be started. The C library's functions of texts might have to be bound
 * first, which takes stack. Any thread; signal-safe.
 */
#ifndef PROGRAM_TEXT_H
#define PROGRAM_TEXT_H

#include <stdbool.h>
#include <stddef.h>

static inline size_t text_bytes(const char *text)
{
    size_t n = 0;
    while (text[n])
        n++;
    return n;
}

static inline bool text_is_same(const char *text, const char *other)
{
    while (*text && *text == *other) {
        text++;
        other++;
    }
    return *text == *other;
}

/* What follows `name`, which ends with "="; NULL: another variable. */
static inline const char *line_value(const char *line, const char *name)
{
    for (; *name; name++, line++)
        if (*line != *name)
            return NULL;
    return line;
}

#endif
