/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's statements for what is missing; see catalog_loss.h. Any thread.
 *
 * A sum is one grouped query of two halves: HAVE (what the accounts have) and LACK (what they
 * lack).
 */
#include "catalog_loss.h"

#include <stdio.h>
#include <string.h>

#include "catalog_int.h"
#include "process_labels.h"

#define NO_TIME  INT64_C(-1) /* in a count's row, where a gap's row has times */
#define NO_BOUND NO_TIME     /* there, in the place of the end: the count is exact */
#define BOUND    INT64_C(0)  /* so many at most */

/* The rule that began capture c. A sample has a policy there, which is no rule. An account that is
 * kept has no capture any more: its own row says the rule. */
#define RULE "CASE c.kind WHEN 'sample' THEN '' ELSE c.rule END"

/* ---- accounts ---- */

static void loss_put(struct catalog *c, const uint8_t capture[16], const uint8_t process[16],
                     const struct loss_gap *gap, uint64_t events, bool at_most)
{
    bool counted = events > 0;
    catalog_write(c, "INSERT OR REPLACE INTO loss VALUES(?,?,?,?,?,?)",
                  DB(DB_ID(capture), DB_ID(process), DB_TEXT(loss_text(gap->reason)),
                     DB_I64(counted ? NO_TIME : db_clamped(gap->from_ns)),
                     DB_I64(!counted  ? db_clamped(gap->to_ns)
                            : at_most ? BOUND
                                      : NO_BOUND),
                     DB_I64(I(events))));
}

/* Deletes the account's losses with the row that it replaces. */
void catalog_put_ledger(struct catalog *c, const struct capture_id *capture,
                        const struct catalog_account *p, const struct ledger *ledger)
{
    const uint8_t *id = capture->bytes, *process = p->process.bytes;
    catalog_write(c, "INSERT OR REPLACE INTO account VALUES(?,?,'',?,?,?,?,?,?,?,?,?,0)",
                  DB(DB_ID(id), DB_ID(process), DB_I64(I(p->agent)), DB_I64(I(p->pid)),
                     DB_TEXT(p->host), DB_TEXT(p->service), DB_TEXT(p->labels), DB_TEXT(p->exe),
                     DB_I64(I(ledger->stored)), DB_I64(I(ledger->implausible)),
                     DB_I64(I(ledger->open))));
    for (size_t i = 0; i < LOSS_REASONS; i++) {
        const struct loss_gap count = {.reason = (enum loss_reason)i};
        if (ledger->events[i] > 0)
            loss_put(c, id, process, &count, ledger->events[i], ledger->at_most[i]);
    }
    for (size_t i = 0; i < ledger->gap_count; i++)
        loss_put(c, id, process, &ledger->gaps[i], 0, false);
}

void catalog_put_ring_lost(struct catalog *c, const struct catalog_account *p, uint64_t events,
                           uint64_t now_ns)
{
    catalog_write(c, "DELETE FROM account WHERE kept_ns>0 AND kept_ns<?",
                  DB(DB_I64(I(now_ns > CATALOG_LOSS_KEPT_NS ? now_ns - CATALOG_LOSS_KEPT_NS : 0))));
    catalog_write(c,
                  "INSERT INTO account VALUES('',?,'',?,?,?,?,?,?,0,0,0,?)"
                  " ON CONFLICT DO UPDATE SET kept_ns=excluded.kept_ns",
                  DB(DB_ID(p->process.bytes), DB_I64(I(p->agent)), DB_I64(I(p->pid)),
                     DB_TEXT(p->host), DB_TEXT(p->service), DB_TEXT(p->labels), DB_TEXT(p->exe),
                     DB_I64(I(now_ns))));
    catalog_write(c,
                  "INSERT INTO loss VALUES('',?,'ring_full',-1,-1,?)"
                  " ON CONFLICT DO UPDATE SET events=max(events, excluded.events)",
                  DB(DB_ID(p->process.bytes), DB_I64(I(events))));
}

