/* SPDX-License-Identifier: Apache-2.0
 *
 * What captures have: the ranges of partitions that agents' reports have listed, kept with the
 * reports. Stored or not: the index knows that. Threads and transactions as catalog.h says.
 *
 *   a report lists 0..4 of process p for capture A, another 3..6 for capture B:
 *
 *      capture  process  epoch  first  last          partition 2: A
 *      A        p        1      0      4             partition 3: A and B
 *      B        p        1      3      6             partition 7: nobody's, free to go
 */
#ifndef CATALOG_RANGES_H
#define CATALOG_RANGES_H

#include "catalog.h"

/* Instead of all that the capture had of the process. */
int catalog_put_ranges(struct catalog *c, const struct capture_id *capture,
                       const struct process_uid *process, const struct partition_range *ranges,
                       size_t count);

/* A capture's, also of a deleted one until catalog_set_purged, by process, epoch and sequence:
 * behind *after (all-zero: from the beginning), which moves, at most `room`. Their number, or a
 * status. */
int64_t catalog_ranges(struct catalog *c, const struct capture_id *capture,
                       struct partition_range *after, struct partition_range *ranges, size_t room);

/* A range, of a capture that is not deleted, that has a partition of the one that is asked for. */
struct catalog_owner {
    struct capture_id capture;
    uint64_t first, last;
    bool kept; /* the capture is pinned or runs */
};
/* fn for each, until it returns not 0. Their number, or a status. */
typedef int catalog_owner_fn(void *context, const struct catalog_owner *owner);
int64_t catalog_owners(struct catalog *c, const struct partition_range *range, catalog_owner_fn *fn,
                       void *context);

#endif
