/* SPDX-License-Identifier: Apache-2.0
 * Rings made by hand: what the library would rarely write, and what only an enemy would. */
#include "hand_ring.h"

/* ---- tests ---- */

START_TEST(strings_inline_interned_and_unknown)
{
    ring_begin();
    table_put(2);
    row_step(1, 1 << 1);       /* interned "abc" */
    row_step(2, 99 << 1);      /* nobody knows it */
    row_step(3, (2 << 1) | 1); /* "hi" */
    buf_put(&rows, "hi", 2);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.steps, 3);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_NAME], 1);
    ck_assert_uint_eq(result.gap_count, 0); /* the event is there */
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(losses_are_told_where_they_happened)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL});
    row_step(2, 1);
    row_control(RING_RECORD_LOST, 7);
    row_step(3, 1);
    chunk_put(
        (struct chunk_spec){.index = 1,
                            .state = RING_CHUNK_WRITING,
                            .head = {.first.sequence = 1,
                                     .first.lost_before = 5,
                                     .first.base_ticks = process->attached_clock.ticks + 50}});
    loss_put(RING_LOSS_FULL, process->attached_clock.ticks, 20); /* 8 of threads without a chunk */
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.steps, 3);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_RING_FULL], 20);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_SIGNAL], 0);
    ck_assert_uint_eq(sum.lost, 20);
    ck_assert_uint_eq(result.gap_count, 1);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(a_missing_chunk_is_a_gap_between_its_neighbours)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL});
    row_step(2, 1);
    chunk_put((struct chunk_spec){
        .index = 1,
        .state = RING_CHUNK_WRITING,
        .head = {.first.sequence = 5, .first.base_ticks = process->attached_clock.ticks + 100}});
    horizon_put(process->attached_clock.ticks + 90);
    struct cut_result result;
    ck_assert_uint_eq(cut(NULL, &result).losses, 2); /* the thread's, and the process's */
    ck_assert_uint_eq(result.gap_count, 1);
    ck_assert_int_eq(result.gaps[0].reason, PARTITION_LOSS_OVERWRITTEN);
    ck_assert_uint_lt(result.gaps[0].from_ns, result.gaps[0].to_ns);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(a_window_of_which_all_is_overwritten_is_a_gap)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){
        .index = 0,
        .state = RING_CHUNK_WRITING,
        .head = {.first.sequence = 5, .first.base_ticks = process->attached_clock.ticks}});
    horizon_put(process->attached_clock.ticks);
    struct cut_result result;
    const struct cut_request request = {.process = process,
                                        .from_ns = process->attached_clock.realtime_ns - 2000000,
                                        .to_ns = process->attached_clock.realtime_ns - 1000000,
                                        .epoch = 1,
                                        .host = "test"};
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 1);
    ck_assert_int_eq(result.gaps[0].reason, PARTITION_LOSS_OVERWRITTEN);
    ck_assert_uint_ge(result.gaps[0].from_ns + 1000, request.from_ns);
    ck_assert_uint_le(result.gaps[0].to_ns, request.to_ns + 1000);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(a_later_generation_waits_for_the_next_cut)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    row_control(RING_RECORD_GENERATION, 101);
    row_step(2, 1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING, .head = {.first.generation = 100}});
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    struct partition_sum sum = cut(marks, &result); /* ends generation 100 */
    ck_assert_uint_eq(sum.steps, 1);
    ck_assert_uint_eq(sum.last_u64, 1);
    cut_result_fini(&result);
    sum = cut(marks, &result);
    ck_assert_uint_eq(sum.steps, 1);
    ck_assert_uint_eq(sum.last_u64, 2);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

START_TEST(an_unknown_event_type_loses_the_rest_of_its_chunk_only)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    row_control((enum ring_record)40, 1); /* no such type */
    row_step(2, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL});
    row_step(3, 1);
    chunk_put((struct chunk_spec){
        .index = 1,
        .state = RING_CHUNK_WRITING,
        .head = {.first.sequence = 1, .first.base_ticks = process->attached_clock.ticks + 90}});
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.instants, 2);
    ck_assert_uint_eq(result.gap_count, 1);
    ck_assert_int_eq(result.gaps[0].reason, PARTITION_LOSS_NAME);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(garbage_in_a_chunk_is_a_corrupt_gap_told_once_for_what_there_is)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    row_control((enum ring_record)9, 1); /* no such control record */
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    cut(marks, &result);
    ck_assert_uint_eq(result.gap_count, 1);
    ck_assert_int_eq(result.gaps[0].reason, PARTITION_LOSS_CORRUPT);
    cut_result_fini(&result);
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    row_step(2, 1);
    chunk_grow(0); /* what comes behind the garbage is lost too */
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 1);
    cut_result_fini(&result);
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

