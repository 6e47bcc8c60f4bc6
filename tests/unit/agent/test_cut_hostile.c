/* SPDX-License-Identifier: Apache-2.0
 *
 * What a ring that only an enemy would write may cost the agent: memory, names, failed cuts. Each
 * segment claims to be another thread's and holds one record, or none that counts.
 */
#include <malloc.h>

#include "cut_int.h"
#include "hand_ring.h"

#define HOSTILE_BYTES (UINT64_C(64) << 20)
#define COUNT_MAX     (HOSTILE_BYTES / 128) /* */

static size_t peak; /* bytes that were allocated when a partition was finished */

int __real_partition_writer_finish(struct partition_writer *w, struct buf *out,
                                   struct partition_footer *footer);
int __wrap_partition_writer_finish(struct partition_writer *w, struct buf *out,
                                   struct partition_footer *footer);
int __wrap_partition_writer_finish(struct partition_writer *w, struct buf *out,
                                   struct partition_footer *footer)
{
    struct mallinfo2 now = mallinfo2(); /* zeros under a sanitizer */
    peak = now.uordblks + now.hblkhd > peak ? now.uordblks + now.hblkhd : peak;
    return __real_partition_writer_finish(w, out, footer);
}

static uint32_t chunks(void)
{
    return ring_small_count(&process->geometry) + ring_big_count(&process->geometry);
}

static struct ring_chunk *chunk_any(uint32_t index, uint32_t *bytes)
{
    const struct ring_geometry *g = &process->geometry;
    uint32_t small = ring_small_count(g);
    *bytes = index < small ? RING_SMALL_CHUNK : RING_BIG_CHUNK;
    return (struct ring_chunk *)(void *)(process->ring + (index < small
                                                              ? ring_small_offset(g, index)
                                                              : ring_big_offset(g, index - small)));
}

static uint64_t long_ago(void)
{
    return process->attached_clock.ticks - COUNT_MAX;
}

/* All chunks full of the smallest segments, each another thread's from `thread` on, and a tick
 * later than the one before. Returns how many they are. */
static uint32_t segments_put(uint32_t thread, uint32_t epoch, uint64_t base_ticks)
{
    uint32_t first = thread;
    for (uint32_t i = 0; i < chunks(); i++) {
        uint32_t bytes, at = RING_CHUNK_HEADER_BYTES;
        struct ring_chunk *chunk = chunk_any(i, &bytes);
        *chunk = (struct ring_chunk){.state = epoch << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_FULL,
                                     .end_ticks = base_ticks + COUNT_MAX};
        for (uint32_t next = at; next + rows.len <= bytes; thread++) {
            at = next;
            uint8_t *records = (uint8_t *)chunk + at;
            struct ring_segment *segment =
                (struct ring_segment *)(void *)(records - RING_SEGMENT_BYTES);
            *segment = (struct ring_segment){.end = (uint32_t)(at + rows.len),
                                             .base_ticks = base_ticks + thread - first,
                                             .string_epoch = 2,
                                             .slot = RING_SLOT_NONE,
                                             .incarnation = thread,
                                             .tid = thread};
            memset(segment->name, 'x', sizeof segment->name);
            memcpy(records, rows.data, rows.len);
            next = (uint32_t)ring_segment_behind(at + rows.len) + RING_SEGMENT_BYTES;
        }
        chunk->committed = (uint64_t)epoch << 32 | (at + rows.len - sizeof(*chunk));
    }
    return thread - first;
}

/* The caller finishes *result. */
static int window_cut(struct cut_marks *marks, uint64_t to_ns, uint64_t max_bytes,
                      struct cut_result *result)
{
    const struct cut_request request = {.process = process,
                                        .to_ns = to_ns,
                                        .marks = marks,
                                        .epoch = 1,
                                        .host = "test",
                                        .max_bytes = max_bytes};
    struct mallinfo2 before = mallinfo2();
    peak = 0;
    int status = partition_cut(host, &request, result);
    peak -= peak > 0 ? before.uordblks + before.hblkhd : 0;
    return status;
}

static int hostile_cut(struct cut_marks *marks, uint64_t max_bytes, struct cut_result *result)
{
    return window_cut(marks, UINT64_MAX / 2, max_bytes, result);
}

static bool has_gap(const struct cut_result *result, enum partition_loss_reason reason)
{
    for (size_t i = 0; i < result->gap_count; i++)
        if (result->gaps[i].reason == reason)
            return true;
    return false;
}

