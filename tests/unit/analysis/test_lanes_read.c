/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of a trace that a cursor reads: each row that was made is in one of its thread's lanes, once.
 * Its regions overlap as chance will have it; how deep which lies is told in test_lanes.
 */
#include "../format/made_trace.h"
#include "lanes.h"

static struct made_trace made;

/* A trace's bounds are of when records were made: its first rows began before. */
static uint64_t window_from_ns;

static const struct skein_event_type *type_of(const void *context, uint32_t type)
{
    return skein_trace_type(context, type);
}

/* All of the trace, in memory that has an end. */
static struct lanes *read_all(struct skein_trace *trace, size_t most_bytes)
{
    const struct skein_query query = {.size = sizeof query};
    struct lanes_options options = {.most_bytes = most_bytes, .type = type_of, .context = trace};
    const struct skein_gap *gaps;
    struct skein_cursor *cursor;
    struct skein_batch batch;
    struct lanes *lanes;
    skein_trace_bounds(trace, &options.from_ns, &options.to_ns);
    window_from_ns = options.from_ns;
    ck_assert_int_eq(lanes_new(&options, &lanes), SKEIN_OK);
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    while (skein_cursor_next(cursor, &batch) > 0)
        ck_assert_int_eq(lanes_add(lanes, &batch), SKEIN_OK);
    size_t count = skein_cursor_gaps(cursor, &gaps);
    ck_assert_int_eq(lanes_add_gaps(lanes, gaps, count), SKEIN_OK);
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    skein_cursor_free(&cursor);
    return lanes;
}

struct sums {
    uint64_t rows, busy_ns, longest_ns;
};

static struct sums made_sums(uint32_t tid, uint8_t kind)
{
    struct sums sums = {0};
    for (size_t i = 0; i < made.count; i++) {
        const struct made_row *row = &made.rows[i];
        if (row->tid != tid || row->kind != kind ||
            ((row->flags & SKEIN_ROW_EVIDENCE) != 0 && kind != SKEIN_ROW_COUNTER))
            continue;
        uint64_t end = row->time_ns + row->dur_ns;
        uint64_t dur = row->time_ns < window_from_ns ? end - window_from_ns : row->dur_ns;
        sums.rows++;
        sums.busy_ns += dur;
        sums.longest_ns = dur > sums.longest_ns ? dur : sums.longest_ns;
    }
    return sums;
}

/* All depths and layers, of the thread's own events or, for counters, all of them. */
static struct sums lane_sums(const struct skein_trace *trace, const struct lanes *lanes,
                             uint32_t tid, enum lane_kind kind)
{
    struct sums sums = {0};
    for (size_t i = 0; i < lanes_count(lanes); i++) {
        const struct lane *lane = lanes_at(lanes, i);
        if (lane->kind != kind || skein_trace_thread(trace, lane->thread)->tid != tid)
            continue;
        sums.rows += lane->rows;
        sums.busy_ns += lane->busy_ns;
        if (lane->longest_ns > (double)sums.longest_ns)
            sums.longest_ns = (uint64_t)lane->longest_ns;
    }
    return sums;
}

static void lanes_are_those(const struct skein_trace *trace, const struct lanes *lanes)
{
    for (unsigned p = 0; p < 3; p++)
        for (uint32_t t = 0; t < MADE_THREADS; t++) {
            uint32_t tid = made_processes[p].pid + t;
            struct sums is = lane_sums(trace, lanes, tid, LANE_REGION);
            struct sums was = made_sums(tid, SKEIN_ROW_REGION);
            ck_assert_uint_eq(is.rows, was.rows);
            ck_assert_uint_eq(is.busy_ns, was.busy_ns);
            ck_assert_uint_eq(is.longest_ns, was.longest_ns);
            ck_assert_uint_eq(lane_sums(trace, lanes, tid, LANE_COUNTER).rows,
                              made_sums(tid, SKEIN_ROW_COUNTER).rows);
            ck_assert_uint_eq(lane_sums(trace, lanes, tid, LANE_MARK).rows,
                              made_sums(tid, SKEIN_ROW_INSTANT).rows);
        }
}

static bool has_layers(const struct lanes *lanes, enum lane_kind kind)
{
    for (size_t i = 0; i < lanes_count(lanes); i++)
        if (lanes_at(lanes, i)->kind == kind && lanes_at(lanes, i)->layer > 0)
            return true;
    return false;
}

START_TEST(each_row_of_a_trace_is_in_its_lane)
{
    static const size_t most[] = {0, 400000};
    made_fill(&made);
    for (unsigned i = 0; i < 2; i++) {
        char error[SKEIN_TRACE_ERROR_BYTES];
        struct skein_trace *trace;
        struct lanes_totals totals;
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(
            skein_trace_add_memory(trace, made.bytes.data, made.bytes.len, "made", error),
            SKEIN_OK);
        struct lanes *lanes = read_all(trace, most[i]);
        lanes_totals(lanes, &totals);
        ck_assert_uint_eq(totals.left_out + totals.crowded + totals.outside + totals.no_number, 0);
        ck_assert_int_eq(totals.pyramids > 0, i == 1);
        ck_assert(i == 1 ||
                  !has_layers(lanes, LANE_REGION)); /* all were there when depths were told */
        lanes_are_those(trace, lanes);
        lanes_free(&lanes);
        skein_trace_free(&trace);
    }
    buf_fini(&made.bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("lanes_read", each_row_of_a_trace_is_in_its_lane, NULL));
}
