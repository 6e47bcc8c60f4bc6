/* SPDX-License-Identifier: Apache-2.0
 * Causes between hosts whose clocks are apart: what a parent's id proves is put right by the least that
 * suffices, and counted; what is not proven, or contradicts itself, stays as it is. */
#include <inttypes.h>
#include <string.h>

#include "alloc_fail.h"
#include "made_trace.h"

#define MS 15625u /* ticks of 64 ns */

static const struct partition_event_type type_call = {
    .name = "call",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_SPAN,
    .group = 16,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "trace_id", ""},
             {SKEIN_T_STR, "span_id", ""},
             {SKEIN_T_STR, "parent_span_id", ""}}};
static const struct partition_event_type type_plain = {
    .name = "plain", .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT, .group = 16, .nargs = 0};

static struct made_trace made;
static struct partition_writer *w;
static struct skein_trace *trace;
static struct skein_cursor *cursor;

/* Its clock says so much less than that of the others, in ms. */
static void host_begin(uint32_t pid, const char *host, int64_t behind_ms)
{
    struct made_process process = {pid, -behind_ms * 1000000};
    struct partition_info info = made_info(&process, 0, 0, 1000 * MS);
    info.host = host;
    info.service = host;
    w = made_writer(&info);
    partition_writer_batch(w, made_thread(w, pid), 5, 1, false);
}

static void host_end(void)
{
    made_finish(&made, &w);
}

/* Span n, in the order of their ends; parent 0: none. */
static void call(unsigned n, unsigned parent, uint64_t from_ms, uint64_t dur_ms)
{
    char id[17], of[17];
    struct partition_value args[SKEIN_ARGS_MAX] = {sample_str("4bf92f3577b34da6a3ce929d0e0e4736")};
    snprintf(id, sizeof id, "%016x", n);
    snprintf(of, sizeof of, "%016x", parent);
    args[1] = sample_str(id);
    args[2] = sample_str(of);
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &type_call),
                           (from_ms + dur_ms) * MS, dur_ms * MS, args);
}

static void plain(uint64_t at_ms)
{
    struct partition_value args[SKEIN_ARGS_MAX] = {{.u64 = 0}};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &type_plain), at_ms * MS, 0, args);
}

static void open_trace(void)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    const struct skein_query query = {.size = sizeof query};
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, made.bytes.data, made.bytes.len, "made", error),
                     SKEIN_OK);
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
}

static void end(void)
{
    skein_cursor_free(&cursor);
    skein_trace_free(&trace);
    buf_fini(&made.bytes);
    made = (struct made_trace){.count = 0};
}

/* When rows of a process begin, in ms since the epoch of the test; in the order in which they come. */
static size_t begins(uint32_t pid, int64_t *ms, size_t most)
{
    struct skein_batch batch;
    size_t count = 0;
    uint64_t last = 0;
    while (skein_cursor_next(cursor, &batch) > 0)
        for (uint32_t i = 0; i < batch.count; i++) {
            uint64_t made_ns = batch.time_ns[i] + batch.dur_ns[i];
            ck_assert_uint_ge(made_ns, last);
            last = made_ns;
            if (skein_trace_process(trace, batch.process[i])->pid == pid && count < most)
                ms[count++] = ((int64_t)batch.time_ns[i] - (int64_t)SAMPLE_EPOCH_NS) / 1000000;
        }
    return count;
}

/* The shop calls the stock three times, and the stock's clock is 30 ms behind. */
static void shop_and_stock(bool parents)
{
    host_begin(1, "shop", 0);
    call(1, 0, 100, 50);
    call(2, 0, 200, 50);
    call(3, 0, 300, 50);
    host_end();
    host_begin(2, "stock", 30);
    plain(50);
    call(11, parents ? 1 : 0, 110, 10); /* by its clock 80: 20 before its parent */
    call(12, parents ? 2 : 0, 205, 10); /* by its clock 175: 25 before, the most of all */
    call(13, parents ? 3 : 0, 330, 10); /* by its clock 300: just as its parent */
    host_end();
    open_trace();
}

START_TEST(a_clock_that_is_behind_is_moved_by_the_least_that_suffices)
{
    int64_t ms[8];
    shop_and_stock(true);
    ck_assert_uint_eq(begins(2, ms, 8), 4);
    ck_assert(ms[0] == 45 && ms[1] == 105 && ms[2] == 200 && ms[3] == 325);
    ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 2);
    ck_assert_uint_eq(skein_cursor_unordered(cursor), 0);
    end();
}
END_TEST

START_TEST(what_is_known_from_footers_is_moved_too)
{
    shop_and_stock(true);
    const struct skein_process *stock = skein_trace_process(trace, 1);
    ck_assert_str_eq(stock->host, "stock");
    ck_assert_uint_eq(stock->from_ns, SAMPLE_EPOCH_NS + 45 * UINT64_C(1000000));
    ck_assert_uint_eq(skein_trace_partition(trace, 1)->to_ns,
                      SAMPLE_EPOCH_NS + 335 * UINT64_C(1000000));
    end();
}
END_TEST

