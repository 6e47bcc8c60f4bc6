/* SPDX-License-Identifier: Apache-2.0
 * The reader of LZ4 frames, on frames of liblz4 and on some made by hand. */
#include "lz4_frame.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "pack_lz4.h"
#include "support.h"

static uint64_t state = 88172645463325252u;

static uint32_t random_take(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 24);
}

/* Bytes of `kinds` values: few of them pack well, 256 not at all. */
static uint8_t *bytes_make(size_t n, unsigned kinds)
{
    uint8_t *bytes = malloc(n + 1);
    ck_assert_ptr_nonnull(bytes);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)(random_take() % kinds);
    return bytes;
}

START_TEST(what_liblz4_packs_is_read)
{
    static const size_t sizes[] = {0, 1, 12, 13, 4096, 65535, 65537, 262144, 262145, 1000000};
    static const unsigned kinds[] = {1, 2, 16, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            struct buf frame = {0};
            uint8_t *bytes = bytes_make(sizes[i], kinds[k]), *out = calloc(1, sizes[i] + 1);
            lz4_pack(&frame, bytes, sizes[i]);
            ck_assert_int_eq(frame.status, SKEIN_OK);
            ck_assert_int_eq(lz4_frame_unpack(frame.data, frame.len, out, sizes[i]), SKEIN_OK);
            ck_assert_int_eq(memcmp(bytes, out, sizes[i]), 0);
            ck_assert_int_eq(out[sizes[i]], 0);
            ck_assert_int_eq(lz4_frame_unpack(frame.data, frame.len, out, sizes[i] + 1),
                             SKEIN_CORRUPT);
            buf_fini(&frame);
            free(bytes);
            free(out);
        }
}
END_TEST

/* A frame that is cut or has a byte more is refused; one with a bit changed as liblz4 refuses it. */
START_TEST(damage_is_refused)
{
    struct buf frame = {0};
    uint8_t *bytes = bytes_make(3000, 7), *out = calloc(1, 3001);
    lz4_pack(&frame, bytes, 3000);
    buf_put_u8(&frame, 0);
    ck_assert_int_eq(lz4_frame_unpack(frame.data, frame.len, out, 3000), SKEIN_CORRUPT);
    frame.len--;
    for (size_t n = 0; n < frame.len; n++) {
        uint8_t *cut = malloc(n + 1); /* so that a read behind the last byte is seen */
        memcpy(cut, frame.data, n);
        ck_assert_int_eq(lz4_frame_unpack(cut, n, out, 3000), SKEIN_CORRUPT);
        free(cut);
    }
    /* A match may be at another offset and give the same bytes: then both take it. */
    unsigned refused = 0;
    for (size_t i = 0; i < frame.len; i++) {
        frame.data[i] ^= (uint8_t)(1u << (i % 8));
        int status = lz4_frame_unpack(frame.data, frame.len, out, 3000);
        ck_assert_int_eq(status, lz4_unpack(frame.data, frame.len, out, 3000));
        refused += status == SKEIN_CORRUPT;
        frame.data[i] ^= (uint8_t)(1u << (i % 8));
    }
    ck_assert_uint_gt(refused, frame.len - frame.len / 20);
    ck_assert_int_eq(lz4_frame_unpack(frame.data, frame.len, out, 3000), SKEIN_OK);
    buf_fini(&frame);
    free(bytes);
    free(out);
}
END_TEST

/* A sound frame around one block. */
static int block_read(const char *block, size_t n, const char *raw, size_t raw_bytes, uint8_t *out)
{
    struct buf b = {0};
    buf_put_u32(&b, 0x184D2204);
    buf_put_u8(&b, 0x6C);
    buf_put_u8(&b, 0x40);
    buf_put_u64(&b, raw_bytes);
    buf_put_u8(&b, (uint8_t)(checksum_xxh32(b.data + 4, b.len - 4) >> 8));
    buf_put_u32(&b, (uint32_t)n);
    buf_put(&b, block, n);
    buf_put_u32(&b, 0);
    buf_put_u32(&b, checksum_xxh32(raw, raw_bytes));
    int status = lz4_frame_unpack(b.data, b.len, out, raw_bytes);
    buf_fini(&b);
    return status;
}

START_TEST(matches_stay_inside)
{
    uint8_t out[32] = {0};
    /* "abcd", a match of 4 at offset 4, and five last literals */
    ck_assert_int_eq(block_read("\x40"
                                "abcd\x04\x00\x50"
                                "vwxyz",
                                13, "abcdabcdvwxyz", 13, out),
                     SKEIN_OK);
    ck_assert_int_eq(memcmp(out, "abcdabcdvwxyz", 13), 0);
    /* one byte further back than there are, and nowhere */
    ck_assert_int_eq(block_read("\x40"
                                "abcd\x05\x00\x50"
                                "vwxyz",
                                13, "abcdabcdvwxyz", 13, out),
                     SKEIN_CORRUPT);
    ck_assert_int_eq(block_read("\x40"
                                "abcd\x00\x00\x50"
                                "vwxyz",
                                13, "abcdabcdvwxyz", 13, out),
                     SKEIN_CORRUPT);
    /* more literals than there are; a match at the end; a length without an end */
    ck_assert_int_eq(block_read("\xf0\xff\xff\xff", 4, "abcd", 4, out), SKEIN_CORRUPT);
    ck_assert_int_eq(block_read("\x40"
                                "abcd\x04\x00",
                                7, "abcdabcd", 8, out),
                     SKEIN_CORRUPT);
    ck_assert_int_eq(block_read("\x4f"
                                "abcd\x04\x00\xff\xff\xff\xff\xff\xff\xff",
                                14, "abcd", 4, out),
                     SKEIN_CORRUPT);
    /* more than the frame says */
    ck_assert_int_eq(block_read("\x40"
                                "abcd\x04\x00\x50"
                                "vwxyz",
                                13, "abcdabcd", 8, out),
                     SKEIN_CORRUPT);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("lz4_frame", what_liblz4_packs_is_read, damage_is_refused,
                              matches_stay_inside, NULL));
}
