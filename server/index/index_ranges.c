/* SPDX-License-Identifier: Apache-2.0
 *
 * See index_ranges.h. No state of its own.
 */
#include "index_ranges.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein/status.h"

struct partition_ranges *partition_ranges_new(void)
{
    struct partition_ranges *ranges = calloc(1, sizeof *ranges);
    if (ranges != NULL)
        ranges->references = 1;
    return ranges;
}

struct partition_ranges *partition_ranges_ref(struct partition_ranges *ranges)
{
    __atomic_add_fetch(&ranges->references, 1, __ATOMIC_RELAXED);
    return ranges;
}

void partition_ranges_unref(struct partition_ranges **ranges)
{
    struct partition_ranges *last = *ranges;
    *ranges = NULL;
    if (last == NULL || __atomic_sub_fetch(&last->references, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    partition_ranges_fini(last);
    free(last);
}

int partition_ranges_add(struct partition_ranges *ranges, const struct partition_range *range)
{
    if (!array_grow(ranges->items, ranges->count + 1, &ranges->cap))
        return SKEIN_NO_MEMORY;
    ranges->items[ranges->count++] = *range;
    return SKEIN_OK;
}

/* memcmp of 16 bytes, as two numbers: a page of a listing asks this for each of its rows, a dozen
 * times. */
static int uid_order(const uint8_t a[16], const uint8_t b[16])
{
    uint64_t x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    if (x == y) {
        memcpy(&x, a + 8, 8);
        memcpy(&y, b + 8, 8);
    }
    x = be64toh(x);
    y = be64toh(y);
    return (x > y) - (x < y);
}

static int row_order(const struct partition_key *a, const struct partition_key *b)
{
    int order = uid_order(a->process.bytes, b->process.bytes);
    return order != 0 ? order : (a->epoch > b->epoch) - (a->epoch < b->epoch);
}

static int range_order(const void *left, const void *right)
{
    const struct partition_range *a = left, *b = right;
    int order = row_order(&a->key, &b->key);
    return order != 0 ? order
                      : (a->key.sequence > b->key.sequence) - (a->key.sequence < b->key.sequence);
}

/* Whether they are sorted and apart already, as those of one capture are gathered. */
static bool ranges_are_apart(const struct partition_ranges *ranges)
{
    size_t at = 1;
    while (at < ranges->count) {
        const struct partition_range *last = &ranges->items[at - 1], *next = &ranges->items[at];
        int order = row_order(&last->key, &next->key);
        if (order > 0 || (order == 0 && last->last >= next->key.sequence))
            return false;
        at++;
    }
    return true;
}

static void ranges_join(struct partition_ranges *ranges)
{
    size_t kept = 0;
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
}

void partition_ranges_ready(struct partition_ranges *ranges)
{
    if (!ranges_are_apart(ranges))
        ranges_join(ranges);
    ranges->partitions = 0;
    for (size_t i = 0; i < ranges->count; i++) {
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
