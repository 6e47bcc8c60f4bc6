/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the shifting, printing and parsing of times; reads no clock, so that it builds for WebAssembly,
 * too. Any thread; no state; never allocates. Works in the proleptic Gregorian calendar with its own
 * day arithmetic, because the C library's goes through the time zone and locale of the process.
 */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "skein/status.h"

enum { S_PER_DAY = 86400 };

uint64_t clock_shift_ns(uint64_t ns, int64_t offset_ns)
{
    uint64_t size = offset_ns < 0 ? -(uint64_t)offset_ns : (uint64_t)offset_ns;
    if (offset_ns < 0)
        return ns > size ? ns - size : 0;
    return size > UINT64_MAX - ns ? UINT64_MAX : ns + size;
}

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

void clock_text(uint64_t realtime_ns, char out[CLOCK_TEXT_BYTES])
{
    uint64_t seconds = realtime_ns / NS_PER_S;
    unsigned ms = (unsigned)(realtime_ns % NS_PER_S / 1000000);
    unsigned day = (unsigned)(seconds / S_PER_DAY), rest = (unsigned)(seconds % S_PER_DAY);
    unsigned year = 1970, month = 1;
    /* 64 bits of nanoseconds end in 2554: at most 584 turns. */
    while (day >= (is_leap(year) ? 366u : 365u))
        day -= is_leap(year++) ? 366u : 365u;
    while (day >= days_in_month(year, month))
        day -= days_in_month(year, month++);
    snprintf(out, CLOCK_TEXT_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ", year % 10000u,
             month % 100u, (day + 1) % 100u, rest / 3600 % 100u, rest / 60 % 60, rest % 60,
             ms % 1000u);
}

/* Takes exactly `digits` digits and then `after` (0: nothing); false and unmoved otherwise. */
static bool number_take(const char **at, unsigned digits, char after, unsigned *out)
{
    unsigned v = 0;
    const char *p = *at;
    for (unsigned i = 0; i < digits; i++, p++) {
        if (!isdigit((unsigned char)*p))
            return false;
        v = v * 10 + (unsigned)(*p - '0');
    }
    if (after && *p++ != after)
        return false;
    *at = p;
    *out = v;
    return true;
}

/* ".123456789": nanoseconds; digits beyond the ninth are cut off. No dot: 0. */
static bool fraction_take(const char **at, uint64_t *ns)
{
    *ns = 0;
    if (**at != '.')
        return true;
    const char *p = *at + 1;
    uint64_t scale = NS_PER_S / 10;
    if (!isdigit((unsigned char)*p))
        return false;
    for (; isdigit((unsigned char)*p); p++, scale /= 10)
        *ns += (uint64_t)(*p - '0') * scale;
    *at = p;
    return true;
}

/* "Z" or "+hh:mm": seconds east of UTC. */
static bool zone_take(const char **at, int64_t *east_s)
{
    char sign = *(*at)++;
    *east_s = 0;
    if (sign == 'Z' || sign == 'z')
        return true;
    unsigned hours, minutes;
    if (sign != '+' && sign != '-')
        return false;
    if (!number_take(at, 2, ':', &hours) || !number_take(at, 2, 0, &minutes))
        return false;
    if (hours > 23 || minutes > 59)
        return false;
    *east_s = (int64_t)(hours * 3600 + minutes * 60);
    if (sign == '-')
        *east_s = -*east_s;
    return true;
}

static uint64_t days_since_1970(unsigned year, unsigned month, unsigned day)
{
    uint64_t days = day - 1;
    for (unsigned y = 1970; y < year; y++)
        days += is_leap(y) ? 366 : 365;
    for (unsigned m = 1; m < month; m++)
        days += days_in_month(year, m);
    return days;
}

int clock_parse(const char *text, uint64_t *realtime_ns)
{
    unsigned year, month, day, hour, minute, second;
    const char *p = text;
    if (!number_take(&p, 4, '-', &year) || !number_take(&p, 2, '-', &month) ||
        !number_take(&p, 2, 0, &day))
        return SKEIN_INVALID;
    if (*p != 'T' && *p != 't' && *p != ' ')
        return SKEIN_INVALID;
    p++;
    uint64_t ns;
    int64_t east_s;
    if (!number_take(&p, 2, ':', &hour) || !number_take(&p, 2, ':', &minute) ||
        !number_take(&p, 2, 0, &second) || !fraction_take(&p, &ns) || !zone_take(&p, &east_s) || *p)
        return SKEIN_INVALID;
    /* 60 is a leap second. */
    if (year < 1970 || month < 1 || month > 12 || day < 1 || day > days_in_month(year, month) ||
        hour > 23 || minute > 59 || second > 60)
        return SKEIN_INVALID;
    int64_t seconds = (int64_t)(days_since_1970(year, month, day) * S_PER_DAY + hour * 3600 +
                                minute * 60 + second) -
                      east_s;
    if (seconds < 0 || (uint64_t)seconds > (UINT64_MAX - ns) / NS_PER_S)
        return SKEIN_INVALID;
    *realtime_ns = (uint64_t)seconds * NS_PER_S + ns;
    return SKEIN_OK;
}
