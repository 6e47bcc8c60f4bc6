/* SPDX-License-Identifier: Apache-2.0 */
#include "reading.h"

#include "checksum.h"
#include "partition_entries_int.h"
#include "partition_int.h"
#include "partition_reader_int.h"

static void instant(struct partition_writer *w, uint64_t ticks, uint64_t v)
{
    struct partition_value value = sample_u64(v);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &sample_depth), ticks, 0, &value);
}

static void begin(struct partition_writer *w, uint64_t ticks, const char *sql)
{
    struct partition_value args[2] = {sample_str(sql), sample_u64(ticks)};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &sample_query), ticks, 0, args);
}

static void lock(struct partition_writer *w, uint64_t ticks, uint64_t resource, uint64_t number)
{
    struct partition_value value = sample_seq(resource, number);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &sample_lock), ticks, 0, &value);
}

static void expect(struct reading *reading, uint8_t kind, uint64_t ticks, const char *sql)
{
    struct trace_event event = next(reading);
    ck_assert_int_eq(event.kind, kind);
    ck_assert_uint_eq(event.ticks, ticks);
    if (sql != NULL)
        ck_assert_mem_eq(event.args[0].str.text, sql, strlen(sql));
}

START_TEST(ends_close_the_innermost_range)
{
    struct reading reading;
    struct partition_writer *w = writer();
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    begin(w, 100, "outer");
    begin(w, 110, "inner");
    instant(w, 115, 1);
    partition_writer_end(w, 120);
    partition_writer_end(w, 150);
    partition_writer_end(w, 160);
    begin(w, 170, "open");
    reading_open(&reading, &w);
    expect(&reading, TRACE_BEGIN, 100, "outer");
    expect(&reading, TRACE_BEGIN, 110, "inner");
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_COUNTER);
    ck_assert_uint_eq(event.depth, 2);
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_REGION);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(110));
    ck_assert_uint_eq(event.dur_ns, 10 * 64);
    ck_assert_uint_eq(event.depth, 1);
    ck_assert_uint_eq(event.args[1].u64, 110);
    event = next(&reading);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(100));
    ck_assert_uint_eq(event.dur_ns, 50 * 64);
    ck_assert_uint_eq(event.depth, 0);
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_END_ONLY);
    ck_assert_ptr_null(event.type);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(160));
    expect(&reading, TRACE_BEGIN, 170, "open");
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_OPEN);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(170));
    ck_assert_uint_eq(event.dur_ns, (SAMPLE_LAST_TICK - 170) * 64);
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(ranges_open_before_the_records_come_back_clipped)
{
    struct reading reading;
    struct partition_writer *w = writer();
    partition_writer_batch(w, add_thread(w, 1), 7, 5, false);
    partition_writer_open_range(w, partition_writer_type(w, &sample_query), 40);
    partition_writer_open_range(w, -1, 50);
    instant(w, 100, 1);
    partition_writer_end(w, 110);
    partition_writer_end(w, 120);
    reading_open(&reading, &w);
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_BEGIN);
    ck_assert(event.begin_clipped);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(40));
    event = next(&reading);
    ck_assert_str_eq(event.type->name, "unknown");
    ck_assert_uint_eq(event.depth, 1);
    expect(&reading, TRACE_COUNTER, 100, NULL);
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_REGION);
    ck_assert_str_eq(event.type->name, "unknown");
    ck_assert_uint_eq(event.dur_ns, 60 * 64);
    event = next(&reading);
    ck_assert_str_eq(event.type->name, "query");
    ck_assert(event.begin_clipped);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(40));
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(chunks_that_follow_each_other_keep_their_ranges)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t a = add_thread(w, 1), b = add_thread(w, 2);
    partition_writer_batch(w, a, 6, 4, true);
    begin(w, 100, "over");
    partition_writer_batch(w, b, 7, 0, false);
    instant(w, 101, 0);
    partition_writer_batch(w, a, 7, 4, false); /* the rest of the chunk, then the next */
    instant(w, 110, 1);
    partition_writer_batch(w, a, 7, 5, false);
    partition_writer_end(w, 130);
    reading_open(&reading, &w);
    expect(&reading, TRACE_BEGIN, 100, "over");
    expect(&reading, TRACE_COUNTER, 101, NULL);
    expect(&reading, TRACE_COUNTER, 110, NULL);
    expect(&reading, TRACE_REGION, 130, "over");
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(a_gap_keeps_what_is_still_open_and_clips_the_rest)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t a = add_thread(w, 1), query = (uint32_t)partition_writer_type(w, &sample_query);
    partition_writer_batch(w, a, 7, 4, false);
    begin(w, 100, "stays");
    begin(w, 110, "lost end");
    partition_writer_batch(w, a, 7, 9, false); /* chunks 5 to 8 are gone */
    partition_writer_open_range(w, query, 100);
    partition_writer_open_range(w, query, 180);
    instant(w, 200, 1);
    partition_writer_end(w, 210);
    partition_writer_end(w, 220);
    partition_writer_batch(w, a, 7, 20, false); /* and here nothing is open */
    instant(w, 300, 1);
    reading_open(&reading, &w);
    expect(&reading, TRACE_BEGIN, 100, "stays");
    expect(&reading, TRACE_BEGIN, 110, "lost end");
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_REGION);
    ck_assert(event.end_clipped);
    ck_assert_mem_eq(event.args[0].str.text, "lost end", 8);
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_BEGIN);
    ck_assert(event.begin_clipped);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(180));
    expect(&reading, TRACE_COUNTER, 200, NULL);
    event = next(&reading);
    ck_assert(event.begin_clipped);
    event = next(&reading);
    ck_assert(!event.begin_clipped && !event.end_clipped);
    ck_assert_uint_eq(event.dur_ns, 120 * 64);
    ck_assert_mem_eq(event.args[0].str.text, "stays", 5);
    expect(&reading, TRACE_COUNTER, 300, NULL);
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(a_silent_thread_shows_what_it_is_inside_of)
{
    struct reading reading;
    struct partition_writer *w = writer();
    partition_writer_batch(w, add_thread(w, 1), 7, 5, false);
    partition_writer_open_range(w, partition_writer_type(w, &sample_query), 40);
    reading_open(&reading, &w);
    expect(&reading, TRACE_BEGIN, 40, NULL);
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_OPEN);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(40));
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(a_range_over_a_cut_is_one_region)
{
    struct reading first, second;
    struct partition_writer *w = writer();
    partition_writer_batch(w, add_thread(w, 9), 7, 5, false);
    begin(w, 100, "over the cut");
    reading_open(&first, &w);
    expect(&first, TRACE_BEGIN, 100, "over the cut");
    expect(&first, TRACE_OPEN, 100, NULL);
    expect_end(&first);

    w = writer();
    add_thread(w, 8);
    uint32_t thread = add_thread(w, 9);
    partition_writer_type(w, &sample_read); /* so that indices differ */
    partition_writer_batch(w, thread, 8, 6, false);
    partition_writer_open_range(w, partition_writer_type(w, &sample_query), 100);
    partition_writer_end(w, 5000);
    reading_open(&second, &w);
    partition_reader_continue(second.reader, first.reader);
    reading_close(&first);
    struct trace_event event = next(&second);
    ck_assert_int_eq(event.kind, TRACE_REGION);
    ck_assert(!event.begin_clipped);
    ck_assert_mem_eq(event.args[0].str.text, "over the cut", 12);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(100));
    ck_assert_uint_eq(event.dur_ns, 4900 * 64);
    expect_end(&second);
    reading_close(&second);
}
END_TEST

