/* SPDX-License-Identifier: Apache-2.0
 * Columns beside an encoder that knows nothing but F-1 and F-27, byte for byte, over values of every
 * length, and read back by a decoder of the test's own.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "partition_columns.h"
#include "support.h"

enum { ROWS_MAX = 700, SPOILED = 0xa5 };

static uint64_t state = 88172645463325252u;

static uint64_t rnd(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* ---- the encoder of the test: one number after the other ---- */

static size_t plain_put(uint8_t *to, uint64_t v)
{
    size_t n = 0;
    do {
        to[n] = (uint8_t)(v % 128);
        v /= 128;
        to[n++] |= v != 0 ? 128 : 0;
    } while (v != 0);
    return n;
}

/* 0, -1, 1, -2, 2 ... are 0, 1, 2, 3, 4 ... */
static uint64_t signed_number(uint64_t v)
{
    return v >> 63 ? ~v * 2 + 1 : v * 2;
}

static size_t numbers_put(uint8_t *to, const uint64_t *values, size_t n, unsigned encoding,
                          bool is_signed)
{
    size_t len = 0;
    uint64_t before = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t v = is_signed ? signed_number(values[i]) : values[i];
        if (encoding == 2)
            for (unsigned k = 0; k < 8; k++)
                to[len++] = (uint8_t)(values[i] >> (8 * k));
        else
            len += plain_put(to + len, encoding == 1 ? signed_number(values[i] - before) : v);
        before = values[i];
    }
    return len;
}

/* ---- and its decoder ---- */

static uint64_t plain_get(const uint8_t **at)
{
    uint64_t v = 0, unit = 1;
    for (;; unit *= 128) {
        v += (uint64_t)(**at % 128) * unit;
        if (*(*at)++ < 128)
            return v;
    }
}

static uint64_t signed_value(uint64_t number)
{
    return number % 2 != 0 ? ~(number / 2) : number / 2;
}

static void expect_decoded(const uint8_t *at, const uint8_t *end, const uint64_t *values, size_t n,
                           unsigned encoding, bool is_signed)
{
    uint64_t before = 0;
    bool same = true; /* libcheck's assertions are slow */
    for (size_t i = 0; i < n; i++) {
        uint64_t v = 0;
        if (encoding == 2)
            for (unsigned k = 0; k < 8; k++)
                v |= (uint64_t)*at++ << (8 * k);
        else if (encoding == 1)
            v = before + signed_value(plain_get(&at));
        else
            v = is_signed ? signed_value(plain_get(&at)) : plain_get(&at);
        same = same && v == values[i];
        before = v;
    }
    ck_assert(same);
    ck_assert_ptr_eq(at, end);
}

static uint8_t got[ROWS_MAX * 10 + 64], want[ROWS_MAX * 10];

static void column_expect(const uint64_t *values, size_t n, uint8_t type)
{
    uint8_t encoding = 99;
    bool is_signed = type == SKEIN_T_I64;
    memset(got, SPOILED, sizeof got);
    size_t len = (size_t)(column_write(got, values, n, type, &encoding) - got);
    size_t plain = numbers_put(want, values, n, 0, is_signed);
    size_t delta = numbers_put(want, values, n, 1, is_signed);
    unsigned shortest = plain > 8 * n && delta > 8 * n ? 2 : plain <= delta ? 0 : 1;
    if (type == SKEIN_T_F64)
        shortest = 2;
    ck_assert_uint_eq(encoding, shortest);
    ck_assert_uint_eq(len, numbers_put(want, values, n, shortest, is_signed));
    ck_assert_mem_eq(got, want, len);
    ck_assert_uint_le(len, n * COLUMN_VALUE_BYTES);
    expect_decoded(got, got + len, values, n, encoding, is_signed);
    bool spoiled = false;
    for (size_t i = len + COLUMN_SLACK_BYTES; i < sizeof got; i++)
        spoiled = spoiled || got[i] != SPOILED;
    ck_assert(!spoiled);
    len = (size_t)(ulebs_write(got, values, n) - got);
    ck_assert_uint_eq(len, numbers_put(want, values, n, 0, false));
    ck_assert_mem_eq(got, want, len);
}

static void all_types_expect(const uint64_t *values, size_t n)
{
    column_expect(values, n, SKEIN_T_U64);
    column_expect(values, n, SKEIN_T_I64);
    column_expect(values, n, SKEIN_T_F64);
}

START_TEST(numbers_of_every_length_are_those_of_the_plain_encoder)
{
    uint64_t values[3 * 64 + 6];
    size_t n = 0;
    for (unsigned bits = 0; bits < 64; bits++) /* on both sides of each power of two */
        for (int d = -1; d <= 1; d++)
            values[n++] = (UINT64_C(1) << bits) + (uint64_t)(int64_t)d;
    values[n++] = UINT64_MAX;
    values[n++] = UINT64_MAX >> 1;
    values[n++] = 0;
    all_types_expect(values, n);
    for (size_t i = 0; i < n; i++)
        all_types_expect(values + i, 1);
    all_types_expect(values, 0);
}
END_TEST

