/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers with units; see units.h. Exact: no floating point.
 */
#include "units.h"

#include "digits.h"

#include <stdbool.h>
#include <string.h>

#define DIGITS_MAX 9 /* behind the point */

struct scale {
    const char *unit;
    uint64_t factor; /* of nanoseconds, or bytes */
};

static const struct scale durations[] = {{"ns", 1},
                                         {"us", 1000},
                                         {"ms", 1000000},
                                         {"s", 1000000000},
                                         {"m", UINT64_C(60000000000)},
                                         {"h", UINT64_C(3600000000000)},
                                         {"d", UINT64_C(86400000000000)},
                                         {"w", UINT64_C(604800000000000)},
                                         {NULL, 0}};
static const struct scale sizes[] = {{"B", 1},
                                     {"kB", 1000},
                                     {"MB", 1000000},
                                     {"GB", 1000000000},
                                     {"TB", UINT64_C(1000000000000)},
                                     {"KiB", UINT64_C(1) << 10},
                                     {"MiB", UINT64_C(1) << 20},
                                     {"GiB", UINT64_C(1) << 30},
                                     {"TiB", UINT64_C(1) << 40},
                                     {NULL, 0}};

/* By enum unit. */
static const struct {
    const struct scale *scales;
    uint64_t factor;
    const char *example, *likely, *words;
} kinds[] = {[UNIT_NONE] = {NULL, 1, "", "", ""},
             [UNIT_NS] = {durations, 1, "20us", "us", "nanoseconds"},
             [UNIT_US] = {durations, 1000, "20ms", "ms", "microseconds"},
             [UNIT_MS] = {durations, 1000000, "10s", "s", "milliseconds"},
             [UNIT_BYTES] = {sizes, 1, "64MiB", "MiB", "bytes"}};

const char *unit_example(enum unit unit)
{
    return kinds[unit].example;
}

const char *unit_likely(enum unit unit)
{
    return kinds[unit].likely;
}

const char *unit_words(enum unit unit)
{
    return kinds[unit].words;
}

enum unit unit_of_name(const char *name)
{
    static const struct {
        const char *end;
        enum unit unit;
    } ends[] = {{"_ns", UNIT_NS}, {"_us", UNIT_US}, {"_ms", UNIT_MS}, {"_bytes", UNIT_BYTES}};
    size_t n = strlen(name);
    if (strcmp(name, "bytes") == 0 || strncmp(name, "bytes_", 6) == 0)
        return UNIT_BYTES;
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        size_t m = strlen(ends[i].end);
        if (n > m && strcmp(name + n - m, ends[i].end) == 0)
            return ends[i].unit;
    }
    return UNIT_NONE;
}

/* "12.5" and what is behind it. False: no such number, or one of more than 64 bits. */
static bool number_read(const char **at, uint64_t *whole, uint64_t *fraction, uint64_t *parts)
{
    const char *p = *at;
    uint64_t v = 0;
    *fraction = 0;
    *parts = 1;
    if (!digits_take(&p, &v))
        return false;
    if (*p == '.') {
        const char *first = ++p;
        for (; *p >= '0' && *p <= '9' && p - first < DIGITS_MAX; p++) {
            *fraction = *fraction * 10 + (unsigned)(*p - '0');
            *parts *= 10;
        }
        if (p == first || (*p >= '0' && *p <= '9'))
            return false;
    }
    *whole = v;
    *at = p;
    return true;
}

int unit_parse(const char *text, enum unit unit, uint64_t *value)
{
    __extension__ typedef unsigned __int128 wide;
    uint64_t whole, fraction, parts;
    const struct scale *scale = kinds[unit].scales;
    if (scale == NULL || !number_read(&text, &whole, &fraction, &parts))
        return SKEIN_INVALID;
    if (*text == '\0' && whole == 0 && fraction == 0) {
        *value = 0;
        return SKEIN_OK;
    }
    if (*text == '\0')
        return SKEIN_TRUNCATED;
    while (scale->unit != NULL && strcmp(scale->unit, text) != 0)
        scale++;
    if (scale->unit == NULL)
        return SKEIN_INVALID;
    wide sum = (wide)whole * scale->factor, more = (wide)fraction * scale->factor;
    if (more % parts != 0)
        return SKEIN_INVALID;
    sum += more / parts;
    if (sum % kinds[unit].factor != 0 || sum / kinds[unit].factor > UINT64_MAX)
        return SKEIN_INVALID;
    *value = (uint64_t)(sum / kinds[unit].factor);
    return SKEIN_OK;
}
