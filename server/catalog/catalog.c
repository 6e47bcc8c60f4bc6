/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's tables, and the statements for rules and agents; captures are catalog_capture.c's.
 * Owns the database connection; any thread, see catalog.h.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "catalog_int.h"
#include "metrics.h"
#include "skein_check.h"

static const char meta_schema[] =
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;";

/* Version 1. A new database gets it and then every step below: there is one way to each version. */
static const char schema[] =
    "CREATE TABLE IF NOT EXISTS captures(id TEXT PRIMARY KEY, created_ns INTEGER NOT NULL,"
    " at_ns INTEGER NOT NULL, pre_ms INTEGER NOT NULL, post_ms INTEGER NOT NULL,"
    " deadline_ns INTEGER NOT NULL, finished_ns INTEGER NOT NULL, stopped INTEGER NOT NULL,"
    " own INTEGER NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,"
    " status TEXT NOT NULL, kind TEXT NOT NULL, selector TEXT NOT NULL, trigger_type TEXT NOT NULL,"
    " rule TEXT NOT NULL, process TEXT NOT NULL, reason TEXT NOT NULL, listing TEXT NOT NULL)"
    " WITHOUT ROWID;"
    "CREATE INDEX IF NOT EXISTS captures_by_time ON captures(created_ns, id);"
    "CREATE INDEX IF NOT EXISTS captures_by_status ON captures(status, created_ns, id);"
    "CREATE TABLE IF NOT EXISTS targets(capture TEXT NOT NULL, process TEXT NOT NULL,"
    " agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL, pid INTEGER NOT NULL,"
    " host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL, exe TEXT NOT NULL,"
    " status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL,"
    " PRIMARY KEY(capture, process)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS deleted(id TEXT PRIMARY KEY, at_ns INTEGER NOT NULL,"
    " purged INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS rules(name TEXT PRIMARY KEY, json TEXT NOT NULL,"
    " fired INTEGER NOT NULL, suppressed INTEGER NOT NULL, last_fired_ns INTEGER NOT NULL,"
    " last_capture TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS firings(rule TEXT NOT NULL, process TEXT NOT NULL,"
    " at_ns INTEGER NOT NULL, PRIMARY KEY(rule, process)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS agents(agent INTEGER PRIMARY KEY, epoch INTEGER NOT NULL,"
    " last_seen_ns INTEGER NOT NULL, clock_offset_ns INTEGER NOT NULL, host TEXT NOT NULL,"
    " version TEXT NOT NULL, labels TEXT NOT NULL);";

