/* SPDX-License-Identifier: Apache-2.0 */
#include <check.h>
#include <stdio.h>

#include "reading.h"

START_TEST(all_argument_types_survive)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t all = (uint32_t)partition_writer_type(w, &sample_all);
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    struct partition_value args[6] = {{.f64 = -1.25},
                                      sample_u64(9),
                                      sample_u64(0xdeadbeefcafe),
                                      sample_str("a\0b"),
                                      sample_seq(UINT64_MAX, 3),
                                      {.i64 = INT64_MIN}};
    args[3].str.len = 3;
    args[3].str.cut = true;
    partition_writer_event(w, all, 500, 0, args);
    reading_open(&reading, &w);
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_INSTANT);
    ck_assert_uint_eq(event.time_ns, SAMPLE_NS(500));
    ck_assert_uint_eq(event.ticks, 500);
    ck_assert_str_eq(event.type->name, "all");
    ck_assert_str_eq(event.type->args[0].unit, "%");
    ck_assert(event.args[0].f64 == -1.25);
    ck_assert_uint_eq(event.args[1].u64, 1);
    ck_assert_uint_eq(event.args[2].u64, 0xdeadbeefcafe);
    ck_assert_uint_eq(event.args[3].str.len, 3);
    ck_assert_mem_eq(event.args[3].str.text, "a\0b", 3);
    ck_assert(event.args[3].str.cut);
    ck_assert_uint_eq(event.args[4].seq.resource, UINT64_MAX);
    ck_assert_uint_eq(event.args[4].seq.number, 3);
    ck_assert_int_eq(event.args[5].i64, INT64_MIN);
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(info_and_tables_survive)
{
    struct reading reading;
    struct partition_writer *w = writer();
    sample_fill(w);
    reading_open(&reading, &w);
    struct partition_info want = sample_info();
    const struct partition_info *got = partition_reader_info(reading.reader);
    ck_assert_mem_eq(got->key.process.bytes, want.key.process.bytes, 16);
    ck_assert_uint_eq(got->key.epoch, 3);
    ck_assert_uint_eq(got->key.sequence, 42);
    ck_assert_uint_eq(got->generation, 7);
    ck_assert_uint_eq(got->pid, 4711);
    ck_assert_uint_eq(got->process_start_ns, want.process_start_ns);
    ck_assert_int_eq(got->clock_offset_ns, -1500);
    ck_assert_uint_eq(got->end.boottime_ns, want.end.boottime_ns);
    ck_assert_uint_eq(got->window_to_ticks, 900000);
    ck_assert_str_eq(got->labels, "zone=a,canary=");
    ck_assert_str_eq(got->exe, "/usr/bin/checkout");
    ck_assert(got->death.known);
    ck_assert_int_eq(got->death.signal, 11);
    ck_assert_int_eq(got->death.status, -1);
    const struct partition_thread *threads;
    ck_assert_uint_eq(partition_reader_threads(reading.reader, &threads), 2);
    ck_assert_str_eq(threads[1].name, "worker \xc3\xa9");
    const struct partition_event_type *types;
    ck_assert_uint_eq(partition_reader_types(reading.reader, &types), 5);
    ck_assert_str_eq(types[0].text, "A statement runs");
    ck_assert_str_eq(types[0].file, "db.c");
    ck_assert_uint_eq(types[0].line, 17);
    reading_close(&reading);
}
END_TEST

