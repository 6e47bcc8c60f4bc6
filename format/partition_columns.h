/* SPDX-License-Identifier: Apache-2.0
 *
 * One column of values: how the writer chooses its encoding and how the reader walks it
 * (docs/format.md F-27). Included by format/ only. The reading half is inline because it runs for
 * each argument of each event.
 */
#ifndef PARTITION_COLUMNS_H
#define PARTITION_COLUMNS_H

#include "partition_int.h"

#define COLUMN_VALUE_BYTES 8 /* no encoding that the writer chooses takes more for a value */
#define COLUMN_SLACK_BYTES 8 /* what the functions that write may spoil behind their end */

static inline uint64_t zigzag(uint64_t v)
{
    return (v << 1) ^ (0 - (v >> 63));
}

static inline uint64_t unzigzag(uint64_t v)
{
    return (v >> 1) ^ (0 - (v & 1));
}

static inline uint8_t *uleb_write(uint8_t *to, uint64_t v)
{
    while (v >= 0x80) {
        *to++ = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    *to++ = (uint8_t)v;
    return to;
}

/* Writes n values in LEB128, at most 10 bytes each; returns the end. */
uint8_t *ulebs_write(uint8_t *to, const uint64_t *values, size_t n);
/* The same of codes up to `largest`, below 2^14. */
uint8_t *codes_write(uint8_t *to, const uint16_t *codes, size_t n, uint16_t largest);

/* Writes n values in the shortest encoding, at most n * COLUMN_VALUE_BYTES bytes; returns the end.
 * Values of type SKEIN_T_I64 are two's complement, of SKEIN_T_F64 their bits. */
uint8_t *column_write(uint8_t *to, const uint64_t *values, size_t n, uint8_t type,
                      uint8_t *encoding);

struct column {
    const uint8_t *pos, *end;
    uint64_t previous;
    uint8_t encoding, type;
    bool failed; /* used up too early, or not a number; values are then 0 */
    /* values that were taken ahead, from `base` to pos: the one at `at` comes next; NULL: none are */
    uint8_t at, count;
    const uint8_t *base;
    uint64_t *values; /* COLUMN_AHEAD of them */
};
#define COLUMN_AHEAD 32

uint64_t column_uleb_slow(struct column *column);

static inline uint64_t column_uleb(struct column *column)
{
    if (column->pos < column->end && *column->pos < 0x80)
        return *column->pos++;
    return column_uleb_slow(column);
}

static inline uint64_t column_next(struct column *column)
{
    if (column->encoding == COLUMN_RAW64) {
        uint64_t v = 0;
        if (8 > (size_t)(column->end - column->pos)) {
            column->failed = true;
            return 0;
        }
        for (unsigned i = 0; i < 8; i++)
            v |= (uint64_t)column->pos[i] << (8 * i);
        column->pos += 8;
        return v;
    }
    uint64_t v = column_uleb(column);
    if (column->encoding == COLUMN_DELTA)
        return column->previous += unzigzag(v);
    return column->type == SKEIN_T_I64 ? unzigzag(v) : v;
}

/* ---- many at once ---- */

/* 8 bytes at `at`, the first on the right. */
static inline uint64_t word_load(const uint8_t *at)
{
    uint64_t v;
    __builtin_memcpy(&v, at, sizeof v);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    return v;
}

/* The number whose bytes these are, top bits and all: those behind its last byte are 0. */
static inline uint64_t word_uleb(uint64_t v)
{
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    return (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
}

/* column_uleb, without a branch that depends on the length of a number of up to 8 bytes. */
static inline uint64_t column_uleb_word(struct column *column)
{
    if (8 <= (size_t)(column->end - column->pos)) {
        uint64_t word = word_load(column->pos), stop = ~word & UINT64_C(0x8080808080808080);
        if (__builtin_expect(stop != 0, 1)) {
            column->pos += ((unsigned)__builtin_ctzll(stop) >> 3) + 1;
            return word_uleb(word & (stop ^ (stop - 1)));
        }
    }
    return column_uleb(column);
}

/* Values are taken ahead, and the next one is given. */
uint64_t column_more(struct column *column);

/* column_next of a column that may have values ahead. */
static inline uint64_t column_take(struct column *column)
{
    return column->at < column->count ? column->values[column->at++] : column_more(column);
}

/* Where its next value lies. */
const uint8_t *column_place(const struct column *column);
/* Where the value lies that was taken last: pos was `pos` in front of it. */
const uint8_t *column_place_of_last(const struct column *column, const uint8_t *pos);

/* Takes up to n numbers, and where each ends, from the column's place on; how many there are in front
 * of the first that is none. The column stands still. */
size_t column_ulebs(const struct column *column, size_t n, uint64_t *values, uint32_t *ends);

#endif
