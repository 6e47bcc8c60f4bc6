/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of a column, many at once, and values that are taken ahead of their records. A value that
 * is none is never taken ahead: it fails when its turn comes, where it lies. The bytes are hostile.
 */
#include "partition_columns.h"

/* Four numbers from the 8 bytes at `at`, if so many end there. Their ends are found beside each
 * other, so that no number waits for the one before it. */
static inline bool four_take(const uint8_t *at, uint64_t values[4], uint32_t ends[4], uint32_t base)
{
    uint64_t word = word_load(at);
    uint64_t a = ~word & UINT64_C(0x8080808080808080);
    uint64_t b = a & (a - 1), c = b & (b - 1), d = c & (c - 1);
    if (d == 0)
        return false;
    unsigned a_end = (unsigned)__builtin_ctzll(a) + 1, b_end = (unsigned)__builtin_ctzll(b) + 1;
    unsigned c_end = (unsigned)__builtin_ctzll(c) + 1;
    values[0] = word_uleb(word & (a ^ (a - 1)));
    values[1] = word_uleb((word & (b ^ (b - 1))) >> a_end);
    values[2] = word_uleb((word & (c ^ (c - 1))) >> b_end);
    values[3] = word_uleb((word & (d ^ (d - 1))) >> c_end);
    ends[0] = base + a_end / 8;
    ends[1] = base + b_end / 8;
    ends[2] = base + c_end / 8;
    ends[3] = base + (unsigned)__builtin_ctzll(d) / 8 + 1;
    return true;
}

/* Eight numbers of a byte each; false: not all of them are. */
static inline bool eight_take(const uint8_t *at, uint64_t *values, uint32_t *ends, uint32_t base)
{
    uint64_t word = word_load(at);
    if ((word & UINT64_C(0x8080808080808080)) != 0)
        return false;
    for (unsigned i = 0; i < 8; i++) {
        values[i] = word >> (8 * i) & 0x7f;
        ends[i] = base + i + 1;
    }
    return true;
}

size_t column_ulebs(const struct column *column, size_t n, uint64_t *values, uint32_t *ends)
{
    struct column c = *column;
    size_t i = 0;
    while (i < n) {
        uint32_t base = (uint32_t)(c.pos - column->pos);
        if (n - i >= 8 && 8 <= (size_t)(c.end - c.pos) &&
            eight_take(c.pos, values + i, ends + i, base)) {
            c.pos += 8;
            i += 8;
            continue;
        }
        if (n - i >= 4 && 8 <= (size_t)(c.end - c.pos) &&
            four_take(c.pos, values + i, ends + i, base)) {
            c.pos = column->pos + ends[i + 3];
            i += 4;
            continue;
        }
        values[i] = column_uleb(&c);
        if (c.failed)
            break;
        ends[i++] = (uint32_t)(c.pos - column->pos);
    }
    return i;
}

static size_t raws_take(const struct column *column, size_t n, uint64_t *values)
{
    size_t there = (size_t)(column->end - column->pos) / 8;
    n = n < there ? n : there;
    for (size_t i = 0; i < n; i++)
        values[i] = word_load(column->pos + 8 * i);
    return n;
}

uint64_t column_more(struct column *column)
{
    uint32_t ends[COLUMN_AHEAD];
    uint64_t *values = column->values;
    size_t n = 0;
    if (values == NULL || column->encoding > COLUMN_RAW64)
        return column_next(column);
    if (column->encoding == COLUMN_RAW64)
        n = raws_take(column, COLUMN_AHEAD, values);
    else
        n = column_ulebs(column, COLUMN_AHEAD, values, ends);
    column->base = column->pos;
    column->at = 0;
    column->count = (uint8_t)n;
    if (n == 0)
        return column_next(column);
    column->pos += column->encoding == COLUMN_RAW64 ? 8 * n : ends[n - 1];
    if (column->encoding == COLUMN_DELTA)
        for (size_t i = 0; i < n; i++)
            values[i] = column->previous += unzigzag(values[i]);
    else if (column->encoding == COLUMN_PLAIN && column->type == SKEIN_T_I64)
        for (size_t i = 0; i < n; i++)
            values[i] = unzigzag(values[i]);
    return values[column->at++];
}

/* Behind so many of the values that were taken ahead. */
static const uint8_t *place_behind(const struct column *column, unsigned count)
{
    const uint8_t *at = column->base;
    if (column->encoding == COLUMN_RAW64)
        return at + (size_t)8 * count;
    for (; count > 0; count--)
        while (*at++ >= 0x80)
            ;
    return at;
}

const uint8_t *column_place(const struct column *column)
{
    return column->at < column->count ? place_behind(column, column->at) : column->pos;
}

const uint8_t *column_place_of_last(const struct column *column, const uint8_t *pos)
{
    return column->at > 0 ? place_behind(column, column->at - 1u) : pos;
}
