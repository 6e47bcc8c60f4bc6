/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over the footer index. Any thread, on the reading connection; rows are copied in pages
 * and given to the caller outside all locks. Owns nothing between calls; never writes.
 *
 * A query takes one of three ways, each in the order of the answer: by capture; by the series that
 * have its rarest label, slice after slice of time; by time alone, where each of its labels is
 * common and the page is soon full. For the last two it has two parts:
 *
 *   BODY  to_ns from `from` to `to` + INDEX_LONG_NS: every shorter partition that overlaps ends
 * here LONG  to_ns behind that: only partitions longer than INDEX_LONG_NS can still overlap
 *
 * A slice lies within a bucket and holds some SLICE_ROWS rows of the series, because they are
 * sorted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "index_int.h"
#include "process_labels.h"

#define PAGE_ROWS    128
#define PAGE_SCANNED 4096 /* rows looked at before the connection is given up for others */
#define SLICE_ROWS   256

enum query_way { BY_CAPTURE, BY_SERIES, BY_TIME };
enum query_part { PART_BODY, PART_LONG, PART_END };

struct page {
    struct partition_row rows[PAGE_ROWS];
    char *texts[PAGE_ROWS];
    size_t count, scanned;
    bool no_memory, stopped;
};

struct run {
    struct index *index;
    const struct partition_query *query;
    enum query_way way;
    enum query_part part;
    struct series_lead lead; /* BY_SERIES */
    int64_t slice, slice_ns; /* BY_SERIES: where it begins, how long it is at most */
    int64_t to;              /* latest from_ns that overlaps */
    int64_t body_end;        /* last to_ns of BODY */
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
    if (page->count == PAGE_ROWS || page->scanned == PAGE_SCANNED) {
        page->stopped = true;
        return 1;
    }
    struct partition_row row;
    index_row_get(from, &row);
    if (row_matches(run->query, &row) && !row_keep(page, &row)) {
        page->no_memory = true;
        return 1;
    }
    page->scanned++;
    run->after_time = index_i64(row.to_ns);
    index_key_put(&row.record.key, run->after_key);
    return 0;
}

#define OVERLAPPING(table)                                                                         \
    " " table "to_ns >= ?1 AND " table "to_ns <= ?2 AND " table "from_ns <= ?3 AND (" table        \
    "to_ns, " table "key) > (?4, ?5)"
#define HAS_LABEL(name, value)                                                                     \
    " AND (" name " = x'' OR EXISTS (SELECT 1 FROM label WHERE name = " name " AND value = " value \
    " AND series = m.series))"
#define IN_ORDER(table) " ORDER BY " table "to_ns, " table "key"
#define SELECT_P        "SELECT " INDEX_COLUMNS_OF("p.") " FROM "

/* Rows that end in [?1, ?2], begin by ?3 and lie behind the cursor (?4, ?5). */
static const char *const by_time =
    SELECT_P "partitions p INDEXED BY by_time WHERE" OVERLAPPING("p.") IN_ORDER("p.");
static const char *const by_long =
    SELECT_P "partitions p INDEXED BY by_long WHERE long AND" OVERLAPPING("p.") IN_ORDER("p.");
/* The same of what a capture has, and of two labels: its memberships lead. */
static const char *const by_capture = SELECT_P
    "member m CROSS JOIN partitions p INDEXED BY by_key ON p.key = m.key"
    " WHERE m.capture = ?6 AND p.from_ns <= ?3 AND m.to_ns >= ?1 AND m.to_ns <= ?2"
    " AND (m.to_ns, m.key) > (?4, ?5)" HAS_LABEL("?7", "?8") HAS_LABEL("?9", "?10") IN_ORDER("m.");
/* The same of a bucket and the series of two labels that are alive in it. */
static const char *const by_series = SELECT_P
    "label l CROSS JOIN series s ON s.id = l.series"
    " CROSS JOIN partitions p INDEXED BY by_series ON p.bucket = ?6 AND p.series = s.id"
    " WHERE l.name = ?7 AND l.value = ?8 AND s.first <= ?6 AND s.last >= ?6" INDEX_SECOND_LABEL(
        "?9", "?10") " AND" OVERLAPPING("p.") IN_ORDER("p.");

static const char *run_sql(const struct run *run)
{
    if (run->part == PART_LONG)
        return by_long;
    return run->way == BY_CAPTURE ? by_capture : run->way == BY_SERIES ? by_series : by_time;
}

static int64_t slice_end(const struct run *run)
{
    int64_t left = INDEX_BUCKET_NS - run->slice % INDEX_BUCKET_NS;
    int64_t end = run->slice + (left < run->slice_ns ? left : run->slice_ns) - 1;
    return end < run->body_end ? end : run->body_end;
}

/* A label as it is bound. */
struct label_bytes {
    const void *name, *value;
    size_t name_bytes, value_bytes;
};

static struct label_bytes label_bytes_of(const struct series_label *label)
{
    if (!label->name)
        return (struct label_bytes){NULL, NULL, 0, 0};
    return (struct label_bytes){label->name, label->value, strlen(label->name),
                                strlen(label->value)};
}

/* Fills the page with what lies behind the cursor. 1: there may be more; 0: this part or slice is
 * at its end; a status. */
