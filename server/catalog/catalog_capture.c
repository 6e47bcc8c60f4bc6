/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's statements for captures, their targets and deletions. Owns no state; any thread,
 * see catalog.h.
 */
#include <stdio.h>
#include <string.h>

#include "catalog_capture.h"
#include "catalog_int.h"
#include "skein_check.h"

/* ---- captures ---- */

static void window_of(const struct catalog_capture *capture, uint64_t *from, uint64_t *to)
{
    uint64_t pre = capture->pre_ms * 1000000u;
    *from = pre < capture->at_ns ? capture->at_ns - pre : 0;
    *to = capture->at_ns + capture->post_ms * 1000000u;
}

void catalog_put_capture(struct catalog *c, const struct catalog_capture *p)
{
    const struct capture_id *incident = capture_id_is_zero(&p->incident) ? &p->id : &p->incident;
    uint64_t from, to;
    window_of(p, &from, &to);
    catalog_write(
        c,
        "INSERT OR REPLACE INTO captures(id, created_ns, at_ns, pre_ms, post_ms, deadline_ns,"
        " finished_ns, stopped, own, from_ns, to_ns, status, kind, selector, trigger_type, rule,"
        " process, reason, listing, ttl_ms, pin, expires_ns, min_targets, max_targets, stream_ms,"
        " known_from_ns, incident, event_groups, share_rank, holder, bytes)"
        " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        DB(DB_ID(p->id.bytes), DB_I64(I(p->created_ns)), DB_I64(I(p->at_ns)), DB_I64(I(p->pre_ms)),
           DB_I64(I(p->post_ms)), DB_I64(I(p->deadline_ns)), DB_I64(I(p->finished_ns)),
           DB_I64(I(p->stopped)), DB_I64(I(p->own)), DB_I64(I(from)), DB_I64(I(to)),
           DB_TEXT(p->status), DB_TEXT(p->kind), DB_TEXT(p->selector), DB_TEXT(p->trigger),
           DB_TEXT(p->rule), DB_TEXT(p->process), DB_TEXT(p->reason), DB_TEXT(p->listing),
           DB_I64(I(p->ttl_ms)), DB_I64(I(p->pin)), DB_I64(I(p->expires_ns)),
           DB_I64(I(p->min_targets)), DB_I64(I(p->max_targets)), DB_I64(I(p->stream_ms)),
           DB_I64(I(p->known_from_ns)), DB_ID(incident->bytes), DB_I64((int64_t)p->groups),
           DB_I64(I(p->rank)), DB_TEXT(p->holder != NULL ? p->holder : ""), DB_I64(I(p->bytes))));
}

void catalog_put_target(struct catalog *c, const struct catalog_target *p)
{
    catalog_write(c,
                  "INSERT OR REPLACE INTO targets(capture, process, own, agent, updated_ns, pid,"
                  " host, service, labels, exe, status, reason, report, times)"
                  " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                  DB(DB_ID(p->capture.bytes), DB_ID(p->process.bytes), DB_I64(I(p->own)),
                     DB_I64(I(p->agent)), DB_I64(I(p->updated_ns)), DB_I64(I(p->pid)),
                     DB_TEXT(p->host), DB_TEXT(p->service), DB_TEXT(p->labels), DB_TEXT(p->exe),
                     DB_TEXT(p->status), DB_TEXT(p->reason), DB_TEXT(p->report),
                     DB_TEXT(p->times)));
}

#define CAPTURE_COLUMNS                                                                            \
    "SELECT id, created_ns, at_ns, pre_ms, post_ms, deadline_ns, finished_ns, stopped, own,"       \
    " status, kind, selector, trigger_type, rule, process, reason, listing, ttl_ms, pin,"          \
    " expires_ns, min_targets, max_targets, stream_ms, known_from_ns, incident, event_groups,"     \
    " share_rank, holder, bytes FROM captures "

/* Rows come from a file, and may be wrong. */
static enum share_rank rank_taken(int64_t number)
{
    return number >= SHARE_ASKED && number < SHARE_ROOT ? (enum share_rank)number : SHARE_ROOT;
}

struct capture_walk {
    catalog_capture_fn *fn;
    void *context;
};

