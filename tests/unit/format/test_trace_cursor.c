/* SPDX-License-Identifier: Apache-2.0
 * Cursors over traces whose rows are known from making them: order, columns, queries, regions over
 * cuts, and what partitions name.
 */
#include "made_trace.h"

static struct made_trace made;

static struct skein_trace *opened(const struct buf *bytes)
{
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    struct skein_trace *trace;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    int status = skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error);
    ck_assert_msg(status == SKEIN_OK, "%s", error);
    return trace;
}

static struct skein_cursor *asked(struct skein_trace *trace, struct skein_query query)
{
    struct skein_cursor *cursor;
    query.size = sizeof query;
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    return cursor;
}

static void closed(struct skein_trace **trace, struct skein_cursor **cursor)
{
    skein_cursor_free(cursor);
    skein_trace_free(trace);
    ck_assert_ptr_null(*trace);
    ck_assert_ptr_null(*cursor);
}

/* ---- rows beside what was made ---- */

static const char *type_name(const struct skein_trace *trace, const struct skein_batch *batch,
                             uint32_t i)
{
    return batch->type[i] == SKEIN_NONE ? "" : skein_trace_type(trace, batch->type[i])->name;
}

/* The row that was made and is this one; NULL. */
static struct made_row *made_of(const struct skein_batch *batch, uint32_t i)
{
    struct made_row *row = made_find(&made, skein_batch_args(batch, i)[0].u64, batch->kind[i]);
    return row != NULL && row->kind == batch->kind[i] && !row->seen ? row : NULL;
}

static void row_is(const struct skein_trace *trace, const struct skein_batch *batch, uint32_t i,
                   const struct made_row *row)
{
    const struct skein_thread *thread = skein_trace_thread(trace, batch->thread[i]);
    must_hold(batch->time_ns[i] == row->time_ns && batch->dur_ns[i] == row->dur_ns, "time of %u",
              (unsigned)row->id);
    must_hold(batch->flags[i] == row->flags && batch->depth[i] == row->depth, "flags of %u",
              (unsigned)row->id);
    must_hold(skein_trace_process(trace, batch->process[i])->pid == row->pid, "process");
    must_hold(thread->tid == row->tid && thread->process == batch->process[i], "thread");
    must_hold(thread->evidence == ((row->flags & SKEIN_ROW_EVIDENCE) != 0), "evidence");
    must_hold(strcmp(type_name(trace, batch, i), row->name) == 0, "type");
    must_hold(batch->stack[i] == 0 && batch->more[i] == SKEIN_NONE, "stack and more");
}

/* What a query of a test asks for, in the test's own words. */
struct asking {
    struct skein_query query;
    uint32_t pid, tid; /* 0: all */
    const char *name;  /* NULL: all */
    unsigned asked;    /* how often the filters were called */
};

static bool process_asked(void *context, const struct skein_process *process)
{
    struct asking *a = context;
    return a->pid == 0 || process->pid == a->pid;
}

static bool thread_asked(void *context, const struct skein_thread *thread)
{
    struct asking *a = context;
    a->asked++;
    return a->tid == 0 || thread->tid == a->tid;
}

static bool type_asked(void *context, const struct skein_event_type *type)
{
    struct asking *a = context;
    a->asked++;
    return a->name == NULL || strcmp(type->name, a->name) == 0;
}

static bool is_wanted(const struct asking *a, const struct made_row *row)
{
    const struct skein_query *q = &a->query;
    bool kind = q->kinds != 0 ? (q->kinds >> row->kind & 1) != 0 : row->kind != SKEIN_ROW_BEGIN;
    bool time =
        row->time_ns + row->dur_ns >= q->from_ns && (q->to_ns == 0 || row->time_ns <= q->to_ns);
    bool group = q->groups == 0 || (q->groups >> row->group & 1) != 0;
    return kind && time && group && !(q->no_evidence && (row->flags & SKEIN_ROW_EVIDENCE)) &&
           (a->pid == 0 || row->pid == a->pid) && (a->tid == 0 || row->tid == a->tid) &&
           (a->name == NULL || strcmp(row->name, a->name) == 0);
}

