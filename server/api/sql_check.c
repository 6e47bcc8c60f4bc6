/* SPDX-License-Identifier: Apache-2.0
 * See sql_check.h. One pass over the bytes; the shape is of fixed depth, so nothing calls itself. */
#include "sql_check.h"

#include <stdbool.h>
#include <string.h>

#include "utf8_scan.h"

#define NUMBER_BYTES 32 /* ours have 25 at most; readers have bounds of their own */

struct scan {
    const uint8_t *at, *end;
};

static bool take(struct scan *s, char c)
{
    bool is = s->at < s->end && *s->at == (uint8_t)c;
    s->at += is;
    return is;
}

static bool take_words(struct scan *s, const char *words)
{
    size_t n = strlen(words);
    if (n > (size_t)(s->end - s->at) || memcmp(s->at, words, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* ---- values ---- */

/* Four digits, of no half of a surrogate pair: our writer has no use for any. */
static bool take_hex(struct scan *s)
{
    uint32_t v = 0;
    if ((size_t)(s->end - s->at) < 4)
        return false;
    for (int i = 0; i < 4; i++, s->at++) {
        uint8_t c = *s->at, lower = c | 0x20;
        bool digit = c >= '0' && c <= '9', letter = lower >= 'a' && lower <= 'f';
        if (!digit && !letter)
            return false;
        v = v << 4 | (digit ? c - (uint32_t)'0' : lower - (uint32_t)'a' + 10);
    }
    return v < 0xd800 || v > 0xdfff;
}

/* Behind the backslash. */
static bool take_escape(struct scan *s)
{
    if (take(s, 'u'))
        return take_hex(s);
    bool known = s->at < s->end && *s->at != '\0' && strchr("\"\\/bfnrt", *s->at) != NULL;
    s->at += known;
    return known;
}

static bool take_string(struct scan *s)
{
    if (!take(s, '"'))
        return false;
    while (s->at < s->end && *s->at != '"') {
        uint32_t point;
        size_t bytes = utf8_scan(s->at, (size_t)(s->end - s->at), &point);
        if (bytes == 0 || point < ' ')
            return false;
        s->at += bytes;
        if (point == '\\' && !take_escape(s))
            return false;
    }
    return take(s, '"');
}

static bool take_digits(struct scan *s)
{
    const uint8_t *before = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > before;
}

/* What lies behind the sign. */
static bool take_amount(struct scan *s)
{
    if (!take(s, '0') && !take_digits(s))
        return false;
    if (take(s, '.') && !take_digits(s))
        return false;
    if (!take(s, 'e') && !take(s, 'E'))
        return true;
    if (!take(s, '+'))
        (void)take(s, '-');
    return take_digits(s);
}

static bool take_number(struct scan *s)
{
    const uint8_t *before = s->at;
    (void)take(s, '-');
    return take_amount(s) && s->at - before <= NUMBER_BYTES;
}

static bool take_text_or_number(struct scan *s)
{
    return s->at < s->end && *s->at == '"' ? take_string(s) : take_number(s);
}

static bool take_value(struct scan *s)
{
    return take_words(s, "null") || take_text_or_number(s);
}

/* ---- the shape ---- */

static bool take_type(struct scan *s)
{
    return take_words(s, "\"integer\"") || take_words(s, "\"real\"") || take_words(s, "\"text\"") ||
           take_words(s, "\"blob\"") || take_words(s, "\"any\"") || take_words(s, "\"null\"");
}

static bool take_columns(struct scan *s, uint64_t *columns)
{
    if (!take_words(s, "{\"columns\":["))
        return false;
    do {
        if (!take_words(s, "{\"name\":") || !take_string(s) || !take_words(s, ",\"type\":") ||
            !take_type(s) || !take(s, '}'))
            return false;
        ++*columns;
    } while (take(s, ','));
    return take(s, ']');
}

static bool take_row(struct scan *s, uint64_t columns)
{
    uint64_t values = 0;
    if (!take(s, '['))
        return false;
    do {
        if (!take_value(s))
            return false;
        values++;
    } while (take(s, ','));
    return values == columns && take(s, ']');
}

static bool take_rows(struct scan *s, uint64_t columns, uint64_t most)
{
    uint64_t rows = 0;
    if (!take_words(s, ",\"rows\":["))
        return false;
    if (take(s, ']'))
        return true;
    do {
        if (!take_row(s, columns))
            return false;
        rows++;
    } while (take(s, ','));
    return (most == 0 || rows <= most) && take(s, ']');
}

static bool take_gap(struct scan *s)
{
    if (!take(s, '{'))
        return false;
    do {
        if (!take_string(s) || !take(s, ':') || !take_text_or_number(s))
            return false;
    } while (take(s, ','));
    return take(s, '}');
}

static bool take_gaps(struct scan *s)
{
    if (take(s, ']'))
        return true;
    do {
        if (!take_gap(s))
            return false;
    } while (take(s, ','));
    return take(s, ']');
}

static bool take_count(struct scan *s)
{
    return s->at < s->end && *s->at != '-' && take_number(s);
}

int sql_answer_check(const uint8_t *bytes, size_t n, uint64_t rows_most, size_t *gaps)
{
    struct scan s = {bytes, bytes + n};
    uint64_t columns = 0;
    if (n == 0 || !take_columns(&s, &columns) || !take_rows(&s, columns, rows_most) ||
        !take_words(&s, ",\"more\":") || (!take_words(&s, "true") && !take_words(&s, "false")) ||
        !take_words(&s, ",\"gaps\":["))
        return SKEIN_CORRUPT;
    size_t at = (size_t)(s.at - bytes);
    if (!take_gaps(&s) || (take_words(&s, ",\"gaps_left_out\":") && !take_count(&s)) ||
        !take_words(&s, "}\n") || s.at != s.end)
        return SKEIN_CORRUPT;
    *gaps = at;
    return SKEIN_OK;
}
