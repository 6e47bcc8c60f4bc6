/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's tables and statements. Owns the database connection; any thread, see catalog.h.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "catalog_int.h"
#include "metrics.h"

#define SCHEMA_VERSION 1

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS meta(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
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

static int status_of(int64_t rows)
{
    return rows < 0 ? (int)rows : SKEIN_OK;
}

/* ---- open ---- */

static int take_number(void *context, struct db_row *row)
{
    *(uint64_t *)context = (uint64_t)db_i64(row, 0);
    return 1;
}

static uint64_t meta_get(struct catalog *c, const char *key, uint64_t otherwise)
{
    uint64_t value = otherwise;
    db_run(c->db, "SELECT value FROM meta WHERE key=?", take_number, &value, "s", key);
    return value;
}

static int meta_put(struct catalog *c, const char *key, uint64_t value)
{
    return status_of(db_run(c->db, "INSERT OR REPLACE INTO meta(key, value) VALUES(?,?)", NULL,
                            NULL, "si", key, I(value)));
}

static int prepare(struct catalog *c, char *error, size_t error_bytes)
{
    int status = db_exec(c->db, schema);
    if (status == SKEIN_OK)
        status = catalog_rules_prepare(c);
    if (status == SKEIN_OK) {
        uint64_t version = meta_get(c, "schema", 0);
        if (version > SCHEMA_VERSION) {
            snprintf(error, error_bytes, "state.db is of a newer collector (schema %llu)",
                     (unsigned long long)version);
            return SKEIN_VERSION;
        }
        c->collector = meta_get(c, "collector", 0);
        if (version < SCHEMA_VERSION)
            status = meta_put(c, "schema", SCHEMA_VERSION);
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
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/state.db", folder);
    int status = n < 0 || (size_t)n >= sizeof path
                     ? SKEIN_TOO_LARGE
                     : db_open(path, true, &c->db, error, error_bytes);
    if (status == SKEIN_OK)
        status = prepare(c, error, error_bytes);
    if (status != SKEIN_OK)
        catalog_close(&c);
    *out = c;
    return status;
}

void catalog_close(struct catalog **catalog)
{
    struct catalog *c = *catalog;
    if (c == NULL)
        return;
    if (c->db != NULL)
        db_close(&c->db);
    free(c);
    *catalog = NULL;
}

int catalog_begin(struct catalog *c)
{
    return db_begin(c->db);
}

int catalog_end(struct catalog *c, bool commit)
{
    int status = db_end(c->db, commit);
    if (status != SKEIN_OK)
        metrics_add(catalog_errors_total, 1);
    return status;
}

uint64_t catalog_collector(const struct catalog *c)
{
    return c->collector;
}

/* ---- captures ---- */

static void window_of(const struct catalog_capture *capture, uint64_t *from, uint64_t *to)
{
    uint64_t pre = capture->pre_ms * 1000000u;
    *from = pre < capture->at_ns ? capture->at_ns - pre : 0;
    *to = capture->at_ns + capture->post_ms * 1000000u;
}

int catalog_put_capture(struct catalog *c, const struct catalog_capture *p)
{
    char id[ID_TEXT_BYTES];
    uint64_t from, to;
    id_text(p->id.bytes, id);
    window_of(p, &from, &to);
    return status_of(db_run(
        c->db,
        "INSERT OR REPLACE INTO captures(id, created_ns, at_ns, pre_ms, post_ms, deadline_ns,"
        " finished_ns, stopped, own, from_ns, to_ns, status, kind, selector, trigger_type, rule,"
        " process, reason, listing) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        NULL, NULL, "siiiiiiiiiissssssss", id, I(p->created_ns), I(p->at_ns), I(p->pre_ms),
        I(p->post_ms), I(p->deadline_ns), I(p->finished_ns), I(p->stopped), I(p->own), I(from),
        I(to), p->status, p->kind, p->selector, p->trigger, p->rule, p->process, p->reason,
        p->listing));
}

int catalog_put_target(struct catalog *c, const struct catalog_target *p)
{
    char id[ID_TEXT_BYTES], process[ID_TEXT_BYTES];
    id_text(p->capture.bytes, id);
    id_text(p->process.bytes, process);
    return status_of(
        db_run(c->db,
               "INSERT OR REPLACE INTO targets(capture, process, agent, updated_ns, pid, host,"
               " service, labels, exe, status, reason, report) VALUES(?,?,?,?,?,?,?,?,?,?,?,?)",
               NULL, NULL, "ssiiisssssss", id, process, I(p->agent), I(p->updated_ns), I(p->pid),
               p->host, p->service, p->labels, p->exe, p->status, p->reason, p->report));
}

#define CAPTURE_COLUMNS                                                                            \
    "SELECT id, created_ns, at_ns, pre_ms, post_ms, deadline_ns, finished_ns, stopped, own,"       \
    " status, kind, selector, trigger_type, rule, process, reason, listing FROM captures "

struct capture_walk {
    catalog_capture_fn *fn;
    void *context;
};

static int take_capture(void *context, struct db_row *row)
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
    };
    if (id_parse(db_text(row, 0), p.id.bytes) != SKEIN_OK)
        return 0;
    return walk->fn(walk->context, &p);
}

