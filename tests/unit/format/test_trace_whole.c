/* SPDX-License-Identifier: Apache-2.0
 * Cursors where a trace is not simple: regions over cuts, what is in progress, losses, stacks,
 * what is missing, broken or torn, and no memory.
 */
#include "alloc_fail.h"
#include "buf.h"
#include "made_trace.h"

static struct made_trace made;
static const struct made_process one = {100, -1500}, two = {140, 0};

static struct skein_trace *opened(const struct buf *bytes)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct skein_trace *trace;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    int status = skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    return trace;
}

static struct skein_cursor *all_of(struct skein_trace *trace)
{
    struct skein_query query = {.size = sizeof query, .kinds = 0x1fe};
    struct skein_cursor *cursor;
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    return cursor;
}

static void closed(struct skein_trace **trace, struct skein_cursor **cursor, struct buf *bytes)
{
    skein_cursor_free(cursor);
    skein_trace_free(trace);
    buf_fini(bytes);
}

/* A cut of `one` whose first thread has records of the test's own. */
static struct partition_writer *cut_begin(uint64_t sequence, uint64_t from, uint64_t to)
{
    struct partition_info info = made_info(&one, sequence, from, to);
    struct partition_writer *w = made_writer(&info);
    partition_writer_batch(w, made_thread(w, 100), sequence, sequence, false);
    return w;
}

static void cut_end(struct buf *out, struct partition_writer **w)
{
    ck_assert_int_eq(partition_writer_finish(*w, out, NULL), SKEIN_OK);
    partition_writer_free(w);
}

static void range_begin(struct partition_writer *w, uint64_t id, const char *what, uint64_t ticks)
{
    struct partition_value args[2] = {{.u64 = id}, sample_str(what)};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &made_range), ticks, 0, args);
}

static void instant(struct partition_writer *w, uint64_t id, uint64_t ticks)
{
    struct partition_value args[2] = {{.u64 = id}, sample_str("x")};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &made_instant), ticks, 0, args);
}

/* kind, id, begin in ticks, length in ticks, flags: the rows in their order, to a kind of 0. */
struct expected {
    uint8_t kind;
    uint64_t id, begin, length;
    uint8_t flags;
};

static void rows_are(struct skein_cursor *cursor, const struct expected *rows)
{
    struct skein_batch batch;
    while (skein_cursor_next(cursor, &batch) > 0)
        for (uint32_t i = 0; i < batch.count; i++, rows++) {
            ck_assert_uint_eq(batch.kind[i], rows->kind);
            ck_assert_uint_eq(batch.time_ns[i], made_ns(&one, rows->begin));
            ck_assert_uint_eq(batch.dur_ns[i], rows->length * 64);
            ck_assert_uint_eq(batch.flags[i], rows->flags);
            if (rows->id != 0)
                ck_assert_uint_eq(skein_batch_args(&batch, i)->u64, rows->id);
        }
    ck_assert_uint_eq(rows->kind, 0);
}

