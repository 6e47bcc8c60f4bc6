/* SPDX-License-Identifier: Apache-2.0
 *
 * A set of partitions as sorted ranges; see stored_set.h. Owns the array; any one thread at a time.
 */
#include "stored_set.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein/status.h"

/* The first range that does not end before (epoch, sequence). */
static size_t range_at(const struct stored_set *set, uint64_t epoch, uint64_t sequence)
{
    size_t at;
    array_find(at, 0, set->count,
               set->ranges[at].epoch < epoch ||
                   (set->ranges[at].epoch == epoch && set->ranges[at].last < sequence));
    return at;
}

static int range_insert(struct stored_set *set, size_t at, uint64_t epoch, uint64_t sequence)
{
    if (!array_grow(set->ranges, set->count + 1, &set->cap))
        return SKEIN_NO_MEMORY;
    memmove(set->ranges + at + 1, set->ranges + at, (set->count - at) * sizeof *set->ranges);
    set->ranges[at] = (struct stored_range){epoch, sequence, sequence};
    set->count++;
    return 1;
}

int stored_set_add(struct stored_set *set, uint64_t epoch, uint64_t sequence)
{
    size_t at = range_at(set, epoch, sequence);
    struct stored_range *next = at < set->count ? &set->ranges[at] : NULL;
    struct stored_range *before = at > 0 ? &set->ranges[at - 1] : NULL;
    if (next != NULL && next->epoch == epoch && next->first <= sequence)
        return 0;
    /* The range found ends behind the sequence, so that neither sum here can wrap. */
    bool follows = before != NULL && before->epoch == epoch && before->last + 1 == sequence;
    bool leads = next != NULL && next->epoch == epoch && next->first == sequence + 1;
    if (!follows && !leads)
        return range_insert(set, at, epoch, sequence);
    if (follows && leads) {
        before->last = next->last;
        set->count--;
        memmove(next, next + 1, (set->count - at) * sizeof *next);
    } else if (follows) {
        before->last = sequence;
    } else {
        next->first = sequence;
    }
    return 1;
}

bool stored_set_missing(const struct stored_set *set, uint64_t epoch, uint64_t *first,
                        uint64_t *last)
{
    size_t at = range_at(set, epoch, *first);
    if (at < set->count && set->ranges[at].epoch == epoch && set->ranges[at].first <= *first) {
        if (set->ranges[at].last >= *last)
            return false;
        *first = set->ranges[at++].last + 1;
    }
    if (at < set->count && set->ranges[at].epoch == epoch && set->ranges[at].first <= *last)
        *last = set->ranges[at].first - 1;
    return true;
}

bool stored_set_drop_before(struct stored_set *set, uint64_t epoch)
{
    size_t n = range_at(set, epoch, 0);
    if (n == 0)
        return false;
    set->count -= n;
    memmove(set->ranges, set->ranges + n, set->count * sizeof *set->ranges);
    return true;
}

void stored_set_fini(struct stored_set *set)
{
    free(set->ranges);
    *set = (struct stored_set){0};
}
