/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of a column, many at once. Pure functions; the bytes are hostile.
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

size_t column_ulebs(const struct column *column, size_t n, uint64_t *values, uint32_t *ends)
{
    struct column c = *column;
    size_t i = 0;
    while (i < n) {
        uint32_t base = (uint32_t)(c.pos - column->pos);
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