/* Step i leads from version i + 1 to version i + 2; a step that was released never changes. */
static const char *const migrations[] = {
    /* 2: kinds, bounds and retention of captures; targets under the id that their agent knows */
    "ALTER TABLE captures ADD COLUMN ttl_ms INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN pin INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN expires_ns INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN min_targets INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN max_targets INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE captures ADD COLUMN stream_ms INTEGER NOT NULL DEFAULT 0;"
    "CREATE INDEX captures_by_expiry ON captures(expires_ns) WHERE expires_ns > 0;"
    "CREATE TABLE aliases(id TEXT PRIMARY KEY, capture TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX aliases_by_capture ON aliases(capture);"
    "CREATE TABLE targets_2(capture TEXT NOT NULL, process TEXT NOT NULL, source TEXT NOT NULL,"
    " own INTEGER NOT NULL, agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL,"
    " exe TEXT NOT NULL, status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL,"
    " PRIMARY KEY(capture, process, source)) WITHOUT ROWID;"
    "INSERT INTO targets_2 SELECT t.capture, t.process, t.capture, c.own, t.agent, t.updated_ns,"
    " t.pid, t.host, t.service, t.labels, t.exe, t.status, t.reason, t.report"
    " FROM targets t JOIN captures c ON c.id = t.capture;"
    "DROP TABLE targets;"
    "ALTER TABLE targets_2 RENAME TO targets;",
    /* 3: requests that may be repeated */
    "CREATE TABLE once(principal TEXT NOT NULL, key TEXT NOT NULL, checksum INTEGER NOT NULL,"
    " at_ns INTEGER NOT NULL, capture TEXT NOT NULL, PRIMARY KEY(principal, key)) WITHOUT ROWID;"
    "CREATE INDEX once_by_time ON once(at_ns);",
    /* 4: when targets entered their states, and those whose partitions may still come */
    ("ALTER TABLE targets ADD COLUMN times TEXT NOT NULL DEFAULT '';"
     "CREATE INDEX targets_late ON targets(process) WHERE status='expired' AND report<>'';"),
    /* 5: ledgers of targets, and what is missing of processes beside them */
    "ALTER TABLE targets ADD COLUMN ledger TEXT NOT NULL DEFAULT '';"
    "CREATE INDEX targets_by_process ON targets(process, capture, source);"
    "CREATE TABLE losses(process TEXT NOT NULL, capture TEXT NOT NULL, source TEXT NOT NULL,"
    " agent INTEGER NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL,"
    " labels TEXT NOT NULL, exe TEXT NOT NULL, ledger TEXT NOT NULL, ring_lost INTEGER NOT NULL,"
    " updated_ns INTEGER NOT NULL, PRIMARY KEY(process, capture, source)) WITHOUT ROWID;"
    "CREATE INDEX losses_by_time ON losses(updated_ns);",
    /* 6: what a quota must not delete */
    "CREATE INDEX captures_pinned ON captures(id) WHERE pin=1;",
    /* 7: stored partitions whose bytes are damaged */
    "CREATE TABLE damaged(partition TEXT PRIMARY KEY, from_ns INTEGER NOT NULL,"
    " to_ns INTEGER NOT NULL) WITHOUT ROWID;",
    /* 8: from when on all processes of a capture's window are known */
    "ALTER TABLE captures ADD COLUMN known_from_ns INTEGER NOT NULL DEFAULT 0;",
    /* 9: incidents. Each firing that was merged into a capture becomes a capture again, of that
     * one's incident; `source` says which targets are its own. The listings of both are made anew
     * when the database is opened. */
    "ALTER TABLE captures ADD COLUMN incident TEXT NOT NULL DEFAULT '';"
    "UPDATE captures SET incident=id;"
    "INSERT OR IGNORE INTO captures(id, created_ns, at_ns, pre_ms, post_ms, deadline_ns,"
    " finished_ns, stopped, own, from_ns, to_ns, status, kind, selector, trigger_type, rule,"
    " process, reason, listing, ttl_ms, pin, expires_ns, min_targets, max_targets, stream_ms,"
    " known_from_ns, incident) SELECT a.id, c.created_ns, c.at_ns, c.pre_ms, c.post_ms,"
    " c.deadline_ns, c.finished_ns, c.stopped, 1, c.from_ns, c.to_ns, c.status, c.kind, c.selector,"
    " c.trigger_type, c.rule, '', c.reason, '', c.ttl_ms, c.pin, c.expires_ns, 0, 0, 0,"
    " c.known_from_ns, c.id FROM aliases a JOIN captures c ON c.id=a.capture;"
    "UPDATE captures SET listing='' WHERE id IN (SELECT capture FROM aliases);"
    "DROP TABLE aliases;"
    "CREATE INDEX captures_by_incident ON captures(incident, created_ns, id);"
    "CREATE INDEX captures_unlisted ON captures(id) WHERE listing='';"
    "CREATE TABLE targets_3(capture TEXT NOT NULL, process TEXT NOT NULL, own INTEGER NOT NULL,"
    " agent INTEGER NOT NULL, updated_ns INTEGER NOT NULL, pid INTEGER NOT NULL,"
    " host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL, exe TEXT NOT NULL,"
    " status TEXT NOT NULL, reason TEXT NOT NULL, report TEXT NOT NULL, times TEXT NOT NULL,"
    " ledger TEXT NOT NULL, PRIMARY KEY(capture, process)) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO targets_3 SELECT source, process, own, agent, updated_ns, pid, host,"
    " service, labels, exe, status, reason, report, times, ledger FROM targets;"
    "DROP TABLE targets;"
    "ALTER TABLE targets_3 RENAME TO targets;"
    "CREATE INDEX targets_late ON targets(process) WHERE status='expired' AND report<>'';"
    "CREATE INDEX targets_by_process ON targets(process, capture);"
    "CREATE TABLE losses_2(process TEXT NOT NULL, capture TEXT NOT NULL, agent INTEGER NOT NULL,"
    " pid INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL, labels TEXT NOT NULL,"
    " exe TEXT NOT NULL, ledger TEXT NOT NULL, ring_lost INTEGER NOT NULL,"
    " updated_ns INTEGER NOT NULL, PRIMARY KEY(process, capture)) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO losses_2 SELECT process, source, agent, pid, host, service, labels, exe,"
    " ledger, ring_lost, updated_ns FROM losses;"
    "DROP TABLE losses;"
    "ALTER TABLE losses_2 RENAME TO losses;"
    "CREATE INDEX losses_by_time ON losses(updated_ns);"
    "CREATE TABLE IF NOT EXISTS rule_history(id INTEGER PRIMARY KEY, rule TEXT NOT NULL,"
    " at_ns INTEGER NOT NULL, process TEXT NOT NULL, what TEXT NOT NULL, why TEXT NOT NULL,"
    " capture TEXT NOT NULL);"
    "ALTER TABLE rule_history ADD COLUMN incident TEXT NOT NULL"
    " DEFAULT '00000000000000000000000000000000';"
    "UPDATE rule_history SET incident=capture WHERE what IN ('fired', 'merged');"
    "UPDATE rule_history SET what='joined', capture='00000000000000000000000000000000'"
    " WHERE what='merged';",
    /* 10: what is missing, as rows (catalog_loss.h); it was JSON before, with times in ms */
    "CREATE TABLE account(capture TEXT NOT NULL, process TEXT NOT NULL,"
    " rule TEXT NOT NULL, agent INTEGER NOT NULL, pid INTEGER NOT NULL, host TEXT NOT NULL,"
    " service TEXT NOT NULL, labels TEXT NOT NULL, exe TEXT NOT NULL, stored INTEGER NOT NULL,"
    " implausible INTEGER NOT NULL, open INTEGER NOT NULL, kept_ns INTEGER NOT NULL,"
    " PRIMARY KEY(capture, process)) WITHOUT ROWID;"
    "CREATE INDEX account_by_process ON account(process);"
    "CREATE INDEX account_kept ON account(kept_ns) WHERE kept_ns>0;"
    "CREATE TABLE loss(capture TEXT NOT NULL, process TEXT NOT NULL,"
    " reason TEXT NOT NULL, from_ns INTEGER NOT NULL, to_ns INTEGER NOT NULL,"
    " events INTEGER NOT NULL, PRIMARY KEY(capture, process, reason, from_ns, to_ns),"
    " FOREIGN KEY(capture, process) REFERENCES account ON DELETE CASCADE) WITHOUT ROWID;"
    "CREATE INDEX loss_of_ring ON loss(process, events) WHERE reason='ring_full';"
    "CREATE VIEW old AS SELECT t.capture, t.process, t.agent, t.pid, t.host, t.service,"
    " t.labels, t.exe, t.status NOT IN ('complete','nothing','failed','expired') AS open,"
    " 0 AS kept_ns, 0 AS ring_lost, CASE json_valid(t.ledger) WHEN 1 THEN t.ledger ELSE '{}' END"
    " AS ledger FROM targets t UNION ALL SELECT capture, process, agent, pid, host,"
    " service, labels, exe, 0, updated_ns, ring_lost, CASE json_valid(ledger) WHEN 1 THEN ledger"
    " ELSE '{}' END FROM losses;"
    "INSERT OR IGNORE INTO account SELECT capture, process, '', agent, pid, host, service, labels,"
    " exe, CASE kept_ns WHEN 0 THEN CAST(ifnull(json_extract(ledger,'$.stored'),0) AS INTEGER)"
    " ELSE 0 END, CAST(ifnull(json_extract(ledger,'$.implausible'),0) AS INTEGER), open, kept_ns"
    " FROM old;"
    "INSERT OR IGNORE INTO loss SELECT capture, process, 'ring_full', -1, -1, ring_lost FROM old"
    " WHERE capture='';"
    "INSERT OR IGNORE INTO loss SELECT capture, process, 'evicted', -1, -1,"
    " CAST(json_extract(ledger,'$.stored') AS INTEGER) FROM old WHERE kept_ns>0"
    " AND CAST(json_extract(ledger,'$.stored') AS INTEGER)>0;"
    "INSERT OR IGNORE INTO loss SELECT capture, process, 'name', -1, -1,"
    " CAST(json_extract(ledger,'$.unnamed') AS INTEGER) FROM old"
    " WHERE CAST(json_extract(ledger,'$.unnamed') AS INTEGER)>0;"
    "INSERT OR IGNORE INTO loss SELECT capture, process, r.key, -1, -1,"
    " CAST(r.value AS INTEGER) FROM old, json_each(ledger,'$.reasons') r"
    " WHERE CAST(r.value AS INTEGER)>0;"
    "INSERT OR IGNORE INTO loss SELECT capture, process, json_extract(g.value,'$.reason'),"
    " strftime('%s',substr(json_extract(g.value,'$.from'),1,19))*1000000000"
    "+substr(json_extract(g.value,'$.from'),21,3)*1000000,"
    " strftime('%s',substr(json_extract(g.value,'$.to'),1,19))*1000000000"
    "+substr(json_extract(g.value,'$.to'),21,3)*1000000, 0"
    " FROM old, json_each(ledger,'$.gaps') g;"
    "DROP VIEW old;"
    "DROP TABLE losses;"
    "DROP INDEX targets_by_process;"
    "ALTER TABLE targets DROP COLUMN ledger;",
    /* 11: what captures have: the ranges that the reports of their targets list */
    "CREATE TABLE ranges(capture TEXT NOT NULL, process TEXT NOT NULL, epoch INTEGER NOT NULL,"
    " first INTEGER NOT NULL, last INTEGER NOT NULL,"
    " PRIMARY KEY(capture, process, epoch, first, last)) WITHOUT ROWID;"
    "CREATE INDEX ranges_by_partition ON ranges(process, epoch, first, last);"
    "DROP INDEX targets_late;"
    "CREATE INDEX ranges_long ON ranges(process, epoch, first) WHERE last - first >= 1024;"
    "INSERT OR IGNORE INTO ranges SELECT t.capture, t.process,"
    " CAST(coalesce(json_extract(p.value, '$.epoch'), 0) AS INTEGER),"
    " CAST(json_extract(p.value, '$.first') AS INTEGER),"
    " CAST(json_extract(p.value, '$.last') AS INTEGER) FROM targets t,"
    " json_each(CASE WHEN json_valid(t.report) THEN t.report ELSE '{}' END, '$.partitions') p"
    " WHERE p.type = 'object' AND json_extract(p.value, '$.first') IS NOT NULL"
    " AND json_extract(p.value, '$.last') IS NOT NULL;",
    /* 12: the event groups that a sample's policy names */
    "ALTER TABLE captures ADD COLUMN event_groups INTEGER NOT NULL DEFAULT 0;",
    /* 13: ranges that are neither short nor long */
    "CREATE INDEX ranges_some ON ranges(process, epoch, first) WHERE last - first >= 64;",
    /* 14: listings by kind, and by the rule or policy that began a capture */
    "CREATE INDEX captures_by_kind ON captures(kind, created_ns, id);"
    "CREATE INDEX captures_by_kind_and_status ON captures(kind, status, created_ns, id);"
    "CREATE INDEX captures_by_rule ON captures(rule, created_ns, id, kind, status)"
    " WHERE rule<>'';",
    /* 15: whose process fired: limits of rules are shared among users */
    "ALTER TABLE rule_history ADD COLUMN user INTEGER NOT NULL DEFAULT 4294967295;",
    /* 16: whose captures are, of what rank, and what is stored of them: quotas are shared out. Of
     * captures from before only the rank is known; each counts as 1 MiB of one holder. */
    "ALTER TABLE captures ADD COLUMN share_rank INTEGER NOT NULL DEFAULT 2;"
    "ALTER TABLE captures ADD COLUMN holder TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE captures ADD COLUMN bytes INTEGER NOT NULL DEFAULT 1048576;"
    "UPDATE captures SET share_rank=(rule<>'' OR trigger_type='crash')"
    " WHERE own=1 AND kind<>'sample';"
    "CREATE INDEX captures_by_holder ON captures(share_rank, holder, created_ns, id, status, bytes)"
    " WHERE pin=0;"
    "CREATE INDEX targets_by_service ON targets(service, capture);",
};
#define SCHEMA_VERSION (sizeof migrations / sizeof migrations[0] + 1)