void catalog_keep_ledgers(struct catalog *c, const struct capture_id *capture, uint64_t now_ns)
{
    catalog_write(c,
                  "INSERT INTO loss SELECT capture, process, ?2, -1, -1, stored FROM account"
                  " WHERE capture=?1 AND stored>0"
                  " ON CONFLICT DO UPDATE SET events=events+excluded.events", /* an agent's word */
                  DB(DB_ID(capture->bytes), DB_TEXT(loss_text(LOSS_EVICTED))));
    catalog_write(c,
                  "UPDATE account SET stored=0, kept_ns=?2, rule=ifnull((SELECT " RULE
                  " FROM captures c WHERE c.id=?1), '') WHERE capture=?1",
                  DB(DB_ID(capture->bytes), DB_I64(I(now_ns))));
}

int64_t catalog_trim_losses(struct catalog *c, uint64_t accounts)
{
    return db_run(c->db,
                  "DELETE FROM account WHERE (capture, process) IN (SELECT capture,"
                  " process FROM account WHERE kept_ns>0 ORDER BY kept_ns LIMIT ?)",
                  NULL, NULL, DB(DB_I64(I(accounts))));
}

struct lost_walk {
    catalog_lost_fn *fn;
    void *context;
};

static int lost_take(void *context, struct db_row *row)
{
    struct lost_walk *walk = context;
    struct catalog_lost lost = {.implausible = (uint64_t)db_i64(row, 1),
                                .reason = db_text(row, 2),
                                .events = (uint64_t)db_i64(row, 3)};
    if (id_parse(db_text(row, 0), lost.process.bytes) == SKEIN_OK)
        walk->fn(walk->context, &lost);
    return 0;
}

int64_t catalog_losses_of(struct catalog *c, const struct capture_id *capture, catalog_lost_fn *fn,
                          void *context)
{
    struct lost_walk walk = {fn, context};
    return db_run(c->read,
                  "SELECT process, implausible, reason, events FROM account"
                  " LEFT JOIN loss USING(capture, process) WHERE capture=?",
                  lost_take, &walk, DB(DB_ID(capture->bytes)));
}

/* ---- sums ---- */

static bool loss_process_matches(struct db_row *arguments)
{
    uint8_t process[16] = {0};
    struct process_labels labels = {db_text(arguments, 1),          db_text(arguments, 2),
                                    db_text(arguments, 3),          db_text(arguments, 4),
                                    (uint32_t)db_i64(arguments, 5), process};
    (void)id_parse(db_text(arguments, 6), process);
    return process_labels_match(db_pointer(arguments, 0), &labels);
}

int catalog_loss_define(struct db *db)
{
    return db_define(db, "process_matches", 7, loss_process_matches);
}

static const char *const group_columns[CATALOG_LOSS_BYS] = {
    [CATALOG_LOSS_ALL] = "''",
    [CATALOG_LOSS_BY_PROCESS] = "a.process",
    [CATALOG_LOSS_BY_SERVICE] = "a.service",
    [CATALOG_LOSS_BY_HOST] = "a.host",
    [CATALOG_LOSS_BY_RULE] = ("ifnull(" RULE ", a.rule)"),
    [CATALOG_LOSS_BY_CAPTURE] = "a.capture",
};

/* The accounts between two ids; %s: the column of these ids. */
#define ACCOUNTS                                                                                   \
    " WHERE a.%s BETWEEN ?1 AND ?2"                                                                \
    " AND CASE WHEN a.kept_ns>0 THEN ?3 ELSE c.to_ns>=?4 AND c.from_ns<=?5 END"                    \
    " AND process_matches(?6, a.service, a.host, a.exe, a.labels, a.pid, a.process)"
/* What the accounts of a group have, and who the group is. SQLite takes columns beside max() from
 * the row with the maximum: the greatest pid, because a row with a pid describes its process.
 * total() is exact up to 2^53 and never overflows. */