static int capture_take(void *context, struct db_row *row)
{
    struct capture_walk *walk = context;
    struct catalog_capture p = {
        .created_ns = (uint64_t)db_i64(row, 1),
        .at_ns = (uint64_t)db_i64(row, 2),
        .pre_ms = (uint64_t)db_i64(row, 3),
        .post_ms = (uint64_t)db_i64(row, 4),
        .deadline_ns = (uint64_t)db_i64(row, 5),
        .finished_ns = (uint64_t)db_i64(row, 6),
        .stopped = db_i64(row, 7) != 0,
        .own = db_i64(row, 8) != 0,
        .status = db_text(row, 9),
        .kind = db_text(row, 10),
        .selector = db_text(row, 11),
        .trigger = db_text(row, 12),
        .rule = db_text(row, 13),
        .process = db_text(row, 14),
        .reason = db_text(row, 15),
        .listing = db_text(row, 16),
        .ttl_ms = (uint64_t)db_i64(row, 17),
        .pin = db_i64(row, 18) != 0,
        .expires_ns = (uint64_t)db_i64(row, 19),
        .min_targets = (uint64_t)db_i64(row, 20),
        .max_targets = (uint64_t)db_i64(row, 21),
        .stream_ms = (uint64_t)db_i64(row, 22),
        .known_from_ns = (uint64_t)db_i64(row, 23),
        .groups = (uint64_t)db_i64(row, 25),
        .rank = rank_taken(db_i64(row, 26)),
        .holder = db_text(row, 27),
        .bytes = (uint64_t)db_i64(row, 28),
    };
    if (id_parse(db_text(row, 0), p.id.bytes) != SKEIN_OK)
        return 0;
    if (id_parse(db_text(row, 24), p.incident.bytes) != SKEIN_OK)
        p.incident = p.id;
    return walk->fn == NULL || walk->fn(walk->context, &p) != 0;
}

/* A listing's statement: conditions and their values, as far as something is asked for. */
struct listing_sql {
    char text[1024];
    struct db_bind binds[16];
    size_t count;
};

static void listing_bind(struct listing_sql *sql, struct db_bind bind)
{
    skein_check(sql->count + 1 < sizeof sql->binds / sizeof sql->binds[0]);
    sql->binds[sql->count++] = bind;
}

static void listing_say(struct listing_sql *sql, const char *words)
{
    size_t at = strlen(sql->text);
    int n = snprintf(sql->text + at, sizeof sql->text - at, "%s", words);
    skein_check(n >= 0 && (size_t)n < sizeof sql->text - at);
}

static void listing_text(struct listing_sql *sql, const char *condition, const char *value)
{
    if (value == NULL)
        return;
    listing_say(sql, condition);
    listing_bind(sql, (struct db_bind)DB_TEXT(value));
}

static void listing_time(struct listing_sql *sql, const char *condition, uint64_t ns)
{
    listing_say(sql, condition);
    listing_bind(sql, (struct db_bind)DB_I64(db_clamped(ns)));
}

/* The conditions of which one is answered by an index that is in the listing's order, so that a page
 * reads little more than its rows. It is the first of them that is given; a plus keeps SQLite from
 * the indexes of the others. Kind and status have one together, as either alone may be nearly all.
 * That of rules carries both behind its order: rows of another kind or status are passed by in it,
 * and the table is not read for them. */
static void listing_equals(struct listing_sql *sql, const struct catalog_capture_query *q,
                           const char *incident)
{
    const char *rule = q->rule != NULL ? q->rule : q->policy;
    bool led = incident != NULL || rule != NULL;
    listing_text(sql, " AND incident=?", incident);
    listing_text(sql, incident == NULL ? " AND rule<>'' AND rule=?" : " AND +rule=?", rule);
    if (q->rule != NULL)
        listing_say(sql, " AND +kind<>'sample'");
    if (q->policy != NULL)
        listing_say(sql, " AND +kind='sample'");
    listing_text(sql, led ? " AND +kind=?" : " AND kind=?", q->kind);
    listing_text(sql, led ? " AND +status=?" : " AND status=?", q->status);
}

