/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the bytes of frame, chunk and chunk acknowledgement (docs/protocol.md, whose rules P-n are
 * cited). Pure functions; any thread. A failed decode changes nothing of the caller's.
 */
#include "wire.h"

#include <string.h>

#include "checksum.h"
#include "skein_check.h"

static void le_store(uint8_t *to, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * i));
}

#define FLAG_SEALED 1u /* P-2 */

static void header_store(uint8_t *to, uint8_t type, unsigned flags, uint64_t id, size_t bytes,
                         uint32_t checksum)
{
    le_store(to, WIRE_MAGIC, 4);
    to[4] = WIRE_VERSION;
    to[5] = type;
    le_store(to + 6, flags, 2);
    le_store(to + 8, id, 8);
    le_store(to + 16, bytes, 4);
    le_store(to + 20, checksum, 4);
}

void wire_frame_put(struct buf *b, uint8_t type, uint64_t id, const void *body, size_t body_bytes)
{
    skein_check(body_bytes <= WIRE_DATA_MAX);
    uint8_t *to = buf_reserve(b, WIRE_HEADER_BYTES + body_bytes);
    if (to == NULL)
        return;
    header_store(to, type, 0, id, body_bytes, checksum32(body, body_bytes)); /* P-3 */
    b->len += WIRE_HEADER_BYTES;
    buf_put(b, body, body_bytes);
}

void wire_frame_seal(uint8_t *message, uint8_t type, uint64_t id, size_t body_bytes)
{
    skein_check(body_bytes <= WIRE_DATA_MAX);
    header_store(message, type, 0, id, body_bytes,
                 checksum32(message + WIRE_HEADER_BYTES, body_bytes));
}

void wire_header_sealed(uint8_t *message, uint8_t type, uint64_t id, size_t body_bytes)
{
    skein_check(body_bytes <= WIRE_DATA_MAX);
    header_store(message, type, FLAG_SEALED, id, body_bytes, 0); /* P-3 */
}

static int frame_get(const uint8_t *message, size_t n, unsigned want, struct wire_frame *frame)
{
    struct cursor c;
    cursor_init(&c, message, n);
    uint32_t magic = cursor_u32(&c);
    uint8_t version = cursor_u8(&c);
    if (c.status == SKEIN_OK && magic != WIRE_MAGIC)
        return SKEIN_CORRUPT;
    /* Another version may lay out the rest differently: P-1. */
    if (c.status == SKEIN_OK && version != WIRE_VERSION)
        return SKEIN_VERSION;
    struct wire_frame out;
    out.type = cursor_u8(&c);
    uint16_t flags = cursor_u16(&c);
    out.id = cursor_u64(&c);
    out.body_bytes = cursor_u32(&c);
    uint32_t checksum = cursor_u32(&c);
    out.body = cursor_bytes(&c, out.body_bytes);
    if (c.status != SKEIN_OK)
        return c.status;
    if (flags != want || cursor_left(&c) > 0)
        return SKEIN_CORRUPT;
    if (checksum != (want == FLAG_SEALED ? 0 : checksum32(out.body, out.body_bytes)))
        return SKEIN_CORRUPT;
    *frame = out;
    return SKEIN_OK;
}

int wire_frame_get(const uint8_t *message, size_t n, struct wire_frame *frame)
{
    return frame_get(message, n, 0, frame);
}

int wire_sealed_get(const uint8_t *message, size_t n, struct wire_frame *frame)
{
    return frame_get(message, n, FLAG_SEALED, frame);
}

void wire_chunk_put(uint8_t out[WIRE_CHUNK_HEADER_BYTES], const struct wire_chunk *chunk)
{
    memcpy(out, chunk->key.process.bytes, 16);
    le_store(out + 16, chunk->key.epoch, 8);
    le_store(out + 24, chunk->key.sequence, 8);
    memcpy(out + 32, chunk->capture.bytes, 16);
    le_store(out + 48, chunk->index, 4);
    le_store(out + 52, chunk->count, 4);
    le_store(out + 56, chunk->partition_bytes, 8);
    le_store(out + 64, chunk->partition_checksum, 8);
    le_store(out + 72, chunk->bytes_len, 4);
}

static void key_take(struct cursor *c, struct partition_key *key)
{
    const uint8_t *process = cursor_bytes(c, 16);
    if (process != NULL)
        memcpy(key->process.bytes, process, 16);
    key->epoch = cursor_u64(c);
    key->sequence = cursor_u64(c);
}

/* P-11: the size of the partition decides how many chunks there are and how long each is. */
static bool chunk_fits(const struct wire_chunk *chunk)
{
    uint64_t total = chunk->partition_bytes;
    if (total == 0 || total > WIRE_PARTITION_MAX)
        return false;
    uint64_t count = (total + WIRE_CHUNK_MAX - 1) / WIRE_CHUNK_MAX;
    if (chunk->count != count || chunk->index >= count)
        return false;
    uint64_t last = total - (count - 1) * WIRE_CHUNK_MAX;
    return chunk->bytes_len == (chunk->index + 1 == count ? last : WIRE_CHUNK_MAX);
}

int wire_chunk_get(const uint8_t *body, size_t n, struct wire_chunk *chunk)
{
    struct cursor c;
    cursor_init(&c, body, n);
    struct wire_chunk out = {0};
    key_take(&c, &out.key);
    const uint8_t *capture = cursor_bytes(&c, 16);
    if (capture != NULL)
        memcpy(out.capture.bytes, capture, 16);
    out.index = cursor_u32(&c);
    out.count = cursor_u32(&c);
    out.partition_bytes = cursor_u64(&c);
    out.partition_checksum = cursor_u64(&c);
    out.bytes_len = cursor_u32(&c);
    out.bytes = cursor_bytes(&c, out.bytes_len);
    if (c.status != SKEIN_OK)
        return c.status;
    if (cursor_left(&c) > 0 || !chunk_fits(&out))
        return SKEIN_CORRUPT;
    *chunk = out;
    return SKEIN_OK;
}

void wire_ack_put(struct buf *b, const struct wire_ack *ack)
{
    buf_put(b, ack->key.process.bytes, 16);
    buf_put_u64(b, ack->key.epoch);
    buf_put_u64(b, ack->key.sequence);
    buf_put_u8(b, ack->status);
    buf_put_u32(b, ack->retry_ms);
    buf_put_u32(b, ack->have);
}

int wire_ack_get(const uint8_t *body, size_t n, struct wire_ack *ack)
{
    struct cursor c;
    cursor_init(&c, body, n);
    struct wire_ack out = {0};
    key_take(&c, &out.key);
    out.status = cursor_u8(&c);
    out.retry_ms = cursor_u32(&c);
    out.have = cursor_u32(&c);
    if (c.status != SKEIN_OK)
        return c.status;
    if (cursor_left(&c) > 0 || out.status > WIRE_REJECTED)
        return SKEIN_CORRUPT;
    *ack = out;
    return SKEIN_OK;
}