START_TEST(a_region_over_cuts_is_one_row_and_what_is_in_progress_comes_once)
{
    struct buf bytes = {0};
    const struct partition_open op = {0, 1, 150, -9};
    struct partition_writer *w = cut_begin(1, 0, 1000);
    range_begin(w, 1, "outer", 100);
    range_begin(w, 2, "inner", 200);
    partition_writer_type(w, &made_span);
    partition_writer_open(w, &op);
    cut_end(&bytes, &w);
    w = cut_begin(2, 1000, 2000);
    partition_writer_type(w, &made_range);
    partition_writer_type(w, &made_span);
    instant(w, 3, 1500);
    partition_writer_open(w, &op);
    cut_end(&bytes, &w);
    w = cut_begin(3, 2000, 3000);
    partition_writer_type(w, &made_range);
    partition_writer_type(w, &made_span);
    partition_writer_end(w, 2500);
    partition_writer_open(w, &op);
    cut_end(&bytes, &w);
    const struct expected rows[] = {{SKEIN_ROW_BEGIN, 1, 100, 0, 0},
                                    {SKEIN_ROW_BEGIN, 2, 200, 0, 0},
                                    {SKEIN_ROW_INSTANT, 3, 1500, 0, 0},
                                    {SKEIN_ROW_REGION, 2, 200, 2300, 0},
                                    {SKEIN_ROW_OPEN, 1, 100, 2900, 0},
                                    {SKEIN_ROW_OPEN, 0, 150, 2850, 0},
                                    {0, 0, 0, 0, 0}};
    struct skein_trace *trace = opened(&bytes);
    struct skein_cursor *cursor = all_of(trace);
    rows_are(cursor, rows);
    skein_cursor_free(&cursor);
    struct skein_query query = {.size = sizeof query, .kinds = 1u << SKEIN_ROW_OPEN};
    struct skein_batch batch;
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    ck_assert_int_eq(skein_cursor_next(cursor, &batch), 1);
    ck_assert_uint_eq(batch.count, 2);
    ck_assert_str_eq(skein_batch_args(&batch, 0)[1].text, "outer");
    ck_assert_uint_eq(skein_batch_args(&batch, 0)[1].len, 5);
    ck_assert_uint_eq(batch.more[0], SKEIN_NONE);
    ck_assert(batch.mores[batch.more[1]].has_detail);
    ck_assert_int_eq(batch.mores[batch.more[1]].detail, -9);
    closed(&trace, &cursor, &bytes);
}
END_TEST

START_TEST(cuts_with_evidence_between_their_numbers_follow_each_other)
{
    struct buf bytes = {0};
    struct partition_info info = made_info(&one, 2, 0, 3000);
    struct partition_writer *w = cut_begin(1, 0, 1000);
    range_begin(w, 1, "over", 100);
    cut_end(&bytes, &w);
    w = cut_begin(3, 1000, 2000);
    partition_writer_batch(w, made_thread(w, 100), 2, 2, false); /* the thread's next chunk */
    partition_writer_end(w, 1700);
    cut_end(&bytes, &w);
    info.evidence = true;
    w = made_writer(&info);
    cut_end(&bytes, &w);
    const struct expected rows[] = {
        {SKEIN_ROW_BEGIN, 1, 100, 0, 0}, {SKEIN_ROW_REGION, 1, 100, 1600, 0}, {0, 0, 0, 0, 0}};
    const struct skein_gap *gaps;
    struct skein_trace *trace = opened(&bytes);
    struct skein_cursor *cursor = all_of(trace);
    rows_are(cursor, rows);
    ck_assert_uint_eq(skein_cursor_gaps(cursor, &gaps), 0);
    for (uint32_t i = 0; i < 3; i++) /* the evidence, and the cuts */
        ck_assert(skein_trace_partition(trace, i)->follows == (i == 2));
    closed(&trace, &cursor, &bytes);
}
END_TEST

START_TEST(a_missing_cut_is_a_gap_and_clips_what_was_open_over_it)
{
    struct buf bytes = {0};
    struct partition_writer *w = cut_begin(1, 0, 1000);
    range_begin(w, 1, "over", 100);
    instant(w, 2, 900);
    cut_end(&bytes, &w);
    w = cut_begin(3, 2000, 3000);
    uint32_t range = (uint32_t)partition_writer_type(w, &made_range);
    partition_writer_open_range(w, range, 100);
    partition_writer_end(w, 2500);
    partition_writer_end(w, 2600);
    cut_end(&bytes, &w);
    const struct expected rows[] = {{SKEIN_ROW_BEGIN, 1, 100, 0, 0},
                                    {SKEIN_ROW_INSTANT, 2, 900, 0, 0},
                                    {SKEIN_ROW_BEGIN, 0, 100, 0, SKEIN_ROW_BEGIN_CLIPPED},
                                    {SKEIN_ROW_REGION, 0, 100, 2400, SKEIN_ROW_BEGIN_CLIPPED},
                                    {SKEIN_ROW_END_ONLY, 0, 2600, 0, 0},
                                    {0, 0, 0, 0, 0}};
    const struct skein_gap *gaps;
    struct skein_trace *trace = opened(&bytes);
    struct skein_cursor *cursor = all_of(trace);
    ck_assert_uint_eq(skein_cursor_gaps(cursor, &gaps), 1); /* before anything is read */
    ck_assert_int_eq(gaps->reason, SKEIN_GAP_MISSING);
    ck_assert_uint_eq(gaps->process, 0);
    ck_assert_uint_eq(gaps->partition, SKEIN_NONE);
    ck_assert_uint_eq(gaps->from_ns, made_ns(&one, 900));
    ck_assert_uint_eq(gaps->to_ns, made_ns(&one, 2500));
    ck_assert_ptr_nonnull(strstr(gaps->what, "between number 1 and 3"));
    rows_are(cursor, rows);
    closed(&trace, &cursor, &bytes);
}
END_TEST

