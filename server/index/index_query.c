/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over the footer index. Any thread, on the reading connection; rows are copied in pages
 * and given to the caller outside all locks. Owns nothing between calls; never writes.
 *
 * A query is a series of steps. Each step scans one range of to_ns, in the order of the answer:
 *
 *   from_ns             to_ns              to_ns + INDEX_LONG_NS
 *   ├─ bucket ─┼─ bucket ─┼─ bucket ─┼─ bucket ┤├── BY_LONG ──▶
 *
 *   In the buckets  All that ends up to there; a partition that overlaps and ends later is longer
 *                   than INDEX_LONG_NS. A bucket that lacks one of the labels is skipped. BY_SERIES
 *                   goes by the series that have the two rarest labels, a slice of time at a step,
 *                   because rows are sorted. BY_TIME goes by time alone: where many series have
 *                   those labels, so that a page is soon full, or where the range has few rows.
 *   Behind them     BY_LONG: only partitions longer than INDEX_LONG_NS.
 *
 * A query of ranges (what a capture has) takes the same steps between low_ns and high_ns, and looks
 * each row up in the ranges. If the ranges name few partitions, or the query asks for all rows, it
 * finds rows by their keys instead and sorts them:
 *
 *   named                             limit   way
 *   up to 1,024                       any     BY_RANGE: all of them, sorted, then page by page
 *   more, all of one process          some    BY_SERIES, BY_LONG: the process is a label
 *   up to 65,536, by up to 64 ranges  any     BY_RANGE
 *   more                              none    BY_RANGE
 *   more                              some    BY_SERIES, BY_TIME, BY_LONG, from low_ns to high_ns
 */
#include <stdio.h>
#include <stdlib.h>

#include "array.h"
#include "index_int.h"
#include "process_labels.h"

#define PAGE_ROWS  128   /* rows in one turn on the connection; then others may use it */
#define NAMED_FEW  1024  /* up to so many partitions are looked up one by one for a page */
#define NAMED_MANY 65536 /* the same where at most RANGES_FEW ranges name them */
#define RANGES_FEW 64

enum query_way { BY_RANGE, BY_SERIES, BY_TIME, BY_LONG };

struct page {
    struct partition_row rows[PAGE_ROWS];
    char *texts[PAGE_ROWS];
    size_t count;
    bool no_memory;
};

/* A row that was found by its key. */
struct found {
    int64_t id, to_ns;
    uint8_t key[INDEX_KEY_BYTES];
};

struct run {
    struct index *index;
    const struct partition_query *query;
    size_t given;
    struct found *found; /* BY_RANGE: all rows, in the order of the answer */
    size_t found_count, found_cap, found_next;
    struct series_terms terms;
    struct series_lead lead; /* where to look in the bucket; not BY_RANGE */
    enum query_way way;      /* of this step; its range of to_ns is low to high */
    int64_t low, high;
    bool empty;   /* this step has given no row so far */
    int64_t to;   /* the latest from_ns that overlaps the window */
    int64_t last; /* the latest to_ns that can be in the answer */
    int64_t after_time;
    uint8_t after_key[INDEX_KEY_BYTES];
    struct page page;
};

/* ---- does a row match ---- */

static bool row_matches(const struct partition_query *q, const struct partition_row *row)
{
    if (q->process != NULL && !process_uid_equal(q->process, &row->record.key.process))
        return false;
    if (q->ranges != NULL && !partition_ranges_have(q->ranges, &row->record.key))
        return false;
    struct process_labels labels = {row->service, row->host, row->exe,
                                    row->labels,  row->pid,  row->record.key.process.bytes};
    return process_labels_match(q->selector, &labels);
}

/* ---- a page ---- */

