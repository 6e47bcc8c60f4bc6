/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's statements for ledgers; see catalog_loss.h. Any thread.
 */
#include "catalog_loss.h"

#include <stdio.h>
#include <string.h>

#include "catalog_int.h"

#define PAGE_ROWS 1024

/* The accounts of targets, and of evicted ones and rings (which have no capture) below the same
 * key. Both sides come in the order of an index and are merged: a page costs a page. Of targets
 * outside of the time only the index is read. */
const char catalog_ledgers_sql[] =
    "SELECT k.process, k.capture, t.agent, t.pid, t.host, t.service, t.labels, t.exe,"
    " t.ledger, 0 AS evicted, 0 AS ring_lost FROM targets k CROSS JOIN captures c ON c.id=k.capture"
    " CROSS JOIN targets t ON t.capture=k.capture AND t.process=k.process"
    " WHERE (k.process, k.capture) >= (?1, ?2) AND k.process <= ?3"
    " AND c.to_ns>=?4 AND c.from_ns<=?5"
    " UNION ALL SELECT process, capture, agent, pid, host, service, labels, exe, ledger,"
    " capture<>'', ring_lost FROM losses WHERE (process, capture) >= (?1, ?2)"
    " AND process <= ?3 AND ?6 ORDER BY 1, 2 LIMIT ?7";

struct ledger_walk {
    catalog_ledger_fn *fn;
    void *context;
    /* no row before this one */
    char process[ID_TEXT_BYTES], capture[ID_TEXT_BYTES + 1];
    bool stopped;
};

static int take_ledger(void *context, struct db_row *row)
{
    struct ledger_walk *walk = context;
    struct catalog_ledger p = {.agent = (uint64_t)db_i64(row, 2),
                               .pid = (uint32_t)db_i64(row, 3),
                               .host = db_text(row, 4),
                               .service = db_text(row, 5),
                               .labels = db_text(row, 6),
                               .exe = db_text(row, 7),
                               .ledger = db_text(row, 8),
                               .evicted = db_i64(row, 9) != 0,
                               .ring_lost = (uint64_t)db_i64(row, 10)};
    (void)snprintf(walk->process, sizeof walk->process, "%s", db_text(row, 0));
    /* With a blank it is behind this row, and before every other one that is. */
    (void)snprintf(walk->capture, sizeof walk->capture, "%s ", db_text(row, 1));
    if (id_parse(walk->process, p.process.bytes) == SKEIN_OK)
        walk->stopped = walk->fn(walk->context, &p) != 0;
    return walk->stopped;
}

/* Where the walk begins and ends: ids are hex digits, and "g" is behind them. */
static const char *set_bounds(struct ledger_walk *walk, const struct catalog_ledger_query *q,
                              char last[ID_TEXT_BYTES])
{
    if (q->after != NULL) {
        id_text(q->after->bytes, walk->process);
        walk->capture[0] = 'g';
    }
    if (q->process == NULL)
        return "g";
    id_text(q->process->bytes, walk->process);
    id_text(q->process->bytes, last);
    return last;
}

int64_t catalog_ledgers(struct catalog *c, const struct catalog_ledger_query *q,
                        catalog_ledger_fn *fn, void *context)
{
    struct ledger_walk walk = {.fn = fn, .context = context};
    struct db *db;
    char only[ID_TEXT_BYTES], error[256];
    const char *last = set_bounds(&walk, q, only);
    int64_t from = q->from_ns > INT64_MAX ? INT64_MAX : I(q->from_ns), all = 0, rows;
    int64_t to = q->to_ns > INT64_MAX ? INT64_MAX : I(q->to_ns);
    bool any_time = q->from_ns == 0 && q->to_ns == UINT64_MAX;
    int status = db_open(c->path, true, &db, error, sizeof error);
    if (status == SKEIN_CORRUPT)
        catalog_note_damage(c);
    if (status != SKEIN_OK)
        return status;
    do {
        struct ledger_walk before = walk; /* what is bound stays as it is while rows come */
        rows =
            db_run(db, catalog_ledgers_sql, take_ledger, &walk,
                   DB(DB_TEXT(before.process), DB_TEXT(before.capture), DB_TEXT(last), DB_I64(from),
                      DB_I64(to), DB_I64((int64_t)any_time), DB_I64((int64_t)PAGE_ROWS)));
        all += rows > 0 ? rows : 0;
    } while (rows == PAGE_ROWS && !walk.stopped);
    if (db_is_damaged(db))
        catalog_note_damage(c);
    db_close(&db);
    return rows < 0 ? rows : all;
}

int catalog_put_ring_lost(struct catalog *c, const struct catalog_ledger *p, uint64_t now_ns)
{
    char process[ID_TEXT_BYTES];
    id_text(p->process.bytes, process);
    int status = catalog_status(
        db_run(c->db, "DELETE FROM losses WHERE updated_ns<?", NULL, NULL,
               DB(DB_I64(I(now_ns > CATALOG_LOSS_KEPT_NS ? now_ns - CATALOG_LOSS_KEPT_NS : 0)))));
    if (status != SKEIN_OK)
        return status;
    return catalog_status(
        db_run(c->db,
               "INSERT INTO losses(process, capture, agent, pid, host, service, labels, exe,"
               " ledger, ring_lost, updated_ns) VALUES(?1,'',?2,?3,?4,?5,?6,?7,'',?8,?9)"
               " ON CONFLICT(process, capture) DO UPDATE SET"
               " ring_lost=max(ring_lost, excluded.ring_lost), updated_ns=excluded.updated_ns",
               NULL, NULL,
               DB(DB_TEXT(process), DB_I64(I(p->agent)), DB_I64(I(p->pid)), DB_TEXT(p->host),
                  DB_TEXT(p->service), DB_TEXT(p->labels), DB_TEXT(p->exe), DB_I64(I(p->ring_lost)),
                  DB_I64(I(now_ns)))));
}

int catalog_keep_ledgers(struct catalog *c, const struct capture_id *capture, uint64_t now_ns)
{
    char id[ID_TEXT_BYTES];
    id_text(capture->bytes, id);
    return catalog_status(
        db_run(c->db,
               "INSERT OR REPLACE INTO losses(process, capture, agent, pid, host, service,"
               " labels, exe, ledger, ring_lost, updated_ns) SELECT process, capture, agent,"
               " pid, host, service, labels, exe, ledger, 0, ?2 FROM targets"
               " WHERE capture=?1",
               NULL, NULL, DB(DB_TEXT(id), DB_I64(I(now_ns)))));
}

int64_t catalog_trim_losses(struct catalog *c, uint64_t rows)
{
    return db_run(c->db,
                  "DELETE FROM losses WHERE (process, capture) IN"
                  " (SELECT process, capture FROM losses ORDER BY updated_ns LIMIT ?)",
                  NULL, NULL, DB(DB_I64(I(rows))));
}
