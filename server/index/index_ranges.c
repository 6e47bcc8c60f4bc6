/* SPDX-License-Identifier: Apache-2.0
 *
 * See index_ranges.h. No state of its own.
 */
#include "index_ranges.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein/status.h"

int partition_ranges_add(struct partition_ranges *ranges, const struct partition_range *range)
{
    if (!array_grow(ranges->items, ranges->count + 1, &ranges->cap))
        return SKEIN_NO_MEMORY;
    ranges->items[ranges->count++] = *range;
    return SKEIN_OK;
}

static int row_order(const struct partition_key *a, const struct partition_key *b)
{
    int order = memcmp(a->process.bytes, b->process.bytes, sizeof a->process.bytes);
    return order != 0 ? order : (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

static int range_order(const void *left, const void *right)
{
    const struct partition_range *a = left, *b = right;
    int order = row_order(&a->key, &b->key);
    return order != 0 ? order
                      : (a->key.sequence > b->key.sequence) - (a->key.sequence < b->key.sequence);
}

void partition_ranges_ready(struct partition_ranges *ranges)
{
    size_t kept = 0, at = 1;
    ranges->partitions = 0;
    while (at < ranges->count && range_order(&ranges->items[at - 1], &ranges->items[at]) <= 0)
        at++;
    if (at < ranges->count) /* those of a capture come sorted */
        qsort(ranges->items, ranges->count, sizeof *ranges->items, range_order);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct partition_range *next = &ranges->items[i];
        struct partition_range *last = kept > 0 ? &ranges->items[kept - 1] : NULL;
        if (last == NULL || row_order(&last->key, &next->key) != 0 ||
            last->last < next->key.sequence)
            ranges->items[kept++] = *next;
        else if (last->last < next->last)
            last->last = next->last;
    }
    ranges->count = kept;
    for (size_t i = 0; i < kept; i++) {
        uint64_t more = ranges->items[i].last - ranges->items[i].key.sequence;
        bool fits = more < UINT64_MAX - ranges->partitions;
        ranges->partitions = fits ? ranges->partitions + more + 1 : UINT64_MAX;
    }
}

bool partition_ranges_have(const struct partition_ranges *ranges, const struct partition_key *key)
{
    const struct partition_range wanted = {.key = *key};
    size_t at; /* the first range that begins behind the key */
    array_find(at, 0, ranges->count, range_order(&ranges->items[at], &wanted) <= 0);
    return at > 0 && row_order(&ranges->items[at - 1].key, key) == 0 &&
           ranges->items[at - 1].last >= key->sequence;
}

void partition_ranges_fini(struct partition_ranges *ranges)
{
    free(ranges->items);
    *ranges = (struct partition_ranges){0};
}