/* A window is asked for by the times that rows then have. */
START_TEST(a_window_is_by_the_moved_clock)
{
    struct skein_query query = {.size = sizeof query,
                                .from_ns = SAMPLE_EPOCH_NS + 190 * UINT64_C(1000000),
                                .to_ns = SAMPLE_EPOCH_NS + 205 * UINT64_C(1000000)};
    int64_t ms[8];
    shop_and_stock(true);
    skein_cursor_free(&cursor);
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    ck_assert_uint_eq(begins(2, ms, 8), 1);
    ck_assert(ms[0] == 200);
    end();
}
END_TEST

START_TEST(the_same_trace_id_alone_proves_nothing)
{
    int64_t ms[8];
    shop_and_stock(false);
    ck_assert_uint_eq(begins(2, ms, 8), 4);
    ck_assert(ms[0] == 20 && ms[1] == 80 && ms[2] == 175 && ms[3] == 300);
    ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 0);
    end();
}
END_TEST

/* The disk is behind the stock, which is behind the shop: moves add up. A host beside is not moved. */
START_TEST(moves_add_up_over_hosts)
{
    int64_t ms[8];
    host_begin(1, "shop", 0);
    call(1, 0, 100, 50);
    host_end();
    host_begin(2, "stock", 30);
    call(11, 1, 105, 40); /* by its clock 75: 25 before */
    host_end();
    host_begin(3, "disk", 70);
    call(21, 11, 110, 10); /* by its clock 40: 35 before that of the stock, 60 in all */
    host_end();
    host_begin(4, "beside", 500);
    plain(600);
    host_end();
    open_trace();
    ck_assert_uint_eq(begins(3, ms, 8), 1);
    ck_assert(ms[0] == 100);
    ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 2);
    end();
    host_begin(4, "beside", 500);
    plain(600);
    host_end();
    open_trace();
    ck_assert_uint_eq(begins(4, ms, 8), 1);
    ck_assert(ms[0] == 100);
    end();
}
END_TEST

/* Each would have to be later than the other: ids that are wrong, or a clock that stepped. */
START_TEST(what_contradicts_itself_is_left_and_counted)
{
    int64_t ms[8];
    host_begin(1, "shop", 0);
    call(1, 0, 100, 50);
    call(2, 12, 180, 50);
    host_end();
    host_begin(2, "stock", 0);
    call(11, 1, 90, 20);
    call(12, 0, 200, 20);
    host_end();
    open_trace();
    ck_assert_uint_eq(begins(2, ms, 8), 2);
    ck_assert(ms[0] == 90 && ms[1] == 200);
    ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 0);
    ck_assert_uint_eq(skein_cursor_unordered(cursor), 2);
    end();
}
END_TEST

/* A program that names a parent of much later lies, or has it from somewhere else. */
START_TEST(what_is_a_second_early_is_passed_over)
{
    int64_t ms[8];
    host_begin(1, "shop", 0);
    call(1, 0, 900, 50);
    host_end();
    host_begin(2, "stock", 200);
    call(11, 1, 90, 10); /* by its clock -110: 1010 before */
    host_end();
    open_trace();
    ck_assert_uint_eq(begins(2, ms, 8), 1);
    ck_assert(ms[0] == -110);
    ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 0);
    end();
}
END_TEST

START_TEST(on_one_host_no_clock_is_moved)
{
    int64_t ms[8];
    host_begin(1, "shop", 0);
    call(1, 0, 100, 50);
    host_end();
    host_begin(2, "shop", 30);
    call(11, 1, 105, 10);
    host_end();
    open_trace();
    ck_assert_uint_eq(begins(2, ms, 8), 1);
    ck_assert(ms[0] == 75);
    end();
}
END_TEST

/* Whatever allocation fails, nothing is half moved: the next cursor says the same as ever. */
START_TEST(without_memory_nothing_is_moved_by_half)
{
    for (unsigned n = 1;; n++) {
        const struct skein_query query = {.size = sizeof query};
        int64_t ms[8];
        char error[SKEIN_TRACE_ERROR_BYTES];
        if (n == 1) {
            shop_and_stock(true);
            skein_cursor_free(&cursor);
        }
        skein_trace_free(&trace);
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(
            skein_trace_add_memory(trace, made.bytes.data, made.bytes.len, "made", error),
            SKEIN_OK);
        alloc_fail_at(n);
        int status = skein_cursor_new(trace, &query, &cursor);
        bool failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        if (failed)
            ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
        ck_assert_uint_eq(begins(2, ms, 8), 4);
        ck_assert(ms[0] == 45 && ms[3] == 325);
        ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 2);
        skein_cursor_free(&cursor);
        if (!failed)
            break;
    }
    end();
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("trace_causes", a_clock_that_is_behind_is_moved_by_the_least_that_suffices,
                 what_is_known_from_footers_is_moved_too, a_window_is_by_the_moved_clock,
                 the_same_trace_id_alone_proves_nothing, moves_add_up_over_hosts,
                 what_contradicts_itself_is_left_and_counted, what_is_a_second_early_is_passed_over,
                 on_one_host_no_clock_is_moved, without_memory_nothing_is_moved_by_half, NULL));
}