int64_t catalog_captures(struct catalog *c, const struct catalog_capture_query *q,
                         catalog_capture_fn *fn, void *context)
{
    struct capture_walk walk = {fn, context};
    char before[ID_TEXT_BYTES];
    id_text(q->before_id.bytes, before);
    int64_t from = q->from_ns > INT64_MAX ? INT64_MAX : I(q->from_ns);
    int64_t to = q->to_ns > INT64_MAX ? INT64_MAX : I(q->to_ns);
    int64_t created = q->before ? I(q->before_created_ns) : INT64_MAX;
    int64_t limit = q->limit > 0 ? I(q->limit) : -1;
    if (q->status != NULL)
        return db_run(c->db,
                      CAPTURE_COLUMNS
                      "WHERE status=? AND (created_ns, id) < (?, ?) AND to_ns>=? AND from_ns<=?"
                      " ORDER BY created_ns DESC, id DESC LIMIT ?",
                      take_capture, &walk, "sisiii", q->status, created, q->before ? before : "g",
                      from, to, limit);
    return db_run(c->db,
                  CAPTURE_COLUMNS "WHERE (created_ns, id) < (?, ?) AND to_ns>=? AND from_ns<=?"
                                  " ORDER BY created_ns DESC, id DESC LIMIT ?",
                  take_capture, &walk, "isiii", created, q->before ? before : "g", from, to, limit);
}

int64_t catalog_capture(struct catalog *c, const struct capture_id *id, catalog_capture_fn *fn,
                        void *context)
{
    struct capture_walk walk = {fn, context};
    char text[ID_TEXT_BYTES];
    id_text(id->bytes, text);
    return db_run(c->db, CAPTURE_COLUMNS "WHERE id=?", take_capture, &walk, "s", text);
}

struct target_walk {
    struct capture_id capture;
    catalog_target_fn *fn;
    void *context;
};

static int take_target(void *context, struct db_row *row)
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
    };
    if (id_parse(db_text(row, 0), p.process.bytes) != SKEIN_OK)
        return 0;
    return walk->fn(walk->context, &p);
}

int64_t catalog_targets(struct catalog *c, const struct capture_id *id, catalog_target_fn *fn,
                        void *context)
{
    struct target_walk walk = {*id, fn, context};
    char text[ID_TEXT_BYTES];
    id_text(id->bytes, text);
    return db_run(c->db,
                  "SELECT process, agent, updated_ns, pid, host, service, labels, exe, status,"
                  " reason, report FROM targets WHERE capture=? ORDER BY process",
                  take_target, &walk, "s", text);
}

/* ---- deletion ---- */

int catalog_delete_capture(struct catalog *c, const struct capture_id *id, uint64_t now_ns)
{
    char text[ID_TEXT_BYTES];
    id_text(id->bytes, text);
    int status =
        status_of(db_run(c->db, "INSERT OR IGNORE INTO deleted(id, at_ns, purged) VALUES(?,?,0)",
                         NULL, NULL, "si", text, I(now_ns)));
    if (status == SKEIN_OK)
        status =
            status_of(db_run(c->db, "DELETE FROM targets WHERE capture=?", NULL, NULL, "s", text));
    if (status == SKEIN_OK)
        status = status_of(db_run(c->db, "DELETE FROM captures WHERE id=?", NULL, NULL, "s", text));
    return status;
}

int catalog_set_purged(struct catalog *c, const struct capture_id *id)
{
    char text[ID_TEXT_BYTES];
    id_text(id->bytes, text);
    return status_of(
        db_run(c->db, "UPDATE deleted SET purged=1 WHERE id=?", NULL, NULL, "s", text));
}

bool catalog_is_deleted(struct catalog *c, const struct capture_id *id)
{
    char text[ID_TEXT_BYTES];
    uint64_t found = 0;
    id_text(id->bytes, text);
    db_run(c->db, "SELECT 1 FROM deleted WHERE id=?", take_number, &found, "s", text);
    return found != 0;
}

struct id_walk {
    catalog_id_fn *fn;
    void *context;
};

static int take_id(void *context, struct db_row *row)
{
    struct id_walk *walk = context;
    struct capture_id id;
    return id_parse(db_text(row, 0), id.bytes) == SKEIN_OK ? walk->fn(walk->context, &id) : 0;
}

