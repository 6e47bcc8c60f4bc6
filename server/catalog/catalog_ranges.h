/* SPDX-License-Identifier: Apache-2.0
 *
 * What captures have: the ranges of partitions that agents' reports have listed, saved with the
 * reports. Whether a partition is stored, the index knows. Threads and transactions as in
 * catalog.h.
 *
 *   a report lists 0..4 of process p for capture A, another 3..6 for capture B:
 *
 *      capture  process  epoch  first  last          partition 2: A
 *      A        p        1      0      4             partition 3: A and B
 *      B        p        1      3      6             partition 7: in no capture, free to go
 */
#ifndef CATALOG_RANGES_H
#define CATALOG_RANGES_H

#include "catalog.h"

/* Replaces all that the capture has of the process. */
void catalog_put_ranges(struct catalog *c, const struct capture_id *capture,
                        const struct process_uid *process, const struct partition_range *ranges,
                        size_t count);

/* A capture's ranges by process, epoch and sequence: at most `room` behind *after (all-zero: from
 * the first), which moves along. A deleted capture's are there until catalog_set_purged. Returns
 * how many, or a status. */
int64_t catalog_ranges(struct catalog *c, const struct capture_id *capture,
                       struct partition_range *after, struct partition_range *ranges, size_t room);

/* A range that has a partition of the range that was asked for; its capture is not deleted. */
struct catalog_owner {
    struct capture_id capture;
    uint64_t first, last;
    bool kept; /* the capture is pinned or runs */
};
/* Calls fn for each until it returns not 0; NULL: ends at the first. Returns how many, or a
 * status. */
typedef int catalog_owner_fn(void *context, const struct catalog_owner *owner);
int64_t catalog_owners(struct catalog *c, const struct partition_range *range, catalog_owner_fn *fn,
                       void *context);

#endif