#define HAVE                                                                                          \
    "SELECT %s, '', count(DISTINCT a.process), total(a.stored), total(a.implausible), total(a.open)," \
    " max(a.pid), %s FROM account a LEFT JOIN captures c ON c.id=a.capture" ACCOUNTS " GROUP BY 1"
/* What the accounts lack, by reason and gap. */
#define LACK                                                                                       \
    "SELECT %s, l.reason, l.from_ns, l.to_ns,"                                                     \
    " total(CASE WHEN l.capture<>'' THEN l.events ELSE max(0, l.events-(SELECT total(r.events)"    \
    " FROM loss r WHERE r.process=l.process AND r.reason='ring_full' AND r.capture<>'')) END),"    \
    " NULL, NULL, NULL, NULL, NULL, NULL, NULL"                                                    \
    " FROM account a LEFT JOIN captures c ON c.id=a.capture"                                       \
    " JOIN loss l ON l.capture=a.capture AND l.process=a.process" ACCOUNTS " GROUP BY 1, 2, 3, 4"

void catalog_loss_sql(enum catalog_loss_by by, char *sql, size_t bytes)
{
    const char *group = group_columns[by];
    const char *key = by == CATALOG_LOSS_BY_PROCESS ? "process" : "capture";
    const char *who = by == CATALOG_LOSS_BY_PROCESS ? "a.agent, a.host, a.service, a.labels, a.exe"
                                                    : "NULL, NULL, NULL, NULL, NULL";
    (void)snprintf(sql, bytes, HAVE " UNION ALL " LACK " ORDER BY 1, 2, 3, 4", group, who, key,
                   group, key);
}

void catalog_loss_page_sql(enum catalog_loss_by by, char *sql, size_t bytes)
{
    const char *key = by == CATALOG_LOSS_BY_PROCESS ? "process" : "capture";
    (void)snprintf(sql, bytes,
                   "SELECT DISTINCT a.%s FROM account a LEFT JOIN captures c ON"
                   " c.id=a.capture" ACCOUNTS " ORDER BY 1 LIMIT ?7",
                   key, key);
}

/* The binds of all statements of a query. Ids are hex digits; "g" sorts behind all of them. */
struct sum {
    const struct catalog_loss_query *query;
    char low[ID_TEXT_BYTES + 1], high[ID_TEXT_BYTES];
    int64_t kept, from_ns, to_ns;
    catalog_loss_fn *fn;
    void *context;
    struct ledger *to; /* the current group's */
    size_t keys;       /* on the page so far */
};

static void sum_bounds(struct sum *sum, const struct catalog_loss_query *q)
{
    const uint8_t *one = q->process != NULL   ? q->process->bytes
                         : q->capture != NULL ? q->capture->bytes
                                              : NULL;
    *sum = (struct sum){.query = q,
                        .low = "",
                        .high = "g",
                        .kept = q->from_ns == 0 && q->to_ns == UINT64_MAX,
                        .from_ns = db_clamped(q->from_ns),
                        .to_ns = db_clamped(q->to_ns)};
    if (q->by == CATALOG_LOSS_BY_CAPTURE)
        sum->low[0] = '0';
    if (q->after != NULL && q->after[0] != '\0') /* + blank: behind this id, before others */
        (void)snprintf(sum->low, sizeof sum->low, "%s ", q->after);
    if (one != NULL) {
        id_text(one, sum->low);
        id_text(one, sum->high);
    }
}

static int key_take(void *context, struct db_row *row)
{
    struct sum *sum = context;
    if (sum->keys++ < sum->query->limit)
        (void)snprintf(sum->high, sizeof sum->high, "%s", db_text(row, 0));
    return 0;
}

