/* SPDX-License-Identifier: Apache-2.0
 * Cursors take records straight into columns; what they give is held against the partition reader's
 * own events, one by one, over traces made by chance: every kind of record, argument, loss, stack
 * and gap of a thread's records, and every kind of query.
 */
#include "made_trace.h"
#include "trace_merge.h"
#include <inttypes.h>

enum { TRACES = 30, QUERIES = 12, LOCKS = 3 };

static uint64_t chance;

static uint64_t below(uint64_t n)
{
    return made_random(&chance, n);
}

/* ---- traces by chance ---- */

static const struct partition_event_type *const types[] = {
    &sample_query, &sample_read, &sample_all, &sample_depth, &sample_log,
    &sample_lock,  &made_span,   &made_range, &made_instant};
enum { TYPES = sizeof types / sizeof *types, ALL = 2, LOCK = 5 };

/* A process as its cuts go on: ranges stay open, chunks are numbered on. */
struct process {
    uint32_t pid;
    int64_t offset_ns;
    uint64_t sequence, chunk[MADE_THREADS], locks[LOCKS];
    bool sequences;
};

static void value_make(uint8_t type, struct process *p, struct partition_value *value)
{
    static const char *const texts[] = {"", "a", "select 1", "\x1b[31mred"};
    uint64_t big = below(UINT32_MAX) << below(32);
    value->u64 = below(3) == 0 ? big : below(200);
    if (type == SKEIN_T_STR)
        *value = sample_str(texts[below(4)]);
    if (type == SKEIN_T_F64)
        value->f64 = (double)big / 3;
    if (type == SKEIN_T_SEQ) {
        uint64_t lock = below(LOCKS);
        /* mostly in turn; at times out of it, so that threads wait and go in circles */
        uint64_t number = below(10) == 0 ? below(p->locks[lock] + 5) : p->locks[lock]++;
        *value = sample_seq(lock, number);
    }
}

static void stack_put(struct partition_writer *w)
{
    uint64_t pcs[3] = {0x1000 + below(5), 0x2000 + below(3), 0x3000};
    if (below(4) == 0)
        partition_writer_event_stack(
            w, (uint32_t)partition_writer_stack(
                   w, &(struct partition_stack){pcs, (uint32_t)below(4), (uint8_t)below(3)}));
}

static uint64_t records_put(struct partition_writer *w, struct process *p, uint64_t ticks,
                            bool evidence)
{
    for (uint64_t n = below(80); n > 0; n--) {
        struct partition_value args[SKEIN_ARGS_MAX];
        size_t type = below(TYPES);
        ticks += below(8) == 0 ? below(5000) : below(90);
        if (!evidence && below(4) == 0) {
            partition_writer_end(w, ticks);
            stack_put(w);
            continue;
        }
        if ((evidence && types[type]->klass == SKEIN_CLASS_RANGE_BEGIN) ||
            (!p->sequences && (type == ALL || type == LOCK)))
            type = 1;
        for (unsigned i = 0; i < types[type]->nargs; i++)
            value_make(types[type]->args[i].type, p, &args[i]);
        partition_writer_event(w, (uint32_t)partition_writer_type(w, types[type]), ticks,
                               types[type]->klass == SKEIN_CLASS_SPAN ? below(400) : 0, args);
        stack_put(w);
    }
    return ticks;
}

static void batches_put(struct partition_writer *w, struct process *p, uint64_t from, bool evidence)
{
    uint64_t ticks[MADE_THREADS] = {from, from, from};
    for (uint64_t n = 3 + below(12); n > 0; n--) {
        uint32_t t = (uint32_t)below(MADE_THREADS);
        p->chunk[t] += below(6) == 0 ? 2 : 1; /* at times one is missing */
        partition_writer_batch(w, made_thread(w, p->pid + t), 1, p->chunk[t], below(20) == 0);
        for (uint64_t open = below(4) == 0 && !evidence ? below(3) : 0; open > 0; open--)
            partition_writer_open_range(w, below(3) ? 0 : -1, ticks[t] - below(ticks[t] + 1));
        ticks[t] = records_put(w, p, ticks[t], evidence);
    }
    for (uint64_t n = below(3); n > 0; n--) {
        uint64_t lost = from + below(9000);
        partition_writer_loss(w, &(struct partition_loss){below(2) ? 0 : UINT32_MAX,
                                                          (uint8_t)(1 + below(6)), below(9), lost,
                                                          lost + below(500)});
    }
    if (!evidence && below(2))
        partition_writer_open(w, &(struct partition_open){0, 0, from + below(100), -4});
}

