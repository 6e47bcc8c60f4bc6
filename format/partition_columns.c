/* SPDX-License-Identifier: Apache-2.0
 *
 * The encodings of a column. Chooses by exact size: numbers that count upwards become small
 * differences, hashes and pointers 8 raw bytes, and the rest LEB128. Pure functions.
 */
#include "partition_columns.h"

#include <string.h>

/* Bytes of v in LEB128 without a loop: ceil(bits / 7) for 1 <= bits <= 64. */
static inline size_t uleb_bytes(uint64_t v)
{
    return (size_t)((9u * (63u - (unsigned)__builtin_clzll(v | 1)) + 73u) >> 6);
}

static inline uint64_t plain_code(uint64_t v, bool is_signed)
{
    return is_signed ? zigzag(v) : v;
}

static uint8_t *raw_write(uint8_t *to, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (unsigned k = 0; k < 8; k++)
            *to++ = (uint8_t)(values[i] >> (8 * k));
    return to;
}

static uint8_t *plain_write(uint8_t *to, const uint64_t *values, size_t n, bool is_signed)
{
    for (size_t i = 0; i < n; i++)
        to = uleb_write(to, plain_code(values[i], is_signed));
    return to;
}

static uint8_t *delta_write(uint8_t *to, const uint64_t *values, size_t n)
{
    uint64_t previous = 0;
    for (size_t i = 0; i < n; i++) {
        to = uleb_write(to, zigzag(values[i] - previous));
        previous = values[i];
    }
    return to;
}

uint8_t *column_write(uint8_t *to, const uint64_t *values, size_t n, uint8_t type,
                      uint8_t *encoding)
{
    bool is_signed = type == SKEIN_T_I64;
    size_t plain = 0, delta = 0;
    uint64_t all = 0, previous = 0;
    *encoding = COLUMN_RAW64;
    if (type == SKEIN_T_F64)
        return raw_write(to, values, n);
    for (size_t i = 0; i < n; i++)
        all |= plain_code(values[i], is_signed);
    *encoding = COLUMN_PLAIN;
    if (all < 0x80) {
        for (size_t i = 0; i < n; i++)
            to[i] = (uint8_t)plain_code(values[i], is_signed);
        return to + n;
    }
    for (size_t i = 0; i < n; i++) {
        plain += uleb_bytes(plain_code(values[i], is_signed));
        delta += uleb_bytes(zigzag(values[i] - previous));
        previous = values[i];
    }
    if (plain > 8 * n && delta > 8 * n) {
        *encoding = COLUMN_RAW64;
        return raw_write(to, values, n);
    }
    if (plain <= delta)
        return plain_write(to, values, n, is_signed);
    *encoding = COLUMN_DELTA;
    return delta_write(to, values, n);
}

uint64_t column_uleb_slow(struct column *column)
{
    struct cursor c = {column->pos, column->end, SKEIN_OK};
    uint64_t v = cursor_uleb(&c);
    if (c.status != SKEIN_OK) {
        column->failed = true;
        column->pos = column->end;
        return 0;
    }
    column->pos = c.pos;
    return v;
}
