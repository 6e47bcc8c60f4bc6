/* SPDX-License-Identifier: Apache-2.0
 * The Cookie field of strangers: what is found lies in it, is of bytes that a cookie may have, and
 * is found again among others; a second one that differs hides it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "http_field.h"

#define NAME "__Host-skein"

static void check(bool good)
{
    if (!good)
        abort();
}

/* What is found in "BEFORE __Host-skein=VALUE BEHIND" (without the blanks) is `found`; NULL:
 * nothing is. */
static void expect(const char *before, const char *value, size_t n, const char *behind,
                   const char *found, size_t found_bytes)
{
    size_t size = strlen(before) + strlen(NAME "=") + n + strlen(behind) + 1, got_bytes;
    char *field = malloc(size);
    if (field == NULL)
        return;
    snprintf(field, size, "%s" NAME "=%.*s%s", before, (int)n, value, behind);
    const char *got = http_cookie(field, NAME, &got_bytes);
    check((got == NULL) == (found == NULL) && got_bytes == found_bytes);
    check(got == NULL || memcmp(got, found, got_bytes) == 0);
    free(field);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes, n);
    text[n] = '\0';
    size_t length;
    const char *value = http_cookie(text, NAME, &length);
    check(value != NULL || length == 0);
    if (value != NULL) {
        check(value > text && value + length <= text + strlen(text));
        check(value[length] == '\0' || strchr(" \t;", value[length]) != NULL);
        for (size_t i = 0; i < length; i++)
            check(value[i] > ' ' && value[i] < 0x7f && value[i] != ';' && value[i] != ',');
        expect("a=b; ", value, length, " ; c=\"d e\"", value, length);
        expect("", value, length, ";" NAME "=x", length == 1 && *value == 'x' ? value : NULL,
               length == 1 && *value == 'x' ? 1 : 0);
    }
    free(text);
    return 0;
}