START_TEST(losses_tell_why_how_many_and_of_whom)
{
    struct buf bytes = {0};
    struct partition_writer *w = cut_begin(1, 0, 1000);
    instant(w, 1, 500);
    partition_writer_loss(
        w, &(struct partition_loss){UINT32_MAX, PARTITION_LOSS_OVERWRITTEN, 0, 10, 400});
    partition_writer_loss(w, &(struct partition_loss){0, PARTITION_LOSS_RING_FULL, 12, 600, 700});
    cut_end(&bytes, &w);
    struct skein_trace *trace = opened(&bytes);
    struct skein_query query = {.size = sizeof query, .groups = UINT64_C(1) << 50};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    ck_assert_int_eq(skein_cursor_next(cursor, &batch), 1);
    ck_assert_uint_eq(batch.count, 2); /* whatever the groups are */
    for (uint32_t i = 0; i < 2; i++) {
        const struct skein_row_more *more = &batch.mores[batch.more[i]];
        ck_assert_uint_eq(batch.kind[i], SKEIN_ROW_LOSS);
        ck_assert_uint_eq(batch.type[i], SKEIN_NONE);
        ck_assert_uint_eq(batch.time_ns[i], made_ns(&one, i == 0 ? 10 : 600));
        ck_assert_uint_eq(batch.dur_ns[i], (i == 0 ? 390u : 100u) * 64);
        ck_assert_uint_eq(more->lost, i == 0 ? 0 : 12);
        ck_assert_str_eq(skein_loss_text(more->loss_reason), i == 0 ? "overwritten" : "ring_full");
        ck_assert_int_eq(batch.thread[i] == SKEIN_NONE, i == 0);
    }
    ck_assert_uint_eq(skein_trace_thread(trace, batch.thread[1])->tid, 100);
    closed(&trace, &cursor, &bytes);
}
END_TEST