/* docs/architecture.md says how much. */
START_TEST(a_ring_of_the_smallest_segments_costs_no_more_than_is_said)
{
    ring_begin_of(HOSTILE_BYTES);
    table_put(2);
    row_step(1, 1);
    uint32_t count = segments_put(1, 1, long_ago()), events = 0;
    ck_assert_uint_gt(count, 500000);
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    for (bool more = true; more; cut_result_fini(&result)) {
        ck_assert_int_eq(hostile_cut(marks, 0, &result), SKEIN_OK);
        ck_assert_uint_lt(peak, (size_t)64 << 20);
        ck_assert(has_gap(&result, PARTITION_LOSS_SIZE)); /* of those that are not looked at */
        more = result.more;
        events += (uint32_t)result.events;
    }
    ck_assert_uint_eq(events, RING_PIECES_MORE + chunks());
    ck_assert_uint_le(marks->stream_count, CUT_STREAMS_MAX);
    ck_assert_int_eq(hostile_cut(NULL, 0, &result), SKEIN_OK);
    ck_assert_uint_lt(peak, (size_t)64 << 20);
    ck_assert(has_gap(&result, PARTITION_LOSS_SIZE));
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

/* Threads of chunks that waited and are gone, beside those of the chunks that are there: more than
 * a partition takes. */
START_TEST(more_threads_than_a_partition_takes_fail_no_cut)
{
    ring_begin_of(HOSTILE_BYTES);
    table_put(2);
    row_step(1, 1);
    const uint64_t then = long_ago() - COUNT_MAX;
    uint32_t count = segments_put(1, 1, then);
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    ck_assert_int_eq(hostile_cut(marks, 10, &result), SKEIN_OK);
    ck_assert(result.more);
    ck_assert_uint_gt(marks->waiting_count, RING_PIECES_MORE);
    cut_result_fini(&result);
    (void)segments_put(1 + count, 2, then + COUNT_MAX);
    horizon_put(then + COUNT_MAX);
    ck_assert_int_eq(hostile_cut(marks, 0, &result), SKEIN_OK);
    ck_assert(has_gap(&result, PARTITION_LOSS_OVERWRITTEN));
    ck_assert_uint_eq(result.events, CUT_PIECES_MAX);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

static uint64_t ns_of(uint64_t ticks)
{
    struct clock_snapshot begin, end;
    host_page_line(host, &begin, &end);
    return clock_snapshot_realtime(&begin, &end, ticks);
}

/* Behind the window of the first cut, and gone when the next one looks. */
START_TEST(what_was_not_looked_at_and_is_gone_is_a_gap_of_the_window_that_reaches_there)
{
    ring_begin_of(HOSTILE_BYTES);
    table_put(2);
    row_step(1, 1);
    const uint64_t then = long_ago() - COUNT_MAX;
    uint32_t count = segments_put(1, 1, then), listed = RING_PIECES_MORE + chunks();
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    for (bool more = true; more; cut_result_fini(&result)) {
        ck_assert_int_eq(window_cut(marks, ns_of(then + listed), 0, &result), SKEIN_OK);
        more = result.more;
    }
    (void)segments_put(1 + count, 2, then + COUNT_MAX);
    horizon_put(then + COUNT_MAX);
    ck_assert_int_eq(hostile_cut(marks, 0, &result), SKEIN_OK);
    bool told = false;
    for (size_t i = 0; i < result.gap_count; i++)
        told |= result.gaps[i].reason == PARTITION_LOSS_OVERWRITTEN &&
                result.gaps[i].from_ns <= ns_of(then + count - 100) &&
                result.gaps[i].to_ns >= ns_of(then + count);
    ck_assert(told);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

START_TEST(segments_of_nothing_bring_no_names)
{
    ring_begin_of(HOSTILE_BYTES);
    table_put(2);
    row_control(RING_RECORD_GENERATION, 100);
    (void)segments_put(1, 1, long_ago());
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    ck_assert_int_eq(hostile_cut(marks, 0, &result), SKEIN_OK);
    ck_assert(result.more);
    ck_assert_uint_eq(result.events, 0);
    ck_assert_uint_lt(result.bytes.len, 10000);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

START_TEST(the_oldest_streams_are_forgotten_first)
{
    ring_begin_of(HOSTILE_BYTES);
    table_put(2);
    row_step(1, 1);
    (void)segments_put(1, 1, long_ago());
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(hostile_cut(marks, 0, &result), SKEIN_OK);
        cut_result_fini(&result);
    }
    const uint32_t newest = RING_PIECES_MORE + chunks();
    ck_assert_uint_ge(marks->stream_count, CUT_STREAMS_MAX / 2);
    ck_assert_uint_le(marks->stream_count, CUT_STREAMS_MAX);
    for (uint32_t i = 1; i <= newest; i++) {
        const struct stream_key key = {RING_SLOT_NONE, i, i, false};
        must_hold((cut_marks_stream(marks, &key) != NULL) == (newest - i < marks->stream_count),
                  "stream %u of %u", i, newest);
    }
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("cut_hostile", a_ring_of_the_smallest_segments_costs_no_more_than_is_said,
                 more_threads_than_a_partition_takes_fail_no_cut,
                 what_was_not_looked_at_and_is_gone_is_a_gap_of_the_window_that_reaches_there,
                 segments_of_nothing_bring_no_names, the_oldest_streams_are_forgotten_first, NULL));
}
