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

static bool char_take(struct scan *s, char c)
{
    bool is = s->at < s->end && *s->at == (uint8_t)c;
    s->at += is;
    return is;
}

static bool words_take(struct scan *s, const char *words)
{
    size_t n = strlen(words);
    if (n > (size_t)(s->end - s->at) || memcmp(s->at, words, n) != 0)
        return false;
    s->at += n;
    return true;
}

/* ---- values ---- */

/* Four digits, of no half of a surrogate pair: our writer has no use for any. */
static bool hex_take(struct scan *s)
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
static bool escape_take(struct scan *s)
{
    if (char_take(s, 'u'))
        return hex_take(s);
    bool known = s->at < s->end && *s->at != '\0' && strchr("\"\\/bfnrt", *s->at) != NULL;
    s->at += known;
    return known;
}

static bool string_take(struct scan *s)
{
    if (!char_take(s, '"'))
        return false;
    while (s->at < s->end && *s->at != '"') {
        uint32_t point;
        size_t bytes = utf8_scan(s->at, (size_t)(s->end - s->at), &point);
        if (bytes == 0 || point < ' ')
            return false;
        s->at += bytes;
        if (point == '\\' && !escape_take(s))
            return false;
    }
    return char_take(s, '"');
}

static bool digit_run_take(struct scan *s)
{
    const uint8_t *before = s->at;
    while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
        s->at++;
    return s->at > before;
}

/* What lies behind the sign. */
static bool amount_take(struct scan *s)
{
    if (!char_take(s, '0') && !digit_run_take(s))
        return false;
    if (char_take(s, '.') && !digit_run_take(s))
        return false;
    if (!char_take(s, 'e') && !char_take(s, 'E'))
        return true;
    if (!char_take(s, '+'))
        (void)char_take(s, '-');
    return digit_run_take(s);
}

static bool number_take(struct scan *s)
{
    const uint8_t *before = s->at;
    (void)char_take(s, '-');
    return amount_take(s) && s->at - before <= NUMBER_BYTES;
}

static bool text_or_number_take(struct scan *s)
{
    return s->at < s->end && *s->at == '"' ? string_take(s) : number_take(s);
}

static bool value_take(struct scan *s)
{
    return words_take(s, "null") || text_or_number_take(s);
}

/* ---- the shape ---- */

static bool type_take(struct scan *s)
{
    return words_take(s, "\"integer\"") || words_take(s, "\"real\"") || words_take(s, "\"text\"") ||
           words_take(s, "\"blob\"") || words_take(s, "\"any\"") || words_take(s, "\"null\"");
}

static bool columns_take(struct scan *s, uint64_t *columns)
{
    if (!words_take(s, "{\"columns\":["))
        return false;
    do {
        if (!words_take(s, "{\"name\":") || !string_take(s) || !words_take(s, ",\"type\":") ||
            !type_take(s) || !char_take(s, '}'))
            return false;
        ++*columns;
    } while (char_take(s, ','));
    return char_take(s, ']');
}

static bool row_take(struct scan *s, uint64_t columns)
{
    uint64_t values = 0;
    if (!char_take(s, '['))
        return false;
    do {
        if (!value_take(s))
            return false;
        values++;
    } while (char_take(s, ','));
    return values == columns && char_take(s, ']');
}

static bool rows_take(struct scan *s, uint64_t columns, uint64_t most)
{
    uint64_t rows = 0;
    if (!words_take(s, ",\"rows\":["))
        return false;
    if (char_take(s, ']'))
        return true;
    do {
        if (!row_take(s, columns))
            return false;
        rows++;
    } while (char_take(s, ','));
    return (most == 0 || rows <= most) && char_take(s, ']');
}

static bool gap_take(struct scan *s)
{
    if (!char_take(s, '{'))
        return false;
    do {
        if (!string_take(s) || !char_take(s, ':') || !text_or_number_take(s))
            return false;
    } while (char_take(s, ','));
    return char_take(s, '}');
}

static bool gaps_take(struct scan *s)
{
    if (char_take(s, ']'))
        return true;
    do {
        if (!gap_take(s))
            return false;
    } while (char_take(s, ','));
    return char_take(s, ']');
}

static bool count_take(struct scan *s)
{
    return s->at < s->end && *s->at != '-' && number_take(s);
}

int sql_answer_check(const uint8_t *bytes, size_t n, uint64_t rows_most, size_t *gaps)
{
    struct scan s = {bytes, bytes + n};
    uint64_t columns = 0;
    if (n == 0 || !columns_take(&s, &columns) || !rows_take(&s, columns, rows_most) ||
        !words_take(&s, ",\"more\":") || (!words_take(&s, "true") && !words_take(&s, "false")) ||
        !words_take(&s, ",\"gaps\":["))
        return SKEIN_CORRUPT;
    size_t at = (size_t)(s.at - bytes);
    if (!gaps_take(&s) || (words_take(&s, ",\"gaps_left_out\":") && !count_take(&s)) ||
        !words_take(&s, "}\n") || s.at != s.end)
        return SKEIN_CORRUPT;
    *gaps = at;
    return SKEIN_OK;
}
