/* SPDX-License-Identifier: Apache-2.0
 *
 * The totals of the series: only added to, in the transaction that adds the rows. No state; the
 * worker's thread adds, any reads.
 */
#include "series_total.h"

#include <string.h>

#define NUMBERS_MOST 256u

/* ---- bytes ---- */

void series_total_put(const struct series_total *t, struct buf *out)
{
    buf_put_uleb(out, SERIES_LE + 1);
    for (size_t i = 0; i <= SERIES_LE; i++)
        buf_put_uleb(out, t->le[i]);
    buf_put_uleb(out, t->sum_ns);
    buf_put_uleb(out, SERIES_NUMBERS);
    for (size_t i = 0; i < SERIES_NUMBERS; i++)
        buf_put_uleb(out, t->n[i]);
}

int series_total_get(const void *bytes, size_t n, struct series_total *t)
{
    struct cursor c;
    struct series_total got = {.service = t->service, .name = t->name, .group = t->group};
    cursor_init(&c, bytes, n);
    if (cursor_uleb(&c) != SERIES_LE + 1)
        cursor_fail(&c, SKEIN_CORRUPT);
    for (size_t i = 0; i <= SERIES_LE; i++)
        got.le[i] = cursor_uleb(&c);
    got.sum_ns = cursor_uleb(&c);
    uint64_t count = cursor_uleb(&c);
    if (count > NUMBERS_MOST)
        cursor_fail(&c, SKEIN_CORRUPT);
    for (uint64_t i = 0; c.status == SKEIN_OK && i < count; i++) {
        uint64_t v = cursor_uleb(&c);
        if (i < SERIES_NUMBERS)
            got.n[i] = v;
    }
    if (c.status == SKEIN_OK && cursor_left(&c) > 0)
        cursor_fail(&c, SKEIN_CORRUPT);
    if (c.status == SKEIN_OK)
        *t = got;
    return c.status;
}

/* ---- what a capture adds ---- */

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* The bucket of a level: the bounds are bounds of levels, so a level lies in one. */
static size_t le_of(unsigned level)
{
    uint64_t from_ns = histogram_level_from(level);
    size_t i = 0;
    while (i < SERIES_LE && from_ns >= UINT64_C(1) << (SERIES_LE_FIRST + 2 * i))
        i++;
    return i;
}

static void les_add(uint64_t le[SERIES_LE + 1], const struct histogram *h)
{
    unsigned first = h->octave * HISTOGRAM_STEPS, end = first + h->octaves * HISTOGRAM_STEPS;
    for (unsigned level = first; level < end; level++)
        le[le_of(level)] += histogram_count(h, level);
}

/* before: what the capture has added already; NULL: nothing. */
static void total_grow(struct series_total *t, const struct series_row *after,
                       const struct series_row *before)
{
    uint64_t now[SERIES_LE + 1] = {0}, then[SERIES_LE + 1] = {0};
    les_add(now, &after->lasted);
    if (before != NULL)
        les_add(then, &before->lasted);
    for (size_t i = 0; i <= SERIES_LE; i++)
        t->le[i] = series_sum(t->le[i], less(now[i], then[i]));
    t->sum_ns = series_sum(t->sum_ns,
                           less(after->lasted.sum_ns, before != NULL ? before->lasted.sum_ns : 0));
    for (size_t i = 0; i < SERIES_NUMBERS; i++)
        t->n[i] = series_sum(t->n[i], less(after->n[i], before != NULL ? before->n[i] : 0));
}

struct finding {
    struct series_total total;
    int64_t id; /* 0: there is none */
};

static int found_take(void *context, struct db_row *row)
{
    struct finding *f = context;
    size_t n;
    const void *bytes = db_blob(row, 1, &n);
    if (series_total_get(bytes, n, &f->total) == SKEIN_OK)
        f->id = db_i64(row, 0);
    return 1;
}

static int total_find(struct aggregate_db *db, struct finding *f)
{
    return db_status(db_run(
        db->write, "SELECT id, bytes FROM total WHERE service=? AND grp=? AND name=?", found_take,
        f, DB(DB_TEXT(f->total.service), DB_I64(f->total.group), DB_TEXT(f->total.name))));
}