/* Tables and indexes of no step: each start makes those that are not there. */
static const char later_schema[] =
    "CREATE INDEX IF NOT EXISTS rule_history_by_rule ON rule_history(rule, id);"
    "CREATE INDEX IF NOT EXISTS rule_history_by_time ON rule_history(at_ns);"
    "CREATE TABLE IF NOT EXISTS policies(name TEXT PRIMARY KEY, json TEXT NOT NULL,"
    " generation INTEGER NOT NULL, day INTEGER NOT NULL, bytes INTEGER NOT NULL,"
    " captures INTEGER NOT NULL, last_capture TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS notices(turn INTEGER PRIMARY KEY,"
    " id TEXT NOT NULL, rule TEXT NOT NULL, created_ns INTEGER NOT NULL,"
    " body TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS hosts(turn INTEGER PRIMARY KEY,"
    " host BLOB NOT NULL UNIQUE, agent INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS processes(process TEXT PRIMARY KEY,"
    " agent INTEGER NOT NULL, pid INTEGER NOT NULL,"
    " start_ns INTEGER NOT NULL, attached_ns INTEGER NOT NULL,"
    " ended_ns INTEGER NOT NULL, host TEXT NOT NULL, service TEXT NOT NULL,"
    " labels TEXT NOT NULL, exe TEXT NOT NULL) WITHOUT ROWID;";

