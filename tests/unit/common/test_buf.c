/* SPDX-License-Identifier: Apache-2.0
 * Bytes written are the bytes read; the cursor never passes its end; both stay failed. */
#include "buf.h"

#include <stdlib.h>
#include <string.h>

#include "support.h"

START_TEST(what_is_put_is_read_back)
{
    struct buf b = {0};
    struct cursor c;
    size_t n;
    buf_put_u8(&b, 0xfe);
    buf_put_u16(&b, 0x1234);
    buf_put_u32(&b, 0xdeadbeef);
    buf_put_u64(&b, UINT64_C(0x0123456789abcdef));
    buf_put_f64(&b, -2.5);
    buf_put_text(&b, "checkout", 8);
    buf_printf(&b, "%d-%s", 42, "x");
    ck_assert_int_eq(b.status, SKEIN_OK);
    ck_assert_uint_eq(b.data[1], 0x34);
    cursor_init(&c, b.data, b.len);
    ck_assert_uint_eq(cursor_u8(&c), 0xfe);
    ck_assert_uint_eq(cursor_u16(&c), 0x1234);
    ck_assert_uint_eq(cursor_u32(&c), 0xdeadbeef);
    ck_assert_uint_eq(cursor_u64(&c), UINT64_C(0x0123456789abcdef));
    ck_assert(cursor_f64(&c) == -2.5);
    const char *text = cursor_text(&c, 8, &n);
    ck_assert_uint_eq(n, 8);
    ck_assert_int_eq(memcmp(text, "checkout", 8), 0);
    ck_assert_int_eq(memcmp(cursor_bytes(&c, 4), "42-x", 4), 0);
    ck_assert_uint_eq(cursor_left(&c), 0);
    ck_assert_int_eq(c.status, SKEIN_OK);
    buf_fini(&b);
}
END_TEST

START_TEST(leb128_keeps_every_width)
{
    for (unsigned bits = 0; bits <= 64; bits++) {
        uint64_t v = bits == 64 ? UINT64_MAX : (UINT64_C(1) << bits) - (bits % 2);
        struct buf b = {0};
        struct cursor c;
        buf_put_uleb(&b, v);
        ck_assert_uint_eq(b.len, uleb_size(v));
        buf_put_sleb(&b, (int64_t)v);
        buf_put_sleb(&b, (int64_t)(0 - v));
        cursor_init(&c, b.data, b.len);
        ck_assert(cursor_uleb(&c) == v);
        ck_assert(cursor_sleb(&c) == (int64_t)v);
        ck_assert(cursor_sleb(&c) == (int64_t)(0 - v));
        ck_assert_int_eq(c.status, SKEIN_OK);
        buf_fini(&b);
    }
}
END_TEST

START_TEST(leb128_beyond_64_bits_is_corrupt)
{
    uint8_t bytes[12];
    struct cursor c;
    memset(bytes, 0xff, sizeof bytes);
    cursor_init(&c, bytes, sizeof bytes);
    ck_assert_uint_eq(cursor_uleb(&c), 0);
    ck_assert_int_eq(c.status, SKEIN_CORRUPT);
    bytes[9] = 2; /* the tenth byte holds bit 63 alone */
    cursor_init(&c, bytes, 10);
    cursor_uleb(&c);
    ck_assert_int_eq(c.status, SKEIN_CORRUPT);
    bytes[9] = 1;
    cursor_init(&c, bytes, 10);
    ck_assert(cursor_uleb(&c) == UINT64_MAX);
    cursor_init(&c, bytes, 9);
    cursor_uleb(&c);
    ck_assert_int_eq(c.status, SKEIN_TRUNCATED);
}
END_TEST

START_TEST(a_failed_cursor_stays_failed_and_does_not_move)
{
    static const uint8_t bytes[] = {1, 2, 3};
    struct cursor c;
    size_t n = 9;
    cursor_init(&c, bytes, sizeof bytes);
    ck_assert_uint_eq(cursor_u32(&c), 0);
    ck_assert_int_eq(c.status, SKEIN_TRUNCATED);
    ck_assert_uint_eq(cursor_u8(&c), 0);
    ck_assert_ptr_null(cursor_bytes(&c, 0));
    ck_assert_ptr_null(cursor_text(&c, 5, &n));
    ck_assert_uint_eq(n, 0);
    ck_assert_uint_eq(cursor_left(&c), 3);
    ck_assert_int_eq(cursor_fail(&c, SKEIN_CORRUPT), SKEIN_TRUNCATED);
}
END_TEST

START_TEST(lengths_near_the_largest_do_not_wrap)
{
    static const uint8_t bytes[16];
    struct cursor c;
    cursor_init(&c, bytes, sizeof bytes);
    ck_assert_ptr_null(cursor_bytes(&c, UINT64_MAX));
    ck_assert_int_eq(c.status, SKEIN_TRUNCATED);
    struct buf b = {0};
    ck_assert_ptr_null(buf_reserve(&b, SIZE_MAX - 4));
    ck_assert_int_eq(b.status, SKEIN_NO_MEMORY);
    buf_put_u8(&b, 1);
    ck_assert_uint_eq(b.len, 0);
    buf_clear(&b);
    buf_put_u8(&b, 1);
    ck_assert_uint_eq(b.len, 1);
    buf_fini(&b);
}
END_TEST

START_TEST(an_empty_range_is_not_null)
{
    struct cursor c;
    cursor_init(&c, NULL, 0);
    ck_assert_ptr_nonnull(cursor_bytes(&c, 0));
    ck_assert_int_eq(c.status, SKEIN_OK);
    struct buf b = {0};
    ck_assert_ptr_nonnull(buf_reserve(&b, 0));
    buf_put(&b, NULL, 0);
    ck_assert_int_eq(b.status, SKEIN_OK);
    buf_fini(&b);
}
END_TEST

START_TEST(text_longer_than_allowed_is_corrupt)
{
    struct buf b = {0};
    struct cursor c;
    size_t n;
    buf_put_text(&b, "abcdef", 6);
    cursor_init(&c, b.data, b.len);
    ck_assert_ptr_null(cursor_text(&c, 5, &n));
    ck_assert_int_eq(c.status, SKEIN_CORRUPT);
    buf_fini(&b);
}
END_TEST

START_TEST(set_overwrites_inside_alone)
{
    struct buf b = {0};
    struct cursor c;
    buf_put_u64(&b, 0);
    buf_put_u32(&b, 0);
    buf_set_u64(&b, 0, 7);
    buf_set_u32(&b, 8, 9);
    buf_set_u32(&b, 9, UINT32_MAX); /* would reach past len */
    buf_set_u64(&b, SIZE_MAX, 1);
    cursor_init(&c, b.data, b.len);
    ck_assert_uint_eq(cursor_u64(&c), 7);
    ck_assert_uint_eq(cursor_u32(&c), 9);
    buf_fini(&b);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("buf", what_is_put_is_read_back, leb128_keeps_every_width,
                 leb128_beyond_64_bits_is_corrupt, a_failed_cursor_stays_failed_and_does_not_move,
                 lengths_near_the_largest_do_not_wrap, an_empty_range_is_not_null,
                 text_longer_than_allowed_is_corrupt, set_overwrites_inside_alone, NULL));
}