/* What sample_stacks_fill wrote. */
START_TEST(stacks_come_as_frames_with_their_names)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_stacks_partition(&bytes), SKEIN_OK);
    struct skein_trace *trace = opened(&bytes);
    struct skein_cursor *cursor = all_of(trace);
    struct skein_batch batch;
    struct skein_frame frames[8];
    size_t total, seen = 0;
    uint8_t end;
    while (skein_cursor_next(cursor, &batch) > 0)
        for (uint32_t i = 0; i < batch.count; i++) {
            int status = skein_cursor_stack(cursor, i, frames, 8, &total, &end);
            ck_assert_int_eq(status, batch.stack[i] != 0 ? SKEIN_OK : SKEIN_NOT_FOUND);
            if (batch.stack[i] == 0 || batch.kind[i] != SKEIN_ROW_REGION ||
                strcmp(skein_trace_type(trace, batch.type[i])->name, "read") != 0)
                continue;
            seen++;
            ck_assert_uint_eq(total, 4); /* three addresses; at one, a function was inlined */
            ck_assert_uint_eq(end, PARTITION_STACK_WHOLE);
            ck_assert_str_eq(frames[0].module, "/usr/lib/libc.so.6");
            ck_assert_uint_eq(frames[0].address, 0x7f10000212a5);
            ck_assert_uint_eq(frames[0].looked_up, 0x7f10000212a4);
            ck_assert_uint_eq(frames[0].offset, 0x212a4);
            ck_assert_str_eq(frames[0].function, "");
            ck_assert_str_eq(frames[1].function, "wait_for(lock&)");
            ck_assert(frames[1].inlined && !frames[2].inlined);
            ck_assert_str_eq(frames[2].function, "checkout::pay(order const&)");
            ck_assert_str_eq(frames[2].file, "src/pay.cc");
            ck_assert_uint_eq(frames[2].line, 7);
            ck_assert_str_eq(frames[2].module, "/usr/bin/checkout");
            ck_assert_int_eq(skein_cursor_stack(cursor, i, frames, 1, &total, NULL), SKEIN_OK);
            ck_assert_uint_eq(total, 4);
            ck_assert_int_eq(skein_cursor_stack(cursor, batch.count, frames, 1, &total, NULL),
                             SKEIN_NOT_FOUND);
        }
    ck_assert_uint_eq(seen, 1);
    ck_assert_uint_eq(skein_trace_process(trace, 0)->start_ns, SAMPLE_EPOCH_NS - 5000000000u);
    ck_assert(skein_trace_process(trace, 0)->death.known);
    ck_assert_int_eq(skein_trace_process(trace, 0)->death.signal, 11);
    closed(&trace, &cursor, &bytes);
}
END_TEST

START_TEST(every_type_of_argument_has_its_value)
{
    struct buf bytes = {0};
    ck_assert_int_eq(sample_partition(&bytes), SKEIN_OK);
    struct skein_trace *trace = opened(&bytes);
    struct skein_cursor *cursor = all_of(trace);
    struct skein_batch batch;
    unsigned seen = 0;
    while (skein_cursor_next(cursor, &batch) > 0)
        for (uint32_t i = 0; i < batch.count; i++) {
            const struct skein_arg *args = skein_batch_args(&batch, i);
            if (batch.type[i] == SKEIN_NONE)
                continue;
            const struct skein_event_type *type = skein_trace_type(trace, batch.type[i]);
            if (strcmp(type->name, "all") != 0)
                continue;
            seen++;
            ck_assert_uint_eq(type->arg_count, 6);
            ck_assert_str_eq(type->args[5].unit, "ms");
            ck_assert_str_eq(type->file, "all.c");
            ck_assert(args[0].f64 == 0.5);
            ck_assert_uint_eq(args[1].u64, 1);
            ck_assert_uint_eq(args[2].u64, UINT64_MAX);
            ck_assert_str_eq(args[3].text, SAMPLE_TRACE_ID);
            ck_assert_uint_eq(args[3].len, 32);
            ck_assert(!args[3].cut);
            ck_assert_uint_eq(args[4].resource, 0xabc);
            ck_assert_uint_eq(args[4].number, 2);
            ck_assert_int_eq(args[5].i64, INT64_MIN);
        }
    ck_assert_uint_eq(seen, 1);
    closed(&trace, &cursor, &bytes);
}
END_TEST

/* ---- damage ---- */

static size_t rows_of(uint32_t pid)
{
    size_t n = 0;
    for (size_t i = 0; i < made.count; i++)
        n += made.rows[i].pid == pid;
    return n;
}

/* All that is given was made; returns how many of this pid. */
static size_t rows_given(struct skein_trace *trace, struct skein_cursor *cursor, uint32_t pid)
{
    struct skein_batch batch;
    size_t n = 0;
    int got;
    while ((got = skein_cursor_next(cursor, &batch)) > 0)
        for (uint32_t i = 0; i < batch.count; i++) {
            /* what was begun in front of the damage has no end */
            if (batch.kind[i] == SKEIN_ROW_OPEN || batch.kind[i] == SKEIN_ROW_END_ONLY)
                continue;
            struct made_row *row =
                made_find(&made, skein_batch_args(&batch, i)->u64, batch.kind[i]);
            must_hold(row != NULL && row->time_ns == batch.time_ns[i], "a row nobody made");
            n += skein_trace_process(trace, batch.process[i])->pid == pid;
        }
    ck_assert_int_eq(got, 0);
    return n;
}

