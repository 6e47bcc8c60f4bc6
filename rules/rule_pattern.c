/* SPDX-License-Identifier: Apache-2.0
 *
 * Bounds and compiles regular expressions of rules; see rule_pattern.h. Pure; any thread.
 */
#include "rule_pattern.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "skein/status.h"

#define GROWTH_MAX 1024u

/* How much larger the C library makes an expression: "x+" holds x twice, "x{5}" five times, and
 * nested ones multiply. */
static uint64_t pattern_growth(const char *text)
{
    uint64_t growth = 1;
    for (const char *p = text; *p != '\0' && growth <= GROWTH_MAX; p++) {
        if (*p == '+')
            growth *= 2;
        if (*p != '{')
            continue;
        char *end;
        unsigned long least = strtoul(p + 1, &end, 10), most = least;
        if (*end == ',')
            most = strtoul(end + 1, &end, 10);
        if (least > GROWTH_MAX)
            return GROWTH_MAX + 1;
        most = most > least ? most : least + 1;
        growth *= most < 2 ? 2 : most < GROWTH_MAX ? most : GROWTH_MAX + 1;
    }
    return growth;
}

/* "\1" in an expression: to match it may take exponential time. */
static bool refers_back(const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p != '\\')
            continue;
        if (*++p == '\0')
            return false;
        if (*p >= '1' && *p <= '9')
            return true;
    }
    return false;
}

int rule_pattern_compile(const char *text, regex_t *out, char *words, size_t words_bytes)
{
    if (pattern_growth(text) > GROWTH_MAX) {
        snprintf(words, words_bytes, "repeats too much: at most ten + or {2}, or one {1000}");
        return SKEIN_INVALID;
    }
    if (refers_back(text)) {
        snprintf(words, words_bytes, "must not refer back (\\1)");
        return SKEIN_INVALID;
    }
    int failed = regcomp(out, text, REG_EXTENDED | REG_NOSUB);
    if (failed == 0)
        return SKEIN_OK;
    regerror(failed, out, words, words_bytes);
    return SKEIN_INVALID;
}
