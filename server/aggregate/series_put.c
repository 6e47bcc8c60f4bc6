/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of the series into analysis.db: those of a capture in place of what it brought before; later,
 * when no change is expected any more, merged into those of all captures, and after two days into
 * hours. The worker's thread; each step is a transaction, so a kill leaves every capture in the rows
 * once.
 *
 *     capture 1 ─ row(10:20, shop, "query", 1) ┐   late_ns later            two days later
 *     capture 2 ─ row(10:20, shop, "query", 2) ┴─▶ row(10:20, "query", '') ─▶ row(10:00, 1 h, '')
 */
#include <stdlib.h>
#include <string.h>

#include "aggregate_db.h"
#include "series_row.h"

#define FINE_NS (UINT64_C(2 * 86400) * 1000000000u)
#define AT_ONCE 64
#define FOLDABLE                                                                                   \
    "(capture='' OR NOT EXISTS (SELECT 1 FROM capture c WHERE c.id=row.capture AND c.done_ns>?1))"

/* ---- one row ---- */

/* A row whose bytes are none is left out: the file's damage is SQLite's to find. */
int series_row_read(struct series_set *set, struct db_row *row, bool join)
{
    size_t n;
    const void *bytes = db_blob(row, 4, &n);
    struct series_row *to = series_set_add(set, (uint64_t)db_i64(row, 0), db_text(row, 1),
                                           db_text(row, 3), (uint32_t)db_i64(row, 2));
    if (to == NULL)
        return SKEIN_NO_MEMORY;
    int status = series_row_get(bytes, n, to);
    if (status == SKEIN_NO_MEMORY || !join || set->count < 2)
        return status == SKEIN_NO_MEMORY ? status : SKEIN_OK;
    struct series_row *last = to - 1;
    if (last->group != to->group || strcmp(last->service, to->service) != 0 ||
        strcmp(last->name, to->name) != 0)
        return SKEIN_OK;
    struct series_set one = {to, 1, 1};
    status = series_row_merge(last, to);
    free(to->service);
    free(to->name);
    histogram_fini(&one.rows->lasted);
    set->count--;
    return status;
}

int series_row_write(struct db *db, const struct series_row *row, uint32_t step_s,
                     const char *capture)
{
    struct buf bytes = {0};
    series_row_put(row, &bytes);
    int status = bytes.status;
    uint64_t weight = row->name[0] == '\0'
                          ? row->n[SERIES_SEEN_NS]
                          : series_sum(row->n[SERIES_TOTAL_NS], row->n[SERIES_COUNT]);
    if (status == SKEIN_OK)
        status = db_write(
            db,
            "INSERT OR REPLACE INTO row(step, at, service, grp, name, capture, weight, bytes)"
            " VALUES(?,?,?,?,?,?,?,?)",
            DB(DB_I64(step_s), DB_I64(db_clamped(row->at_s)), DB_TEXT(row->service),
               DB_I64(row->group), DB_TEXT(row->name), DB_TEXT(capture), DB_I64(db_clamped(weight)),
               DB_BLOB(bytes.data, bytes.len)));
    buf_fini(&bytes);
    return status;
}

struct reading {
    struct series_set set;
    bool join;
    int status;
};

static int row_take(void *context, struct db_row *row)
{
    struct reading *r = context;
    r->status = series_row_read(&r->set, row, r->join);
    return r->status != SKEIN_OK;
}

/* ---- of a capture ---- */

int series_put(struct aggregate_db *db, const struct capture_id *id, struct series_set *set)
{
    char text[ID_TEXT_BYTES];
    struct reading before = {.status = SKEIN_OK};
    id_text(id->bytes, text);
    int status = series_set_settle(set, SERIES_NAMES);
    if (status == SKEIN_OK)
        status = db_status(db_run(db->write,
                                  "SELECT at, service, grp, name, bytes FROM row"
                                  " WHERE capture=? AND capture<>''",
                                  row_take, &before, DB(DB_TEXT(text))));
    if (status == SKEIN_OK)
        status = before.status;
    if (status == SKEIN_OK)
        status = series_total_add(db, set, &before.set);
    if (status == SKEIN_OK)
        status = db_write(db->write, "DELETE FROM row WHERE capture=? AND capture<>''",
                          DB(DB_TEXT(text)));
    for (size_t i = 0; status == SKEIN_OK && i < set->count; i++)
        status = series_row_write(db->write, &set->rows[i], SERIES_STEP_S, text);
    series_set_fini(&before.set);
    return status;
}

/* ---- merging captures, and buckets ---- */