/* The texts that it points to must live as long as the statement. */
struct listing_words {
    char before[ID_TEXT_BYTES], incident[ID_TEXT_BYTES], id_until[ID_TEXT_BYTES + 1];
};

static void listing_make(const struct catalog_capture_query *q, struct listing_words *words,
                         struct listing_sql *sql)
{
    *sql = (struct listing_sql){.text = CAPTURE_COLUMNS "WHERE 1"};
    if (q->incident != NULL)
        id_text(q->incident->bytes, words->incident);
    listing_equals(sql, q, q->incident != NULL ? words->incident : NULL);
    if (q->id_begins != NULL) {
        (void)snprintf(words->id_until, sizeof words->id_until, "%sg", q->id_begins);
        listing_text(sql, " AND id>=?", q->id_begins);
        listing_text(sql, " AND id<?", words->id_until); /* behind every digit */
    }
    if (q->before) {
        id_text(q->before_id.bytes, words->before);
        listing_time(sql, " AND (created_ns, id) < (?,", q->before_created_ns);
        listing_text(sql, " ?)", words->before);
    }
    if (q->from_ns > 0)
        listing_time(sql, " AND to_ns>=?", q->from_ns);
    if (q->to_ns < INT64_MAX)
        listing_time(sql, " AND from_ns<=?", q->to_ns);
    listing_say(sql, " ORDER BY created_ns DESC, id DESC LIMIT ?");
    listing_bind(sql, (struct db_bind)DB_I64(q->limit > 0 ? I(q->limit) : -1));
}

void catalog_captures_sql(const struct catalog_capture_query *query, char *out, size_t bytes)
{
    struct listing_words words;
    struct listing_sql sql;
    listing_make(query, &words, &sql);
    (void)snprintf(out, bytes, "%s", sql.text);
}

/* Policies begin samples, and rules never do: no capture can be both that is asked for. */
static bool is_contradiction(const struct catalog_capture_query *q)
{
    bool sample = q->kind != NULL && strcmp(q->kind, "sample") == 0;
    if (q->policy != NULL)
        return q->rule != NULL || (q->kind != NULL && !sample);
    return q->rule != NULL && sample;
}

int64_t catalog_captures(struct catalog *c, const struct catalog_capture_query *q,
                         catalog_capture_fn *fn, void *context)
{
    if (is_contradiction(q))
        return 0;
    struct capture_walk walk = {fn, context};
    struct listing_words words;
    struct listing_sql sql;
    listing_make(q, &words, &sql);
    return db_run(c->read, sql.text, capture_take, &walk, sql.binds);
}

int64_t catalog_capture(struct catalog *c, const struct capture_id *id, catalog_capture_fn *fn,
                        void *context)
{
    struct capture_walk walk = {fn, context};
    return db_run(c->read, CAPTURE_COLUMNS "WHERE id=?", capture_take, &walk, DB(DB_ID(id->bytes)));
}

struct target_walk {
    struct capture_id capture;
    catalog_target_fn *fn;
    void *context;
};

static int target_take(void *context, struct db_row *row)
{
    struct target_walk *walk = context;
    struct catalog_target p = {
        .capture = walk->capture,
        .agent = (uint64_t)db_i64(row, 1),
        .updated_ns = (uint64_t)db_i64(row, 2),
        .pid = (uint32_t)db_i64(row, 3),
        .host = db_text(row, 4),
        .service = db_text(row, 5),
        .labels = db_text(row, 6),
        .exe = db_text(row, 7),
        .status = db_text(row, 8),
        .reason = db_text(row, 9),
        .report = db_text(row, 10),
        .own = db_i64(row, 11) != 0,
        .times = db_text(row, 12),
    };
    if (id_parse(db_text(row, 0), p.process.bytes) != SKEIN_OK)
        return 0;
    return walk->fn(walk->context, &p);
}

int64_t catalog_targets(struct catalog *c, const struct capture_id *id, catalog_target_fn *fn,
                        void *context)
{
    struct target_walk walk = {*id, fn, context};
    return db_run(c->read,
                  "SELECT process, agent, updated_ns, pid, host, service, labels, exe, status,"
                  " reason, report, own, times FROM targets WHERE capture=?"
                  " ORDER BY process",
                  target_take, &walk, DB(DB_ID(id->bytes)));
}

