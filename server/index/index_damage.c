/* SPDX-License-Identifier: Apache-2.0
 *
 * Whether a partition's bytes are still those that were stored: verified before they are handed
 * out, wherever they go. Says to one listener what is damaged; keeps nothing itself. Any thread.
 */
#include <stdlib.h>

#include "index_int.h"
#include "metrics.h"

void index_on_damage(struct index *index, index_damage_fn *fn, void *context)
{
    index->damage_context = context;
    index->damage = fn;
}

void index_damaged(struct index *index, const struct partition_key *key)
{
    struct partition_row row;
    metrics_add(store_refused_total, 1);
    if (index->damage != NULL && index_find(index, key, &row) == 1)
        index->damage(index->damage_context, &row);
}

int index_verify(struct index *index, const struct partition_key *key, struct store_place *place)
{
    int status = store_verify(index->store, key, place);
    for (int again = 0; status == SKEIN_NOT_FOUND && again < 8; again++) {
        struct partition_row row;
        int found = index_find(index, key, &row);
        if (found < 0)
            return found;
        if (found == 0 || row.place.bytes != place->bytes)
            return SKEIN_NOT_FOUND;
        *place = row.place;
        status = store_verify(index->store, key, place);
    }
    if (status == SKEIN_CORRUPT)
        index_damaged(index, key);
    return status;
}

static int keep_capture(void *context, struct db_row *row)
{
    size_t n;
    const void *bytes = db_blob(row, 0, &n);
    if (n == sizeof(struct capture_id))
        buf_put(context, bytes, n);
    return 0;
}

int index_members(struct index *index, const struct partition_key *key, struct buf *captures)
{
    uint8_t bytes[INDEX_KEY_BYTES];
    index_key_put(key, bytes);
    int64_t n = db_run(index->write, "SELECT capture FROM member WHERE key = ?1", keep_capture,
                       captures, DB(DB_BLOB(bytes, sizeof bytes)));
    return n < 0 ? index_fail(index, n) : captures->status;
}