/* A process that opens ranges and never ends them must not make the next partition large. */
START_TEST(ranges_over_a_cut_share_what_they_name)
{
    enum { RANGES = 3000 };
    struct reading first, second;
    struct partition_writer *w = writer();
    partition_writer_batch(w, add_thread(w, 9), 7, 5, false);
    for (uint64_t i = 0; i < RANGES; i++)
        begin(w, 100 + i, "the same text");
    reading_open(&first, &w);
    while (next(&first).kind == TRACE_BEGIN)
        continue;

    w = writer();
    partition_writer_batch(w, add_thread(w, 9), 8, 6, false);
    reading_open(&second, &w);
    partition_reader_continue(second.reader, first.reader);
    reading_close(&first);
    struct trace_event outer = next(&second);
    for (uint64_t i = 1; i < RANGES; i++) {
        struct trace_event event = next(&second);
        ck_assert_int_eq(event.kind, TRACE_OPEN);
        ck_assert_uint_eq(event.time_ns, SAMPLE_NS(100 + i));
        ck_assert_ptr_eq(event.type, outer.type);
        ck_assert_ptr_eq(event.args[0].str.text, outer.args[0].str.text);
    }
    ck_assert_str_eq(outer.type->name, "query");
    ck_assert_mem_eq(outer.args[0].str.text, "the same text", 13);
    expect_end(&second);
    reading_close(&second);
}
END_TEST

