/* SPDX-License-Identifier: Apache-2.0
 *
 * Says what takes how much room. Any thread. Sums of services and segments are kept up to date with
 * the rows (index_sqlite.c), so that nothing here walks partitions. Never changes rows.
 */
#include "index_usage.h"
#include "index_int.h"

struct sums {
    int64_t live, dead;
};

static int sums_get(void *context, struct db_row *row)
{
    struct sums *sums = context;
    sums->live = db_i64(row, 0);
    sums->dead = db_i64(row, 1);
    return 1;
}

static uint64_t not_negative(int64_t v)
{
    return v > 0 ? (uint64_t)v : 0;
}

/* The tombstone of a deleted capture is always needed (S-10). That of a partition is needed only
 * until its bytes are gone, so it counts as dead. */
int index_usage(struct index *index, uint64_t *live_bytes, uint64_t *dead_bytes)
{
    struct sums sums = {0, 0};
    int64_t n = db_run(index->read,
                       "SELECT coalesce(sum(bytes), 0), coalesce(sum(written - bytes +"
                       " (records - live) * ?1), 0) - ?1 * (SELECT count(*) FROM deleted)"
                       " FROM segment",
                       sums_get, &sums, DB(DB_I64((int64_t)INDEX_RECORD_BYTES)));
    *live_bytes = not_negative(sums.live);
    *dead_bytes = not_negative(sums.dead);
    return n < 0 ? index_result(index, n) : SKEIN_OK;
}

struct service_walk {
    index_service_fn *fn;
    void *context;
};

static int service_row(void *context, struct db_row *row)
{
    const struct service_walk *walk = context;
    return walk->fn(walk->context, db_text(row, 0), (uint64_t)db_i64(row, 1));
}

int64_t index_services(struct index *index, index_service_fn *fn, void *context)
{
    struct service_walk walk = {fn, context};
    int64_t n = db_run(index->read, "SELECT name, bytes FROM service ORDER BY name", service_row,
                       &walk, NULL);
    return n < 0 ? index_result(index, n) : n;
}