START_TEST(epochs_that_disagree_hide_the_chunk)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    uint8_t *at = process->ring + ring_small_offset(&process->geometry, 0);
    ((struct ring_chunk *)(void *)at)->committed += UINT64_C(1) << 32;
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(host, process, NULL, 0, &result), SKEIN_NOT_FOUND);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(signal_chunks_are_a_thread_of_their_own)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_WRITING});
    row_step(2, 1);
    chunk_put((struct chunk_spec){
        .index = 1, .state = RING_CHUNK_WRITING, .head = {.first.flags = RING_SEGMENT_SIGNAL}});
    struct cut_result result;
    cut(NULL, &result);
    struct partition_footer footer;
    size_t need = 0;
    ck_assert_int_eq(partition_footer_get(result.bytes.data, result.bytes.len, &footer, &need),
                     SKEIN_OK);
    ck_assert_uint_eq(footer.threads, 2);
    ck_assert_uint_eq(result.gap_count, 0);
    partition_footer_free(&footer);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(a_window_leaves_out_what_lies_before_it)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put(
        (struct chunk_spec){.index = 0,
                            .state = RING_CHUNK_FULL,
                            .head = {.first.incarnation = 1,
                                     .first.base_ticks = process->attached_clock.ticks - 5000}});
    row_step(2, 1);
    chunk_put(
        (struct chunk_spec){.index = 1,
                            .state = RING_CHUNK_FULL,
                            .head = {.first.incarnation = 2, .first.base_ticks = now_ticks()}});
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(host, process, NULL, process->attached_clock.realtime_ns, &result),
                     SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.instants, 1);
    ck_assert_uint_eq(sum.last_u64, 2);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

/* A record behind a pause of so many ticks. */
static void row_later(uint64_t kind, uint64_t delta, uint64_t value)
{
    buf_put_uleb(&rows, kind);
    buf_put_uleb(&rows, delta);
    if (kind != RING_RECORD_END)
        buf_put_uleb(&rows, value);
}

#define LONG_AGO 50000 /* ticks */

START_TEST(a_chunk_that_reaches_the_window_leaves_its_older_records_behind)
{
    ring_begin();
    table_put(2);
    row_later(RING_RECORD_OPEN, 7, RING_EVENT_FIRST);
    row_step(1, 1);
    row_later(RING_RECORD_LOST, 1, 9);
    row_later(RING_RECORD_LOST, LONG_AGO, 4);
    row_step(2, 1);
    row_later(RING_RECORD_END, 1, 0);
    chunk_put((struct chunk_spec){
        .state = RING_CHUNK_FULL,
        .head = {.first.base_ticks = process->attached_clock.ticks - LONG_AGO + 20}});
    uint64_t from_ns = process->attached_clock.realtime_ns;
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    ck_assert_int_eq(fixture_cut(host, process, marks, from_ns, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.instants, 1);
    ck_assert_uint_eq(sum.last_u64, 2);
    ck_assert_uint_eq(sum.regions, 1); /* began before the window, and is known to have */
    ck_assert_uint_eq(sum.lost, 0); /* before the window, or in it: the buckets know, here none */
    ck_assert_uint_ge(result.from_ns + 1000, from_ns);
    cut_result_fini(&result);
    /* What was left out does not come with the capture's next cut. */
    ck_assert_int_eq(fixture_cut(host, process, marks, from_ns, &result), SKEIN_NOT_FOUND);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ck_assert_uint_eq(cut(NULL, &result).instants, 2); /* without a bound, everything does */
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(an_idle_thread_brings_the_ranges_that_it_is_still_in_and_no_more)
{
    ring_begin();
    table_put(2);
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1)
            row_later(RING_RECORD_OPEN, 7, RING_EVENT_FIRST);
        row_step(i, 1);
        chunk_put((struct chunk_spec){
            .index = i,
            .state = RING_CHUNK_WRITING,
            .head = {.first.incarnation = i + 1,
                     .first.tid = 10 + i,
                     .first.base_ticks = process->attached_clock.ticks - LONG_AGO}});
    }
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(host, process, NULL, process->attached_clock.realtime_ns, &result),
                     SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.instants, 0);
    ck_assert_uint_eq(sum.opens, 1);
    struct partition_footer footer;
    size_t need = 0;
    ck_assert_int_eq(partition_footer_get(result.bytes.data, result.bytes.len, &footer, &need),
                     SKEIN_OK);
    ck_assert_uint_eq(footer.threads, 1);
    ck_assert_uint_eq(footer.events, 0);
    partition_footer_free(&footer);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