/* ---- open ---- */

static uint64_t meta_get(struct catalog *c, const char *key, uint64_t otherwise)
{
    int64_t value = I(otherwise);
    (void)db_number(c->read, "SELECT value FROM meta WHERE key=?", &value, DB(DB_TEXT(key)));
    return (uint64_t)value;
}

#define META_PUT "INSERT OR REPLACE INTO meta(key, value) VALUES(?,?)"

/* At once; of a start. */
static int meta_put(struct catalog *c, const char *key, uint64_t value)
{
    return db_write(c->db, META_PUT, DB(DB_TEXT(key), DB_I64(I(value))));
}

/* Takes one step and notes its number: both or neither. */
static int catalog_migrate(struct catalog *c, uint64_t to_version, const char *sql)
{
    int status = db_begin(c->db);
    if (status != SKEIN_OK)
        return status;
    status = db_exec(c->db, sql);
    if (status == SKEIN_OK)
        status = meta_put(c, "schema", to_version);
    return db_end(c->db, status);
}

static int schema_bring_up(struct catalog *c, uint64_t version)
{
    int status = version == 0 ? catalog_migrate(c, 1, schema) : SKEIN_OK;
    for (uint64_t v = version > 1 ? version : 1; status == SKEIN_OK && v < SCHEMA_VERSION; v++)
        status = catalog_migrate(c, v + 1, migrations[v - 1]);
    return status;
}

