/* SPDX-License-Identifier: Apache-2.0
 *
 * The encodings of a column. Chooses by exact size: numbers that count upwards become small
 * differences, hashes and pointers 8 raw bytes, and the rest LEB128. Values are
 * taken some at a time: the bits that occur among them choose the loop, so that no branch depends on
 * a single one, but for those beyond 56 bits. Pure functions.
 */
#include "partition_columns.h"

#include <string.h>

/* The loops below become vector instructions, of as many values at once as the processor can: the two
 * functions that hold them are compiled for three generations of it, and the loader chooses. It does
 * so before a sanitizer is ready. */
#if defined __x86_64__ && defined __GLIBC__ && !defined __clang__ &&                               \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define FOR_PROCESSORS __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define FOR_PROCESSORS
#endif
#define INLINE static inline __attribute__((always_inline))

/* Bytes of v in LEB128 without a loop: ceil(bits / 7) for 1 <= bits <= 64. */
INLINE size_t uleb_bytes(uint64_t v)
{
    return (size_t)((9u * (63u - (unsigned)__builtin_clzll(v | 1)) + 73u) >> 6);
}

/* ---- storing; spoils up to 7 bytes behind the end ---- */

INLINE void word_store(uint8_t *to, uint64_t v)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap64(v);
#endif
    memcpy(to, &v, sizeof v);
}

/* One LEB128 number in one store: its groups of 7 bits are moved apart by halves, 28 and 28 bits,
 * then 14 and 14, then 7 and 7, and all bytes but the last get their top bit.
 *
 *     0000 0000 | gggggggffffffeeeeeeedddddddcccccccbbbbbbbaaaaaaa       at most 56 bits
 *     0ggggggg 0fffffff 0eeeeeee 0ddddddd 0ccccccc 0bbbbbbb 0aaaaaaa     bytes, the first on the right
 */
INLINE uint8_t *uleb_store(uint8_t *to, uint64_t v)
{
    if (__builtin_expect(v >> 56 != 0, 0))
        return uleb_write(to, v);
    size_t n = uleb_bytes(v);
    v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x00fffffff0000000)) << 4;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x0fffc0000fffc000)) << 2;
    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x3f803f803f803f80)) << 1;
    v |= UINT64_C(0x0080808080808080) & ((UINT64_C(1) << (8 * (n - 1))) - 1);
    word_store(to, v);
    return to + n;
}

/* ---- a column's values as the numbers that are stored, some at a time ---- */

enum numbers { NUMBERS_PLAIN, NUMBERS_ZIGZAG, NUMBERS_DELTA };
enum { STEP = 64 };
#define SHORT_BITS_END (UINT64_C(1) << 28) /* numbers below take at most 4 bytes */

/* Of `n` values, at most STEP, from at[0] on, the numbers; all bits that occur in them. */
INLINE uint64_t numbers_make(uint64_t *numbers, const uint64_t *at, size_t n, enum numbers how,
                             bool first)
{
    uint64_t bits = 0;
    if (how == NUMBERS_DELTA) {
        numbers[0] = zigzag(at[0] - (first ? 0 : at[-1]));
        for (size_t i = 1; i < n; i++)
            numbers[i] = zigzag(at[i] - at[i - 1]);
    } else {
        for (size_t i = 0; i < n; i++)
            numbers[i] = how == NUMBERS_ZIGZAG ? zigzag(at[i]) : at[i];
    }
    for (size_t i = 0; i < n; i++)
        bits |= numbers[i];
    return bits;
}

/* How many bytes a short number takes beyond its first. Plain 32-bit comparisons: loops over this
 * and over short_word become vector instructions. */
INLINE uint32_t short_more(int32_t v)
{
    return (uint32_t)(v > 0x7f) + (uint32_t)(v > 0x3fff) + (uint32_t)(v > 0x1fffff);
}