START_TEST(footer_sums_up)
{
    struct partition_writer *w = writer();
    struct buf bytes = {0};
    struct partition_footer footer;
    sample_fill(w);
    ck_assert_int_eq(partition_writer_finish(w, &bytes, &footer), SKEIN_OK);
    ck_assert_uint_eq(footer.partition_bytes, bytes.len);
    ck_assert_uint_eq(footer.events, 20 * 3 + 3 + 4);
    ck_assert_uint_eq(footer.lost, 12);
    ck_assert_uint_eq(footer.threads, 2);
    ck_assert_uint_eq(footer.from_ns, SAMPLE_HOST_NS(1000));
    ck_assert_uint_eq(footer.to_ns, SAMPLE_HOST_NS(4020));
    ck_assert_uint_eq(footer.window_from_ns, SAMPLE_HOST_NS(10));
    ck_assert_uint_eq(footer.block_count, 1);
    ck_assert_uint_eq(footer.blocks[0].threads, 3);
    ck_assert_uint_eq(footer.type_count, 5);
    ck_assert_str_eq(footer.types[0].name, "query");
    ck_assert_uint_eq(footer.types[0].events, 21);
    ck_assert_uint_eq(footer.loss_count, 2);
    ck_assert_uint_eq(footer.losses[0].thread, UINT32_MAX);
    static const uint8_t id[16] = {0x4b, 0xf9, 0x2f, 0x35, 0x77, 0xb3, 0x4d, 0xa6,
                                   0xa3, 0xce, 0x92, 0x9d, 0x0e, 0x0e, 0x47, 0x36};
    static const uint8_t other[16] = {1};
    ck_assert(partition_footer_has_trace_id(&footer, id));
    ck_assert(!partition_footer_has_trace_id(&footer, other));
    partition_footer_free(&footer);
    partition_writer_free(&w);
    buf_fini(&bytes);
}
END_TEST

START_TEST(a_partition_without_events_is_whole)
{
    struct reading reading;
    struct partition_writer *w = writer();
    reading_open(&reading, &w);
    expect_end(&reading);
    const struct partition_footer *footer = partition_reader_footer(reading.reader);
    ck_assert_uint_eq(footer->from_ns, SAMPLE_HOST_NS(900000));
    ck_assert_uint_eq(footer->events, 0);
    ck_assert_ptr_null(footer->trace_id_filter);
    reading_close(&reading);
}
END_TEST

START_TEST(equal_types_and_threads_share_an_index)
{
    struct partition_writer *w = writer();
    struct partition_event_type other = sample_query;
    ck_assert_int_eq(partition_writer_type(w, &sample_query), 0);
    ck_assert_int_eq(partition_writer_type(w, &sample_read), 1);
    ck_assert_int_eq(partition_writer_type(w, &sample_query), 0);
    other.line++;
    ck_assert_int_eq(partition_writer_type(w, &other), 2);
    ck_assert_uint_eq(add_thread(w, 5), 0);
    ck_assert_uint_eq(add_thread(w, 6), 1);
    ck_assert_uint_eq(add_thread(w, 5), 0);
    partition_writer_free(&w);
}
END_TEST

START_TEST(misuse_is_reported_at_the_end)
{
    struct buf bytes = {0};
    struct partition_value args[6] = {sample_u64(0)};
    for (unsigned i = 0; i < 8; i++) {
        struct partition_writer *w = writer();
        struct partition_event_type bad = sample_query;
        bad.nargs = SKEIN_ARGS_MAX + 1;
        uint32_t type = (uint32_t)partition_writer_type(w, &sample_query);
        uint32_t thread = add_thread(w, 1);
        if (i == 0)
            partition_writer_event(w, type, 1, 0, args); /* before any batch */
        if (i == 1)
            partition_writer_batch(w, thread + 1, 0, 0, false);
        if (i > 1)
            partition_writer_batch(w, thread, 0, 0, false);
        if (i == 2)
            partition_writer_event(w, type + 1, 1, 0, args);
        if (i == 3)
            partition_writer_open_range(w, 1, 0);
        if (i == 4)
            partition_writer_loss(w, &(struct partition_loss){.thread = 1});
        if (i == 5)
            partition_writer_open(w, &(struct partition_open){.thread = 0, .type = 1});
        if (i == 6)
            ck_assert_int_eq(partition_writer_type(w, &bad), SKEIN_INVALID);
        if (i == 7) {
            partition_writer_end(w, 1);
            partition_writer_open_range(w, 0, 0); /* after an event */
        }
        ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_INVALID);
        ck_assert_uint_eq(bytes.len, 0);
        partition_writer_free(&w);
    }
    struct partition_info info = sample_info();
    struct partition_writer *w;
    info.end.ticks = info.begin.ticks;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_INVALID);
    buf_fini(&bytes);
}
END_TEST

