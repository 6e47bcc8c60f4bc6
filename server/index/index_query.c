/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over the footer index. Any thread, on the reading connection; rows are copied in pages
 * and given to the caller outside all locks. Owns nothing between calls; never writes.
 *
 * A query is a row of steps, each a scan of a range of to_ns in the order of the answer. In each
 * bucket that has all its labels, up to `to` + INDEX_LONG_NS, where every shorter partition that
 * overlaps ends, it goes by the series that have its two rarest labels, in slices, because rows are
 * sorted; or, where many series have them and a page is soon full, or where the range has few rows,
 * by time alone. Then, behind that, by those longer than INDEX_LONG_NS. What a capture has is found
 * by the series too, where it has much, else by its memberships.
 */
#include <stdio.h>
#include <stdlib.h>

#include "index_int.h"
#include "process_labels.h"

#define PAGE_ROWS   128 /* looked at before the connection is given up for others */
#define PAGE_LIMIT  " LIMIT 128"
#define MEMBERS_FEW 256 /* of a capture in a bucket: looked at one by one */

enum query_way { BY_CAPTURE, BY_SERIES, BY_TIME, BY_LONG };

struct page {
    struct partition_row rows[PAGE_ROWS];
    char *texts[PAGE_ROWS];
    size_t count;
    bool no_memory;
};

struct run {
    struct index *index;
    const struct partition_query *query;
    struct series_terms terms;
    struct series_lead lead; /* of the bucket; not BY_CAPTURE */
    enum query_way way;      /* of this step, and its range of to_ns: */
    int64_t low, high;
    bool empty; /* it has given no row so far */
    int64_t to; /* latest from_ns that overlaps */
    int64_t after_time;
    uint8_t after_key[INDEX_KEY_BYTES];
    struct page page;
};

/* ---- does a row match ---- */

static bool row_matches(const struct partition_query *q, const struct partition_row *row)
{
    if (q->process && !process_uid_equal(q->process, &row->record.key.process))
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
    if (!text)
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
#define IN_ORDER(table) " ORDER BY " table "to_ns, " table "key" PAGE_LIMIT
#define SELECT_P        "SELECT " INDEX_COLUMNS_OF("p.") " FROM "

/* Rows that end in [?1, ?2], begin by ?3 and lie behind the cursor (?4, ?5). */
static const char *const by_time =
    SELECT_P "partitions p INDEXED BY by_time WHERE" OVERLAPPING("p.") IN_ORDER("p.");
static const char *const by_long =
    SELECT_P "partitions p INDEXED BY by_long WHERE long AND" OVERLAPPING("p.") IN_ORDER("p.");
/* The same of what a capture has. */
static const char *const by_capture =
    SELECT_P "member m CROSS JOIN partitions p INDEXED BY by_key ON p.key = m.key"
             " WHERE m.capture = ?6 AND p.from_ns <= ?3 AND m.to_ns >= ?1 AND m.to_ns <= ?2"
             " AND (m.to_ns, m.key) > (?4, ?5)" IN_ORDER("m.");
/* The same of a bucket and the series that have two labels in it; of what a capture has, or any. */
static const char *const by_series = SELECT_P
    "label l CROSS JOIN partitions p INDEXED BY by_series"
    " ON p.bucket = l.bucket AND p.series = l.series WHERE l.bucket = ?7 AND l.name = ?8 AND l.value = ?9" INDEX_SECOND_LABEL(
        "?10",
        "?11") " AND" OVERLAPPING("p.") " AND (?6 = x'' OR EXISTS (SELECT 1 FROM member m WHERE m.capture = ?6"
                                        " AND m.to_ns = p.to_ns AND m.key = p.key))" IN_ORDER("p.");

static const char *run_sql(const struct run *run)
{
    static const char *const ways[] = {[BY_CAPTURE] = by_capture,
                                       [BY_SERIES] = by_series,
                                       [BY_TIME] = by_time,
                                       [BY_LONG] = by_long};
    return ways[run->way];
}

/* A label as it is bound. */
struct label_bytes {
    const void *name, *value;
    size_t name_bytes, value_bytes;
};

static struct label_bytes label_bytes_of(const struct series_term *label)
{
    if (!label->name)
        return (struct label_bytes){NULL, NULL, 0, 0};
    return (struct label_bytes){label->name, label->value, strlen(label->name),
                                strlen(label->value)};
}

/* Fills the page with what lies behind the cursor. 1: there may be more; 0: this step is at its
 * end; a status. */
static int page_fill(struct run *run)
{
    struct db *db = run->index->read;
    const struct capture_id *capture = run->query->capture;
    const void *key = run->after_key, *of = capture ? capture->bytes : NULL;
    const size_t n = sizeof run->after_key, of_bytes = capture ? sizeof capture->bytes : 0;
    int64_t low = run->low < run->after_time ? run->after_time : run->low;
    struct label_bytes l[2];
    for (size_t i = 0; i < 2; i++)
        l[i] = label_bytes_of(&run->lead.terms[i]);
    int64_t found;
    if (run->way == BY_CAPTURE)
        found = db_run(db, run_sql(run), page_row, run,
                       DB(DB_I64(low), DB_I64(run->high), DB_I64(run->to), DB_I64(run->after_time),
                          DB_BLOB(key, n), DB_BLOB(of, of_bytes)));
    else if (run->way == BY_SERIES)
        found =
            db_run(db, run_sql(run), page_row, run,
                   DB(DB_I64(low), DB_I64(run->high), DB_I64(run->to), DB_I64(run->after_time),
                      DB_BLOB(key, n), DB_BLOB(of, of_bytes), DB_I64(run->lead.bucket),
                      DB_BLOB(l[0].name, l[0].name_bytes), DB_BLOB(l[0].value, l[0].value_bytes),
                      DB_BLOB(l[1].name, l[1].name_bytes), DB_BLOB(l[1].value, l[1].value_bytes)));
    else
        found = db_run(db, run_sql(run), page_row, run,
                       DB(DB_I64(low), DB_I64(run->high), DB_I64(run->to), DB_I64(run->after_time),
                          DB_BLOB(key, n)));
    if (found < 0)
        return index_fail(run->index, found);
    run->empty = run->empty && found == 0;
    return run->page.no_memory ? SKEIN_NO_MEMORY : found == PAGE_ROWS;
}

static void page_clear(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->texts[i]);
    page->count = 0;
    page->no_memory = false;
}