static bool row_keep(struct page *page, const struct partition_row *row)
{
    const char *const from[] = {row->host, row->service, row->labels, row->exe};
    size_t n[4], total = 0;
    for (size_t i = 0; i < 4; i++)
        total += n[i] = strlen(from[i]) + 1;
    char *text = malloc(total);
    if (text == NULL)
        return false;
    struct partition_row *kept = &page->rows[page->count];
    *kept = *row;
    page->texts[page->count++] = text;
    const char **const to[] = {&kept->host, &kept->service, &kept->labels, &kept->exe};
    for (size_t i = 0; i < 4; i++) {
        memcpy(text, from[i], n[i]);
        *to[i] = text;
        text += n[i];
    }
    return true;
}

static int page_row(void *context, struct db_row *from)
{
    struct run *run = context;
    struct page *page = &run->page;
    struct partition_row row;
    index_row_get(from, &row);
    if (row_matches(run->query, &row) && !row_keep(page, &row)) {
        page->no_memory = true;
        return 1;
    }
    run->after_time = index_i64(row.to_ns);
    index_key_put(&row.record.key, run->after_key);
    return 0;
}

#define OVERLAPPING(table)                                                                         \
    " " table "to_ns >= ?1 AND " table "to_ns <= ?2 AND " table "from_ns <= ?3 AND (" table        \
    "to_ns, " table "key) > (?4, ?5)"
#define IN_ORDER(table, limit) " ORDER BY " table "to_ns, " table "key LIMIT " limit
#define SELECT_P               "SELECT " INDEX_COLUMNS_OF("p.") " FROM "

/* Rows that end in [?1, ?2], begin by ?3 and lie behind the cursor (?4, ?5); at most ?6. */
static const char *const by_time =
    SELECT_P "partitions p INDEXED BY by_time WHERE" OVERLAPPING("p.") IN_ORDER("p.", "?6");
static const char *const by_long = SELECT_P
    "partitions p INDEXED BY by_long WHERE long AND" OVERLAPPING("p.") IN_ORDER("p.", "?6");
/* The same within one bucket, for the series that have two labels in it; at most ?11. */
static const char *const by_series =
    SELECT_P "label l CROSS JOIN partitions p INDEXED BY by_series"
             " ON p.bucket = l.bucket AND p.series = l.series"
             " WHERE l.bucket = ?6 AND l.name = ?7 AND l.value = ?8" INDEX_SECOND_LABEL(
                 "?9", "?10") " AND" OVERLAPPING("p.") IN_ORDER("p.", "?11");
/* The rows in a range of keys that overlap the window and lie behind the cursor, in no order. */
static const char *const by_range =
    "SELECT id, to_ns, key FROM partitions INDEXED BY by_key WHERE key >= ?1 AND key <= ?2"
    " AND to_ns >= ?3 AND from_ns <= ?4 AND (to_ns, key) > (?5, ?6)";

static const char *sql_run(const struct run *run)
{
    static const char *const ways[] = {
        [BY_RANGE] = by_range, [BY_SERIES] = by_series, [BY_TIME] = by_time, [BY_LONG] = by_long};
    return ways[run->way];
}

/* A label in the form in which it is bound. */
struct label_bytes {
    const void *name, *value;
    size_t name_bytes, value_bytes;
};

static struct label_bytes label_bytes_of(const struct series_term *label)
{
    if (label->name == NULL)
        return (struct label_bytes){NULL, NULL, 0, 0};
    return (struct label_bytes){label->name, label->value, strlen(label->name),
                                strlen(label->value)};
}

/* ---- by keys ---- */

static int found_add(void *context, struct db_row *row)
{
    struct run *run = context;
    size_t n;
    const void *key = db_blob(row, 2, &n);
    if (!array_grow(run->found, run->found_count + 1, &run->found_cap)) {
        run->page.no_memory = true;
        return 1;
    }
    struct found *found = &run->found[run->found_count];
    *found = (struct found){.id = db_i64(row, 0), .to_ns = db_i64(row, 1)};
    if (n == INDEX_KEY_BYTES) {
        memcpy(found->key, key, n);
        run->found_count++;
    }
    return 0;
}