static int catalog_prepare(struct catalog *c, char *error, size_t error_bytes)
{
    int status = db_exec(c->db, meta_schema);
    if (status == SKEIN_OK) {
        uint64_t version = meta_get(c, "schema", 0);
        if (version > SCHEMA_VERSION) {
            snprintf(error, error_bytes, "state.db is of a newer collector (schema %" PRIu64 ")",
                     version);
            return SKEIN_VERSION;
        }
        c->collector = meta_get(c, "collector", 0);
        c->made = version == 0;
        status = schema_bring_up(c, version);
        if (status == SKEIN_OK)
            status = db_exec(c->db, later_schema);
        if (status == SKEIN_OK)
            status = catalog_loss_define(c->read);
    }
    if (status == SKEIN_OK && c->collector == 0) {
        if (getrandom(&c->collector, sizeof c->collector, 0) != sizeof c->collector)
            status = SKEIN_IO;
        c->collector = c->collector >> 1 | 1;
        if (status == SKEIN_OK)
            status = meta_put(c, "collector", c->collector);
    }
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "state.db: %s", db_error(c->db));
    return status;
}

int catalog_open(const char *folder, struct catalog **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct catalog *c = calloc(1, sizeof *c);
    if (c == NULL)
        return SKEIN_NO_MEMORY;
    pthread_mutex_init(&c->collecting, NULL);
    /* Private: it holds what rules send to receivers, passwords among it. */
    int n = snprintf(c->path, sizeof c->path, "%s/state.db", folder);
    int status = n < 0 || (size_t)n >= sizeof c->path
                     ? SKEIN_TOO_LARGE
                     : db_open_private(folder, "state.db", &c->db, error, error_bytes);
    if (status == SKEIN_OK)
        status = db_open_reading(c->path, &c->read, error, error_bytes);
    if (status == SKEIN_OK && db_check(c->db) == SKEIN_CORRUPT)
        atomic_store(&c->damaged, true); /* go on: what can still be read is better than nothing */
    if (status == SKEIN_OK)
        status = catalog_prepare(c, error, error_bytes);
    if (status == SKEIN_CORRUPT)
        snprintf(error, error_bytes,
                 "state.db is damaged and cannot be used: skeind --restore-state puts the newest "
                 "backup in its place");
    if (status != SKEIN_OK)
        catalog_close(&c);
    *out = c;
    return status;
}

bool catalog_is_damaged(const struct catalog *c)
{
    return atomic_load(&c->damaged) || db_is_damaged(c->db) || db_is_damaged(c->read);
}