START_TEST(a_thread_that_is_named_twice_gets_its_ranges_once)
{
    struct reading first, second;
    struct partition_writer *w = writer();
    partition_writer_batch(w, add_thread(w, 9), 7, 5, false);
    begin(w, 100, "once");
    reading_open(&first, &w);
    while (next(&first).kind == TRACE_BEGIN)
        continue;

    w = writer();
    add_thread(w, 9);
    add_thread(w, 8);
    reading_open(&second, &w);
    /* as only hostile bytes can */
    second.reader->threads[1] = second.reader->threads[0];
    partition_reader_continue(second.reader, first.reader);
    reading_close(&first);
    struct trace_event event = next(&second);
    ck_assert_int_eq(event.kind, TRACE_OPEN);
    expect_end(&second);
    reading_close(&second);
}
END_TEST

START_TEST(a_cause_is_never_shown_after_its_effect)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t a = add_thread(w, 1), b = add_thread(w, 2);
    partition_writer_batch(w, a, 7, 0, false);
    lock(w, 100, 5, 2); /* this thread's clock is behind */
    instant(w, 110, 0);
    partition_writer_batch(w, b, 7, 0, false);
    lock(w, 150, 5, 1);
    instant(w, 160, 1);
    reading_open(&reading, &w);
    struct trace_event event = next(&reading);
    ck_assert_uint_eq(event.args[0].seq.number, 1);
    ck_assert_uint_eq(event.ticks, 150);
    event = next(&reading);
    ck_assert_uint_eq(event.args[0].seq.number, 2);
    ck_assert_uint_eq(event.ticks, 150);
    ck_assert(event.fixed_up);
    event = next(&reading); /* and what follows on its thread is raised too */
    ck_assert_uint_eq(event.ticks, 150);
    ck_assert_uint_eq(event.args[0].u64, 0);
    expect(&reading, TRACE_COUNTER, 160, NULL);
    expect_end(&reading);
    ck_assert_uint_eq(partition_reader_fixed_up(reading.reader), 2);
    ck_assert_uint_eq(partition_reader_unordered(reading.reader), 0);
    reading_close(&reading);
}
END_TEST

START_TEST(records_that_wait_in_a_circle_come_by_time)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t a = add_thread(w, 1), b = add_thread(w, 2);
    partition_writer_batch(w, a, 7, 0, false);
    lock(w, 100, 5, 2);
    lock(w, 101, 6, 1);
    partition_writer_batch(w, b, 7, 0, false);
    lock(w, 90, 6, 2);
    lock(w, 91, 5, 1);
    reading_open(&reading, &w);
    uint64_t order[4];
    for (unsigned i = 0; i < 4; i++) {
        struct trace_event event = next(&reading);
        order[i] = event.args[0].seq.resource * 10 + event.args[0].seq.number;
    }
    expect_end(&reading);
    ck_assert_uint_eq(order[0], 62);
    ck_assert_uint_eq(order[1], 51);
    ck_assert_uint_eq(order[2], 52);
    ck_assert_uint_eq(order[3], 61);
    ck_assert_uint_eq(partition_reader_unordered(reading.reader), 1);
    reading_close(&reading);
}
END_TEST

START_TEST(many_threads_on_one_resource_come_in_sequence)
{
    struct reading reading;
    struct partition_writer *w = writer();
    enum { LANES = 50, EACH = 40 };
    uint64_t state = 99;
    uint32_t threads[LANES];
    for (unsigned i = 0; i < LANES; i++)
        threads[i] = add_thread(w, i + 1);
    /* number n belongs to thread n % LANES; clocks are off by up to 1000 ticks */
    for (unsigned i = 0; i < LANES; i++) {
        state = state * 6364136223846793005u + 1;
        partition_writer_batch(w, threads[i], 7, 0, false);
        for (unsigned k = 0; k < EACH; k++)
            lock(w, 5000 + (state >> 54) + (k * LANES + i) * 3, 77, k * LANES + i + 100);
    }
    reading_open(&reading, &w);
    uint64_t last = 0;
    for (unsigned i = 0; i < LANES * EACH; i++) {
        struct trace_event event = next(&reading);
        ck_assert_uint_eq(event.args[0].seq.number, i + 100);
        ck_assert_uint_ge(event.ticks, last);
        last = event.ticks;
    }
    expect_end(&reading);
    ck_assert_uint_eq(partition_reader_unordered(reading.reader), 0);
    ck_assert_uint_gt(partition_reader_fixed_up(reading.reader), 0);
    reading_close(&reading);
}
END_TEST