/* Its bytes, the first on the right. */
INLINE uint32_t short_word(int32_t v)
{
    uint32_t word = (uint32_t)v;
    word = (word & 0x00003fff) | (word & 0x0fffc000) << 2;
    word = (word & 0x007f007f) | (word & 0x3f803f80) << 1;
    return word | (v > 0x7f ? 0x80u : 0) | (v > 0x3fff ? 0x8000u : 0) |
           (v > 0x1fffff ? 0x800000u : 0);
}

/* `n` short numbers, at most STEP. */
INLINE uint8_t *shorts_write(uint8_t *to, const uint64_t *numbers, size_t n)
{
    uint32_t words[STEP], more[STEP];
    for (size_t i = 0; i < n; i++) {
        words[i] = short_word((int32_t)numbers[i]);
        more[i] = short_more((int32_t)numbers[i]);
    }
    for (size_t i = 0; i < n; i++) {
        word_store(to, words[i]);
        to += 1 + more[i];
    }
    return to;
}

INLINE size_t numbers_bytes(const uint64_t *values, size_t n, enum numbers how)
{
    uint64_t numbers[STEP];
    size_t bytes = n;
    for (size_t at = 0; at < n; at += STEP) {
        size_t step = n - at < STEP ? n - at : STEP;
        uint64_t bits = numbers_make(numbers, values + at, step, how, at == 0);
        uint32_t more = 0;
        if (bits >= SHORT_BITS_END)
            for (size_t i = 0; i < step; i++)
                bytes += uleb_bytes(numbers[i]) - 1;
        else if (bits >= 0x80)
            for (size_t i = 0; i < step; i++)
                more += short_more((int32_t)numbers[i]);
        bytes += more;
    }
    return bytes;
}

INLINE uint8_t *numbers_write(uint8_t *to, const uint64_t *values, size_t n, enum numbers how)
{
    uint64_t numbers[STEP];
    for (size_t at = 0; at < n; at += STEP) {
        size_t step = n - at < STEP ? n - at : STEP;
        uint64_t bits = numbers_make(numbers, values + at, step, how, at == 0);
        if (bits >= SHORT_BITS_END) {
            for (size_t i = 0; i < step; i++)
                to = uleb_store(to, numbers[i]);
        } else if (bits >= 0x80) {
            to = shorts_write(to, numbers, step);
        } else {
            for (size_t i = 0; i < step; i++)
                to[i] = (uint8_t)numbers[i];
            to += step;
        }
    }
    return to;
}

INLINE uint8_t *raw_write(uint8_t *to, const uint64_t *values, size_t n)
{
    for (size_t i = 0; i < n; i++, to += 8)
        word_store(to, values[i]);
    return to;
}

FOR_PROCESSORS uint8_t *ulebs_write(uint8_t *to, const uint64_t *values, size_t n)
{
    return numbers_write(to, values, n, NUMBERS_PLAIN);
}

uint8_t *codes_write(uint8_t *to, const uint16_t *codes, size_t n, uint16_t largest)
{
    if (largest >= 0x80) {
        for (size_t i = 0; i < n; i++)
            to = uleb_store(to, codes[i]);
        return to;
    }
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)codes[i];
    return to + n;
}

FOR_PROCESSORS uint8_t *column_write(uint8_t *to, const uint64_t *values, size_t n, uint8_t type,
                                     uint8_t *encoding)
{
    enum numbers how = type == SKEIN_T_I64 ? NUMBERS_ZIGZAG : NUMBERS_PLAIN;
    *encoding = COLUMN_RAW64;
    if (type == SKEIN_T_F64)
        return raw_write(to, values, n);
    size_t plain = numbers_bytes(values, n, how);
    size_t delta = plain == n ? n : numbers_bytes(values, n, NUMBERS_DELTA);
    if (plain > 8 * n && delta > 8 * n)
        return raw_write(to, values, n);
    *encoding = plain <= delta ? COLUMN_PLAIN : COLUMN_DELTA;
    return numbers_write(to, values, n, plain <= delta ? how : NUMBERS_DELTA);
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
