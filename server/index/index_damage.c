/* SPDX-License-Identifier: Apache-2.0
 *
 * Verifies a partition's bytes before they are handed out. Tells one listener what is damaged;
 * keeps nothing itself. Any thread.
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