START_TEST(a_long_string_is_cut_and_says_so)
{
    struct reading reading;
    char text[2 * PARTITION_NAME_MAX];
    memset(text, 'x', sizeof text);
    struct partition_writer *w = writer();
    uint32_t log = (uint32_t)partition_writer_type(w, &sample_log);
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    struct partition_value args[6] = {sample_u64(1), {.str = {text, sizeof text, false}}};
    partition_writer_event(w, log, 1, 0, args);
    reading_open(&reading, &w);
    struct trace_event event = next(&reading);
    ck_assert_int_eq(event.kind, TRACE_LOG);
    ck_assert_uint_eq(event.args[1].str.len, PARTITION_NAME_MAX);
    ck_assert(event.args[1].str.cut);
    reading_close(&reading);
}
END_TEST

/* A cheap generator, the same on every machine. */
static uint64_t rnd(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

START_TEST(hundred_thousand_events_over_many_blocks_survive)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t all = (uint32_t)partition_writer_type(w, &sample_all);
    uint32_t read = (uint32_t)partition_writer_type(w, &sample_read);
    uint32_t threads[3] = {add_thread(w, 1), add_thread(w, 2), add_thread(w, 3)};
    enum { EVENTS = 100000 };
    uint64_t state = 1;
    struct partition_value args[6];
    char text[32];
    for (unsigned t = 0; t < 3; t++) {
        for (unsigned i = t; i < EVENTS; i += 3) {
            if ((i - t) / 3 % 700 == 0)
                partition_writer_batch(w, threads[t], 7, i / 2100, false);
            uint64_t v = rnd(&state) >> (i % 64);
            args[0].f64 = (double)v;
            args[1].u64 = v & 1;
            args[2].u64 = v;
            snprintf(text, sizeof text, "%u", i % 5000);
            args[3] = sample_str(text);
            args[4] = sample_seq(i, v);
            args[5].u64 = v;
            if (i % 2)
                partition_writer_event(w, all, 100 + i, 0, args);
            else
                partition_writer_event(w, read, 100 + i, v % 100, &args[4]);
        }
    }
    reading_open(&reading, &w);
    ck_assert_uint_gt(partition_reader_footer(reading.reader)->block_count, 5);
    uint64_t values[EVENTS] = {0};
    state = 1;
    for (unsigned t = 0; t < 3; t++)
        for (unsigned i = t; i < EVENTS; i += 3)
            values[i] = rnd(&state) >> (i % 64);
    for (unsigned i = 0; i < EVENTS; i++) {
        struct trace_event event = next(&reading);
        uint64_t v = values[i];
        ck_assert_uint_eq(event.ticks, 100 + i);
        ck_assert_uint_eq(event.thread->tid, i % 3 + 1);
        if (i % 2) {
            snprintf(text, sizeof text, "%u", i % 5000);
            ck_assert_uint_eq(event.args[2].u64, v);
            ck_assert(event.args[0].f64 == (double)v);
            ck_assert_uint_eq(event.args[3].str.len, strlen(text));
            ck_assert_mem_eq(event.args[3].str.text, text, strlen(text));
            ck_assert_uint_eq(event.args[4].seq.number, v);
            ck_assert_uint_eq(event.args[5].u64, v);
        } else {
            ck_assert_int_eq(event.kind, TRACE_REGION);
            ck_assert_uint_eq(event.dur_ns, v % 100 * 64);
            ck_assert_uint_eq(event.time_ns, SAMPLE_NS(100 + i - v % 100));
            ck_assert_int_eq(event.args[1].i64, (int64_t)v);
        }
    }
    expect_end(&reading);
    ck_assert_uint_eq(partition_reader_fixed_up(reading.reader), 0);
    reading_close(&reading);
}
END_TEST