static int page_fill(struct run *run)
{
    struct db *db = run->index->read;
    const struct partition_query *q = run->query;
    bool body = run->part == PART_BODY;
    int64_t low = body ? index_i64(q->from_ns) : run->body_end + 1;
    int64_t high = body ? run->body_end : INT64_MAX;
    if (body && run->way == BY_SERIES) {
        low = run->slice;
        high = slice_end(run);
    }
    if (low < run->after_time)
        low = run->after_time;
    const void *key = run->after_key;
    const size_t n = sizeof run->after_key;
    struct label_bytes l[2];
    for (size_t i = 0; i < 2; i++)
        l[i] = label_bytes_of(&run->lead.labels[i]);
    int64_t found;
    if (run->way == BY_CAPTURE)
        found = db_run(db, run_sql(run), page_row, run, "iiiibbbbbb", low, high, run->to,
                       run->after_time, key, n, (const void *)q->capture->bytes,
                       sizeof q->capture->bytes, l[0].name, l[0].name_bytes, l[0].value,
                       l[0].value_bytes, l[1].name, l[1].name_bytes, l[1].value, l[1].value_bytes);
    else if (run->way == BY_SERIES && body)
        found = db_run(db, run_sql(run), page_row, run, "iiiibibbbb", low, high, run->to,
                       run->after_time, key, n, run->slice / INDEX_BUCKET_NS, l[0].name,
                       l[0].name_bytes, l[0].value, l[0].value_bytes, l[1].name, l[1].name_bytes,
                       l[1].value, l[1].value_bytes);
    else
        found = db_run(db, run_sql(run), page_row, run, "iiiib", low, high, run->to,
                       run->after_time, key, n);
    if (found < 0)
        return index_fail(run->index, found);
    return run->page.no_memory ? SKEIN_NO_MEMORY : run->page.stopped;
}

static void page_clear(struct page *page)
{
    for (size_t i = 0; i < page->count; i++)
        free(page->texts[i]);
    page->count = page->scanned = 0;
    page->stopped = page->no_memory = false;
}

/* ---- the way through the parts ---- */

static int bucket_get(void *context, struct db_row *row)
{
    int64_t *bucket = context;
    *bucket = db_i64(row, 0);
    return 1;
}

/* Moves on to the next bucket that has rows, where the slice begins a bucket. 1; 0 where the series
 * have no more in BODY; a status. */
static int slice_seek(struct run *run)
{
    int64_t bucket = run->slice / INDEX_BUCKET_NS, next = bucket;
    if (run->slice % INDEX_BUCKET_NS == 0) {
        int64_t found =
            db_run(run->index->read,
                   "SELECT bucket FROM partitions INDEXED BY by_series WHERE bucket >= ?1"
                   " ORDER BY bucket LIMIT 1",
                   bucket_get, &next, "i", bucket);
        if (found < 0)
            return index_fail(run->index, found);
        if (found == 0)
            return 0;
    }
    if (next > bucket)
        run->slice = next * INDEX_BUCKET_NS;
    return run->slice <= run->body_end && next <= run->lead.last;
}

/* After a part or slice came to its end. 1: go on; 0: the query is done; a status. */
static int part_next(struct run *run)
{
    if (run->part == PART_BODY && run->way == BY_SERIES) {
        int64_t end = slice_end(run);
        run->slice = end + (end < INT64_MAX);
        int more = end < INT64_MAX ? slice_seek(run) : 0;
        if (more != 0)
            return more;
    }
    bool may_be_long =
        run->way == BY_TIME || (run->way == BY_SERIES && run->lead.longest_ns > INDEX_LONG_NS);
    run->part =
        run->part == PART_BODY && may_be_long && run->body_end < INT64_MAX ? PART_LONG : PART_END;
    return run->part != PART_END;
}

static void slices_init(struct run *run)
{
    const struct series_lead *lead = &run->lead;
    int64_t low = index_i64(run->query->from_ns);
    if (low < run->after_time)
        low = run->after_time;
    run->slice = lead->first > low / INDEX_BUCKET_NS ? lead->first * INDEX_BUCKET_NS : low;
    run->slice_ns = INDEX_BUCKET_NS;
    if (lead->rows > SLICE_ROWS)
        run->slice_ns = INDEX_BUCKET_NS / (lead->rows / SLICE_ROWS + 1) + 1;
}

/* 1: there is something to look at; 0; a status. */
static int run_init(struct run *run, struct index *index, const struct partition_query *query)
{
    memset(run, 0, sizeof *run);
    run->index = index;
    run->query = query;
    run->to = index_i64(query->to_ns);
    run->body_end = INT64_MAX;
    run->after_time = -1;
    if (query->after) {
        run->after_time = index_i64(query->after_time);
        index_key_put(&query->after_key, run->after_key);
    }
    int status = index_series_lead(index->read, query, &run->lead);
    if (status < 0)
        return index_fail(index, status);
    if (run->lead.labels[0].name && run->lead.series == 0)
        return 0;
    run->way = BY_CAPTURE;
    if (query->capture)
        return 1;
    bool narrow = run->lead.labels[0].name && run->lead.series <= INDEX_SERIES_MAX;
    run->way = narrow ? BY_SERIES : BY_TIME;
    int64_t longest = INDEX_LONG_NS;
    if (narrow && run->lead.longest_ns < longest)
        longest = run->lead.longest_ns;
    if (run->to < INT64_MAX - longest)
        run->body_end = run->to + longest;
    if (!narrow)
        return 1;
    slices_init(run);
    int more = slice_seek(run);
    return more == 0 ? part_next(run) : more;
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
        n = db_run(index->read, sql, plan_line, out, "");
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
            more = part_next(run);
    }
    page_clear(&run->page);
    free(run);
    return more < 0 ? more : given;
}