START_TEST(who_joins_is_told_the_ranges_of_threads_that_were_idle_since)
{
    ring_begin();
    table_put(2);
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1)
            row_later(RING_RECORD_OPEN, 7, RING_EVENT_FIRST);
        row_step(i, 1);
        chunk_put((struct chunk_spec){.index = i,
                                      .state = RING_CHUNK_WRITING,
                                      .head = {.first.incarnation = i + 1, .first.tid = 10 + i}});
    }
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    ck_assert_uint_eq(cut(marks, &result).instants, 2);
    cut_result_fini(&result);
    struct cut_request request = {
        .process = process, .to_ns = UINT64_MAX / 2, .marks = marks, .epoch = 1, .host = "test"};
    for (int restate = 0; restate < 3; restate++) {
        request.restate = restate == 1;
        ck_assert_int_eq(partition_cut(host, &request, &result),
                         request.restate ? SKEIN_OK : SKEIN_NOT_FOUND);
        if (request.restate) {
            struct partition_sum sum = partition_sum_get(&result.bytes);
            ck_assert_uint_eq(sum.opens, 1);
            ck_assert_uint_eq(sum.instants, 0);
            ck_assert_uint_eq(sum.losses, 0);
        }
        cut_result_fini(&result);
    }
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

/* Every window is answered for itself, however often it is asked for. */
START_TEST(losses_are_those_of_the_window)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL});
    const struct clock_snapshot *c = &process->attached_clock;
    struct clock_snapshot before = *c, end;
    host_page_snapshot(host, &end);
    host_page_first(host, &before);
    const uint64_t now = c->ticks,
                   second = now - clock_snapshot_ticks(&before, &end, c->realtime_ns - 1000000000u);
    loss_put(RING_LOSS_FULL, now - 20 * second, 300);
    loss_put(RING_LOSS_FULL, now - 10 * second, 40);
    loss_put(RING_LOSS_SIGNAL, now - 10 * second, 5);
    static const struct {
        unsigned from_s, to_s, full, signal, gaps;
    } windows[] = {{5, 0, 0, 0, 0}, {15, 0, 40, 5, 2},  {30, 0, 340, 5, 3}, {30, 15, 300, 0, 1},
                   {8, 2, 0, 0, 0}, {30, 0, 340, 5, 3}, {5, 0, 0, 0, 0}};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        const uint64_t at_ns = process->attached_clock.realtime_ns;
        const struct cut_request request = {.process = process,
                                            .from_ns = at_ns - windows[i].from_s * 1000000000ull,
                                            .to_ns = at_ns - windows[i].to_s * 1000000000ull,
                                            .epoch = 1,
                                            .host = "test"};
        struct cut_result result;
        int status = partition_cut(host, &request, &result);
        ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
        ck_assert_uint_eq(result.lost[PARTITION_LOSS_RING_FULL], windows[i].full);
        ck_assert_uint_eq(result.lost[PARTITION_LOSS_SIGNAL], windows[i].signal);
        ck_assert_uint_eq(result.gap_count, windows[i].gaps);
        cut_result_fini(&result);
    }
    ring_end();
}
END_TEST