/* ---- deletion ---- */

/* Deletes the capture's rows. The accounts of an evicted capture stay. */
static void rows_drop(struct catalog *c, const struct capture_id *id)
{
    const struct db_bind *binds = DB(DB_ID(id->bytes));
    catalog_write(c, "DELETE FROM targets WHERE capture=?", binds);
    catalog_write(c, "DELETE FROM account WHERE capture=? AND kept_ns=0", binds);
    catalog_write(c, "DELETE FROM captures WHERE id=?", binds);
}

void catalog_delete_capture(struct catalog *c, const struct capture_id *id, uint64_t now_ns)
{
    catalog_write(c, "INSERT OR IGNORE INTO deleted(id, at_ns, purged) VALUES(?,?,0)",
                  DB(DB_ID(id->bytes), DB_I64(I(now_ns))));
    rows_drop(c, id);
}

void catalog_set_purged(struct catalog *c, const struct capture_id *id)
{
    catalog_write(c, "DELETE FROM ranges WHERE capture=?", DB(DB_ID(id->bytes)));
    catalog_write(c, "UPDATE deleted SET purged=1 WHERE id=?", DB(DB_ID(id->bytes)));
}

uint64_t catalog_last_deleted_ns(struct catalog *c)
{
    int64_t at_ns = 0;
    (void)db_number(c->read, "SELECT max(at_ns) FROM deleted", &at_ns, NULL);
    return (uint64_t)at_ns;
}

bool catalog_is_deleted(struct catalog *c, const struct capture_id *id)
{
    int64_t found = 0;
    (void)db_number(c->read, "SELECT 1 FROM deleted WHERE id=?", &found, DB(DB_ID(id->bytes)));
    return found != 0;
}

struct id_walk {
    catalog_id_fn *fn;
    void *context;
};

static int id_take(void *context, struct db_row *row)
{
    struct id_walk *walk = context;
    struct capture_id id;
    return id_parse(db_text(row, 0), id.bytes) == SKEIN_OK ? walk->fn(walk->context, &id) : 0;
}

int64_t catalog_unpurged(struct catalog *c, catalog_id_fn *fn, void *context)
{
    struct id_walk walk = {fn, context};
    return db_run(c->read, "SELECT id FROM deleted WHERE purged=0", id_take, &walk, NULL);
}

/* ---- incidents ---- */

int64_t catalog_incident(struct catalog *c, const struct capture_id *incident, catalog_id_fn *fn,
                         void *context)
{
    struct id_walk walk = {fn, context};
    return db_run(c->read, "SELECT id FROM captures WHERE incident=?", id_take, &walk,
                  DB(DB_ID(incident->bytes)));
}

int64_t catalog_unlisted(struct catalog *c, catalog_id_fn *fn, void *context)
{
    struct id_walk walk = {fn, context};
    return db_run(c->read, "SELECT id FROM captures WHERE listing=''", id_take, &walk, NULL);
}

/* ---- retention ---- */

int64_t catalog_expired(struct catalog *c, const struct clock_view *now, catalog_capture_fn *fn,
                        void *context)
{
    struct capture_walk walk = {fn, context};
    return db_run(c->read,
                  CAPTURE_COLUMNS "WHERE expires_ns>0 AND expires_ns<=? AND status<>'running'"
                                  " AND (expires_ns<=? OR expires_ns-finished_ns<=?)"
                                  " ORDER BY expires_ns",
                  capture_take, &walk,
                  DB(DB_I64(I(now->now_ns)), DB_I64(I(now->least_ns)), DB_I64(I(now->steady_ns))));
}

struct holder_walk {
    catalog_holder_fn *fn;
    void *context;
};

static int holder_take(void *context, struct db_row *row)
{
    const struct holder_walk *walk = context;
    const struct catalog_holder holder = {.rank = rank_taken(db_i64(row, 0)),
                                          .name = db_text(row, 1),
                                          .captures = (uint64_t)db_i64(row, 2),
                                          .young = (uint64_t)db_i64(row, 3),
                                          .bytes = (uint64_t)db_i64(row, 4),
                                          .oldest_ns = (uint64_t)db_i64(row, 5)};
    return walk->fn(walk->context, &holder);
}