static int found_order(const void *left, const void *right)
{
    const struct found *a = left, *b = right;
    if (a->to_ns != b->to_ns)
        return a->to_ns < b->to_ns ? -1 : 1;
    return memcmp(a->key, b->key, sizeof a->key);
}

/* Finds all rows of the ranges, and sorts them. 1; 0: there is none; a status. */
static int ranges_look_up(struct run *run, const struct partition_range *ranges, size_t count)
{
    uint8_t low[INDEX_KEY_BYTES], high[INDEX_KEY_BYTES];
    int64_t n = 0;
    for (size_t i = 0; n >= 0 && i < count; i++) {
        index_range_put(&ranges[i], low, high);
        n = db_run(run->index->read, by_range, found_add, run,
                   DB(DB_BLOB(low, sizeof low), DB_BLOB(high, sizeof high), DB_I64(run->low),
                      DB_I64(run->to), DB_I64(run->after_time),
                      DB_BLOB(run->after_key, sizeof run->after_key)));
    }
    if (n < 0 || run->page.no_memory)
        return n < 0 ? index_result(run->index, n) : SKEIN_NO_MEMORY;
    if (run->found_count > 0)
        qsort(run->found, run->found_count, sizeof *run->found, found_order);
    return run->found_count > 0;
}

/* Fills the page with the next of the found rows. A row that was deleted meanwhile is left out. */
static int page_fetch(struct run *run)
{
    size_t end = run->found_next + PAGE_ROWS;
    if (end > run->found_count)
        end = run->found_count;
    for (; run->found_next < end; run->found_next++) {
        const struct found *found = &run->found[run->found_next];
        int64_t n = db_run(
            run->index->read, "SELECT " INDEX_COLUMNS " FROM partitions WHERE id = ?1 AND key = ?2",
            page_row, run, DB(DB_I64(found->id), DB_BLOB(found->key, sizeof found->key)));
        if (n < 0)
            return index_result(run->index, n);
        if (run->page.no_memory)
            return SKEIN_NO_MEMORY;
    }
    return run->found_next < run->found_count;
}

/* ---- by series and time ---- */

/* How many rows to ask for: with a selector, some that are found are not in the answer. */
static int64_t page_rows(const struct run *run)
{
    const struct partition_query *q = run->query;
    size_t left = q->limit - run->given;
    return q->limit != 0 && selector_is_all(q->selector) && left < PAGE_ROWS ? (int64_t)left
                                                                             : PAGE_ROWS;
}

/* Fills the page with rows behind the cursor. 1: there may be more; 0: this step is done; a
 * status. */
static int page_fill(struct run *run)
{
    struct db *db = run->index->read;
    const void *key = run->after_key;
    const size_t n = sizeof run->after_key;
    int64_t low = run->low < run->after_time ? run->after_time : run->low;
    struct label_bytes l[2];
    for (size_t i = 0; i < 2; i++)
        l[i] = label_bytes_of(&run->lead.terms[i]);
    int64_t found, rows = page_rows(run);
    if (run->way == BY_RANGE)
        return page_fetch(run);
    if (run->way == BY_SERIES)
        found = db_run(
            db, sql_run(run), page_row, run,
            DB(DB_I64(low), DB_I64(run->high), DB_I64(run->to), DB_I64(run->after_time),
               DB_BLOB(key, n), DB_I64(run->lead.bucket), DB_BLOB(l[0].name, l[0].name_bytes),
               DB_BLOB(l[0].value, l[0].value_bytes), DB_BLOB(l[1].name, l[1].name_bytes),
               DB_BLOB(l[1].value, l[1].value_bytes), DB_I64(rows)));
    else
        found = db_run(db, sql_run(run), page_row, run,
                       DB(DB_I64(low), DB_I64(run->high), DB_I64(run->to), DB_I64(run->after_time),
                          DB_BLOB(key, n), DB_I64(rows)));
    if (found < 0)
        return index_result(run->index, found);
    run->empty = run->empty && found == 0;
    return run->page.no_memory ? SKEIN_NO_MEMORY : found == rows;
}

