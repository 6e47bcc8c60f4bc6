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

#define WHOLE (BIG + ASSEMBLY_BYTES_MIN) /* what one counts for, shortly before it is whole */

static int add_of(struct assembler *a, uint64_t sender, uint32_t key, uint32_t index)
{
    struct wire_chunk chunk = chunk_of(key, index);
    uint8_t *bytes;
    uint32_t have;
    int status = assembler_add(a, sender, &chunk, 1, &bytes, &have);
    free(bytes);
    return status;
}

static int add(struct assembler *a, uint32_t key, uint32_t index, uint8_t **bytes, uint32_t *have)
{
    struct wire_chunk chunk = chunk_of(key, index);
    return assembler_add(a, 1, &chunk, 1, bytes, have);
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
    ck_assert_uint_eq(assembler_bytes(a), BIG - WIRE_CHUNK_MAX + ASSEMBLY_BYTES_MIN);
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
    ck_assert_int_eq(assembler_add(a, 1, &liar, 1, &bytes, &have), 0);
    struct wire_chunk shorter = chunk_of(1, 1);
    shorter.count = 2;
    shorter.partition_bytes = WIRE_CHUNK_MAX + shorter.bytes_len;
    ck_assert_int_eq(assembler_add(a, 1, &shorter, 1, &bytes, &have), 0);
    ck_assert_uint_eq(assembler_count(a), 3);
    ck_assert_int_eq(add(a, 1, 1, &bytes, &have), 0);
    ck_assert_int_eq(add(a, 1, 2, &bytes, &have), 0);
    ck_assert_int_eq(add(a, 1, 3, &bytes, &have), 1);
    free(bytes);
    for (uint32_t i = 0; i < 4; i++) {
        struct wire_chunk wrong = chunk_of(1, i);
        wrong.partition_checksum ^= 1;
        ck_assert_int_eq(assembler_add(a, 1, &wrong, 1, &bytes, &have), i < 3 ? 0 : SKEIN_CORRUPT);
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
    ck_assert_int_eq(assembler_new(10 * WHOLE, &a), SKEIN_OK);
    unsigned full = 0;
    for (uint32_t key = 0; key < 5000; key++) {
        int status = add(a, key, 0, &bytes, &have);
        ck_assert(status == 0 || status == SKEIN_FULL);
        full += status == SKEIN_FULL;
        ck_assert_uint_le(assembler_bytes(a), 10 * WHOLE);
    }
    ck_assert_uint_gt(full, 4900);
    for (uint32_t key = 0; key < 10; key++) /* what began first is completed */
        for (uint32_t index = 1; index < 4; index++)
            ck_assert_int_eq(add_of(a, 1, key, index), index == 3);
    assembler_free(&a);
}
END_TEST

START_TEST(partition_larger_than_the_bound_is_taken_alone)
{
    struct assembler *a;
    ck_assert_int_eq(assembler_new(1000, &a), SKEIN_OK);
    ck_assert_int_eq(add_of(a, 1, 1, 0), 0);
    ck_assert_int_eq(add_of(a, 1, 2, 0), SKEIN_FULL);
    for (uint32_t i = 1; i < 4; i++)
        ck_assert_int_eq(add_of(a, 1, 1, i), i == 3);
    assembler_free(&a);
}
END_TEST

/* Its claims are large, or its chunks are many: the other one's partition arrives. */
START_TEST(sender_that_takes_all_there_is_does_not_keep_another_out)
{
    struct assembler *a;
    for (uint32_t first = 0; first <= 3; first += 3) {
        ck_assert_int_eq(assembler_new(4 * WHOLE, &a), SKEIN_OK);
        unsigned full = 0;
        for (uint32_t key = 0; key < 300; key++)
            for (uint32_t index = first; index < 3 || index == first; index++)
                full += add_of(a, 666, key, index) == SKEIN_FULL;
        ck_assert_uint_gt(full, 0);
        for (uint32_t key = 1000; key < 1005; key++) {
            for (uint32_t index = 0; index < 4; index++) {
                ck_assert_int_eq(add_of(a, 1, key, index), index == 3);
                ck_assert_uint_le(assembler_bytes(a), 4 * WHOLE);
            }
            add_of(a, 666, key, 0);
        }
        assembler_free(&a);
    }
}
END_TEST

START_TEST(all_are_completed_though_none_is_within_its_share)
{
    struct assembler *a;
    ck_assert_int_eq(assembler_new(2 * WHOLE, &a), SKEIN_OK);
    bool whole[8] = {false};
    for (uint32_t round = 0; round < 16; round++)
        for (uint32_t index = 0; index < 4; index++)
            for (uint32_t sender = 0; sender < 8; sender++)
                whole[sender] |= add_of(a, sender, sender, index) == 1;
    for (uint32_t sender = 0; sender < 8; sender++)
        ck_assert_msg(whole[sender], "%u", sender);
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
        assembler_add(a, 1, &chunk, 10 + key, &bytes, &have);
    }
    struct wire_chunk again = chunk_of(0, 1);
    assembler_add(a, 1, &again, 20, &bytes, &have);
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
    tcase_set_timeout(c, 280);
    tcase_add_test(c, chunks_in_any_order_and_again_make_the_partition_once);
    tcase_add_test(c, many_at_once_do_not_mix);
    tcase_add_test(c, contradiction_does_not_disturb_the_first);
    tcase_add_test(c, memory_stays_below_the_bound_whatever_thousands_begin);
    tcase_add_test(c, partition_larger_than_the_bound_is_taken_alone);
    tcase_add_test(c, sender_that_takes_all_there_is_does_not_keep_another_out);
    tcase_add_test(c, all_are_completed_though_none_is_within_its_share);
    tcase_add_test(c, silent_ones_expire_in_the_order_of_their_last_chunk);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
