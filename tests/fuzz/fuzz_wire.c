/* SPDX-License-Identifier: Apache-2.0
 * The messages of docs/protocol.md: a frame, and its body as chunk and acknowledgement. What
 * decodes is encoded again and must give the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "wire.h"

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void try_chunk(const uint8_t *body, size_t n)
{
    struct wire_chunk chunk;
    uint8_t header[WIRE_CHUNK_HEADER_BYTES];
    if (wire_chunk_get(body, n, &chunk) != SKEIN_OK)
        return;
    require(chunk.bytes + chunk.bytes_len == body + n);
    require(chunk.index < chunk.count);
    wire_chunk_put(header, &chunk);
    require(memcmp(header, body, sizeof header) == 0);
}

static void try_ack(const uint8_t *body, size_t n)
{
    struct wire_ack ack;
    struct buf again = {0};
    if (wire_ack_get(body, n, &ack) != SKEIN_OK)
        return;
    wire_ack_put(&again, &ack);
    require(again.len == n && memcmp(again.data, body, n) == 0);
    buf_fini(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct wire_frame frame;
    struct buf again = {0};
    /* Bodies are tried bare as well: a checksum in front would keep most mutations out. */
    try_chunk(bytes, n);
    try_ack(bytes, n);
    if (wire_frame_get(bytes, n, &frame) != SKEIN_OK)
        return 0;
    try_chunk(frame.body, frame.body_bytes);
    try_ack(frame.body, frame.body_bytes);
    wire_frame_put(&again, frame.type, frame.id, frame.body, frame.body_bytes);
    require(again.len == n && memcmp(again.data, bytes, n) == 0);
    buf_fini(&again);
    return 0;
}