/* Each row that was made and is wanted comes once, in the order of when it was made. */
static void rows_are_those(struct asking *a)
{
    struct skein_trace *trace = opened(&made.bytes);
    a->query.context = a;
    struct skein_cursor *cursor = asked(trace, a->query);
    struct skein_batch batch;
    uint64_t last = 0, count = 0, wanted = 0;
    uint32_t process = SKEIN_NONE;
    int got;
    for (size_t k = 0; k < made.count; k++) {
        made.rows[k].seen = false;
        wanted += is_wanted(a, &made.rows[k]);
    }
    while ((got = skein_cursor_next(cursor, &batch)) > 0) {
        ck_assert_uint_gt(batch.count, 0);
        ck_assert_uint_le(batch.count, SKEIN_BATCH_ROWS);
        for (uint32_t i = 0; i < batch.count; i++, count++) {
            struct made_row *row = made_of(&batch, i);
            must_hold(row != NULL && is_wanted(a, row), "a row that was not asked for");
            row_is(trace, &batch, i, row);
            row->seen = true;
            if (a->query.by_process && batch.process[i] != process)
                last = 0;
            process = batch.process[i];
            must_hold(row->made_ns >= last, "row %u comes too late", (unsigned)row->id);
            last = row->made_ns;
        }
    }
    ck_assert_int_eq(got, 0);
    ck_assert_int_eq(skein_cursor_next(cursor, &batch), 0);
    ck_assert_uint_eq(count, wanted);
    ck_assert_uint_eq(skein_cursor_fixed_up(cursor), 0);
    closed(&trace, &cursor);
}

START_TEST(all_rows_come_in_the_order_in_which_they_were_made)
{
    made_fill(&made);
    struct asking a = {.query = {.kinds = 0}};
    rows_are_those(&a);
    a.query.kinds = 0x1fe;
    rows_are_those(&a);
    a.query.by_process = true;
    rows_are_those(&a);
}
END_TEST

START_TEST(a_query_gives_what_it_asks_for_in_every_combination)
{
    static const char *const names[] = {NULL, "span", "range", "counter"};
    uint64_t random = 99, begin = SAMPLE_EPOCH_NS, long_ns = 45000u * 64;
    made_fill(&made);
    for (unsigned n = 0; n < 150; n++) {
        struct asking a = {.query = {.no_evidence = made_random(&random, 3) == 0,
                                     .by_process = made_random(&random, 3) == 0}};
        if (made_random(&random, 2))
            a.query.kinds = (uint32_t)made_random(&random, 0x100) << 1;
        if (made_random(&random, 2))
            a.query.from_ns = begin + made_random(&random, long_ns);
        if (made_random(&random, 2))
            a.query.to_ns =
                (a.query.from_ns ? a.query.from_ns : begin) + made_random(&random, long_ns);
        if (made_random(&random, 3) == 0)
            a.query.groups = UINT64_C(1) << SKEIN_GROUP_IO | UINT64_C(1) << 16;
        if (made_random(&random, 3) == 0)
            a.pid = made_processes[made_random(&random, 3)].pid;
        if (made_random(&random, 3) == 0)
            a.tid = made_processes[made_random(&random, 3)].pid + 1;
        a.name = names[made_random(&random, 4)];
        a.query.process = process_asked;
        a.query.thread = thread_asked;
        a.query.type = type_asked;
        rows_are_those(&a);
        ck_assert_uint_le(a.asked, 4 + 3 * MADE_THREADS + 2); /* once for each number */
    }
}
END_TEST