/* Columns as traces have them: of one length, of several, rising, with a rare long one. */
START_TEST(columns_are_those_of_the_plain_encoder)
{
    uint64_t *values = malloc(ROWS_MAX * sizeof *values);
    for (unsigned round = 0; round < 4000; round++) {
        size_t n = rnd() % ROWS_MAX;
        unsigned bits = (unsigned)(rnd() % 64), rare = (unsigned)(rnd() % 200);
        unsigned shape = (unsigned)(rnd() % 5);
        uint64_t last = rnd();
        for (size_t i = 0; i < n; i++) {
            uint64_t r = rnd(), v = r >> (63 - bits);
            if (shape == 1) /* of many lengths */
                v = r >> (rnd() % 64);
            else if (shape == 2) /* rising, and falling at times */
                v = last += r % 7 == 0 ? 0 - (r >> (63 - bits / 2)) : r >> (63 - bits / 2);
            else if (shape == 3 && rare > 0 && r % rare == 0)
                v = rnd();
            else if (shape == 4)
                v = 0 - v;
            values[i] = v;
        }
        all_types_expect(values, n);
    }
    free(values);
}
END_TEST

START_TEST(codes_are_those_of_the_plain_encoder)
{
    static uint16_t codes[ROWS_MAX];
    static const uint16_t largest[] = {0, 1, 126, 127, 128, 129, 300, 8191, 16383};
    for (unsigned k = 0; k < sizeof largest / sizeof *largest; k++) {
        size_t len = 0;
        for (size_t i = 0; i < ROWS_MAX; i++) {
            codes[i] = (uint16_t)(i < 4 ? largest[k] : rnd() % (largest[k] + 1u));
            len += plain_put(want + len, codes[i]);
        }
        ck_assert_uint_eq((size_t)(codes_write(got, codes, ROWS_MAX, largest[k]) - got), len);
        ck_assert_mem_eq(got, want, len);
    }
}
END_TEST

/* ---- values ahead ---- */

enum { AHEAD_VALUES = 150, AHEAD_COLUMNS_TRIED = 400 };

/* Values by the column's own bytes, cut off after `bytes`: those that are whole must come, with their
 * places, and behind them a failure where the next one would begin. */
static void ahead_expect(const uint8_t *bytes, size_t length, const uint8_t *const *places,
                         const uint64_t *values, unsigned encoding, uint8_t type)
{
    uint64_t room[COLUMN_AHEAD];
    struct column column = {.pos = bytes,
                            .end = bytes + length,
                            .encoding = (uint8_t)encoding,
                            .type = type,
                            .values = room};
    for (size_t i = 0; i < AHEAD_VALUES; i++) {
        must_hold(column_place(&column) == places[i], "place of value %zu", i);
        const uint8_t *before = column.pos;
        uint64_t value = column_take(&column);
        if (places[i + 1] > bytes + length) {
            must_hold(column.failed && value == (encoding == COLUMN_DELTA ? column.previous : 0),
                      "value %zu has not all of its bytes", i);
            return;
        }
        must_hold(!column.failed && value == values[i], "value %zu", i);
        must_hold(column_place_of_last(&column, before) == places[i], "last place %zu", i);
    }
    must_hold(column_place(&column) == bytes + length, "the end");
}

START_TEST(values_ahead_are_those_of_the_plain_encoder_and_end_where_it_does)
{
    static uint8_t bytes[AHEAD_VALUES * 10 + 8];
    const uint8_t *places[AHEAD_VALUES + 1];
    uint64_t values[AHEAD_VALUES];
    for (unsigned n = 0; n < AHEAD_COLUMNS_TRIED; n++) {
        unsigned encoding = n % 3, bits = 1 + (unsigned)(rnd() % 64);
        uint8_t type = n % 2 ? SKEIN_T_I64 : SKEIN_T_U64;
        for (size_t i = 0; i < AHEAD_VALUES; i++)
            values[i] = rnd() >> (64 - (rnd() % 8 == 0 ? 1 + rnd() % 64 : bits));
        for (size_t i = 0; i <= AHEAD_VALUES; i++)
            places[i] = bytes + numbers_put(bytes, values, i, encoding, type == SKEIN_T_I64);
        size_t length = (size_t)(places[AHEAD_VALUES] - bytes);
        /* of its own size, so that a byte read behind it is found */
        uint8_t *exact = malloc(length);
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, bytes, length);
        for (size_t i = 0; i <= AHEAD_VALUES; i++)
            places[i] = exact + (places[i] - bytes);
        ahead_expect(exact, length, places, values, encoding, type);
        ahead_expect(exact, rnd() % length, places, values, encoding, type);
        free(exact);
    }
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("partition_columns", numbers_of_every_length_are_those_of_the_plain_encoder,
                 columns_are_those_of_the_plain_encoder, codes_are_those_of_the_plain_encoder,
                 values_ahead_are_those_of_the_plain_encoder_and_end_where_it_does, NULL));
}
