/* SPDX-License-Identifier: Apache-2.0
 * Frames, chunks and acknowledgements: round trips, each missing byte, each changed bit. */
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

START_TEST(frame_comes_back)
{
    struct buf b = {0};
    struct wire_frame f;
    wire_frame_put(&b, WIRE_HELLO, 77, "{}", 2);
    ck_assert_uint_eq(b.len, WIRE_HEADER_BYTES + 2);
    ck_assert_int_eq(memcmp(b.data, "SKN1", 4), 0);
    ck_assert_int_eq(wire_frame_get(b.data, b.len, &f), SKEIN_OK);
    ck_assert_int_eq(f.type, WIRE_HELLO);
    ck_assert_uint_eq(f.id, 77);
    ck_assert_uint_eq(f.body_bytes, 2);
    ck_assert_int_eq(memcmp(f.body, "{}", 2), 0);
    buf_fini(&b);
}
END_TEST

START_TEST(sealed_frame_equals_a_put_one)
{
    struct buf b = {0};
    uint8_t message[WIRE_HEADER_BYTES + 5];
    memcpy(message + WIRE_HEADER_BYTES, "hello", 5);
    wire_frame_seal(message, WIRE_CHUNK, 5, 5);
    wire_frame_put(&b, WIRE_CHUNK, 5, "hello", 5);
    ck_assert_int_eq(memcmp(b.data, message, sizeof message), 0);
    buf_fini(&b);
}
END_TEST

START_TEST(every_missing_byte_and_changed_bit_is_noticed)
{
    struct buf b = {0};
    struct wire_frame f = {.id = 12345};
    wire_frame_put(&b, WIRE_REPORT, 1, "{\"ok\":true}", 11);
    for (size_t n = 0; n < b.len; n++)
        ck_assert_int_eq(wire_frame_get(b.data, n, &f), SKEIN_TRUNCATED);
    for (size_t bit = 0; bit < b.len * 8; bit++) {
        size_t at = bit / 8;
        if (at == 5 || (at >= 8 && at < 16)) /* type and id are not in the checksum: P-3 */
            continue;
        b.data[at] ^= (uint8_t)(1u << bit % 8);
        int status = wire_frame_get(b.data, b.len, &f);
        ck_assert_msg(status < 0, "bit %zu", bit);
        if (at == 4)
            ck_assert_int_eq(status, SKEIN_VERSION);
        b.data[at] ^= (uint8_t)(1u << bit % 8);
    }
    ck_assert_uint_eq(f.id, 12345);
    buf_put_u8(&b, 0);
    ck_assert_int_eq(wire_frame_get(b.data, b.len, &f), SKEIN_CORRUPT);
    buf_fini(&b);
}
END_TEST

START_TEST(empty_body_is_a_frame)
{
    struct buf b = {0};
    struct wire_frame f;
    wire_frame_put(&b, WIRE_ERROR, 1, NULL, 0);
    ck_assert_int_eq(wire_frame_get(b.data, b.len, &f), SKEIN_OK);
    ck_assert_uint_eq(f.body_bytes, 0);
    buf_fini(&b);
}
END_TEST

static struct wire_chunk chunk_of(uint64_t partition_bytes, uint32_t index)
{
    struct wire_chunk c = {.index = index, .partition_bytes = partition_bytes};
    c.key.process = process_uid_make(1, "boot", 2, 3);
    c.key.epoch = 4;
    c.key.sequence = 5;
    c.capture = capture_id_new();
    c.partition_checksum = 6;
    c.count = (uint32_t)((partition_bytes + WIRE_CHUNK_MAX - 1) / WIRE_CHUNK_MAX);
    c.bytes_len = index + 1 == c.count
                      ? (uint32_t)(partition_bytes - (uint64_t)(c.count - 1) * WIRE_CHUNK_MAX)
                      : WIRE_CHUNK_MAX;
    return c;
}

/* The body of a chunk with bytes_len zero bytes behind the header. */
static uint8_t *body_of(const struct wire_chunk *c, size_t *n)
{
    *n = WIRE_CHUNK_HEADER_BYTES + (size_t)c->bytes_len;
    uint8_t *body = calloc(1, *n);
    wire_chunk_put(body, c);
    return body;
}

static int chunk_status(const struct wire_chunk *c)
{
    struct wire_chunk out;
    size_t n;
    uint8_t *body = body_of(c, &n);
    int status = wire_chunk_get(body, n, &out);
    free(body);
    return status;
}

START_TEST(chunk_comes_back)
{
    struct wire_chunk c = chunk_of(WIRE_CHUNK_MAX + 10, 1), out;
    size_t n;
    uint8_t *body = body_of(&c, &n);
    ck_assert_uint_eq(c.bytes_len, 10);
    ck_assert_int_eq(wire_chunk_get(body, n, &out), SKEIN_OK);
    ck_assert_int_eq(memcmp(&out.key, &c.key, sizeof c.key), 0);
    ck_assert(capture_id_equal(&out.capture, &c.capture));
    ck_assert_uint_eq(out.index, 1);
    ck_assert_uint_eq(out.count, 2);
    ck_assert(out.partition_bytes == c.partition_bytes && out.partition_checksum == 6);
    ck_assert_ptr_eq(out.bytes, body + WIRE_CHUNK_HEADER_BYTES);
    for (size_t cut = 0; cut < n; cut++)
        ck_assert_int_eq(wire_chunk_get(body, cut, &out), SKEIN_TRUNCATED);
    free(body);
}
END_TEST