static void page_clear(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->texts[i]);
    page->count = 0;
    page->no_memory = false;
}

/* ---- from step to step ---- */

/* Sets the end of the step that begins at run->low. A slice costs one search for each series, so it
 * is made as long as a page of rows and one row for each series. */
static void step_end(struct run *run)
{
    const struct series_lead *lead = &run->lead;
    int64_t slices = lead->rows / (PAGE_ROWS + lead->series) + 1;
    int64_t end = index_sum(run->low, INDEX_BUCKET_NS / slices);
    run->empty = true;
    run->high = run->way == BY_SERIES && end < lead->high ? end : lead->high;
    if (run->high > run->last)
        run->high = run->last;
}

/* Begins the first step in the next bucket with rows from run->low on. 1; 0: none has; a status. */
static int bucket_first(struct run *run)
{
    int more = index_series_next(run->index->read, &run->terms, run->low, run->to, &run->lead);
    if (more != 1)
        return more;
    run->low = run->lead.low;
    run->way = run->lead.narrow ? BY_SERIES : BY_TIME;
    step_end(run);
    return 1;
}

/* Begins the next step, in a bucket or behind all of them. 1; 0: there is none; a status. */
static int step_first(struct run *run)
{
    int64_t behind = index_sum(run->to, INDEX_LONG_NS);
    int more = bucket_first(run);
    if (more < 0)
        return index_result(run->index, more);
    if (more == 1 && run->low > run->last)
        return 0;
    if (more == 1 || behind >= run->last)
        return more;
    run->way = BY_LONG;
    run->low = behind + 1;
    run->high = run->lead.high = run->last;
    return 1;
}

/* Moves run->low to the next row that the lead's series have in the bucket, or behind the bucket.
 * SKEIN_OK or a status. */
static int series_seek(struct run *run)
{
    const struct label_bytes l = label_bytes_of(&run->lead.terms[0]),
                             o = label_bytes_of(&run->lead.terms[1]);
    int status = db_number(
        run->index->read,
        "SELECT coalesce(min((SELECT to_ns FROM partitions INDEXED BY by_series"
        " WHERE bucket = l.bucket AND series = l.series AND to_ns >= ?1"
        " ORDER BY to_ns LIMIT 1)), ?7) FROM label l"
        " WHERE l.bucket = ?2 AND l.name = ?3 AND l.value = ?4" INDEX_SECOND_LABEL("?5", "?6"),
        &run->low,
        DB(DB_I64(run->low), DB_I64(run->lead.bucket), DB_BLOB(l.name, l.name_bytes),
           DB_BLOB(l.value, l.value_bytes), DB_BLOB(o.name, o.name_bytes),
           DB_BLOB(o.value, o.value_bytes), DB_I64(index_sum(run->lead.high, 1))));
    return index_result(run->index, status);
}

/* Goes on after the end of a step. 1: there is a next one; 0: the query is done; a status. */
static int step_next(struct run *run)
{
    if (run->way == BY_RANGE || run->high >= run->last)
        return 0;
    run->low = run->high + 1;
    if (run->low <= run->lead.high && run->empty) {
        int status = series_seek(run);
        if (status < 0)
            return status;
    }
    if (run->low > run->lead.high) {
        run->low = index_sum(run->lead.bucket * INDEX_BUCKET_NS, INDEX_BUCKET_NS);
        return step_first(run);
    }
    step_end(run);
    return 1;
}

/* Whether a page looks the named partitions up by their keys. Those of one process need that less:
 * a series leads to them. */
