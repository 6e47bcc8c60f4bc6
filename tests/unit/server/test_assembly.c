/* SPDX-License-Identifier: Apache-2.0
 * Chunks to partitions: any order, repeats, mixtures, contradictions, and the bound on memory. */
#include "assembly.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "partition_make.h"
#include "support.h"

#define BIG (3 * (size_t)WIRE_CHUNK_MAX + 12345)

static uint8_t *pattern;
static uint64_t pattern_checksum;

static void setup(void)
{
    pattern = malloc(BIG);
    ck_assert_ptr_nonnull(pattern);
    for (size_t i = 0; i < BIG; i++)
        pattern[i] = (uint8_t)(i * 2654435761u >> 13);
    pattern_checksum = checksum64(pattern, BIG);
}

static void teardown(void)
{
    free(pattern);
}

static struct wire_chunk chunk_of(uint32_t key, uint32_t index)
{
    size_t at = (size_t)index * WIRE_CHUNK_MAX;
    size_t len = BIG - at < WIRE_CHUNK_MAX ? BIG - at : WIRE_CHUNK_MAX;
    return (struct wire_chunk){key_of(key, 1, key), capture_of(1), index,        4, BIG,
                               pattern_checksum,    pattern + at,  (uint32_t)len};
}

static int add(struct assembler *a, uint32_t key, uint32_t index, uint8_t **bytes, uint32_t *have)
{
    struct wire_chunk chunk = chunk_of(key, index);
    return assembler_add(a, &chunk, 1, bytes, have);
}

START_TEST(chunks_in_any_order_and_again_make_the_partition_once)
{
    struct assembler *a;
    uint8_t *bytes;
    uint32_t have;
    ck_assert_int_eq(assembler_new(1 << 30, &a), SKEIN_OK);
    ck_assert_int_eq(add(a, 1, 3, &bytes, &have), 0);
    ck_assert_uint_eq(have, 0);
    ck_assert_int_eq(add(a, 1, 0, &bytes, &have), 0);
    ck_assert_uint_eq(have, 1);
    ck_assert_int_eq(add(a, 1, 0, &bytes, &have), 0);
    ck_assert_int_eq(add(a, 1, 2, &bytes, &have), 0);
    ck_assert_uint_eq(have, 1);
    ck_assert_uint_eq(assembler_bytes(a), BIG);
    ck_assert_int_eq(add(a, 1, 1, &bytes, &have), 1);
    ck_assert_int_eq(memcmp(bytes, pattern, BIG), 0);
    free(bytes);
    ck_assert_uint_eq(assembler_bytes(a), 0);
    ck_assert_uint_eq(assembler_count(a), 0);
    assembler_free(&a);
}
END_TEST

START_TEST(many_at_once_do_not_mix)
{
    struct assembler *a;
    uint8_t *bytes;
    uint32_t have;
    ck_assert_int_eq(assembler_new(1 << 30, &a), SKEIN_OK);
    for (uint32_t index = 0; index < 4; index++)
        for (uint32_t key = 0; key < 20; key++) {
            int status = add(a, key, (index + key) % 4, &bytes, &have);
            ck_assert_int_eq(status, index == 3);
            if (status == 1) {
                ck_assert_int_eq(memcmp(bytes, pattern, BIG), 0);
                free(bytes);
            }
        }
    ck_assert_uint_eq(assembler_count(a), 0);
    assembler_free(&a);
}
END_TEST

