/* SPDX-License-Identifier: Apache-2.0
 *
 * Which partitions of a trace have regions that can be among the N longest: found by their times
 * alone, so that only those are read event by event. One owner, one thread.
 */
#ifndef LONGEST_PLACES_H
#define LONGEST_PLACES_H

#include "trace_merge.h"

struct longest_places;

/* query: which rows count, but for columns and kinds: bits of `kinds` are REGION and OPEN at most.
 * least_ns: shorter ones do not count. *out NULL, and SKEIN_OK: it cannot be told, as something of
 * the trace is broken. SKEIN_NO_MEMORY. */
int longest_places_find(struct skein_trace *trace, const struct skein_query *query, uint64_t wanted,
                        uint64_t least_ns, struct longest_places **out);
void longest_places_free(struct longest_places **places);

/* Of a partition of the trace's first file. */
bool longest_places_has(const struct longest_places *places, const struct trace_entry *entry);

#endif