static void partition_put(struct buf *out, struct process *p, uint64_t from, bool evidence)
{
    const struct made_process made = {p->pid, p->offset_ns};
    struct partition_info info = made_info(
        &made, evidence ? PARTITION_EVIDENCE_FROM + p->sequence : p->sequence, from, from + 9000);
    info.evidence = evidence;
    struct partition_writer *w = made_writer(&info);
    made_thread(w, p->pid);
    partition_writer_type(w, evidence ? &sample_read : &sample_query);
    batches_put(w, p, from, evidence);
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static void trace_make(struct buf *out)
{
    struct process processes[3] = {{.pid = 100}, {.pid = 140, .offset_ns = -90000}, {.pid = 180}};
    buf_clear(out);
    for (unsigned p = 0; p < 3; p++)
        processes[p].sequences = below(2) != 0;
    for (unsigned cut = 0; cut < 3; cut++)
        for (unsigned p = 0; p < 3; p++) {
            processes[p].sequence += below(8) == 0 ? 2 : 1;
            if (below(4) == 0)
                partition_put(out, &processes[p], cut * 9000u, true);
            partition_put(out, &processes[p], cut * 9000u, false);
        }
}

/* ---- the same query in both ways ---- */

/* A cursor and where one is in its batch. */
struct reading {
    struct skein_cursor *cursor;
    struct skein_batch batch;
    uint32_t at;
};

static bool row_next(struct reading *r)
{
    if (r->batch.count > 0 && ++r->at < r->batch.count)
        return true;
    r->at = 0;
    int got = skein_cursor_next(r->cursor, &r->batch);
    must_hold(got >= 0, "status %d", got);
    return got > 0;
}

#define SAME(column, a, b)                                                                         \
    do {                                                                                           \
        must_hold(((a)->batch.column == NULL) == ((b)->batch.column == NULL),                      \
                  #column " is asked for in one");                                                 \
        if ((a)->batch.column != NULL && (b)->batch.column != NULL)                                \
            must_hold((a)->batch.column[(a)->at] == (b)->batch.column[(b)->at],                    \
                      #column " of row %zu, %" PRId64 " and %" PRId64, row,                        \
                      (int64_t)(a)->batch.column[(a)->at], (int64_t)(b)->batch.column[(b)->at]);   \
    } while (0)

static void args_are_same(const struct skein_trace *trace, const struct reading *a,
                          const struct reading *b, size_t row)
{
    const struct skein_arg *x = skein_batch_args(&a->batch, a->at);
    const struct skein_arg *y = skein_batch_args(&b->batch, b->at);
    if (a->batch.type[a->at] == SKEIN_NONE)
        return;
    const struct skein_event_type *type = skein_trace_type(trace, a->batch.type[a->at]);
    for (unsigned i = 0; i < type->arg_count; i++)
        if (type->args[i].type == SKEIN_T_STR)
            must_hold(x[i].len == y[i].len && x[i].cut == y[i].cut &&
                          memcmp(x[i].text, y[i].text, x[i].len + 1) == 0,
                      "text %u of row %zu", i, row);
        else
            must_hold(x[i].u64 == y[i].u64 &&
                          (type->args[i].type != SKEIN_T_SEQ || x[i].number == y[i].number),
                      "argument %u of row %zu", i, row);
}

static void more_is_same(const struct reading *a, const struct reading *b, size_t row)
{
    uint32_t i = a->batch.more[a->at], k = b->batch.more[b->at];
    must_hold((i == SKEIN_NONE) == (k == SKEIN_NONE), "more of row %zu", row);
    if (i == SKEIN_NONE)
        return;
    const struct skein_row_more *x = &a->batch.mores[i], *y = &b->batch.mores[k];
    must_hold(x->loss_reason == y->loss_reason && x->lost == y->lost && x->detail == y->detail &&
                  x->has_detail == y->has_detail,
              "loss of row %zu", row);
}

static void stack_is_same(struct reading *a, struct reading *b, size_t row)
{
    struct skein_frame x[4], y[4];
    size_t n = 0, m = 0;
    uint8_t end = 0, other = 0;
    int got = skein_cursor_stack(a->cursor, a->at, x, 4, &n, &end);
    must_hold(got == skein_cursor_stack(b->cursor, b->at, y, 4, &m, &other), "stack %zu", row);
    must_hold(n == m && end == other, "frames of row %zu", row);
    for (size_t i = 0; i < n && i < 4; i++)
        must_hold(x[i].address == y[i].address, "frame %zu of row %zu", i, row);
}

static size_t rows_are_same(struct skein_trace *trace, const struct skein_query *query)
{
    struct reading slow = {.at = 0}, fast = {.at = 0};
    ck_assert_int_eq(trace_cursor_slow_new(trace, query, &slow.cursor), SKEIN_OK);
    ck_assert_int_eq(skein_cursor_new(trace, query, &fast.cursor), SKEIN_OK);
    size_t row = 0;
    for (;; row++) {
        bool more = row_next(&slow);
        must_hold(row_next(&fast) == more, "%s rows than %zu", more ? "fewer" : "more", row);
        if (!more)
            break;
        SAME(kind, &slow, &fast);
        SAME(flags, &slow, &fast);
        SAME(process, &slow, &fast);
        SAME(thread, &slow, &fast);
        SAME(time_ns, &slow, &fast);
        SAME(dur_ns, &slow, &fast);
        SAME(type, &slow, &fast);
        SAME(depth, &slow, &fast);
        more_is_same(&slow, &fast, row);
        if (slow.batch.args != NULL && slow.batch.type != NULL)
            args_are_same(trace, &slow, &fast, row);
        if (slow.batch.stack != NULL)
            stack_is_same(&slow, &fast, row);
    }
    const struct skein_gap *x, *y;
    size_t count = skein_cursor_gaps(slow.cursor, &x), fewer = skein_cursor_gaps(fast.cursor, &y);
    bool window = query->from_ns != 0 || query->to_ns != 0; /* which leaves cuts unread */
    must_hold(fewer == count || (window && fewer < count), "gaps");
    for (size_t i = 0; fewer == count && i < count; i++)
        must_hold(strcmp(x[i].what, y[i].what) == 0, "%s is not %s", x[i].what, y[i].what);
    if (query->thread == NULL && !window) { /* else only what is read is counted */
        must_hold(skein_cursor_fixed_up(slow.cursor) == skein_cursor_fixed_up(fast.cursor),
                  "raised");
        must_hold(skein_cursor_unordered(slow.cursor) == skein_cursor_unordered(fast.cursor),
                  "circles");
    }
    skein_cursor_free(&slow.cursor);
    skein_cursor_free(&fast.cursor);
    return row;
}

static bool even_thread(void *context, const struct skein_thread *thread)
{
    (void)context;
    return thread->tid % 2 == 0;
}

static bool no_log(void *context, const struct skein_event_type *type)
{
    (void)context;
    return type->klass != SKEIN_CLASS_LOG;
}

static struct skein_query query_make(void)
{
    struct skein_query q = {.size = sizeof q, .columns = (uint32_t)below(SKEIN_COLUMN_ALL + 1)};
    q.kinds = below(2) ? (uint32_t)below(256) << 1 : 0x1fe;
    q.groups = below(4) == 0 ? UINT64_C(1) << SKEIN_GROUP_IO | 1 : 0;
    q.no_evidence = below(4) == 0;
    q.by_process = below(4) == 0;
    q.thread = below(3) == 0 ? even_thread : NULL;
    q.type = below(4) == 0 ? no_log : NULL;
    if (below(3) == 0)
        q.from_ns = SAMPLE_EPOCH_NS + below(27000u * 64);
    if (below(3) == 0)
        q.to_ns = (q.from_ns ? q.from_ns : SAMPLE_EPOCH_NS) + below(9000u * 64);
    return q;
}

START_TEST(columns_hold_what_the_reader_gives_event_by_event)
{
    struct buf bytes = {0};
    size_t rows = 0;
    for (unsigned n = 0; n < TRACES; n++) {
        char error[SKEIN_TRACE_ERROR_BYTES];
        struct skein_trace *trace;
        chance = n + 1;
        trace_make(&bytes);
        if (n % 5 == 4) /* something of it is broken */
            bytes.data[below(bytes.len)] ^= 1;
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(skein_trace_add_memory(trace, bytes.data, bytes.len, "made", error),
                         SKEIN_OK);
        struct skein_query all = {.size = sizeof all, .kinds = 0x1fe};
        rows += rows_are_same(trace, &all);
        for (unsigned k = 0; k < QUERIES; k++) {
            struct skein_query query = query_make();
            rows_are_same(trace, &query);
        }
        skein_trace_free(&trace);
    }
    ck_assert_uint_gt(rows, TRACES * 1000);
    buf_fini(&bytes);
}
END_TEST

/* ---- partitions of several blocks, of which a time needs some ---- */

enum { LONG_BATCHES = 160, LONG_RECORDS = 600, LONG_WINDOWS = 10 };
#define LONG_TICKS 40 /* between two records of a thread, on an average */

/* Ranges in ranges, spans and instants: all ranges have ended with the last batch. */
static uint64_t long_batch(struct partition_writer *w, uint64_t ticks, unsigned *depth, bool last)
{
    static const struct partition_event_type *const kinds[] = {&made_span, &made_range,
                                                               &made_instant};
    for (unsigned n = 0; n < LONG_RECORDS || (last && *depth > 0); n++) {
        struct partition_value args[2] = {{.u64 = made_random(&chance, UINT64_MAX)}};
        const struct partition_event_type *type = kinds[below(3)];
        ticks += 1 + below(2 * LONG_TICKS);
        if (n >= LONG_RECORDS || (*depth > 0 && below(3) == 0)) {
            partition_writer_end(w, ticks);
            --*depth;
            continue;
        }
        args[1] = sample_str("x");
        *depth += type == &made_range;
        partition_writer_event(w, (uint32_t)partition_writer_type(w, type), ticks,
                               type == &made_span ? below(3000) : 0, args);
    }
    return ticks;
}

static void long_partition(struct buf *out, uint32_t pid)
{
    const struct made_process made = {pid, 0};
    uint64_t last = (uint64_t)LONG_BATCHES * LONG_RECORDS / MADE_THREADS * LONG_TICKS;
    struct partition_info info = made_info(&made, 1, 0, last);
    struct partition_writer *w = made_writer(&info);
    uint64_t ticks[MADE_THREADS] = {0};
    unsigned depth[MADE_THREADS] = {0};
    for (unsigned i = 0; i < LONG_BATCHES; i++) {
        unsigned t = i % MADE_THREADS;
        partition_writer_batch(w, made_thread(w, pid + t), 1, i / MADE_THREADS, false);
        ticks[t] = long_batch(w, ticks[t], &depth[t], i + MADE_THREADS >= LONG_BATCHES);
    }
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

START_TEST(time_leaves_out_blocks_and_no_row)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct buf bytes = {0};
    struct skein_trace *trace;
    uint64_t from, to;
    chance = 4;
    long_partition(&bytes, 100);
    long_partition(&bytes, 140);
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, bytes.data, bytes.len, "made", error), SKEIN_OK);
    skein_trace_bounds(trace, &from, &to);
    for (unsigned i = 0; i < LONG_WINDOWS; i++) {
        struct skein_query query = {.size = sizeof query, .kinds = 0x1fe};
        query.from_ns = from + below(to - from);
        query.to_ns = query.from_ns + below((to - from) / 8);
        query.thread = i % 3 == 0 ? even_thread : NULL;
        rows_are_same(trace, &query);
    }
    skein_trace_free(&trace);
    buf_fini(&bytes);
}
END_TEST

