/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of damaged partitions; see catalog_damage.h. Any thread.
 */
#include "catalog_damage.h"

#include "catalog_int.h"

struct each {
    catalog_damage_fn *fn;
    void *context;
};

static int row_take(void *context, struct db_row *row)
{
    const struct each *each = context;
    struct partition_key key;
    if (partition_key_parse(db_text(row, 0), &key) != SKEIN_OK)
        return 0;
    return each->fn(each->context, &key, (uint64_t)db_i64(row, 1), (uint64_t)db_i64(row, 2));
}

int64_t catalog_damages(struct catalog *c, catalog_damage_fn *fn, void *context)
{
    struct each each = {fn, context};
    return db_run(c->read, "SELECT partition, from_ns, to_ns FROM damaged", row_take, &each, NULL);
}

void catalog_add_damage(struct catalog *c, const struct partition_key *key, uint64_t from_ns,
                        uint64_t to_ns)
{
    char text[PARTITION_KEY_TEXT_BYTES];
    partition_key_text(key, text);
    catalog_write(c, "INSERT OR REPLACE INTO damaged VALUES(?,?,?)",
                  DB(DB_TEXT(text), DB_I64(I(from_ns)), DB_I64(I(to_ns))));
}

void catalog_drop_damage(struct catalog *c, const struct partition_key *key)
{
    char text[PARTITION_KEY_TEXT_BYTES];
    partition_key_text(key, text);
    catalog_write(c, "DELETE FROM damaged WHERE partition=?", DB(DB_TEXT(text)));
}