/* Two processes; the second one's bytes stay sound. */
static size_t two_processes(void)
{
    uint64_t random = 3;
    memset(&made, 0, sizeof made);
    for (unsigned cut = 0; cut < 3; cut++)
        made_cut(&made, &one, 1 + cut, cut * 3000u, (cut + 1) * 3000u, &random);
    size_t at = made.bytes.len;
    for (unsigned cut = 0; cut < 2; cut++)
        made_cut(&made, &two, 1 + cut, cut * 4000u, (cut + 1) * 4000u, &random);
    return at;
}

START_TEST(a_changed_byte_costs_its_partition_and_is_a_gap)
{
    size_t sound_from = two_processes(), whole = rows_of(two.pid);
    for (size_t at = 0; at < sound_from; at += 7) {
        const struct skein_gap *gaps;
        made.bytes.data[at] ^= 0x10;
        struct skein_trace *trace = opened(&made.bytes);
        struct skein_cursor *cursor = all_of(trace);
        must_hold(rows_given(trace, cursor, two.pid) == whole, "byte %zu", at);
        size_t count = skein_cursor_gaps(cursor, &gaps);
        must_hold(count > 0, "a changed byte that nobody saw: %zu", at);
        for (size_t i = 0; i < count; i++)
            must_hold(gaps[i].what[0] != 0 && gaps[i].from_ns <= gaps[i].to_ns &&
                          (gaps[i].reason != SKEIN_GAP_BROKEN ||
                           (gaps[i].process == 0 && gaps[i].partition < 3 &&
                            strstr(gaps[i].what, "partition at byte") != NULL)),
                      "gap %zu of byte %zu: %s", i, at, gaps[i].what);
        skein_cursor_free(&cursor);
        skein_trace_free(&trace);
        made.bytes.data[at] ^= 0x10;
    }
    buf_fini(&made.bytes);
}
END_TEST

START_TEST(bytes_between_partitions_are_torn_and_all_partitions_are_given)
{
    struct buf bytes = {0};
    uint64_t torn = 0;
    two_processes();
    for (size_t i = 0; i < made.partitions; i++) {
        size_t end = i + 1 < made.partitions ? made.starts[i + 1] : made.bytes.len;
        if (i == 1 || i == 3) {
            buf_put(&bytes, "garbage of some kind and length", 7 + 5 * i);
            torn += 7 + 5 * i;
        }
        buf_put(&bytes, made.bytes.data + made.starts[i], end - made.starts[i]);
    }
    const struct skein_gap *gaps;
    struct skein_trace *trace = opened(&bytes);
    struct skein_cursor *cursor = all_of(trace);
    ck_assert_uint_eq(skein_cursor_gaps(cursor, &gaps), 2);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(gaps[i].reason, SKEIN_GAP_TORN);
        ck_assert_uint_eq(gaps[i].process, SKEIN_NONE);
        torn -= gaps[i].bytes;
    }
    ck_assert_uint_eq(torn, 0);
    ck_assert_uint_eq(rows_given(trace, cursor, one.pid), rows_of(one.pid));
    closed(&trace, &cursor, &bytes);
    buf_fini(&made.bytes);
}
END_TEST

/* ---- sources and memory ---- */

struct failing {
    const struct buf *bytes;
    uint64_t reads, fails_at;
};

static int failing_read(void *context, uint64_t offset, void *out, size_t n)
{
    struct failing *f = context;
    if (offset > f->bytes->len || n > f->bytes->len - offset || n == 0)
        ck_abort_msg("read outside of the source");
    if (++f->reads == f->fails_at)
        return SKEIN_IO;
    memcpy(out, f->bytes->data + offset, n);
    return SKEIN_OK;
}