/* Columns that are asked for hold the same whatever else is asked for; others are not there. */
START_TEST(each_choice_of_columns_gives_the_same_rows)
{
    made_fill(&made);
    struct skein_trace *trace = opened(&made.bytes);
    for (uint32_t columns = 1; columns <= SKEIN_COLUMN_ALL; columns++) {
        struct skein_cursor *all = asked(trace, (struct skein_query){.columns = 0});
        struct skein_cursor *some = asked(trace, (struct skein_query){.columns = columns});
        struct skein_batch a, b;
        while (skein_cursor_next(all, &a) > 0) {
            ck_assert_int_eq(skein_cursor_next(some, &b), 1);
            ck_assert_uint_eq(a.count, b.count);
            ck_assert_mem_eq(a.kind, b.kind, a.count);
            ck_assert_mem_eq(a.flags, b.flags, a.count);
            ck_assert_mem_eq(a.process, b.process, a.count * sizeof *a.process);
            ck_assert_mem_eq(a.thread, b.thread, a.count * sizeof *a.thread);
            ck_assert_mem_eq(a.more, b.more, a.count * sizeof *a.more);
            ck_assert_int_eq(b.time_ns != NULL, (columns & SKEIN_COLUMN_TIME) != 0);
            ck_assert_int_eq(b.dur_ns != NULL, (columns & SKEIN_COLUMN_TIME) != 0);
            ck_assert_int_eq(b.type != NULL, (columns & SKEIN_COLUMN_TYPE) != 0);
            ck_assert_int_eq(b.depth != NULL, (columns & SKEIN_COLUMN_DEPTH) != 0);
            ck_assert_int_eq(b.stack != NULL, (columns & SKEIN_COLUMN_STACK) != 0);
            ck_assert_int_eq(b.args != NULL, (columns & SKEIN_COLUMN_ARGS) != 0);
            if (b.time_ns != NULL) {
                ck_assert_mem_eq(a.time_ns, b.time_ns, a.count * sizeof *a.time_ns);
                ck_assert_mem_eq(a.dur_ns, b.dur_ns, a.count * sizeof *a.dur_ns);
            }
            if (b.type != NULL)
                ck_assert_mem_eq(a.type, b.type, a.count * sizeof *a.type);
            if (b.depth != NULL)
                ck_assert_mem_eq(a.depth, b.depth, a.count * sizeof *a.depth);
            for (uint32_t i = 0; b.args != NULL && i < a.count; i++)
                must_hold(skein_batch_args(&a, i)->u64 == skein_batch_args(&b, i)->u64,
                          "arguments");
        }
        ck_assert_int_eq(skein_cursor_next(some, &b), 0);
        skein_cursor_free(&all);
        skein_cursor_free(&some);
    }
    skein_trace_free(&trace);
}
END_TEST

/* ---- opening ---- */

START_TEST(footers_tell_of_processes_and_partitions)
{
    made_fill(&made);
    struct skein_trace *trace = opened(&made.bytes);
    uint64_t from, to, events = 0, first = UINT64_MAX, last = 0;
    for (size_t k = 0; k < made.count; k++) {
        first = made.rows[k].made_ns < first ? made.rows[k].made_ns : first;
        last = made.rows[k].made_ns > last ? made.rows[k].made_ns : last;
        events += (made.rows[k].flags & SKEIN_ROW_EVIDENCE) == 0;
    }
    skein_trace_bounds(trace, &from, &to);
    ck_assert_uint_eq(from, first);
    ck_assert_uint_eq(to, last);
    ck_assert_uint_eq(skein_trace_process_count(trace), 3);
    ck_assert_ptr_null(skein_trace_process(trace, 3));
    for (uint32_t p = 0; p < 3; p++) {
        const struct skein_process *process = skein_trace_process(trace, p);
        ck_assert_uint_eq(process->pid, made_processes[p].pid); /* as they come */
        ck_assert_str_eq(process->service, "checkout");
        ck_assert_str_eq(process->labels, "zone=a,canary=");
        ck_assert_uint_eq(process->partitions, p < 2 ? 6 : 4);
        events -= process->events;
    }
    ck_assert_uint_eq(events, 0);
    ck_assert_uint_eq(skein_trace_partition_count(trace), 16);
    for (uint32_t i = 0; i < 16; i++) {
        const struct skein_partition *part = skein_trace_partition(trace, i);
        uint32_t p = i < 6 ? 0 : i < 12 ? 1 : 2, at = i < 12 ? i % 6 : i - 12;
        ck_assert_uint_eq(part->process, p);
        ck_assert_int_eq(part->evidence, p < 2 && at < 2);
        if (!part->evidence)
            ck_assert_uint_eq(part->sequence, 42 + at - (p < 2 ? 2 : 0));
        ck_assert_uint_eq(part->offset + part->bytes <= made.bytes.len, 1);
    }
    skein_trace_free(&trace);
}
END_TEST