/* Later losses took the buckets: what is known is that there were some, and until when. */
START_TEST(losses_whose_time_is_forgotten_are_a_gap_without_a_count)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL});
    const uint64_t now = process->attached_clock.ticks;
    loss_put(RING_LOSS_FULL, now - 1000000, 7);
    ((struct ring_header *)(void *)process->ring)->num_records_dropped += 9;
    struct cut_request request = {.process = process,
                                  .from_ns = process->attached_clock.realtime_ns - 30000000000u,
                                  .to_ns = UINT64_MAX / 2,
                                  .epoch = 1,
                                  .host = "test"};
    for (unsigned i = 0; i < 2; i++) {
        struct cut_result result;
        ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
        ck_assert_uint_eq(result.lost[PARTITION_LOSS_RING_FULL], 7);
        ck_assert_uint_eq(result.gap_count, 1 + i);
        cut_result_fini(&result);
        request.from_ns -= 60000000000u;
    }
    ring_end();
}
END_TEST

/* What was overwritten is told up to the horizon; a window that begins behind it is whole. */
START_TEST(nothing_is_missing_behind_the_horizon)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put(
        (struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL, .head = {.first.sequence = 3}});
    horizon_put(process->attached_clock.ticks - LONG_AGO);
    struct cut_request request = {.process = process,
                                  .from_ns = process->attached_clock.realtime_ns - 1000000,
                                  .to_ns = UINT64_MAX / 2,
                                  .epoch = 1,
                                  .host = "test"};
    struct cut_result result;
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    request.from_ns = 0;
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
    ck_assert_uint_eq(result.gap_count, 1);
    ck_assert_uint_lt(result.gaps[0].to_ns, process->attached_clock.realtime_ns - 1000000);
    cut_result_fini(&result);
    horizon_put(UINT64_MAX); /* a hostile one */
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
    ck_assert_uint_eq(result.gap_count, 1);
    ck_assert_uint_le(result.gaps[0].to_ns, process->attached_clock.realtime_ns + 60000000000u);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

