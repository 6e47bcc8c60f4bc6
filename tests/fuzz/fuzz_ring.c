/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring as hostile bytes. The input is laid over a ring of 64 KiB: byte 0 chooses the mode and
 * whether the chunks' epochs are made to agree, so that the bytes get past the first checks; then
 * come pieces {offset u16 in units of 8 bytes, length u8, bytes}. The ring is cut twice with marks
 * and twice whole, and what comes out must satisfy the format's own check.
 */
#include <stdlib.h>
#include <string.h>

#include "cutter.h"
#include "fuzz_target.h"
#include "ring_memory.h"
#include "trace_file.h"

#define RING_BYTES (UINT64_C(64) << 10)

static struct host_page_owner *host;

static void require(int condition)
{
    if (!condition)
        abort();
}

static void bytes_lay(uint8_t *ring, const uint8_t *bytes, size_t n)
{
    size_t at = 0;
    while (n - at >= 3) {
        size_t offset = (size_t)(bytes[at] | bytes[at + 1] << 8) * 8 % RING_BYTES;
        size_t length = bytes[at + 2];
        at += 3;
        if (length > n - at)
            length = n - at;
        if (length > RING_BYTES - offset)
            length = RING_BYTES - offset;
        memcpy(ring + offset, bytes + at, length);
        at += length;
    }
}

/* Times, epochs and generations of a chunk's segments that can be believed. */
static void segments_agree(uint8_t *chunk, uint64_t bytes, uint64_t now)
{
    uint64_t next;
    for (uint64_t at = RING_CHUNK_HEADER_BYTES; at <= bytes; at = next) {
        struct ring_segment *segment =
            (struct ring_segment *)(void *)(chunk + at - RING_SEGMENT_BYTES);
        segment->generation &= 0xff;
        segment->base_ticks = now - (segment->base_ticks & 0xffffff);
        segment->string_epoch &= 3;
        next = ring_segment_behind(segment->end) + RING_SEGMENT_BYTES;
        if (segment->end < at)
            return;
    }
}

/* Gives every chunk with any state a committed word and a time that can be believed. */
static void chunks_agree(uint8_t *ring, const struct ring_geometry *g, uint64_t now)
{
    uint32_t small = ring_small_count(g);
    for (uint32_t i = 0; i < small + ring_big_count(g); i++) {
        uint64_t offset = i < small ? ring_small_offset(g, i) : ring_big_offset(g, i - small);
        struct ring_chunk *chunk = (struct ring_chunk *)(void *)(ring + offset);
        if ((chunk->state & RING_CHUNK_STATE_MASK) == RING_CHUNK_FREE)
            continue;
        chunk->state &= ~RING_CHUNK_PIN;
        chunk->committed =
            (uint64_t)(chunk->state >> RING_CHUNK_EPOCH_SHIFT) << 32 | (chunk->committed & 0xffff);
        segments_agree(ring + offset, i < small ? RING_SMALL_CHUNK : RING_BIG_CHUNK, now);
    }
    for (int half = 0; half < 2; half++) {
        struct ring_table *table = (struct ring_table *)(void *)(ring + g->table_off[half]);
        table->committed = (uint64_t)(half + 2) << 32 | (table->committed & 0xfff);
    }
}

static void cut_check(struct process *p, struct cut_marks *marks, uint64_t from_ns, bool restate)
{
    char error[256];
    struct cut_result result;
    const struct cut_request request = {.process = p,
                                        .from_ns = from_ns,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = marks,
                                        .max_bytes = 20000,
                                        .restate = restate};
    int status = partition_cut(host, &request, &result);
    require(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
    if (status == SKEIN_OK)
        require(partition_check(result.bytes.data, result.bytes.len, error, sizeof(error)) ==
                SKEIN_OK);
    cut_result_fini(&result);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n == 0)
        return 0;
    if (host == NULL)
        require(host_page_new(1000, &host) == SKEIN_OK);
    struct process *p = NULL;
    require(process_new(&p) == SKEIN_OK);
    uint8_t mode = (bytes[0] & 1) != 0 ? SKEIN_MODE_ONESHOT : SKEIN_MODE_CIRCULAR;
    require(ring_geometry_init(&p->geometry, mode, RING_BYTES) == SKEIN_OK);
    const struct ring_identity identity = {.pid = 1, .service = "fuzz"};
    require(ring_memory_new(&p->geometry, &identity, &p->ring_fd, &p->ring) == SKEIN_OK);
    host_page_snapshot(host, &p->attached_clock);
    bytes_lay(p->ring, bytes + 1, n - 1);
    if ((bytes[0] & 2) != 0)
        chunks_agree(p->ring, &p->geometry, p->attached_clock.ticks);
    struct cut_marks *marks = NULL;
    require(cut_marks_new(p, &marks) == SKEIN_OK);
    cut_check(p, marks, p->attached_clock.realtime_ns - bytes[0] * UINT64_C(1000), true);
    cut_check(p, marks, p->attached_clock.realtime_ns, true);
    cut_check(p, NULL, 0, false);
    cut_check(p, NULL, 0, true);
    cut_marks_free(&marks);
    process_unref(&p);
    return 0;
}