void catalog_note_damage(struct catalog *c)
{
    atomic_store(&c->damaged, true);
}

bool catalog_is_new(const struct catalog *c)
{
    return c->made;
}

void catalog_close(struct catalog **catalog)
{
    struct catalog *c = *catalog;
    if (c == NULL)
        return;
    db_close(&c->read);
    db_close(&c->db);
    pthread_mutex_destroy(&c->collecting);
    free(c);
    *catalog = NULL;
}

void catalog_trim(struct catalog *c)
{
    db_trim(c->db);
}

int catalog_begin(struct catalog *c)
{
    pthread_mutex_lock(&c->collecting);
    c->batch = db_batch_new();
    if (c->batch != NULL)
        return SKEIN_OK;
    pthread_mutex_unlock(&c->collecting);
    return SKEIN_NO_MEMORY;
}

void catalog_write(struct catalog *c, const char *sql, const struct db_bind *binds)
{
    skein_check(c->batch != NULL);
    db_batch_add(c->batch, sql, binds);
}

void catalog_refuse(struct catalog *c, int status)
{
    skein_check(c->batch != NULL);
    db_batch_refuse(c->batch, status);
}

struct db_batch *catalog_collected(struct catalog *c)
{
    struct db_batch *batch = c->batch;
    c->batch = NULL;
    pthread_mutex_unlock(&c->collecting);
    return batch;
}

int catalog_commit(struct catalog *c, struct db_batch *batch)
{
    int status = db_batch_run(c->db, batch);
    if (status != SKEIN_OK)
        metrics_add(catalog_errors_total, 1);
    return status;
}

uint64_t catalog_collector(const struct catalog *c)
{
    return c->collector;
}

/* ---- sets that agents are pushed ---- */

static const char *generation_key(const char *set, char key[32])
{
    (void)snprintf(key, 32, "%s_generation", set);
    return key;
}

void catalog_put_generation(struct catalog *c, const char *set, uint64_t generation)
{
    char key[32];
    catalog_write(c, META_PUT, DB(DB_TEXT(generation_key(set, key)), DB_I64(I(generation))));
}

uint64_t catalog_generation(struct catalog *c, const char *set)
{
    char key[32];
    return meta_get(c, generation_key(set, key), 0);
}

/* ---- agents ---- */

void catalog_put_agent(struct catalog *c, const struct catalog_agent *p)
{
    catalog_write(c,
                  "INSERT OR REPLACE INTO agents(agent, epoch, last_seen_ns,"
                  " clock_offset_ns, host, version, labels) VALUES(?,?,?,?,?,?,?)",
                  DB(DB_I64(I(p->agent)), DB_I64(I(p->epoch)), DB_I64(I(p->last_seen_ns)),
                     DB_I64(p->clock_offset_ns), DB_TEXT(p->host), DB_TEXT(p->version),
                     DB_TEXT(p->labels)));
}

void catalog_delete_agent(struct catalog *c, uint64_t agent)
{
    catalog_write(c, "DELETE FROM agents WHERE agent=?", DB(DB_I64(I(agent))));
}

struct agent_walk {
    catalog_agent_fn *fn;
    void *context;
};

static int agent_take(void *context, struct db_row *row)
{
    struct agent_walk *walk = context;
    struct catalog_agent p = {.agent = (uint64_t)db_i64(row, 0),
                              .epoch = (uint64_t)db_i64(row, 1),
                              .last_seen_ns = (uint64_t)db_i64(row, 2),
                              .clock_offset_ns = db_i64(row, 3),
                              .host = db_text(row, 4),
                              .version = db_text(row, 5),
                              .labels = db_text(row, 6)};
    return walk->fn(walk->context, &p);
}

int64_t catalog_agents(struct catalog *c, catalog_agent_fn *fn, void *context)
{
    struct agent_walk walk = {fn, context};
    return db_run(c->read,
                  "SELECT agent, epoch, last_seen_ns, clock_offset_ns, host, version, labels"
                  " FROM agents ORDER BY agent",
                  agent_take, &walk, NULL);
}

/* ---- room ---- */

int catalog_usage(struct catalog *c, uint64_t *bytes)
{
    int64_t used = 0;
    int status = db_number(c->read,
                           "SELECT (pages.page_count - unused.freelist_count) * page.page_size"
                           " FROM pragma_page_count() AS pages,"
                           " pragma_freelist_count() AS unused, pragma_page_size() AS page",
                           &used, NULL);
    *bytes = (uint64_t)used;
    return status;
}