/* Rows that a query gives, and what it says is not there. */
static size_t rows_count(const struct buf *bytes, uint64_t to_ns, size_t *gap_count)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_query query = {.size = sizeof query, .to_ns = to_ns};
    struct skein_trace *trace;
    struct reading r = {.at = 0};
    const struct skein_gap *gaps;
    size_t rows = 0;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error),
                     SKEIN_OK);
    ck_assert_int_eq(skein_cursor_new(trace, &query, &r.cursor), SKEIN_OK);
    while (row_next(&r))
        rows++;
    *gap_count = skein_cursor_gaps(r.cursor, &gaps);
    skein_cursor_free(&r.cursor);
    skein_trace_free(&trace);
    return rows;
}

START_TEST(blocks_that_a_time_does_not_need_are_not_read)
{
    struct buf bytes = {0};
    struct partition_footer footer;
    size_t need, gaps;
    const uint64_t early = SAMPLE_EPOCH_NS + 2000 * 64;
    chance = 7;
    long_partition(&bytes, 100);
    ck_assert_int_eq(partition_footer_get(bytes.data, bytes.len, &footer, &need), SKEIN_OK);
    ck_assert_uint_ge(footer.block_count, 3);
    size_t rows = rows_count(&bytes, early, &gaps);
    ck_assert_uint_gt(rows, 50);
    ck_assert_uint_eq(gaps, 0);
    /* a byte in the middle of the last block */
    const struct partition_block *last = &footer.blocks[footer.block_count - 1];
    bytes.data[last->offset + last->stored_bytes / 2] ^= 1;
    ck_assert_uint_eq(rows_count(&bytes, early, &gaps), rows);
    ck_assert_uint_eq(gaps, 0);
    rows_count(&bytes, 0, &gaps);
    ck_assert_uint_eq(gaps, 1);
    partition_footer_free(&footer);
    buf_fini(&bytes);
}
END_TEST

