/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's statements for ledgers; see catalog_loss.h. Any thread.
 */
#include "catalog_loss.h"

#include <stdio.h>
#include <string.h>

#include "catalog_int.h"

#define PAGE_ROWS 1024

/* The accounts of targets, and below the same key those of evicted ones; the ring's has no capture.
 */
#define LEDGERS                                                                                    \
    "SELECT * FROM (SELECT t.process, t.capture, t.source, t.agent, t.pid, t.host, t.service,"     \
    " t.labels, t.exe, t.ledger, 0 AS evicted, 0 AS ring_lost FROM targets t"                      \
    " JOIN captures c ON c.id=t.capture WHERE (t.process, t.capture, t.source) > (?1, ?2, ?3)"     \
    " AND t.process BETWEEN ?4 AND ?5 AND c.to_ns>=?6 AND c.from_ns<=?7"                           \
    " UNION ALL SELECT process, capture, source, agent, pid, host, service, labels, exe, ledger,"  \
    " capture<>'', ring_lost FROM losses WHERE (process, capture, source) > (?1, ?2, ?3)"          \
    " AND process BETWEEN ?4 AND ?5 AND ?8)"                                                       \
    " ORDER BY process, capture, source LIMIT ?9"

struct ledger_walk {
    catalog_ledger_fn *fn;
    void *context;
    char process[ID_TEXT_BYTES], capture[ID_TEXT_BYTES], source[ID_TEXT_BYTES]; /* the last row's */
    bool stopped;
};

static int take_ledger(void *context, struct db_row *row)
{
    struct ledger_walk *walk = context;
    struct catalog_ledger p = {.agent = (uint64_t)db_i64(row, 3),
                               .pid = (uint32_t)db_i64(row, 4),
                               .host = db_text(row, 5),
                               .service = db_text(row, 6),
                               .labels = db_text(row, 7),
                               .exe = db_text(row, 8),
                               .ledger = db_text(row, 9),
                               .evicted = db_i64(row, 10) != 0,
                               .ring_lost = (uint64_t)db_i64(row, 11)};
    (void)snprintf(walk->process, sizeof walk->process, "%s", db_text(row, 0));
    (void)snprintf(walk->capture, sizeof walk->capture, "%s", db_text(row, 1));
    (void)snprintf(walk->source, sizeof walk->source, "%s", db_text(row, 2));
    if (id_parse(walk->process, p.process.bytes) == SKEIN_OK)
        walk->stopped = walk->fn(walk->context, &p) != 0;
    return walk->stopped;
}

int64_t catalog_ledgers(struct catalog *c, const struct catalog_ledger_query *q,
                        catalog_ledger_fn *fn, void *context)
{
    struct ledger_walk walk = {.fn = fn, .context = context};
    char only[ID_TEXT_BYTES] = "";
    int64_t from = q->from_ns > INT64_MAX ? INT64_MAX : I(q->from_ns), all = 0, rows;
    int64_t to = q->to_ns > INT64_MAX ? INT64_MAX : I(q->to_ns);
    if (q->process != NULL)
        id_text(q->process->bytes, only);
    bool any_time = q->from_ns == 0 && q->to_ns == UINT64_MAX;
    do {
        struct ledger_walk before = walk; /* bound from a copy: rows replace the texts */
        rows = db_run(c->db, LEDGERS, take_ledger, &walk, "sssssiiii", before.process,
                      before.capture, before.source, only, q->process != NULL ? only : "g", from,
                      to, (int64_t)any_time, (int64_t)PAGE_ROWS);
        all += rows > 0 ? rows : 0;
    } while (rows == PAGE_ROWS && !walk.stopped);
    return rows < 0 ? rows : all;
}

int catalog_put_ring_lost(struct catalog *c, const struct catalog_ledger *p, uint64_t now_ns)
{
    char process[ID_TEXT_BYTES];
    id_text(p->process.bytes, process);
    int status = catalog_status(
        db_run(c->db, "DELETE FROM losses WHERE updated_ns<?", NULL, NULL, "i",
               I(now_ns > CATALOG_LOSS_KEPT_NS ? now_ns - CATALOG_LOSS_KEPT_NS : 0)));
    if (status != SKEIN_OK)
        return status;
    return catalog_status(db_run(
        c->db,
        "INSERT INTO losses(process, capture, source, agent, pid, host, service, labels, exe,"
        " ledger, ring_lost, updated_ns) VALUES(?1,'','',?2,?3,?4,?5,?6,?7,'',?8,?9)"
        " ON CONFLICT(process, capture, source) DO UPDATE SET"
        " ring_lost=max(ring_lost, excluded.ring_lost), updated_ns=excluded.updated_ns",
        NULL, NULL, "siissssii", process, I(p->agent), I(p->pid), p->host, p->service, p->labels,
        p->exe, I(p->ring_lost), I(now_ns)));
}

int catalog_keep_ledgers(struct catalog *c, const struct capture_id *capture, uint64_t now_ns)
{
    char id[ID_TEXT_BYTES];
    id_text(capture->bytes, id);
    return catalog_status(
        db_run(c->db,
               "INSERT OR REPLACE INTO losses(process, capture, source, agent, pid, host, service,"
               " labels, exe, ledger, ring_lost, updated_ns) SELECT process, capture, source,"
               " agent, pid, host, service, labels, exe, ledger, 0, ?2 FROM targets"
               " WHERE capture=?1",
               NULL, NULL, "si", id, I(now_ns)));
}