int64_t catalog_unpurged(struct catalog *c, catalog_id_fn *fn, void *context)
{
    struct id_walk walk = {fn, context};
    return db_run(c->db, "SELECT id FROM deleted WHERE purged=0", take_id, &walk, "");
}

/* ---- rules ---- */

int catalog_put_rule(struct catalog *c, const struct catalog_rule *p)
{
    char capture[ID_TEXT_BYTES];
    id_text(p->last_capture.bytes, capture);
    return status_of(db_run(c->db,
                            "INSERT OR REPLACE INTO rules(name, json, fired, suppressed,"
                            " last_fired_ns, last_capture) VALUES(?,?,?,?,?,?)",
                            NULL, NULL, "ssiiis", p->name, p->json, I(p->fired), I(p->suppressed),
                            I(p->last_fired_ns), capture));
}

int catalog_delete_rule(struct catalog *c, const char *name)
{
    int status =
        status_of(db_run(c->db, "DELETE FROM firings WHERE rule=?", NULL, NULL, "s", name));
    if (status == SKEIN_OK)
        status = status_of(db_run(c->db, "DELETE FROM rules WHERE name=?", NULL, NULL, "s", name));
    return status;
}

struct rule_walk {
    catalog_rule_fn *rule;
    catalog_firing_fn *firing;
    void *context;
};

static int take_rule(void *context, struct db_row *row)
{
    struct rule_walk *walk = context;
    struct catalog_rule p = {.name = db_text(row, 0),
                             .json = db_text(row, 1),
                             .fired = (uint64_t)db_i64(row, 2),
                             .suppressed = (uint64_t)db_i64(row, 3),
                             .last_fired_ns = (uint64_t)db_i64(row, 4)};
    if (id_parse(db_text(row, 5), p.last_capture.bytes) != SKEIN_OK)
        memset(&p.last_capture, 0, sizeof p.last_capture);
    return walk->rule(walk->context, &p);
}

int64_t catalog_rules(struct catalog *c, catalog_rule_fn *fn, void *context)
{
    struct rule_walk walk = {.rule = fn, .context = context};
    return db_run(c->db,
                  "SELECT name, json, fired, suppressed, last_fired_ns, last_capture FROM rules"
                  " ORDER BY name",
                  take_rule, &walk, "");
}

int catalog_put_firing(struct catalog *c, const struct catalog_firing *p)
{
    char process[ID_TEXT_BYTES];
    id_text(p->process.bytes, process);
    return status_of(db_run(c->db,
                            "INSERT OR REPLACE INTO firings(rule, process, at_ns) VALUES(?,?,?)",
                            NULL, NULL, "ssi", p->rule, process, I(p->at_ns)));
}

static int take_firing(void *context, struct db_row *row)
{
    struct rule_walk *walk = context;
    struct catalog_firing p = {.rule = db_text(row, 0), .at_ns = (uint64_t)db_i64(row, 2)};
    return id_parse(db_text(row, 1), p.process.bytes) == SKEIN_OK ? walk->firing(walk->context, &p)
                                                                  : 0;
}

int64_t catalog_firings(struct catalog *c, catalog_firing_fn *fn, void *context)
{
    struct rule_walk walk = {.firing = fn, .context = context};
    return db_run(c->db, "SELECT rule, process, at_ns FROM firings", take_firing, &walk, "");
}

int catalog_drop_firings(struct catalog *c, uint64_t before_ns)
{
    return status_of(
        db_run(c->db, "DELETE FROM firings WHERE at_ns<?", NULL, NULL, "i", I(before_ns)));
}

int catalog_put_generation(struct catalog *c, uint64_t generation)
{
    return meta_put(c, "rules_generation", generation);
}

uint64_t catalog_generation(struct catalog *c)
{
    return meta_get(c, "rules_generation", 0);
}

/* ---- agents ---- */

int catalog_put_agent(struct catalog *c, const struct catalog_agent *p)
{
    return status_of(db_run(c->db,
                            "INSERT OR REPLACE INTO agents(agent, epoch, last_seen_ns,"
                            " clock_offset_ns, host, version, labels) VALUES(?,?,?,?,?,?,?)",
                            NULL, NULL, "iiiisss", I(p->agent), I(p->epoch), I(p->last_seen_ns),
                            p->clock_offset_ns, p->host, p->version, p->labels));
}

struct agent_walk {
    catalog_agent_fn *fn;
    void *context;
};

static int take_agent(void *context, struct db_row *row)
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
    return db_run(c->db,
                  "SELECT agent, epoch, last_seen_ns, clock_offset_ns, host, version, labels"
                  " FROM agents ORDER BY agent",
                  take_agent, &walk, "");
}