/* ---- from step to step ---- */

/* Says where the step ends that begins at run->low. Each slice is a search for every series: it has
 * a page of rows, and as many as there are series. */
static void step_end(struct run *run)
{
    const struct series_lead *lead = &run->lead;
    int64_t slices = lead->rows / (PAGE_ROWS + lead->series) + 1;
    int64_t end = index_sum(run->low, INDEX_BUCKET_NS / slices);
    run->empty = true;
    run->high = run->way == BY_SERIES && end < lead->high ? end : lead->high;
}

static int number_get(void *context, struct db_row *row)
{
    *(int64_t *)context = db_i64(row, 0);
    return 1;
}

/* Moves run->low to where the capture has more. 1, 0: nowhere; a status. */
static int members_seek(struct run *run)
{
    const struct capture_id *capture = run->query->capture;
    return (int)db_run(run->index->read,
                       "SELECT to_ns FROM member WHERE capture = ?1 AND to_ns >= ?2"
                       " ORDER BY to_ns LIMIT 1",
                       number_get, &run->low,
                       DB(DB_BLOB(capture->bytes, sizeof capture->bytes), DB_I64(run->low)));
}

/* 1 where the capture has little of what the lead says, 0, or a status. */
static int members_few(struct run *run)
{
    const struct capture_id *capture = run->query->capture;
    int64_t count = 0;
    int64_t n = db_run(run->index->read,
                       "SELECT count(*) FROM (SELECT 1 FROM member WHERE capture = ?1"
                       " AND to_ns >= ?2 AND to_ns <= ?3 LIMIT ?4)",
                       number_get, &count,
                       DB(DB_BLOB(capture->bytes, sizeof capture->bytes), DB_I64(run->lead.low),
                          DB_I64(run->lead.high), DB_I64((int64_t)MEMBERS_FEW + 1)));
    return n < 0 ? (int)n : count <= MEMBERS_FEW;
}

/* How the bucket is gone through. SKEIN_OK or a status. */
static int way_choose(struct run *run)
{
    run->way = run->lead.narrow ? BY_SERIES : BY_TIME;
    if (!run->query->capture)
        return SKEIN_OK;
    int few = run->lead.narrow ? members_few(run) : 1;
    if (few == 1)
        run->way = BY_CAPTURE;
    return few < 0 ? few : SKEIN_OK;
}