int64_t catalog_holders(struct catalog *c, const char *service, uint64_t young_ns,
                        catalog_holder_fn *fn, void *context)
{
#define HOLDERS                                                                                    \
    "SELECT share_rank, holder, count(*), sum(status='running'), sum(bytes), min(created_ns)"      \
    " FROM captures WHERE pin=0 AND (status<>'running' OR created_ns>?1)"
#define BY_HOLDER " GROUP BY share_rank, holder"
    struct holder_walk walk = {fn, context};
    const struct db_bind young = DB_I64(I(young_ns));
    if (service == NULL)
        return db_run(c->read, HOLDERS BY_HOLDER, holder_take, &walk, DB(young));
    return db_run(c->read,
                  HOLDERS " AND id IN (SELECT capture FROM targets WHERE service=?2)" BY_HOLDER,
                  holder_take, &walk, DB(young, DB_TEXT(service)));
#undef HOLDERS
#undef BY_HOLDER
}

int64_t catalog_oldest(struct catalog *c, enum share_rank rank, const char *holder,
                       const struct catalog_cursor *after, size_t limit, catalog_capture_fn *fn,
                       void *context)
{
    struct capture_walk walk = {fn, context};
    return db_run(c->read,
                  CAPTURE_COLUMNS "WHERE share_rank=? AND holder=? AND (created_ns, id) > (?, ?)"
                                  " AND pin=0 AND status<>'running'"
                                  " ORDER BY created_ns, id LIMIT ?",
                  capture_take, &walk,
                  DB(DB_I64(I(rank)), DB_TEXT(holder), DB_I64(I(after->created_ns)),
                     DB_ID(after->id.bytes), DB_I64(I(limit))));
}

#define PIN_BYTES      (INT64_C(128) << 10) /* of a target: rows fill a quota's eighth, this its half */
#define PIN_MORE_BYTES (INT64_C(16) << 20)

int catalog_pinned_bytes(struct catalog *c, uint64_t *bytes)
{
    int64_t sum = 0;
    int status = db_number(c->read,
                           "SELECT sum(max(bytes, CASE status WHEN 'running' THEN ? ELSE ? END *"
                           " (SELECT count(*) FROM targets WHERE capture=captures.id)))"
                           " FROM captures WHERE pin=1",
                           &sum, DB(DB_I64(PIN_MORE_BYTES), DB_I64(PIN_BYTES)));
    *bytes = (uint64_t)sum;
    return status < 0 && status != SKEIN_NOT_FOUND ? status : SKEIN_OK;
}

/* ---- requests that may be repeated ---- */

void catalog_put_once(struct catalog *c, const struct catalog_once *p, uint64_t drop_before_ns)
{
    catalog_write(c, "DELETE FROM once WHERE at_ns<?", DB(DB_I64(I(drop_before_ns))));
    catalog_write(c,
                  "INSERT OR REPLACE INTO once(principal, key, checksum, at_ns,"
                  " capture) VALUES(?,?,?,?,?)",
                  DB(DB_TEXT(p->principal), DB_TEXT(p->key), DB_I64(I(p->checksum)),
                     DB_I64(I(p->at_ns)), DB_ID(p->capture.bytes)));
}

static int once_take(void *context, struct db_row *row)
{
    struct catalog_once *p = context;
    p->checksum = (uint64_t)db_i64(row, 0);
    p->at_ns = (uint64_t)db_i64(row, 1);
    if (id_parse(db_text(row, 2), p->capture.bytes) != SKEIN_OK)
        memset(&p->capture, 0, sizeof p->capture);
    return 1;
}

int catalog_find_once(struct catalog *c, struct catalog_once *p)
{
    int64_t rows =
        db_run(c->read, "SELECT checksum, at_ns, capture FROM once WHERE principal=? AND key=?",
               once_take, p, DB(DB_TEXT(p->principal), DB_TEXT(p->key)));
    return rows < 0 ? (int)rows : rows > 0;
}