START_TEST(a_partition_that_is_there_already_is_left_out)
{
    made_fill(&made);
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace = opened(&made.bytes);
    ck_assert_int_eq(skein_trace_add_memory(trace, made.bytes.data, made.bytes.len, "", error),
                     SKEIN_OK);
    ck_assert_uint_eq(skein_trace_partition_count(trace), 16);
    ck_assert_uint_eq(skein_trace_process_count(trace), 3);
    struct skein_cursor *cursor = asked(trace, (struct skein_query){.kinds = 0x1fe});
    ck_assert_int_eq(skein_trace_add_memory(trace, made.bytes.data, made.bytes.len, "", error),
                     SKEIN_INVALID);
    struct skein_batch batch;
    size_t count = 0;
    while (skein_cursor_next(cursor, &batch) > 0)
        count += batch.count;
    ck_assert_uint_eq(count, made.count);
    closed(&trace, &cursor);
}
END_TEST

START_TEST(files_of_a_trace_come_one_by_one_and_in_any_order)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    made_fill(&made);
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    for (size_t i = made.partitions; i-- > 0;) {
        size_t end = i + 1 < made.partitions ? made.starts[i + 1] : made.bytes.len;
        ck_assert_int_eq(skein_trace_add_memory(trace, made.bytes.data + made.starts[i],
                                                end - made.starts[i], "one", error),
                         SKEIN_OK);
    }
    struct skein_cursor *cursor = asked(trace, (struct skein_query){.kinds = 0x1fe});
    struct skein_batch batch;
    const struct skein_gap *gaps;
    size_t count = 0;
    while (skein_cursor_next(cursor, &batch) > 0)
        for (uint32_t i = 0; i < batch.count; i++, count++)
            must_hold(made_of(&batch, i) != NULL, "a row that was not made");
    ck_assert_uint_eq(count, made.count);
    ck_assert_uint_eq(skein_cursor_gaps(cursor, &gaps), 0);
    closed(&trace, &cursor);
}
END_TEST

START_TEST(what_is_no_trace_is_refused_with_a_sentence)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    struct skein_cursor *cursor;
    struct skein_batch batch;
    ck_assert_int_eq(skein_trace_open("/nowhere/at/all.skein", &trace, error), SKEIN_IO);
    ck_assert_ptr_null(trace);
    ck_assert_ptr_nonnull(strstr(error, "/nowhere/at/all.skein"));
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, "no trace", 8, "mine", error), SKEIN_CORRUPT);
    ck_assert_ptr_nonnull(strstr(error, "mine"));
    struct skein_query query = {.size = sizeof query};
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK); /* of nothing */
    ck_assert_int_eq(skein_cursor_next(cursor, &batch), 0);
    ck_assert_uint_eq(batch.count, 0);
    skein_cursor_free(&cursor);
    struct skein_query bad[] = {{.size = 0},
                                {.size = sizeof query, .columns = 32},
                                {.size = sizeof query, .kinds = 1},
                                {.size = sizeof query, .kinds = 1u << 9},
                                {.size = sizeof query, .from_ns = 5, .to_ns = 4}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(skein_cursor_new(trace, &bad[i], &cursor), SKEIN_INVALID);
        ck_assert_ptr_null(cursor);
    }
    skein_trace_free(&trace);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("trace_cursor", all_rows_come_in_the_order_in_which_they_were_made,
                              a_query_gives_what_it_asks_for_in_every_combination,
                              each_choice_of_columns_gives_the_same_rows,
                              footers_tell_of_processes_and_partitions,
                              a_partition_that_is_there_already_is_left_out,
                              files_of_a_trace_come_one_by_one_and_in_any_order,
                              what_is_no_trace_is_refused_with_a_sentence, NULL));
}