/* The first step in the next bucket that has rows from run->low on. 1, 0: none has; a status. */
static int bucket_first(struct run *run)
{
    const bool captured = run->query->capture != NULL;
    int more = captured ? members_seek(run) : 1;
    while (more == 1) {
        int64_t before = run->low;
        more = index_series_next(run->index->read, &run->terms, run->low, run->to, &run->lead);
        if (more != 1)
            return more;
        run->low = run->lead.low;
        if (!captured || run->low == before)
            break;
        more = members_seek(run); /* the bucket has rows, perhaps none of the capture's */
    }
    if (more != 1)
        return more;
    int status = way_choose(run);
    step_end(run);
    return status < 0 ? status : 1;
}

/* The same, in the buckets or behind them. */
static int step_first(struct run *run)
{
    int64_t behind = index_sum(run->to, INDEX_LONG_NS);
    int more = bucket_first(run);
    if (more < 0)
        return index_fail(run->index, more);
    if (more == 1 || behind == INT64_MAX)
        return more;
    run->way = run->query->capture ? BY_CAPTURE : BY_LONG;
    run->low = behind + 1;
    run->high = run->lead.high = INT64_MAX;
    return 1;
}

/* Moves run->low to where the lead's series have more in the bucket, or behind it. SKEIN_OK or a
 * status. */
static int series_seek(struct run *run)
{
    const struct label_bytes l = label_bytes_of(&run->lead.terms[0]),
                             o = label_bytes_of(&run->lead.terms[1]);
    int64_t n = db_run(
        run->index->read,
        "SELECT coalesce(min((SELECT to_ns FROM partitions INDEXED BY by_series"
        " WHERE bucket = l.bucket AND series = l.series AND to_ns >= ?1"
        " ORDER BY to_ns LIMIT 1)), ?7) FROM label l"
        " WHERE l.bucket = ?2 AND l.name = ?3 AND l.value = ?4" INDEX_SECOND_LABEL("?5", "?6"),
        number_get, &run->low,
        DB(DB_I64(run->low), DB_I64(run->lead.bucket), DB_BLOB(l.name, l.name_bytes),
           DB_BLOB(l.value, l.value_bytes), DB_BLOB(o.name, o.name_bytes),
           DB_BLOB(o.value, o.value_bytes), DB_I64(index_sum(run->lead.high, 1))));
    return n < 0 ? index_fail(run->index, n) : SKEIN_OK;
}

/* After a step came to its end. 1: go on; 0: the query is done; a status. */
static int step_next(struct run *run)
{
    if (run->high == INT64_MAX)
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

/* The first step. 1; 0: there is none; a status. */
static int run_init(struct run *run, struct index *index, const struct partition_query *query)
{
    memset(run, 0, sizeof *run);
    run->index = index;
    run->query = query;
    run->low = index_i64(query->from_ns);
    run->to = index_i64(query->to_ns);
    run->after_time = -1;
    if (query->after) {
        run->after_time = index_i64(query->after_time);
        index_key_put(&query->after_key, run->after_key);
    }
    if (run->low < run->after_time)
        run->low = run->after_time;
    index_series_terms(query, &run->terms);
    return step_first(run);
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
    if (!run)
        return SKEIN_NO_MEMORY;
    int64_t n = run_init(run, index, query);
    char sql[2048];
    (void)snprintf(sql, sizeof sql, "EXPLAIN QUERY PLAN %s", run_sql(run));
    if (n > 0)
        n = db_run(index->read, sql, plan_line, out, NULL);
    free(run);
    return n < 0 ? index_fail(index, n) : out->status;
}

int64_t index_query(struct index *index, const struct partition_query *query, partition_row_fn *fn,
                    void *context)
{
    struct run *run = malloc(sizeof *run);
    if (!run)
        return SKEIN_NO_MEMORY;
    int64_t given = 0;
    int more = run_init(run, index, query);
    while (more > 0) {
        more = page_fill(run);
        for (size_t i = 0; more >= 0 && i < run->page.count; i++) {
            given++;
            if (fn(context, &run->page.rows[i]) != 0 ||
                (query->limit && (size_t)given == query->limit)) {
                page_clear(&run->page);
                free(run);
                return given;
            }
        }
        page_clear(&run->page);
        if (more == 0)
            more = step_next(run);
    }
    page_clear(&run->page);
    free(run);
    return more < 0 ? more : given;
}
