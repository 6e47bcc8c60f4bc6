/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's rules: the rules, the firings that they were granted, and the history of what they
 * did. Any thread, see catalog.h.
 */
#include <stdio.h>
#include <string.h>

#include "catalog_int.h"
#include "catalog_rules.h"

/* ---- rules and their firings ---- */

void catalog_put_rule(struct catalog *c, const struct catalog_rule *p)
{
    catalog_write(c,
                  "INSERT OR REPLACE INTO rules(name, json, fired, suppressed,"
                  " last_fired_ns, last_capture) VALUES(?,?,?,?,?,?)",
                  DB(DB_TEXT(p->name), DB_TEXT(p->json), DB_I64(I(p->fired)),
                     DB_I64(I(p->suppressed)), DB_I64(I(p->last_fired_ns)),
                     DB_ID(p->last_capture.bytes)));
}

void catalog_delete_rule(struct catalog *c, const char *name)
{
    catalog_write(c, "DELETE FROM firings WHERE rule=?", DB(DB_TEXT(name)));
    catalog_write(c, "DELETE FROM rules WHERE name=?", DB(DB_TEXT(name)));
}

struct rule_walk {
    catalog_rule_fn *rule;
    catalog_firing_fn *firing;
    void *context;
};

static int rule_take(void *context, struct db_row *row)
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
    return db_run(c->read,
                  "SELECT name, json, fired, suppressed, last_fired_ns, last_capture FROM rules"
                  " ORDER BY name",
                  rule_take, &walk, NULL);
}

void catalog_put_firing(struct catalog *c, const struct catalog_firing *p)
{
    catalog_write(c, "INSERT OR REPLACE INTO firings(rule, process, at_ns) VALUES(?,?,?)",
                  DB(DB_TEXT(p->rule), DB_ID(p->process.bytes), DB_I64(I(p->at_ns))));
}

static int firing_take(void *context, struct db_row *row)
{
    struct rule_walk *walk = context;
    struct catalog_firing p = {.rule = db_text(row, 0), .at_ns = (uint64_t)db_i64(row, 2)};
    return id_parse(db_text(row, 1), p.process.bytes) == SKEIN_OK ? walk->firing(walk->context, &p)
                                                                  : 0;
}

int64_t catalog_firings(struct catalog *c, catalog_firing_fn *fn, void *context)
{
    struct rule_walk walk = {.firing = fn, .context = context};
    return db_run(c->read, "SELECT rule, process, at_ns FROM firings", firing_take, &walk, NULL);
}

void catalog_drop_firings(struct catalog *c, uint64_t before_ns)
{
    catalog_write(c, "DELETE FROM firings WHERE at_ns<?", DB(DB_I64(I(before_ns))));
}

/* ---- history ---- */

void catalog_add_history(struct catalog *c, const struct catalog_history *p)
{
    catalog_write(c,
                  "INSERT INTO rule_history(rule, at_ns, process, what, why, capture, incident,"
                  " user) VALUES(?,?,?,?,?,?,?,?)",
                  DB(DB_TEXT(p->rule), DB_I64(I(p->at_ns)), DB_ID(p->process.bytes),
                     DB_TEXT(p->what), DB_TEXT(p->why), DB_ID(p->capture.bytes),
                     DB_ID(p->incident.bytes), DB_I64(p->user)));
}

struct history_walk {
    catalog_history_fn *fn;
    void *context;
};

static int history_take(void *context, struct db_row *row)
{
    struct history_walk *walk = context;
    struct catalog_history p = {.id = (uint64_t)db_i64(row, 0),
                                .rule = db_text(row, 1),
                                .at_ns = (uint64_t)db_i64(row, 2),
                                .what = db_text(row, 4),
                                .why = db_text(row, 5),
                                .user = (uint32_t)db_i64(row, 8)};
    if (id_parse(db_text(row, 3), p.process.bytes) != SKEIN_OK ||
        id_parse(db_text(row, 6), p.capture.bytes) != SKEIN_OK ||
        id_parse(db_text(row, 7), p.incident.bytes) != SKEIN_OK)
        return 0;
    return walk->fn(walk->context, &p);
}

int64_t catalog_history(struct catalog *c, const struct catalog_history_query *q,
                        catalog_history_fn *fn, void *context)
{
    struct history_walk walk = {fn, context};
    return db_run(c->read,
                  "SELECT id, rule, at_ns, process, what, why, capture, incident, user"
                  " FROM rule_history"
                  " WHERE rule=? AND id<? AND at_ns>=? AND at_ns<=? ORDER BY id DESC LIMIT ?",
                  history_take, &walk,
                  DB(DB_TEXT(q->rule), DB_I64(db_clamped(q->before_id)),
                     DB_I64(db_clamped(q->from_ns)), DB_I64(db_clamped(q->to_ns)),
                     DB_I64(db_clamped(q->limit))));
}

int64_t catalog_history_since(struct catalog *c, const char *what, uint64_t from_ns,
                              catalog_history_fn *fn, void *context)
{
    struct history_walk walk = {fn, context};
    return db_run(c->read,
                  "SELECT id, rule, at_ns, process, what, why, capture, incident, user"
                  " FROM rule_history"
                  " WHERE what=? AND at_ns>=? ORDER BY id",
                  history_take, &walk, DB(DB_TEXT(what), DB_I64(I(from_ns))));
}

void catalog_trim_history(struct catalog *c, uint64_t before_ns, uint64_t keep_rows)
{
    catalog_write(c, "DELETE FROM rule_history WHERE at_ns<?", DB(DB_I64(I(before_ns))));
    catalog_write(c,
                  "DELETE FROM rule_history WHERE id<="
                  "(SELECT max(id) FROM rule_history)-?",
                  DB(DB_I64(I(keep_rows))));
}