START_TEST(more_types_than_a_code_byte_survive)
{
    struct reading reading;
    struct partition_writer *w = writer();
    char name[32];
    enum { TYPES = 3000 };
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < TYPES; i++) {
            struct partition_event_type type = sample_depth;
            snprintf(name, sizeof name, "type %u", i);
            type.name = name;
            struct partition_value value = sample_u64(i);
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &type),
                                   1 + round * TYPES + i, 0, &value);
        }
    }
    reading_open(&reading, &w);
    for (unsigned i = 0; i < 3 * TYPES; i++) {
        struct trace_event event = next(&reading);
        snprintf(name, sizeof name, "type %u", i % TYPES);
        ck_assert_str_eq(event.type->name, name);
        ck_assert_uint_eq(event.args[0].u64, i % TYPES);
    }
    expect_end(&reading);
    reading_close(&reading);
}
END_TEST

START_TEST(losses_beyond_the_limit_keep_their_sum)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t thread = add_thread(w, 1);
    enum { LOSSES = 10000 };
    for (unsigned i = 0; i < LOSSES; i++)
        partition_writer_loss(
            w, &(struct partition_loss){thread, (uint8_t)(1 + i % 3), 2, 100 + i, 101 + i});
    reading_open(&reading, &w);
    const struct partition_footer *footer = partition_reader_footer(reading.reader);
    ck_assert_uint_eq(footer->lost, 2 * LOSSES);
    ck_assert_uint_le(footer->loss_count, 4096 + 3);
    reading_close(&reading);
}
END_TEST

START_TEST(time_that_goes_back_is_raised_and_counted)
{
    struct reading reading;
    struct partition_writer *w = writer();
    uint32_t depth = (uint32_t)partition_writer_type(w, &sample_depth);
    struct partition_value value = sample_u64(1);
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    partition_writer_event(w, depth, 100, 0, &value);
    partition_writer_event(w, depth, 90, 0, &value);
    partition_writer_event(w, depth, 110, 0, &value);
    reading_open(&reading, &w);
    ck_assert_uint_eq(partition_reader_footer(reading.reader)->fixed_up, 1);
    ck_assert_uint_eq(next(&reading).ticks, 100);
    ck_assert_uint_eq(next(&reading).ticks, 100);
    ck_assert_uint_eq(next(&reading).ticks, 110);
    reading_close(&reading);
}
END_TEST

START_TEST(the_size_estimate_is_near_the_truth)
{
    struct partition_writer *w = writer();
    uint32_t read = (uint32_t)partition_writer_type(w, &sample_read);
    struct buf bytes = {0};
    uint64_t state = 7;
    partition_writer_batch(w, add_thread(w, 1), 7, 0, false);
    for (unsigned i = 0; i < 200000; i++) {
        struct partition_value args[2] = {sample_u64(rnd(&state)), sample_u64(rnd(&state))};
        partition_writer_event(w, read, 100 + i, 1, args);
    }
    uint64_t estimate = partition_writer_bytes(w);
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    ck_assert_uint_gt(estimate, bytes.len / 10 * 8);
    ck_assert_uint_lt(estimate, bytes.len / 10 * 12 + 600000);
    partition_writer_free(&w);
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "partition_writer", all_argument_types_survive, info_and_tables_survive, footer_sums_up,
        a_partition_without_events_is_whole, equal_types_and_threads_share_an_index,
        misuse_is_reported_at_the_end, a_long_string_is_cut_and_says_so,
        hundred_thousand_events_over_many_blocks_survive, more_types_than_a_code_byte_survive,
        losses_beyond_the_limit_keep_their_sum, time_that_goes_back_is_raised_and_counted,
        the_size_estimate_is_near_the_truth, NULL));
}
