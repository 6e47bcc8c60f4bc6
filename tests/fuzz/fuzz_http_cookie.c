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
    size_t size = strlen(before) + strlen(NAME "=") + n + strlen(behind) + 1;
    char *field = malloc(size);
    if (field == NULL)
        return;
    snprintf(field, size, "%s" NAME "=%.*s%s", before, (int)n, value, behind);
    struct http_cookie got = {.value = NULL};
    http_cookie_look(&got, field, NAME);
    check((got.value == NULL) == (found == NULL) && got.n == found_bytes);
    check(got.value == NULL || memcmp(got.value, found, got.n) == 0);
    free(field);
}

/* Split at its first semicolon into two fields, it says the same. */
static void expect_split(char *text, const struct http_cookie *whole)
{
    char *middle = strchr(text, ';');
    struct http_cookie got = {.value = NULL};
    if (middle == NULL)
        return;
    *middle = '\0';
    http_cookie_look(&got, text, NAME);
    http_cookie_look(&got, middle + 1, NAME);
    *middle = ';';
    check((got.value == NULL) == (whole->value == NULL) && got.n == whole->n);
    check(got.value == NULL || memcmp(got.value, whole->value, got.n) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char *text = malloc(n + 1);
    if (text == NULL)
        return 0;
    memcpy(text, bytes, n);
    text[n] = '\0';
    struct http_cookie got = {.value = NULL};
    http_cookie_look(&got, text, NAME);
    const char *value = got.value;
    size_t length = got.n;
    check(value != NULL || length == 0);
    expect_split(text, &got);
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