/* Threads at the same ticks again and again: of equal ones the first thread's comes first. */
static void crowd_make(struct buf *out, unsigned threads, unsigned records)
{
    const struct made_process made = {100, 0};
    struct partition_info info = made_info(&made, 1, 0, 100000);
    struct partition_writer *w = made_writer(&info);
    for (unsigned i = 0; i < 2 * threads; i++) {
        uint64_t ticks = i < threads ? 0 : 2 * records;
        partition_writer_batch(w, made_thread(w, i % threads), 1, i / threads, false);
        for (unsigned n = 0; n < records; n++) {
            const struct partition_value args[2] = {{.u64 = n}, sample_str("x")};
            const struct partition_event_type *type = below(3) ? &made_span : &made_range;
            ticks += below(3);
            partition_writer_event(w, (uint32_t)partition_writer_type(w, type), ticks, below(4),
                                   args);
            if (type == &made_range)
                partition_writer_end(w, ticks += below(2));
        }
    }
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

START_TEST(a_crowd_of_threads_keeps_its_order)
{
    /* with a little room for rows of each, with much, and with none: more than 8192 threads */
    static const unsigned crowds[][2] = {{5, 3000}, {200, 90}, {3000, 40}, {8300, 3}};
    for (unsigned n = 0; n < sizeof crowds / sizeof *crowds; n++) {
        char error[SKEIN_TRACE_ERROR_BYTES];
        struct buf bytes = {0};
        struct skein_trace *trace;
        struct skein_query query = {.size = sizeof query, .kinds = 0x1fe};
        chance = n + 9;
        crowd_make(&bytes, crowds[n][0], crowds[n][1]);
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(skein_trace_add_memory(trace, bytes.data, bytes.len, "made", error),
                         SKEIN_OK);
        ck_assert_uint_ge(rows_are_same(trace, &query), (size_t)2 * crowds[n][0] * crowds[n][1]);
        query.kinds = 0;
        query.columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE;
        rows_are_same(trace, &query);
        skein_trace_free(&trace);
        buf_fini(&bytes);
    }
}
END_TEST

/* Ticks up to the last that there is: no place in the order is behind it. */
START_TEST(records_of_the_last_tick_come_once)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct buf bytes = {0};
    struct skein_trace *trace;
    const struct skein_query query = {.size = sizeof query, .kinds = 0x1fe};
    const struct made_process made = {100, 0};
    const struct partition_value args[2] = {{.u64 = 1}, sample_str("x")};
    struct partition_info info = made_info(&made, 1, 0, 100000);
    struct partition_writer *w = made_writer(&info);
    uint32_t range = (uint32_t)partition_writer_type(w, &made_range);
    uint32_t instant = (uint32_t)partition_writer_type(w, &made_instant);
    for (uint32_t t = 0; t < 2; t++) {
        partition_writer_batch(w, made_thread(w, t), 1, 1, false);
        partition_writer_event(w, range, 1000 + t, 0, args);
        partition_writer_event(w, instant, UINT64_MAX - 1, 0, args);
        partition_writer_event(w, instant, UINT64_MAX, 0, args);
        partition_writer_end(w, UINT64_MAX);
    }
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, bytes.data, bytes.len, "made", error), SKEIN_OK);
    ck_assert_uint_eq(rows_are_same(trace, &query), 8); /* two begins, four instants, two regions */
    skein_trace_free(&trace);
    buf_fini(&bytes);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("trace_columns", columns_hold_what_the_reader_gives_event_by_event,
                 time_leaves_out_blocks_and_no_row, blocks_that_a_time_does_not_need_are_not_read,
                 a_crowd_of_threads_keeps_its_order, records_of_the_last_tick_come_once, NULL));
}