START_TEST(a_source_that_fails_is_an_error_or_a_gap)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    unsigned refused = 0, gaps_seen = 0;
    two_processes();
    for (uint64_t n = 1;; n++) {
        struct failing f = {&made.bytes, 0, n};
        struct skein_trace_source source = {failing_read, &f, made.bytes.len, "far away"};
        struct skein_trace *trace;
        const struct skein_gap *gaps;
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        int status = skein_trace_add_source(trace, &source, error);
        if (status == SKEIN_OK) {
            struct skein_cursor *cursor = all_of(trace);
            size_t given = rows_given(trace, cursor, one.pid);
            size_t count = skein_cursor_gaps(cursor, &gaps);
            gaps_seen += count > 0;
            ck_assert_int_eq(count > 0, f.reads >= n);
            ck_assert(count > 0 || given == rows_of(one.pid));
            skein_cursor_free(&cursor);
        } else {
            ck_assert_int_eq(status, SKEIN_IO);
            ck_assert_ptr_nonnull(strstr(error, "far away"));
            ck_assert_uint_eq(skein_trace_partition_count(trace), 0);
            refused++;
        }
        skein_trace_free(&trace);
        if (f.reads < n)
            break;
    }
    ck_assert_uint_gt(refused, 0);
    ck_assert_uint_eq(gaps_seen, 5); /* one read for each partition */
    buf_fini(&made.bytes);
}
END_TEST

START_TEST(torn_bytes_are_judged_once_and_told_to_each_cursor)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct buf bytes = {0};
    two_processes();
    buf_put(&bytes, made.bytes.data, made.starts[1] - 100); /* torn in the midst of its first */
    buf_put(&bytes, made.bytes.data, made.bytes.len);
    struct failing f = {&bytes, 0, 0};
    struct skein_trace_source source = {failing_read, &f, bytes.len, "torn"};
    struct skein_trace *trace;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_source(trace, &source, error), SKEIN_OK);
    for (unsigned i = 0; i < 3; i++) {
        const struct skein_gap *gaps;
        uint64_t reads = f.reads;
        struct skein_cursor *cursor = all_of(trace);
        ck_assert_int_eq(f.reads > reads, i == 0);
        ck_assert_uint_eq(skein_cursor_gaps(cursor, &gaps), 1);
        ck_assert_int_eq(gaps[0].reason, SKEIN_GAP_TORN);
        ck_assert_uint_eq(gaps[0].bytes, made.starts[1] - 100);
        ck_assert_ptr_nonnull(strstr(gaps[0].what, "on belong to no whole partition (F-37): "));
        skein_cursor_free(&cursor);
    }
    skein_trace_free(&trace);
    buf_fini(&bytes);
    buf_fini(&made.bytes);
}
END_TEST

START_TEST(cuts_that_a_window_does_not_need_are_not_read)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    two_processes();
    for (unsigned cut = 0; cut < 3; cut++) { /* of process one, which has three */
        struct failing f = {&made.bytes, 0, UINT64_MAX};
        struct skein_trace_source source = {failing_read, &f, made.bytes.len, "far away"};
        struct skein_trace *trace;
        struct skein_cursor *cursor;
        struct skein_query query = {.size = sizeof query,
                                    .from_ns = made_ns(&one, cut * 3000u + 1200),
                                    .to_ns = made_ns(&one, cut * 3000u + 1500)};
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(skein_trace_add_source(trace, &source, error), SKEIN_OK);
        uint64_t opened_by = f.reads;
        ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
        ck_assert_uint_gt(rows_given(trace, cursor, one.pid), 0);
        /* the last cut of each process tells what is in progress, and is always read */
        ck_assert_uint_eq(f.reads - opened_by, 4 - cut);
        skein_cursor_free(&cursor);
        skein_trace_free(&trace);
    }
    buf_fini(&made.bytes);
}
END_TEST

