/* SPDX-License-Identifier: Apache-2.0
 * Partitions with bytes missing or changed: each is refused with a sentence, none is another trace.
 */
#include "reading.h"

static uint8_t *copy_of(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n > 0 ? n : 1); /* exactly n, so that a read past the end is seen */
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, n);
    return copy;
}

START_TEST(every_missing_tail_is_noticed)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    for (size_t n = 0; n < bytes.len; n++) {
        char error[256] = "";
        struct partition_reader *reader;
        uint8_t *copy = copy_of(bytes.data, n);
        int status = partition_reader_new(copy, n, &reader, error, sizeof error);
        ck_assert_msg(status == SKEIN_TRUNCATED, "%zu bytes: %d %s", n, status, error);
        ck_assert_ptr_null(reader);
        ck_assert_str_ne(error, "");
        free(copy);
    }
    buf_fini(&bytes);
}
END_TEST

START_TEST(every_missing_front_but_the_footers_is_noticed)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    struct partition_footer footer;
    size_t need = 0;
    ck_assert_int_eq(partition_footer_get(bytes.data, 0, &footer, &need), SKEIN_TRUNCATED);
    ck_assert_uint_eq(need, 32);
    ck_assert_int_eq(partition_footer_get(bytes.data + bytes.len - 32, 32, &footer, &need),
                     SKEIN_TRUNCATED);
    size_t footer_bytes = need;
    for (size_t n = 0; n <= bytes.len; n++) {
        uint8_t *copy = copy_of(bytes.data + bytes.len - n, n);
        int status = partition_footer_get(copy, n, &footer, &need);
        ck_assert_int_eq(status, n < footer_bytes ? SKEIN_TRUNCATED : SKEIN_OK);
        if (n < footer_bytes)
            ck_assert_uint_eq(need, n < 32 ? 32 : footer_bytes);
        partition_footer_free(&footer);
        free(copy);
    }
    buf_fini(&bytes);
}
END_TEST

START_TEST(every_changed_bit_is_noticed)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    for (size_t i = 0; i < bytes.len * 8; i++) {
        char error[256] = "";
        bytes.data[i / 8] ^= (uint8_t)(1u << (i % 8));
        int status = partition_check(bytes.data, bytes.len, error, sizeof error);
        ck_assert_msg(status == SKEIN_CORRUPT || status == SKEIN_VERSION ||
                          status == SKEIN_TRUNCATED,
                      "bit %zu: %d", i, status);
        ck_assert_str_ne(error, "");
        bytes.data[i / 8] ^= (uint8_t)(1u << (i % 8));
    }
    buf_fini(&bytes);
}
END_TEST

START_TEST(bytes_behind_the_partition_are_refused)
{
    struct buf bytes = {0};
    char error[256];
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    buf_put_u8(&bytes, 0);
    ck_assert_int_eq(partition_check(bytes.data, bytes.len, error, sizeof error), SKEIN_CORRUPT);
    buf_fini(&bytes);
}
END_TEST

START_TEST(a_damaged_block_leaves_the_tables_readable)
{
    struct buf bytes = {0};
    char error[256];
    struct partition_reader *reader;
    struct trace_event event;
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    size_t at = (size_t)partition_reader_footer(reader)->blocks[0].offset + 40;
    partition_reader_free(&reader);
    bytes.data[at] ^= 1;
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    ck_assert_str_eq(partition_reader_info(reader)->service, "checkout");
    ck_assert_int_eq(partition_reader_next(reader, &event), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(partition_reader_error(reader), "byte"));
    ck_assert_int_eq(partition_reader_next(reader, &event), SKEIN_CORRUPT);
    partition_reader_free(&reader);
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("partition_damage", every_missing_tail_is_noticed,
                              every_missing_front_but_the_footers_is_noticed,
                              every_changed_bit_is_noticed, bytes_behind_the_partition_are_refused,
                              a_damaged_block_leaves_the_tables_readable, NULL));
}