/* What of this time may be merged becomes rows of one bucket, of no capture. */
static int bucket_fold(struct aggregate_db *db, uint64_t at_s, uint32_t step_s, int64_t late_ns)
{
    const struct db_bind binds[] = {DB_I64(late_ns),
                                    DB_I64(db_clamped(at_s)),
                                    DB_I64(db_clamped(at_s + step_s)),
                                    DB_I64(step_s),
                                    {.kind = DB_KIND_END}};
#define OF_BUCKET " WHERE " FOLDABLE " AND at>=?2 AND at<?3 AND step<=?4"
    struct reading r = {.join = true, .status = SKEIN_OK};
    int status = db_status(db_run(db->write,
                                  "SELECT at, service, grp, name, bytes FROM row" OF_BUCKET
                                  " ORDER BY service, grp, name",
                                  row_take, &r, binds));
    if (status == SKEIN_OK)
        status = r.status;
    for (size_t i = 0; i < r.set.count; i++)
        r.set.rows[i].at_s = at_s;
    if (status == SKEIN_OK)
        status = series_set_settle(&r.set, SERIES_NAMES);
    if (status == SKEIN_OK)
        status = db_write(db->write,
                          "UPDATE capture SET series=2 WHERE series=1 AND id IN"
                          " (SELECT DISTINCT capture FROM row" OF_BUCKET ")",
                          binds);
    if (status == SKEIN_OK)
        status = db_write(db->write, "DELETE FROM row" OF_BUCKET, binds);
    for (size_t i = 0; status == SKEIN_OK && i < r.set.count; i++)
        status = series_row_write(db->write, &r.set.rows[i], step_s, "");
    series_set_fini(&r.set);
    return status;
}

struct bucket {
    uint64_t at_s;
    uint32_t step_s;
};
struct buckets {
    struct bucket items[AT_ONCE];
    size_t count;
};

static int bucket_take(void *context, struct db_row *row)
{
    struct buckets *b = context;
    b->items[b->count++] = (struct bucket){(uint64_t)db_i64(row, 0), (uint32_t)db_i64(row, 1)};
    return b->count == AT_ONCE;
}

static int buckets_fold(struct aggregate_db *db, const struct series_bounds *bounds,
                        const char *sql, int64_t late_ns, int64_t before_s)
{
    struct buckets b = {.count = AT_ONCE};
    int status = SKEIN_OK;
    while (status == SKEIN_OK && b.count == AT_ONCE) {
        b.count = 0;
        status = db_status(
            db_run(db->write, sql, bucket_take, &b, DB(DB_I64(late_ns), DB_I64(before_s))));
        for (size_t i = 0; status == SKEIN_OK && i < b.count; i++) {
            if (bounds->stop != NULL && bounds->stop(bounds->context))
                return SKEIN_CLOSED;
            status = db_begin(db->write);
            if (status != SKEIN_OK)
                return status;
            status = bucket_fold(db, b.items[i].at_s, b.items[i].step_s, late_ns);
            status = db_end(db->write, status);
        }
    }
    return status;
}

/* ---- what goes ---- */

static int rows_trim(struct aggregate_db *db, const struct series_bounds *bounds)
{
    uint64_t keep_ns = bounds->keep_ms * 1000000u;
    int64_t count = 0, gone = 0;
    int status = SKEIN_OK;
    if (keep_ns > 0 && bounds->now_ns > keep_ns)
        status = db_write(db->write, "DELETE FROM row WHERE at<?",
                          DB(DB_I64((int64_t)((bounds->now_ns - keep_ns) / 1000000000u))));
    if (status == SKEIN_OK)
        status = db_number(db->write, "SELECT count(*) FROM row", &count, NULL);
    if (status != SKEIN_OK || (uint64_t)count <= bounds->max_rows)
        return status;
    gone = db_run(db->write,
                  "DELETE FROM row WHERE at <= (SELECT at FROM row ORDER BY at LIMIT 1 OFFSET ?)",
                  NULL, NULL, DB(DB_I64(count - (int64_t)bounds->max_rows - 1)));
    return gone < 0 ? (int)gone : aggregate_note_add(db, "rows_dropped", (uint64_t)gone);
}

int series_fold(struct aggregate_db *db, const struct series_bounds *bounds)
{
    uint64_t now_ns = bounds->now_ns;
    int64_t late_ns = db_clamped(now_ns > bounds->late_ns ? now_ns - bounds->late_ns : 0);
    uint64_t fine_s = (now_ns > FINE_NS ? now_ns - FINE_NS : 0) / 1000000000u;
    fine_s -= fine_s % SERIES_HOUR_S;
    int status = buckets_fold(db, bounds,
                              "SELECT DISTINCT at, step FROM row WHERE capture<>'' AND at>=?2"
                              " AND " FOLDABLE,
                              late_ns, 0);
    if (status == SKEIN_OK)
        status =
            buckets_fold(db, bounds,
                         "SELECT DISTINCT at - at % 3600, 3600 FROM row WHERE step=600 AND at<?2"
                         " AND " FOLDABLE,
                         late_ns, (int64_t)fine_s);
    return status == SKEIN_OK ? rows_trim(db, bounds) : status;
}