/* Two cuts of `one`, and a range with a text from the first to the second. */
static void range_over_a_cut(struct buf *bytes)
{
    struct partition_writer *w = cut_begin(1, 0, 1000);
    range_begin(w, 1, "over the cut", 100);
    cut_end(bytes, &w);
    w = cut_begin(2, 1000, 2000);
    partition_writer_end(w, 1500);
    cut_end(bytes, &w);
}

/* The whole way through a trace; SKEIN_OK or SKEIN_NO_MEMORY, and nothing else. `kinds` is the sum of
 * the kinds of all rows: a range that is torn in two has another one than a whole. */
static int read_all(const struct buf *bytes, size_t *kinds)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace = NULL;
    struct skein_cursor *cursor = NULL;
    struct skein_query query = {.size = sizeof query, .thread = NULL};
    struct skein_batch batch;
    struct skein_frame frame;
    size_t total;
    int status = skein_trace_new(&trace);
    if (status == SKEIN_OK)
        status = skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error);
    if (status == SKEIN_OK)
        status = skein_cursor_new(trace, &query, &cursor);
    *kinds = 0;
    while (status == SKEIN_OK && (status = skein_cursor_next(cursor, &batch)) > 0) {
        status = SKEIN_OK;
        for (uint32_t i = 0; i < batch.count; i++)
            *kinds += batch.kind[i];
        for (uint32_t i = 0; status == SKEIN_OK && i < batch.count; i++)
            if (batch.stack[i] != 0)
                status = skein_cursor_stack(cursor, i, &frame, 1, &total, NULL);
    }
    if (status < 0 && cursor != NULL && skein_cursor_next(cursor, &batch) != SKEIN_NO_MEMORY)
        status = 1; /* it must be for good */
    skein_cursor_free(&cursor);
    skein_trace_free(&trace);
    return status;
}

START_TEST(no_memory_is_a_status_wherever_it_happens)
{
    struct buf bytes = {0};
    uint64_t random = 5;
    size_t kinds, all = 0;
    ck_assert_int_eq(sample_stacks_partition(&bytes), SKEIN_OK);
    range_over_a_cut(&bytes);
    memset(&made, 0, sizeof made);
    made_cut(&made, &two, 1, 0, 3000, &random);
    buf_put(&bytes, "torn", 4);
    buf_put(&bytes, made.bytes.data, made.bytes.len);
    ck_assert_int_eq(read_all(&bytes, &all), SKEIN_OK);
    ck_assert_uint_gt(all, 100);
    for (unsigned n = 1;; n++) {
        alloc_fail_at(n);
        int status = read_all(&bytes, &kinds);
        bool failed = alloc_fail_end();
        if (!failed) {
            ck_assert_int_eq(status, SKEIN_OK);
            ck_assert_uint_gt(n, 50);
            break;
        }
        if (status == SKEIN_OK)
            ck_assert_msg(kinds == all, "allocation %u of other rows", n);
        else
            ck_assert_msg(status == SKEIN_NO_MEMORY, "allocation %u: %d", n, status);
    }
    buf_fini(&bytes);
    buf_fini(&made.bytes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "trace_whole", a_region_over_cuts_is_one_row_and_what_is_in_progress_comes_once,
        cuts_with_evidence_between_their_numbers_follow_each_other,
        a_missing_cut_is_a_gap_and_clips_what_was_open_over_it,
        losses_tell_why_how_many_and_of_whom, stacks_come_as_frames_with_their_names,
        every_type_of_argument_has_its_value, a_changed_byte_costs_its_partition_and_is_a_gap,
        bytes_between_partitions_are_torn_and_all_partitions_are_given,
        a_source_that_fails_is_an_error_or_a_gap,
        torn_bytes_are_judged_once_and_told_to_each_cursor,
        cuts_that_a_window_does_not_need_are_not_read, no_memory_is_a_status_wherever_it_happens,
        NULL));
}
