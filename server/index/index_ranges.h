/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of ranges of partitions, in memory. One owner fills it; once it is ready, any number may
 * read it.
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
    uint32_t references; /* atomic; of one that partition_ranges_new has made */
};
/* An empty one that several may share, with one reference; NULL: no memory. The last to unref frees
 * it, on any thread. */
struct partition_ranges *partition_ranges_new(void);
struct partition_ranges *partition_ranges_ref(struct partition_ranges *ranges);
void partition_ranges_unref(struct partition_ranges **ranges); /* also of NULL */
/* SKEIN_OK, SKEIN_NO_MEMORY. */
int partition_ranges_add(struct partition_ranges *ranges, const struct partition_range *range);
void partition_ranges_ready(struct partition_ranges *ranges);
bool partition_ranges_have(const struct partition_ranges *ranges, const struct partition_key *key);
void partition_ranges_fini(struct partition_ranges *ranges);

#endif
