/* SPDX-License-Identifier: Apache-2.0
 *
 * A ring that a test writes itself, chunk by chunk. Included by tests of agent/.
 */
#ifndef HAND_RING_H
#define HAND_RING_H

#include "agent_fixture.h"
#include "ring_memory.h"

#define RING_BYTES (UINT64_C(128) << 10)

static struct host_page_owner *host;
static struct process *process;
static struct buf rows;

/* ---- a ring ---- */

static inline void ring_begin_of(uint64_t bytes)
{
    ck_assert_int_eq(host_page_new(100, &host), SKEIN_OK);
    ck_assert_int_eq(process_new(&process), SKEIN_OK);
    ck_assert_int_eq(ring_geometry_init(&process->geometry, SKEIN_MODE_CIRCULAR, bytes), SKEIN_OK);
    const struct ring_identity identity = {.pid = 1, .service = "hand"};
    ck_assert_int_eq(
        ring_memory_new(&process->geometry, &identity, &process->ring_fd, &process->ring),
        SKEIN_OK);
    host_page_first(host, &process->attached_clock);
}

static inline void ring_begin(void)
{
    ring_begin_of(RING_BYTES);
}

static inline void ring_end(void)
{
    process_unref(&process);
    host_page_free(&host);
    buf_fini(&rows);
}

static inline void table_put(uint32_t epoch)
{
    struct buf b = {0}, one = {0};
    buf_put_uleb(&one, RING_EVENT_FIRST);
    buf_put(&one, "\1\0\2", 3); /* instant, group 0, 2 arguments */
    buf_put_text(&one, "step", 4);
    buf_put_text(&one, "", 0);
    buf_put_text(&one, "a.c", 3);
    buf_put_uleb(&one, 12);
    buf_put_u8(&one, SKEIN_T_U64);
    buf_put_text(&one, "n", 1);
    buf_put_text(&one, "", 0);
    buf_put_u8(&one, SKEIN_T_STR);
    buf_put_text(&one, "s", 1);
    buf_put_text(&one, "", 0);
    buf_put_u8(&b, RING_TABLE_EVENT_TYPE);
    buf_put_text(&b, (const char *)one.data, one.len);
    buf_put(&b, "\1\4\1abc", 6); /* string 1 */
    uint8_t *half = process->ring + process->geometry.table_off[epoch % 2];
    const struct ring_table head = {(uint64_t)epoch << 32 | b.len, 0};
    memcpy(half, &head, sizeof(head));
    memcpy(half + sizeof(head), b.data, b.len);
    buf_fini(&b);
    buf_fini(&one);
}

/* An event of "step": its number, and the string word. */
static inline void row_step(uint64_t number, uint64_t string)
{
    buf_put_uleb(&rows, RING_EVENT_FIRST);
    buf_put_uleb(&rows, 10);
    buf_put_uleb(&rows, number);
    buf_put_uleb(&rows, string);
}

static inline void row_control(enum ring_record kind, uint64_t value)
{
    buf_put_uleb(&rows, kind);
    buf_put_uleb(&rows, 1);
    buf_put_uleb(&rows, value);
}

struct chunk_spec {
    uint32_t index;
    enum ring_chunk_state state;
    struct ring_chunk head; /* zero: slot 0, incarnation 1, epoch 2, now */
};

static inline void chunk_put(struct chunk_spec spec)
{
    uint8_t *at = process->ring + ring_small_offset(&process->geometry, spec.index);
    struct ring_chunk head = spec.head;
    head.state = (uint32_t)spec.state | 1u << RING_CHUNK_EPOCH_SHIFT;
    head.committed = UINT64_C(1) << 32 | rows.len;
    head.first.string_epoch = head.first.string_epoch == 0 ? 2 : head.first.string_epoch;
    head.first.incarnation = head.first.incarnation == 0 ? 1 : head.first.incarnation;
    head.first.base_ticks =
        head.first.base_ticks == 0 ? process->attached_clock.ticks : head.first.base_ticks;
    memcpy(at, &head, sizeof(head));
    memcpy(at + sizeof(head), rows.data, rows.len);
    buf_clear(&rows);
}

static inline uint64_t now_ticks(void)
{
    struct clock_snapshot now;
    host_page_snapshot(host, &now);
    return now.ticks;
}

/* Goes on in a chunk behind what it holds, as a thread does where another has ended. */
static inline void segment_put(struct chunk_spec spec)
{
    uint8_t *at = process->ring + ring_small_offset(&process->geometry, spec.index);
    struct ring_chunk *chunk = (struct ring_chunk *)(void *)at;
    uint64_t records = sizeof(*chunk), end = sizeof(*chunk) + (uint32_t)chunk->committed;
    struct ring_segment *last = &chunk->first;
    while (last->end != 0) {
        records = ring_segment_behind(last->end) + sizeof(*last);
        last = (struct ring_segment *)(void *)(at + records - sizeof(*last));
    }
    last->end = (uint32_t)end;
    struct ring_segment head = spec.head.first;
    head.string_epoch = 2;
    head.base_ticks = head.base_ticks == 0 ? last->base_ticks + 1000 : head.base_ticks;
    memcpy(at + ring_segment_behind(end), &head, sizeof(head));
    memcpy(at + ring_segment_behind(end) + sizeof(head), rows.data, rows.len);
    chunk->committed =
        UINT64_C(1) << 32 | (ring_segment_behind(end) + sizeof(head) + rows.len - sizeof(*chunk));
    chunk->state = (uint32_t)spec.state | 1u << RING_CHUNK_EPOCH_SHIFT;
    buf_clear(&rows);
}

/* Its last thread writes on. */
static inline void chunk_grow(uint32_t index)
{
    uint8_t *at = process->ring + ring_small_offset(&process->geometry, index);
    struct ring_chunk *chunk = (struct ring_chunk *)(void *)at;
    memcpy(at + sizeof(*chunk) + (uint32_t)chunk->committed, rows.data, rows.len);
    chunk->committed += rows.len;
    buf_clear(&rows);
}

/* As a writer does before it claims a chunk again. */
static inline void horizon_put(uint64_t ticks)
{
    ((struct ring_header *)(void *)process->ring)->overwritten_ticks = ticks;
}

/* As a writer counts what it loses. */
static inline void loss_put(enum ring_loss kind, uint64_t ticks, uint64_t records)
{
    const struct ring_geometry *g = &process->geometry;
    uint64_t time = ticks >> g->loss_shift;
    struct ring_bucket *buckets = (struct ring_bucket *)(void *)(process->ring + g->loss_off[kind]);
    uint64_t tick = ticks - (time << g->loss_shift);
    buckets[time % g->loss_buckets] = (struct ring_bucket){
        time << RING_LOSS_COUNT_BITS | records, (time & 0xffff) << 48 | tick << 24 | tick};
    ((struct ring_header *)(void *)process->ring)->num_records_dropped += records;
}

static inline struct partition_sum cut(struct cut_marks *marks, struct cut_result *result)
{
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, result), SKEIN_OK);
    return partition_sum_get(&result->bytes);
}

#endif