static bool ranges_are_few(const struct partition_range *ranges, size_t count)
{
    bool one = process_uid_equal(&ranges->key.process, &ranges[count - 1].key.process);
    const uint64_t most = !one && count <= RANGES_FEW ? NAMED_MANY : NAMED_FEW;
    uint64_t named = 0;
    for (size_t i = 0; i < count && named <= most; i++) {
        uint64_t more = ranges[i].last - ranges[i].key.sequence;
        named += more < most ? more + 1 : most + 1;
    }
    return named <= most;
}

/* Begins a query of ranges: by keys, or by the steps between low_ns and high_ns. As run_init. */
static int ranges_first(struct run *run)
{
    const struct partition_query *q = run->query;
    const struct partition_ranges *ranges = q->ranges;
    size_t first = 0, end = ranges->count;
    if (q->process != NULL) {
        const size_t n = sizeof q->process->bytes;
        const struct partition_range *items = ranges->items;
        array_find(first, 0, ranges->count,
                   memcmp(items[first].key.process.bytes, q->process->bytes, n) < 0);
        array_find(end, first, ranges->count,
                   memcmp(items[end].key.process.bytes, q->process->bytes, n) <= 0);
    }
    if (first == end)
        return 0;
    if (!q->limit || ranges_are_few(ranges->items + first, end - first)) {
        run->way = BY_RANGE;
        return ranges_look_up(run, ranges->items + first, end - first);
    }
    run->last = index_i64(ranges->high_ns);
    if (run->low < index_i64(ranges->low_ns))
        run->low = index_i64(ranges->low_ns);
    if (run->to > run->last)
        run->to = run->last; /* a row that ends by then begins by then */
    return run->low <= run->last ? step_first(run) : 0;
}

/* Begins the first step. 1; 0: there is none; a status. */
static int run_init(struct run *run, struct index *index, const struct partition_query *query)
{
    memset(run, 0, sizeof *run);
    run->index = index;
    run->query = query;
    run->low = index_i64(query->from_ns);
    run->to = index_i64(query->to_ns);
    run->last = INT64_MAX;
    run->after_time = -1;
    if (query->after) {
        run->after_time = index_i64(query->after_time);
        index_key_put(&query->after_key, run->after_key);
    }
    if (run->low < run->after_time)
        run->low = run->after_time;
    index_series_terms(query, &run->terms);
    return query->ranges != NULL ? ranges_first(run) : step_first(run);
}

static void run_free(struct run *run)
{
    page_clear(&run->page);
    free(run->found);
    free(run);
}

static int plan_line(void *context, struct db_row *row)
{
    struct buf *out = context;
    const char *text = db_text(row, 3);
    buf_put(out, text, strlen(text));
    buf_put(out, "\n", 1);
    return 0;
}

int index_query_plan(struct index *index, const struct partition_query *query, struct buf *out)
{
    struct run *run = malloc(sizeof *run);
    if (run == NULL)
        return SKEIN_NO_MEMORY;
    int64_t n = run_init(run, index, query);
    char sql[2048];
    (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", sql_run(run));
    if (n > 0)
        n = db_run(index->read, sql, plan_line, out, NULL);
    run_free(run);
    return n < 0 ? index_result(index, n) : out->status;
}

int64_t index_query(struct index *index, const struct partition_query *query, partition_row_fn *fn,
                    void *context)
{
    struct run *run = malloc(sizeof *run);
    if (run == NULL)
        return SKEIN_NO_MEMORY;
    int more = run_init(run, index, query);
    while (more > 0) {
        more = page_fill(run);
        for (size_t i = 0; more >= 0 && i < run->page.count; i++) {
            run->given++;
            if (fn == NULL || fn(context, &run->page.rows[i]) != 0 || run->given == query->limit) {
                const size_t given = run->given;
                run_free(run);
                return (int64_t)given;
            }
        }
        page_clear(&run->page);
        if (more == 0)
            more = step_next(run);
    }
    const size_t given = run->given;
    run_free(run);
    return more < 0 ? more : (int64_t)given;
}