START_TEST(losses_and_operations_stand_in_their_place)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t a = add_thread(w, 1), read = (uint32_t)partition_writer_type(w, &sample_read);
    partition_writer_batch(w, a, 7, 0, false);
    instant(w, 100, 0);
    instant(w, 200, 1);
    partition_writer_loss(w, &(struct partition_loss){a, PARTITION_LOSS_RING_FULL, 3, 150, 160});
    partition_writer_loss(
        w, &(struct partition_loss){UINT32_MAX, PARTITION_LOSS_OVERWRITTEN, 0, 1, 90});
    partition_writer_open(w, &(struct partition_open){a, read, 180, 6});
    reading_open(&reading, &w);
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_LOSS);
    ck_assert_ptr_null(event.thread);
    ck_assert_int_eq(event.loss->reason, PARTITION_LOSS_OVERWRITTEN);
    ck_assert_uint_eq(event.dur_ns, 89 * 64);
    expect(&reading, TRACE_COUNTER, 100, NULL);
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_LOSS);
    ck_assert_uint_eq(event.thread->tid, 1);
    ck_assert_uint_eq(event.loss->events, 3);
    expect(&reading, TRACE_COUNTER, 200, NULL);
    event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_OPEN);
    ck_assert(event.has_detail);
    ck_assert_int_eq(event.detail, 6);
    ck_assert_uint_eq(event.dur_ns, (SAMPLE_LAST_TICK - 180) * 64);
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(time_outside_the_snapshots_is_continued)
{
    struct reading reading;
    struct partition_info info = sample_info();
    struct partition_writer *w;
    info.begin.ticks = 1000;
    info.begin.monotonic_ns += 64000;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    reading_open(&reading, &w);
    ck_assert_uint_eq(partition_reader_time_ns(reading.reader, 0), SAMPLE_NS(0));
    ck_assert_uint_eq(partition_reader_time_ns(reading.reader, 2 * SAMPLE_LAST_TICK),
                      SAMPLE_NS(2 * SAMPLE_LAST_TICK));
    ck_assert_uint_eq(partition_reader_time_ns(reading.reader, UINT64_MAX), UINT64_MAX);
    reading_close(&reading);
}
END_TEST