/* Sets the page's end to its last key; a page may be empty. */
static int page_find(struct db *db, struct sum *sum, char next[ID_TEXT_BYTES])
{
    char sql[1024], high[ID_TEXT_BYTES];
    memcpy(high, sum->high, sizeof high);
    catalog_loss_page_sql(sum->query->by, sql, sizeof sql);
    int64_t rows = db_run(db, sql, key_take, sum,
                          DB(DB_TEXT(sum->low), DB_TEXT(high), DB_I64(sum->kept),
                             DB_I64(sum->from_ns), DB_I64(sum->to_ns),
                             DB_POINTER(sum->query->selector), DB_I64(I(sum->query->limit) + 1)));
    if (next != NULL && rows > I(sum->query->limit))
        memcpy(next, sum->high, ID_TEXT_BYTES);
    return db_status(rows);
}

static struct ledger *group_begin(const struct sum *sum, struct db_row *row)
{
    struct catalog_loss_group group = {.name = db_text(row, 0),
                                       .processes = (uint64_t)db_i64(row, 2),
                                       .account = {.agent = (uint64_t)db_i64(row, 7),
                                                   .pid = (uint32_t)db_i64(row, 6),
                                                   .host = db_text(row, 8),
                                                   .service = db_text(row, 9),
                                                   .labels = db_text(row, 10),
                                                   .exe = db_text(row, 11)}};
    if (sum->query->by == CATALOG_LOSS_BY_PROCESS)
        (void)id_parse(group.name, group.account.process.bytes);
    struct ledger *to = sum->fn(sum->context, &group);
    to->stored += (uint64_t)db_i64(row, 3);
    to->implausible += (uint64_t)db_i64(row, 4);
    to->open |= db_i64(row, 5) != 0;
    return to;
}

static void count_take(struct ledger *to, enum loss_reason reason, struct db_row *row)
{
    to->events[reason] += (uint64_t)db_i64(row, 4);
    to->at_most[reason] |= db_i64(row, 3) == BOUND;
}

/* The row without a reason comes first in each group. */
static int sum_take(void *context, struct db_row *row)
{
    struct sum *sum = context;
    const char *reason = db_text(row, 1);
    int64_t from = db_i64(row, 2);
    if (reason[0] == '\0')
        sum->to = group_begin(sum, row);
    else if (from == NO_TIME)
        count_take(sum->to, loss_parse(reason), row);
    else
        ledger_gap(sum->to, &(struct loss_gap){(uint64_t)from, (uint64_t)db_i64(row, 3),
                                               loss_parse(reason)});
    return 0;
}

static int sum_run(struct db *db, struct sum *sum, char next[ID_TEXT_BYTES])
{
    char sql[3072];
    int status = sum->query->limit > 0 ? page_find(db, sum, next) : SKEIN_OK;
    if (status != SKEIN_OK)
        return status;
    catalog_loss_sql(sum->query->by, sql, sizeof sql);
    return db_status(
        db_run(db, sql, sum_take, sum,
               DB(DB_TEXT(sum->low), DB_TEXT(sum->high), DB_I64(sum->kept), DB_I64(sum->from_ns),
                  DB_I64(sum->to_ns), DB_POINTER(sum->query->selector))));
}

int catalog_loss(struct catalog *c, const struct catalog_loss_query *q, catalog_loss_fn *fn,
                 void *context, char next[ID_TEXT_BYTES])
{
    struct sum sum;
    struct db *db;
    char error[256];
    sum_bounds(&sum, q);
    sum.fn = fn;
    sum.context = context;
    if (next != NULL)
        next[0] = '\0';
    if (q->capture != NULL)
        return sum_run(c->read, &sum, next);
    int status = db_open_reading(c->path, &db, error, sizeof error);
    if (status == SKEIN_OK)
        status = catalog_loss_define(db);
    if (status == SKEIN_OK)
        status = db_exec(db, "BEGIN"); /* page and sums must see one state */
    if (status == SKEIN_OK)
        status = sum_run(db, &sum, next);
    if (status == SKEIN_CORRUPT || (db != NULL && db_is_damaged(db)))
        catalog_note_damage(c);
    db_close(&db);
    return status;
}