/* A counter cannot move from one name to another: the names that came first have rows of their own. */
static int total_place(struct aggregate_db *db, struct finding *f)
{
    int64_t names = 0, all = 0;
    int status = total_find(db, f);
    if (status != SKEIN_OK || f->id != 0 || strcmp(f->total.name, SERIES_OTHERS) == 0)
        return status;
    status = db_number(db->write, "SELECT count(*) FROM total WHERE service=?", &names,
                       DB(DB_TEXT(f->total.service)));
    if (status == SKEIN_OK)
        status = db_number(db->write, "SELECT count(*) FROM total", &all, NULL);
    if (status != SKEIN_OK || (names <= (int64_t)SERIES_NAMES && all < (int64_t)SERIES_TOTALS))
        return status;
    if (names == 0 || f->total.name[0] == '\0')
        f->total.service = SERIES_OTHERS;
    if (f->total.name[0] != '\0')
        f->total.name = SERIES_OTHERS;
    f->total.group = 0;
    return total_find(db, f);
}

static int total_write(struct aggregate_db *db, const struct finding *f)
{
    struct buf bytes = {0};
    series_total_put(&f->total, &bytes);
    int status = bytes.status;
    if (status == SKEIN_OK)
        status = f->id != 0 ? db_write(db->write, "UPDATE total SET bytes=? WHERE id=?",
                                       DB(DB_BLOB(bytes.data, bytes.len), DB_I64(f->id)))
                            : db_write(db->write,
                                       "INSERT OR REPLACE INTO total(service, grp, name, bytes)"
                                       " VALUES(?,?,?,?)",
                                       DB(DB_TEXT(f->total.service), DB_I64(f->total.group),
                                          DB_TEXT(f->total.name), DB_BLOB(bytes.data, bytes.len)));
    buf_fini(&bytes);
    return status;
}

/* The rows of all buckets together. */
static int without_time(const struct series_set *set, struct series_set *out)
{
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < set->count; i++) {
        const struct series_row *from = &set->rows[i];
        struct series_row *row = series_set_add(out, 0, from->service, from->name, from->group);
        status = row != NULL ? series_row_merge(row, from) : SKEIN_NO_MEMORY;
    }
    return status == SKEIN_OK ? series_set_settle(out, 0) : status;
}

int series_total_add(struct aggregate_db *db, const struct series_set *after,
                     const struct series_set *before)
{
    struct series_set now = {0}, then = {0};
    size_t old = 0;
    int status = without_time(after, &now);
    if (status == SKEIN_OK)
        status = without_time(before, &then);
    for (size_t i = 0; status == SKEIN_OK && i < now.count; i++) {
        const struct series_row *row = &now.rows[i];
        while (old < then.count && series_row_compare(&then.rows[old], row) < 0)
            old++;
        bool both = old < then.count && series_row_compare(&then.rows[old], row) == 0;
        struct finding f = {
            .total = {.service = row->service, .name = row->name, .group = row->group}};
        status = total_place(db, &f);
        if (status != SKEIN_OK)
            break;
        total_grow(&f.total, row, both ? &then.rows[old] : NULL);
        status = total_write(db, &f);
    }
    series_set_fini(&now);
    series_set_fini(&then);
    return status;
}

/* ---- reading ---- */

struct walk {
    series_total_fn *fn;
    void *context;
};

static int total_take(void *context, struct db_row *row)
{
    const struct walk *walk = context;
    size_t n;
    struct series_total t = {
        .service = db_text(row, 0), .group = (uint32_t)db_i64(row, 1), .name = db_text(row, 2)};
    const void *bytes = db_blob(row, 3, &n);
    return series_total_get(bytes, n, &t) == SKEIN_OK ? walk->fn(walk->context, &t) : 0;
}

int64_t series_totals(struct db *db, const char *service, series_total_fn *fn, void *context)
{
    struct walk walk = {fn, context};
    return db_run(db,
                  "SELECT service, grp, name, bytes FROM total WHERE ?1 IS NULL OR service=?1"
                  " ORDER BY id",
                  total_take, &walk, DB(DB_TEXT(service)));
}