START_TEST(chunks_that_do_not_add_up_are_corrupt)
{
    struct wire_chunk c = chunk_of(3 * WIRE_CHUNK_MAX, 2);
    ck_assert_int_eq(chunk_status(&c), SKEIN_OK);
    c.index = 3;
    ck_assert_int_eq(chunk_status(&c), SKEIN_CORRUPT);
    c = chunk_of(3 * WIRE_CHUNK_MAX, 0);
    c.count = 4;
    ck_assert_int_eq(chunk_status(&c), SKEIN_CORRUPT);
    c = chunk_of(3 * WIRE_CHUNK_MAX, 0);
    c.bytes_len--;
    ck_assert_int_eq(chunk_status(&c), SKEIN_CORRUPT);
    c = chunk_of(1, 0);
    c.partition_bytes = 0;
    ck_assert_int_eq(chunk_status(&c), SKEIN_CORRUPT);
    c.partition_bytes = UINT64_MAX;
    ck_assert_int_eq(chunk_status(&c), SKEIN_CORRUPT);
    c = chunk_of(WIRE_PARTITION_MAX, 0);
    ck_assert_int_eq(chunk_status(&c), SKEIN_OK);
    c.partition_bytes++;
    c.count++;
    ck_assert_int_eq(chunk_status(&c), SKEIN_CORRUPT);
}
END_TEST

START_TEST(largest_chunk_fits_the_data_connection)
{
    ck_assert_uint_le(WIRE_HEADER_BYTES + WIRE_CHUNK_HEADER_BYTES + WIRE_CHUNK_MAX, WIRE_DATA_MAX);
}
END_TEST

START_TEST(ack_comes_back)
{
    struct wire_ack ack = {.status = WIRE_RETRY, .retry_ms = 500, .have = 3}, out;
    struct buf b = {0};
    ack.key.process = process_uid_make(9, "boot", 2, 3);
    ack.key.epoch = 8;
    ack.key.sequence = UINT64_MAX;
    wire_ack_put(&b, &ack);
    ck_assert_int_eq(wire_ack_get(b.data, b.len, &out), SKEIN_OK);
    ck_assert_int_eq(memcmp(&out.key, &ack.key, sizeof ack.key), 0);
    ck_assert_int_eq(out.status, WIRE_RETRY);
    ck_assert_uint_eq(out.retry_ms, 500);
    ck_assert_uint_eq(out.have, 3);
    for (size_t cut = 0; cut < b.len; cut++)
        ck_assert_int_eq(wire_ack_get(b.data, cut, &out), SKEIN_TRUNCATED);
    b.data[32] = 4;
    ck_assert_int_eq(wire_ack_get(b.data, b.len, &out), SKEIN_CORRUPT);
    b.data[32] = 0;
    buf_put_u8(&b, 0);
    ck_assert_int_eq(wire_ack_get(b.data, b.len, &out), SKEIN_CORRUPT);
    buf_fini(&b);
}
END_TEST

/* As random bytes say; the seed is fixed, or SKEIN_TEST_SEED. */
static void fill(void *bytes, size_t n)
{
    static uint64_t state;
    const char *given = getenv("SKEIN_TEST_SEED");
    if (state == 0) {
        state = given != NULL ? strtoull(given, NULL, 10) : 20261122;
        fprintf(stderr, "SKEIN_TEST_SEED=%llu\n", (unsigned long long)state);
    }
    for (size_t i = 0; i < n; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        ((uint8_t *)bytes)[i] = (uint8_t)state;
    }
}

START_TEST(random_chunks_and_answers_come_back)
{
    static uint8_t body[WIRE_CHUNK_HEADER_BYTES + 256];
    for (int round = 0; round < 2000; round++) {
        struct wire_chunk a = {0}, b;
        struct wire_ack c = {0}, d;
        struct wire_frame frame;
        struct buf message = {0};
        uint8_t length, status;
        uint64_t id;
        fill(&id, sizeof id);
        fill(&length, 1);
        fill(&status, 1);
        fill(&a.key, sizeof a.key);
        fill(&a.capture, sizeof a.capture);
        fill(&a.partition_checksum, sizeof a.partition_checksum);
        a.count = 1;
        a.partition_bytes = a.bytes_len = 1u + length;
        wire_chunk_put(body, &a);
        wire_frame_put(&message, WIRE_CHUNK, id, body, WIRE_CHUNK_HEADER_BYTES + a.bytes_len);
        ck_assert_int_eq(wire_frame_get(message.data, message.len, &frame), SKEIN_OK);
        ck_assert(frame.type == WIRE_CHUNK && frame.id == id);
        ck_assert_int_eq(wire_chunk_get(frame.body, frame.body_bytes, &b), SKEIN_OK);
        ck_assert_mem_eq(&a.key, &b.key, sizeof a.key);
        ck_assert_mem_eq(&a.capture, &b.capture, sizeof a.capture);
        ck_assert(a.count == b.count && a.index == b.index && a.bytes_len == b.bytes_len);
        ck_assert(a.partition_bytes == b.partition_bytes);
        ck_assert(a.partition_checksum == b.partition_checksum);
        buf_clear(&message);
        c.key = a.key;
        c.status = status % 4;
        fill(&c.retry_ms, sizeof c.retry_ms);
        fill(&c.have, sizeof c.have);
        wire_ack_put(&message, &c);
        ck_assert_int_eq(wire_ack_get(message.data, message.len, &d), SKEIN_OK);
        ck_assert_mem_eq(&c.key, &d.key, sizeof c.key);
        ck_assert(c.status == d.status && c.retry_ms == d.retry_ms && c.have == d.have);
        buf_fini(&message);
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of("wire", frame_comes_back, sealed_frame_equals_a_put_one,
                              every_missing_byte_and_changed_bit_is_noticed, empty_body_is_a_frame,
                              chunk_comes_back, chunks_that_do_not_add_up_are_corrupt,
                              largest_chunk_fits_the_data_connection, ack_comes_back,
                              random_chunks_and_answers_come_back, NULL));
}
