/* SPDX-License-Identifier: Apache-2.0
 *
 * The catalog's table of hosts and the agents that have them. Any thread, see catalog.h.
 */
#include <string.h>

#include "catalog_int.h"

void catalog_put_host(struct catalog *c, const uint8_t host[8], uint64_t agent)
{
    if (agent == 0)
        catalog_write(c, "DELETE FROM hosts WHERE host=?", DB(DB_BLOB(host, 8)));
    else
        catalog_write(c, "INSERT OR IGNORE INTO hosts(host, agent) VALUES(?,?)",
                      DB(DB_BLOB(host, 8), DB_I64(I(agent))));
}

struct host_walk {
    catalog_host_fn *fn;
    void *context;
};

static int host_take(void *context, struct db_row *row)
{
    struct host_walk *walk = context;
    uint8_t host[8] = {0};
    size_t n;
    const void *bytes = db_blob(row, 0, &n);
    if (n == sizeof host)
        memcpy(host, bytes, n);
    return walk->fn(walk->context, host, (uint64_t)db_i64(row, 1));
}

int64_t catalog_hosts(struct catalog *c, catalog_host_fn *fn, void *context)
{
    struct host_walk walk = {fn, context};
    return db_run(c->read, "SELECT host, agent FROM hosts ORDER BY turn", host_take, &walk, NULL);
}