START_TEST(contradiction_does_not_disturb_the_first)
{
    struct assembler *a;
    uint8_t *bytes;
    uint32_t have;
    ck_assert_int_eq(assembler_new(1 << 30, &a), SKEIN_OK);
    ck_assert_int_eq(add(a, 1, 0, &bytes, &have), 0);
    struct wire_chunk liar = chunk_of(1, 1);
    liar.partition_checksum ^= 1;
    ck_assert_int_eq(assembler_add(a, &liar, 1, &bytes, &have), 0);
    struct wire_chunk shorter = chunk_of(1, 1);
    shorter.count = 2;
    shorter.partition_bytes = WIRE_CHUNK_MAX + shorter.bytes_len;
    ck_assert_int_eq(assembler_add(a, &shorter, 1, &bytes, &have), 0);
    ck_assert_uint_eq(assembler_count(a), 3);
    ck_assert_int_eq(add(a, 1, 1, &bytes, &have), 0);
    ck_assert_int_eq(add(a, 1, 2, &bytes, &have), 0);
    ck_assert_int_eq(add(a, 1, 3, &bytes, &have), 1);
    free(bytes);
    for (uint32_t i = 0; i < 4; i++) {
        struct wire_chunk wrong = chunk_of(1, i);
        wrong.partition_checksum ^= 1;
        ck_assert_int_eq(assembler_add(a, &wrong, 1, &bytes, &have), i < 3 ? 0 : SKEIN_CORRUPT);
        ck_assert_ptr_null(bytes);
    }
    ck_assert_uint_eq(assembler_count(a), 1);
    assembler_free(&a);
}
END_TEST

START_TEST(memory_stays_below_the_bound_whatever_thousands_begin)
{
    struct assembler *a;
    uint8_t *bytes;
    uint32_t have;
    ck_assert_int_eq(assembler_new(10 * BIG, &a), SKEIN_OK);
    unsigned full = 0;
    for (uint32_t key = 0; key < 5000; key++) {
        int status = add(a, key, 0, &bytes, &have);
        ck_assert(status == 0 || status == SKEIN_FULL);
        full += status == SKEIN_FULL;
        ck_assert_uint_le(assembler_bytes(a), 10 * BIG);
    }
    ck_assert_uint_eq(full, 4990);
    for (uint32_t index = 1; index < 4; index++) /* what was let in can be completed */
        for (uint32_t key = 0; key < 10; key++) {
            ck_assert_int_eq(add(a, key, index, &bytes, &have), index == 3);
            free(bytes);
        }
    ck_assert_uint_eq(assembler_count(a), 0);
    assembler_free(&a);
}
END_TEST

START_TEST(partition_larger_than_the_bound_is_taken_alone)
{
    struct assembler *a;
    uint8_t *bytes;
    uint32_t have;
    ck_assert_int_eq(assembler_new(1000, &a), SKEIN_OK);
    ck_assert_int_eq(add(a, 1, 0, &bytes, &have), 0);
    ck_assert_int_eq(add(a, 2, 0, &bytes, &have), SKEIN_FULL);
    for (uint32_t i = 1; i < 4; i++)
        ck_assert_int_eq(add(a, 1, i, &bytes, &have), i == 3);
    free(bytes);
    assembler_free(&a);
}
END_TEST

START_TEST(silent_ones_expire_in_the_order_of_their_last_chunk)
{
    struct assembler *a;
    uint8_t *bytes;
    uint32_t have;
    ck_assert_int_eq(assembler_new(1 << 30, &a), SKEIN_OK);
    for (uint32_t key = 0; key < 3; key++) {
        struct wire_chunk chunk = chunk_of(key, 0);
        assembler_add(a, &chunk, 10 + key, &bytes, &have);
    }
    struct wire_chunk again = chunk_of(0, 1);
    assembler_add(a, &again, 20, &bytes, &have);
    ck_assert_uint_eq(assembler_expire(a, 12), 1);
    ck_assert(assembler_has(a, &again));
    ck_assert_uint_eq(assembler_expire(a, 20), 1);
    ck_assert(assembler_has(a, &again));
    ck_assert_uint_eq(assembler_expire(a, 21), 1);
    ck_assert(!assembler_has(a, &again));
    assembler_free(&a);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("assembly");
    TCase *c = tcase_create("all");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 100);
    tcase_add_test(c, chunks_in_any_order_and_again_make_the_partition_once);
    tcase_add_test(c, many_at_once_do_not_mix);
    tcase_add_test(c, contradiction_does_not_disturb_the_first);
    tcase_add_test(c, memory_stays_below_the_bound_whatever_thousands_begin);
    tcase_add_test(c, partition_larger_than_the_bound_is_taken_alone);
    tcase_add_test(c, silent_ones_expire_in_the_order_of_their_last_chunk);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
