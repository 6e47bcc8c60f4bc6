/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of ranges of partitions, in memory. Belongs to one owner.
 */
#ifndef INDEX_RANGES_H
#define INDEX_RANGES_H

#include <stdbool.h>
#include <stddef.h>

#include "ids.h"

/* The partitions that somebody has, as ranges. low_ns to high_ns: when the stored ones among them
 * end; low_ns above high_ns: none is stored. Fill it range by range, make it ready, then only
 * read. */
struct partition_ranges {
    struct partition_range *items; /* ready: sorted, apart from each other */
    size_t count, cap;
    uint64_t partitions; /* how many the ranges name, stored or not */
    uint64_t low_ns, high_ns;
};
/* SKEIN_OK, SKEIN_NO_MEMORY. */
int partition_ranges_add(struct partition_ranges *ranges, const struct partition_range *range);
void partition_ranges_ready(struct partition_ranges *ranges);
bool partition_ranges_have(const struct partition_ranges *ranges, const struct partition_key *key);
void partition_ranges_fini(struct partition_ranges *ranges);

#endif
