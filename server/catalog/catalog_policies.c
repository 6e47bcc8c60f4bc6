/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's rows of sampling policies. Any thread, see catalog.h.
 */
#include <string.h>

#include "catalog_int.h"

void catalog_put_policy(struct catalog *c, const struct catalog_policy *p)
{
    catalog_write(c,
                  "INSERT OR REPLACE INTO policies(name, json, generation, day,"
                  " bytes, captures, last_capture) VALUES(?,?,?,?,?,?,?)",
                  DB(DB_TEXT(p->name), DB_TEXT(p->json), DB_I64(I(p->generation)),
                     DB_I64(I(p->day)), DB_I64(I(p->bytes)), DB_I64(I(p->captures)),
                     DB_ID(p->last_capture.bytes)));
}

void catalog_delete_policy(struct catalog *c, const char *name)
{
    catalog_write(c, "DELETE FROM policies WHERE name=?", DB(DB_TEXT(name)));
}

struct policy_walk {
    catalog_policy_fn *fn;
    void *context;
};

static int policy_take(void *context, struct db_row *row)
{
    struct policy_walk *walk = context;
    struct catalog_policy p = {.name = db_text(row, 0),
                               .json = db_text(row, 1),
                               .generation = (uint64_t)db_i64(row, 2),
                               .day = (uint64_t)db_i64(row, 3),
                               .bytes = (uint64_t)db_i64(row, 4),
                               .captures = (uint64_t)db_i64(row, 5)};
    if (id_parse(db_text(row, 6), p.last_capture.bytes) != SKEIN_OK)
        memset(&p.last_capture, 0, sizeof p.last_capture);
    return walk->fn(walk->context, &p);
}

int64_t catalog_policies(struct catalog *c, catalog_policy_fn *fn, void *context)
{
    struct policy_walk walk = {fn, context};
    return db_run(c->read,
                  "SELECT name, json, generation, day, bytes, captures, last_capture FROM policies"
                  " ORDER BY name",
                  policy_take, &walk, NULL);
}