/* Whatever ticks the end of the gap is in another look. */
START_TEST(a_look_tells_once_what_is_gone)
{
    ring_begin();
    table_put(2);
    row_step(1, 1);
    chunk_put((struct chunk_spec){.index = 0, .state = RING_CHUNK_FULL});
    horizon_put(process->attached_clock.ticks - LONG_AGO);
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    struct cut_request request = {.process = process,
                                  .from_ns = process->attached_clock.realtime_ns - 1000000000,
                                  .to_ns = UINT64_MAX / 2,
                                  .marks = marks,
                                  .look = true,
                                  .epoch = 1,
                                  .host = "test"};
    for (unsigned i = 0; i < 10; i++) {
        struct cut_result result;
        int status = partition_cut(host, &request, &result);
        ck_assert_int_eq(status, i == 0 ? SKEIN_OK : SKEIN_NOT_FOUND);
        ck_assert_uint_eq(result.gap_count, i == 0);
        if (i == 0)
            request.from_ns = result.gaps[0].to_ns;
        cut_result_fini(&result);
    }
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

START_TEST(nothing_is_missing_before_the_process_began)
{
    ring_begin();
    horizon_put(now_ticks());
    struct cut_result result;
    const struct clock_snapshot *attached = &process->attached_clock;
    struct cut_request request = {.process = process,
                                  .from_ns = attached->realtime_ns - 20000000,
                                  .to_ns = attached->realtime_ns - 10000000,
                                  .epoch = 1,
                                  .host = "test"};
    for (int later = 0; later < 2; later++) {
        process->start_ns = attached->realtime_ns - (later ? 5000000 : 15000000);
        partition_cut(host, &request, &result);
        ck_assert_uint_eq(result.gap_count, later ? 0 : 1);
        cut_result_fini(&result);
    }
    ring_end();
}
END_TEST

/* A chunk that waited for the second partition is used again before that is cut, by a thread that
 * leaves nothing else; what the first one took may go. */
static void chunks_go(unsigned gone)
{
    ring_begin();
    table_put(2);
    const uint64_t t = process->attached_clock.ticks - LONG_AGO;
    for (uint32_t i = 0; i < 2; i++) {
        for (uint64_t n = 0; n < 20; n++)
            row_step(n, 1);
        chunk_put((struct chunk_spec){.index = i,
                                      .state = RING_CHUNK_FULL,
                                      .head = {.first.incarnation = i + 1,
                                               .first.tid = i + 1,
                                               .first.base_ticks = t + 1000 * i}});
    }
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    const struct cut_request request = {.process = process,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = marks,
                                        .epoch = 1,
                                        .host = "test",
                                        .max_bytes = 10};
    struct cut_result result;
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
    ck_assert(result.more);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    for (uint32_t i = 0; i < 1 + gone; i++) {
        horizon_put(t + 1000 * i + 200);
        uint8_t *at = process->ring + ring_small_offset(&process->geometry, i);
        ((struct ring_chunk *)(void *)at)->state =
            2u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING;
    }
    int status = partition_cut(host, &request, &result);
    ck_assert_int_eq(status, gone == 0 ? SKEIN_OK : SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, gone);
    cut_result_fini(&result);
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}

START_TEST(a_chunk_that_waited_and_is_gone_is_a_gap)
{
    chunks_go(0);
    chunks_go(1);
}
END_TEST

static void steps(uint64_t count)
{
    for (uint64_t n = 0; n < count; n++)
        row_step(n, 1);
}

static struct chunk_spec thread_spec(uint32_t index, uint32_t thread)
{
    return (struct chunk_spec){.index = index,
                               .state = RING_CHUNK_WRITING,
                               .head = {.first.incarnation = thread, .first.tid = thread}};
}

static uint64_t threads_of(const struct cut_result *result)
{
    struct partition_footer footer;
    size_t need = 0;
    ck_assert_int_eq(partition_footer_get(result->bytes.data, result->bytes.len, &footer, &need),
                     SKEIN_OK);
    uint64_t threads = footer.threads;
    partition_footer_free(&footer);
    return threads;
}

START_TEST(a_chunk_of_several_threads_is_taken_where_it_was_left)
{
    ring_begin();
    table_put(2);
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    steps(5);
    chunk_put(thread_spec(0, 1));
    steps(3);
    segment_put(thread_spec(0, 2));
    ck_assert_uint_eq(cut(marks, &result).instants, 8);
    ck_assert_uint_eq(threads_of(&result), 2);
    cut_result_fini(&result);
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
    cut_result_fini(&result);
    steps(4);
    chunk_grow(0); /* thread 2 */
    for (uint32_t thread = 3; thread < 9; thread++) {
        steps(2);
        segment_put(thread_spec(0, thread));
    }
    ck_assert_uint_eq(cut(marks, &result).instants, 4 + 6 * 2);
    ck_assert_uint_eq(threads_of(&result), 7);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    ck_assert_uint_eq(cut(NULL, &result).instants, 5 + 3 + 4 + 6 * 2);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

/* Only an enemy numbers two alike: they come as they lie. */
START_TEST(segments_of_one_number_come_in_their_order)
{
    ring_begin();
    table_put(2);
    row_step(0, 1);
    chunk_put(thread_spec(0, 1));
    for (uint64_t n = 1; n < 6; n++) {
        row_step(n, 1);
        segment_put(thread_spec(0, 1));
    }
    struct cut_result result;
    struct partition_sum sum = cut(NULL, &result);
    ck_assert_uint_eq(sum.steps, 6);
    ck_assert_uint_eq(sum.jumps, 0);
    cut_result_fini(&result);
    ring_end();
}
END_TEST

/* Chunks whose threads take turns, cut in the smallest parts: each record comes once. */
START_TEST(parts_of_shared_chunks_bring_every_record_once)
{
    ring_begin();
    table_put(2);
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    uint64_t want = 0;
    for (uint32_t i = 0; i < 3; i++)
        for (uint32_t turn = 0; turn < 7; turn++) {
            struct chunk_spec spec = thread_spec(i, 10 * i + turn + 1);
            spec.head.first.base_ticks =
                process->attached_clock.ticks - LONG_AGO + 1000 * turn + (turn % 2 ? i : 3 - i);
            steps(1 + turn + i);
            want += 1 + turn + i;
            if (turn == 0)
                chunk_put(spec);
            else
                segment_put(spec);
        }
    const struct cut_request request = {.process = process,
                                        .to_ns = UINT64_MAX / 2,
                                        .marks = marks,
                                        .epoch = 1,
                                        .host = "test",
                                        .max_bytes = 60};
    uint64_t got = 0, parts = 0;
    for (bool more = true; more; parts++) {
        struct cut_result result;
        ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
        got += partition_sum_get(&result.bytes).instants;
        ck_assert_uint_eq(result.gap_count, 0);
        more = result.more;
        cut_result_fini(&result);
    }
    ck_assert_uint_eq(got, want);
    ck_assert_uint_gt(parts, 7);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

/* A thread writes on in a chunk of which all was taken; then the chunk is used again, once. */
START_TEST(what_came_to_a_shared_chunk_after_a_cut_and_is_gone_is_a_gap)
{
    ring_begin();
    table_put(2);
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    steps(5);
    chunk_put(thread_spec(0, 1));
    steps(5);
    chunk_put(thread_spec(1, 2));
    cut(marks, &result);
    cut_result_fini(&result);
    for (uint32_t i = 0; i < 2; i++) {
        uint8_t *at = process->ring + ring_small_offset(&process->geometry, i);
        ((struct ring_chunk *)(void *)at)->state =
            2u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING;
        horizon_put(i == 0 ? process->attached_clock.ticks + 50 /* its end, as it was taken */
                           : now_ticks());
        ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
        ck_assert_uint_eq(result.gap_count, i);
        cut_result_fini(&result);
    }
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

#define AHEAD_TICKS 50000 /* later than when the first cut looks */

/* Its thread saw the switch, wrote and ended, all before the first cut looked; then the chunk is
 * used again, once, and nothing else is. */
START_TEST(what_a_cut_left_of_a_full_chunk_and_is_gone_is_a_gap)
{
    ring_begin();
    table_put(2);
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(process, &marks), SKEIN_OK);
    row_step(1, 1);
    row_control(RING_RECORD_GENERATION, 101);
    row_later(RING_EVENT_FIRST, AHEAD_TICKS, 2);
    buf_put_uleb(&rows, 1);
    chunk_put((struct chunk_spec){.state = RING_CHUNK_FULL, .head = {.first.generation = 100}});
    ck_assert_uint_eq(cut(marks, &result).steps, 1);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    uint8_t *at = process->ring + ring_small_offset(&process->geometry, 0);
    struct ring_chunk *chunk = (struct ring_chunk *)(void *)at;
    const uint64_t end = chunk->first.base_ticks + 11 + AHEAD_TICKS;
    while (now_ticks() <= end)
        continue;
    horizon_put(end);
    chunk->state = 2u << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING;
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 1);
    cut_result_fini(&result);
    ck_assert_int_eq(fixture_cut(host, process, marks, 0, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ring_end();
}
END_TEST

/* Ends that lie before, behind and upon each other: never more than is committed. */
START_TEST(segments_of_a_hostile_writer_stay_within_their_chunk)
{
    const uint32_t ends[] = {1,    23,   24,         111,        112,        113,    200,
                             4000, 4096, UINT32_MAX, 0xffffffc0, 0x7fffffff, 0x10000};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        for (int later = 0; later < 2; later++) {
            ring_begin();
            table_put(2);
            steps(20);
            chunk_put(thread_spec(0, 1));
            steps(20);
            segment_put(thread_spec(0, 2));
            steps(20);
            segment_put(thread_spec(0, 3));
            uint8_t *at = process->ring + ring_small_offset(&process->geometry, 0);
            struct ring_chunk *chunk = (struct ring_chunk *)(void *)at;
            void *second = at + ring_segment_behind(chunk->first.end);
            *(later ? &((struct ring_segment *)second)->end : &chunk->first.end) = ends[i];
            struct cut_result result;
            int status = fixture_cut(host, process, NULL, 0, &result);
            ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
            if (status == SKEIN_OK)
                ck_assert_uint_le(partition_sum_get(&result.bytes).instants, 60);
            cut_result_fini(&result);
            ring_end();
        }
}
END_TEST

/* An event of a group, with its description in the record. */
static void row_inline(unsigned klass, unsigned group)
{
    buf_put_uleb(&rows, RING_RECORD_INLINE);
    buf_put_uleb(&rows, 1);
    buf_put_u8(&rows, (uint8_t)klass);
    buf_put_u8(&rows, (uint8_t)group);
    buf_put_u8(&rows, 0);
    buf_put_text(&rows, "x", 1);
}

/* net{ io{ log app } net-instant io{ OPEN … */
START_TEST(events_of_all_groups_are_taken)
{
    ring_begin();
    table_put(2);
    row_later(RING_RECORD_OPEN, 7, RING_EVENT_FIRST); /* group 0, open since before */
    row_inline(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP_NET);
    row_inline(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP_IO);
    row_inline(SKEIN_CLASS_INSTANT, SKEIN_GROUP_APP);
    row_inline(SKEIN_CLASS_INSTANT, 63);
    row_later(RING_RECORD_END, 1, 0); /* io */
    row_inline(SKEIN_CLASS_INSTANT, SKEIN_GROUP_NET);
    row_later(RING_RECORD_END, 1, 0); /* net */
    row_inline(SKEIN_CLASS_RANGE_BEGIN, SKEIN_GROUP_IO);
    row_later(RING_RECORD_END, 1, 0); /* io */
    row_later(RING_RECORD_END, 1, 0); /* the one that was open */
    chunk_put((struct chunk_spec){.state = RING_CHUNK_WRITING});
    struct cut_result result;
    const struct cut_request request = {
        .process = process, .to_ns = UINT64_MAX / 2, .epoch = 1, .host = "test"};
    ck_assert_int_eq(partition_cut(host, &request, &result), SKEIN_OK);
    struct partition_sum all = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    ck_assert_uint_eq(all.instants, 3);
    ck_assert_uint_eq(all.regions, 4);
    ck_assert_uint_eq(all.end_onlys, 0);
    ring_end();
}
END_TEST

START_TEST(random_damage_anywhere_never_hurts)
{
    unsigned seed = 12345;
    for (int round = 0; round < 150; round++) {
        ring_begin();
        table_put(2);
        for (uint32_t i = 0; i < 4; i++) {
            for (uint64_t n = 0; n < 40; n++)
                row_step(n, 1);
            chunk_put((struct chunk_spec){
                .index = i, .state = RING_CHUNK_FULL, .head = {.first.sequence = i}});
            steps(10);
            segment_put(thread_spec(i, 5));
        }
        /* Header, process record, slots, table heads, and the start of each chunk: byte by byte. */
        for (int hit = 0; hit < 40; hit++) {
            uint64_t base = ring_small_offset(&process->geometry, (uint32_t)rand_r(&seed) % 4);
            uint64_t span = 400;
            if (rand_r(&seed) % 2 == 0) {
                base = 0;
                span = process->geometry.area_off[0];
            }
            process->ring[base + (uint64_t)rand_r(&seed) % span] = (uint8_t)rand_r(&seed);
        }
        struct cut_result result;
        int status = fixture_cut(host, process, NULL, 0, &result);
        ck_assert(status == SKEIN_OK || status == SKEIN_NOT_FOUND);
        if (status == SKEIN_OK)
            partition_sum_get(&result.bytes);
        cut_result_fini(&result);
        ring_end();
    }
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "ring_decode", strings_inline_interned_and_unknown, losses_are_told_where_they_happened,
        a_missing_chunk_is_a_gap_between_its_neighbours,
        a_window_of_which_all_is_overwritten_is_a_gap, nothing_is_missing_behind_the_horizon,
        nothing_is_missing_before_the_process_began, a_look_tells_once_what_is_gone,
        a_chunk_that_waited_and_is_gone_is_a_gap, a_later_generation_waits_for_the_next_cut,
        an_unknown_event_type_loses_the_rest_of_its_chunk_only,
        garbage_in_a_chunk_is_a_corrupt_gap_told_once_for_what_there_is,
        epochs_that_disagree_hide_the_chunk, signal_chunks_are_a_thread_of_their_own,
        a_window_leaves_out_what_lies_before_it,
        a_chunk_that_reaches_the_window_leaves_its_older_records_behind,
        an_idle_thread_brings_the_ranges_that_it_is_still_in_and_no_more,
        who_joins_is_told_the_ranges_of_threads_that_were_idle_since,
        losses_are_those_of_the_window, losses_whose_time_is_forgotten_are_a_gap_without_a_count,
        events_of_all_groups_are_taken, a_chunk_of_several_threads_is_taken_where_it_was_left,
        segments_of_one_number_come_in_their_order, parts_of_shared_chunks_bring_every_record_once,
        what_came_to_a_shared_chunk_after_a_cut_and_is_gone_is_a_gap,
        what_a_cut_left_of_a_full_chunk_and_is_gone_is_a_gap,
        segments_of_a_hostile_writer_stay_within_their_chunk, random_damage_anywhere_never_hurts,
        NULL));
}
