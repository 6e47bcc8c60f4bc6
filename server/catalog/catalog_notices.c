/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's queue of notices that are still to be delivered. Any thread, see catalog.h.
 */
#include "catalog_int.h"

void catalog_put_notice(struct catalog *c, const struct catalog_notice *p)
{
    catalog_write(c, "INSERT INTO notices(turn, id, rule, created_ns, body) VALUES(?,?,?,?,?)",
                  DB(DB_I64(I(p->turn)), DB_TEXT(p->id), DB_TEXT(p->rule), DB_I64(I(p->created_ns)),
                     DB_TEXT(p->body)));
}

int catalog_drop_notice(struct catalog *c, uint64_t turn)
{
    return db_write(c->db, "DELETE FROM notices WHERE turn=?", DB(DB_I64(I(turn))));
}

struct notice_walk {
    catalog_notice_fn *fn;
    void *context;
};

static int notice_take(void *context, struct db_row *row)
{
    struct notice_walk *walk = context;
    struct catalog_notice p = {.turn = (uint64_t)db_i64(row, 0),
                               .id = db_text(row, 1),
                               .rule = db_text(row, 2),
                               .created_ns = (uint64_t)db_i64(row, 3),
                               .body = db_text(row, 4)};
    return walk->fn(walk->context, &p);
}

int64_t catalog_notices(struct catalog *c, catalog_notice_fn *fn, void *context)
{
    struct notice_walk walk = {fn, context};
    return db_run(c->read, "SELECT turn, id, rule, created_ns, body FROM notices ORDER BY turn",
                  notice_take, &walk, NULL);
}