START_TEST(classes_and_argument_types_from_the_future_are_survived)
{
    struct reading reading;
    struct partition_writer *w = writer();
    struct partition_event_type future = {
        .name = "future",
        .text = "",
        .file = "",
        .klass = 200,
        .nargs = 3,
        .args = {{SKEIN_T_U64, "a", ""}, {99, "what", ""}, {SKEIN_T_STR, "b", ""}}};
    uint32_t type = (uint32_t)partition_writer_type(w, &future);
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    for (unsigned i = 0; i < 3; i++) {
        struct partition_value args[3] = {sample_u64(i), sample_u64(1000 * i), sample_str("text")};
        partition_writer_event(w, type, 100 + i, 0, args);
    }
    partition_writer_loss(w, &(struct partition_loss){UINT32_MAX, 77, 1, 1, 2});
    reading_open(&reading, &w);
    struct trace_event event = next(&reading);
    ck_assert_str_eq(partition_loss_text(event.loss->reason), "unknown");
    for (unsigned i = 0; i < 3; i++) {
        event = next(&reading);
        ck_assert_int_eq(event.kind, TRACE_INSTANT);
        ck_assert_uint_eq(event.args[0].u64, i);
        ck_assert_mem_eq(event.args[2].str.text, "text", 4);
    }
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

/* The sample with one more section in front of the first block; kind and flags as given. */
static void with_section(struct buf *out, uint16_t kind, uint8_t flags)
{
    struct buf sample = {0};
    struct partition_footer footer;
    size_t need;
    ck_assert_int_eq(sample_partition(&sample), SKEIN_OK);
    ck_assert_int_eq(partition_footer_get(sample.data, sample.len, &footer, &need), SKEIN_OK);
    size_t at = (size_t)footer.blocks[0].offset;
    head_put(out, HEAD_PARTITION, 0);
    buf_put(out, sample.data + HEAD_BYTES, at - HEAD_BYTES);
    size_t section = section_begin(out, kind);
    out->data[section + 3] = flags;
    buf_put(out, "later", 5);
    section_end(out, section);
    footer.blocks[0].offset += out->len - section;
    struct tail tail;
    const uint8_t *last;
    ck_assert_int_eq(tail_get(sample.data, sample.len, &tail, &last, &need), SKEIN_OK);
    buf_put(out, sample.data + at, (size_t)(last - sample.data) - at);
    size_t footer_at = section_begin(out, SECTION_FOOTER);
    footer_put(out, &footer);
    buf_put(out, "more", 4); /* fields of a newer minor version */
    section_end(out, footer_at);
    tail_put(out, 0, footer_at, HEAD_PARTITION);
    size_t len = out->len;
    out->len = 0;
    head_put(out, HEAD_PARTITION, len);
    out->len = len;
    partition_footer_free(&footer);
    buf_fini(&sample);
}

START_TEST(sections_from_the_future_are_skipped_unless_needed)
{
    struct buf bytes = {0};
    char error[256] = "";
    with_section(&bytes, 300, 0);
    ck_assert_msg(partition_check(bytes.data, bytes.len, error, sizeof error) == SKEIN_OK, "%s",
                  error);
    buf_clear(&bytes);
    with_section(&bytes, 300, SECTION_NEEDED);
    ck_assert_int_eq(partition_check(bytes.data, bytes.len, error, sizeof error), SKEIN_VERSION);
    ck_assert_ptr_nonnull(strstr(error, "newer"));
    buf_clear(&bytes);
    with_section(&bytes, SECTION_INFO, 0);
    ck_assert_int_eq(partition_check(bytes.data, bytes.len, error, sizeof error), SKEIN_CORRUPT);
    buf_fini(&bytes);
}
END_TEST

#define WIDE_TYPES   1000
#define WIDE_THREADS 700 /* 700 threads x 1000 types x (1 + 6 columns): above F-4 */

START_TEST(more_columns_at_one_time_than_the_limit_are_refused)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    struct buf bytes = {0};
    struct partition_reader *reader;
    struct trace_event event;
    char error[256], name[32];
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    struct partition_event_type type = {
        .name = name, .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT, .nargs = 6};
    for (int i = 0; i < 6; i++)
        type.args[i] = (struct partition_arg){SKEIN_T_U64, "n", ""};
    for (uint32_t i = 0; i < WIDE_TYPES; i++) {
        snprintf(name, sizeof name, "type %u", i);
        ck_assert_int_eq(partition_writer_type(w, &type), i);
    }
    const struct partition_value args[6] = {{.u64 = 1}};
    for (uint32_t t = 0; t < WIDE_THREADS; t++) {
        struct partition_thread thread = {.tid = t + 1, .name = "wide"};
        partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 7, 0, false);
        for (uint32_t i = 0; i < WIDE_TYPES; i++)
            partition_writer_event(w, i, 100 + i, 0, args);
    }
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                     SKEIN_OK);
    ck_assert_int_eq(partition_reader_next(reader, &event), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(partition_reader_error(reader), "F-4"));
    partition_reader_free(&reader);
    buf_fini(&bytes);
}
END_TEST

START_TEST(another_major_version_is_refused_as_such)
{
    struct buf bytes = {0};
    char error[256] = "";
    uint64_t length;
    bool is_table;
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    bytes.data[9] = 250; /* a newer minor version is fine */
    for (unsigned major = 1; major < 3; major++) {
        bytes.data[8] = (uint8_t)major;
        buf_set_u64(&bytes, 24, checksum64(bytes.data, 24));
        int want = major == 1 ? SKEIN_OK : SKEIN_VERSION;
        ck_assert_int_eq(trace_head_get(bytes.data, bytes.len, &length, &is_table), want);
        ck_assert_int_eq(partition_check(bytes.data, bytes.len, error, sizeof error), want);
    }
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "partition_reader", ends_close_the_innermost_range,
        ranges_open_before_the_records_come_back_clipped,
        chunks_that_follow_each_other_keep_their_ranges,
        a_gap_keeps_what_is_still_open_and_clips_the_rest,
        a_silent_thread_shows_what_it_is_inside_of, a_range_over_a_cut_is_one_region,
        ranges_over_a_cut_share_what_they_name, a_thread_that_is_named_twice_gets_its_ranges_once,
        a_cause_is_never_shown_after_its_effect, records_that_wait_in_a_circle_come_by_time,
        many_threads_on_one_resource_come_in_sequence, losses_and_operations_stand_in_their_place,
        time_outside_the_snapshots_is_continued,
        classes_and_argument_types_from_the_future_are_survived,
        sections_from_the_future_are_skipped_unless_needed,
        more_columns_at_one_time_than_the_limit_are_refused,
        another_major_version_is_refused_as_such, NULL));
}
