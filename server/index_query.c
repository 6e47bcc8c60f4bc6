/* SPDX-License-Identifier: Apache-2.0
 *
 * Queries over the footer index. Any thread, on the reading connection; rows are copied in pages
 * and given to the caller outside all locks. Owns nothing between calls; never writes.
 *
 * A query takes one of four ways, each a range scan in the order of the answer: by capture, by
 * process, by service (bucket after bucket), by time. For the last two it has two parts:
 *
 *   BODY  to_ns from `from` to `to` + INDEX_LONG_NS: every shorter partition that overlaps ends
 * here LONG  to_ns behind that: only partitions longer than INDEX_LONG_NS can still overlap
 */
#include <stdio.h>
#include <stdlib.h>

#include "index_int.h"
#include "process_labels.h"

#define PAGE_ROWS    128
#define PAGE_SCANNED 4096 /* rows looked at before the connection is given up for others */

enum query_way { BY_CAPTURE, BY_PROCESS, BY_SERVICE, BY_TIME };
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
    int64_t bucket;
    int64_t to;       /* latest from_ns that overlaps */
    int64_t body_end; /* last to_ns of BODY */
    int64_t after_time;
    uint8_t after_key[INDEX_KEY_BYTES];
    struct page page;
};

/* ---- does a row match ---- */

static bool row_matches(const struct partition_query *q, const struct partition_row *row)
{
    if (q->process && !process_uid_equal(q->process, &row->record.key.process))
        return false;
    if (q->service && strcmp(q->service, row->service) != 0)
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

/* Rows of `from` that end in [?1, ?2], begin by ?3 and lie behind the cursor (?4, ?5). */
#define SELECT_FROM(from)                                                                          \
    "SELECT " INDEX_COLUMNS " FROM partitions INDEXED BY " from                                    \
    " AND to_ns >= ?1 AND to_ns <= ?2 AND from_ns <= ?3 AND (to_ns, key) > (?4, ?5)"               \
    " ORDER BY to_ns, key"

/* The same for what a capture has: its memberships lead. */
#define SELECT_MEMBERS                                                                             \
    "SELECT " INDEX_COLUMNS_OF(                                                                    \
        "p.") " FROM member m CROSS JOIN partitions p INDEXED BY by_key"                           \
              " ON p.key = m.key WHERE m.capture = ?6 AND m.to_ns >= ?1 AND m.to_ns <= ?2"         \
              " AND p.from_ns <= ?3 AND (m.to_ns, m.key) > (?4, ?5) ORDER BY m.to_ns, m.key"

/* Fills the page with what lies behind the cursor. 1: there may be more; 0: this part is at its
 * end; a status. */
static int page_fill(struct run *run)
{
    struct db *db = run->index->read;
    const struct partition_query *q = run->query;
    bool body = run->part == PART_BODY;
    int64_t low = body ? index_i64(q->from_ns) : run->body_end + 1;
    int64_t high = body ? run->body_end : INT64_MAX;
    if (low < run->after_time)
        low = run->after_time;
    const void *key = run->after_key;
    const size_t n = sizeof run->after_key;
    int64_t found;
    if (run->way == BY_CAPTURE)
        found =
            db_run(db, SELECT_MEMBERS, page_row, run, "iiiibb", low, high, run->to, run->after_time,
                   key, n, (const void *)q->capture->bytes, sizeof q->capture->bytes);
    else if (run->way == BY_PROCESS)
        found = db_run(db, SELECT_FROM("by_process WHERE substr(key, 1, 16) = ?6"), page_row, run,
                       "iiiibb", low, high, run->to, run->after_time, key, n,
                       (const void *)q->process->bytes, sizeof q->process->bytes);
    else if (!body)
        found = db_run(db, SELECT_FROM("by_long WHERE long"), page_row, run, "iiiib", low, high,
                       run->to, run->after_time, key, n);
    else if (run->way == BY_SERVICE)
        found =
            db_run(db, SELECT_FROM("by_service WHERE bucket = ?6 AND service = ?7"), page_row, run,
                   "iiiibis", low, high, run->to, run->after_time, key, n, run->bucket, q->service);
    else
        found = db_run(db, SELECT_FROM("by_time WHERE 1"), page_row, run, "iiiib", low, high,
                       run->to, run->after_time, key, n);
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

/* Moves on to the first bucket from run->bucket on that has rows. 1; 0 where BODY has none any
 * more; a status. */
static int bucket_seek(struct run *run)
{
    int64_t found = db_run(run->index->read,
                           "SELECT bucket FROM partitions INDEXED BY by_service WHERE bucket >= ?1"
                           " ORDER BY bucket LIMIT 1",
                           bucket_get, &run->bucket, "i", run->bucket);
    if (found < 0)
        return index_fail(run->index, found);
    return found > 0 && run->bucket <= run->body_end / INDEX_BUCKET_NS;
}

/* After a part or bucket came to its end. 1: go on; 0: the query is done; a status. */
static int part_next(struct run *run)
{
    if (run->part == PART_BODY && run->way == BY_SERVICE) {
        run->bucket++;
        int more = bucket_seek(run);
        if (more != 0)
            return more;
    }
    bool narrow = run->way == BY_CAPTURE || run->way == BY_PROCESS;
    run->part =
        run->part == PART_BODY && !narrow && run->body_end < INT64_MAX ? PART_LONG : PART_END;
    return run->part != PART_END;
}

static void run_init(struct run *run, struct index *index, const struct partition_query *query)
{
    memset(run, 0, sizeof *run);
    run->index = index;
    run->query = query;
    run->way = query->capture   ? BY_CAPTURE
               : query->process ? BY_PROCESS
               : query->service ? BY_SERVICE
                                : BY_TIME;
    run->to = index_i64(query->to_ns);
    run->body_end = INT64_MAX;
    if (run->way >= BY_SERVICE && run->to < INT64_MAX - INDEX_LONG_NS)
        run->body_end = run->to + INDEX_LONG_NS;
    run->after_time = -1;
    if (query->after) {
        run->after_time = index_i64(query->after_time);
        index_key_put(&query->after_key, run->after_key);
    }
    int64_t low = index_i64(query->from_ns);
    run->bucket = (low > run->after_time ? low : run->after_time) / INDEX_BUCKET_NS;
}

int64_t index_query(struct index *index, const struct partition_query *query, partition_row_fn *fn,
                    void *context)
{
    struct run *run = malloc(sizeof *run);
    if (!run)
        return SKEIN_NO_MEMORY;
    run_init(run, index, query);
    int64_t given = 0;
    int more = run->way == BY_SERVICE ? bucket_seek(run) : 1;
    if (more == 0)
        more = part_next(run);
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
