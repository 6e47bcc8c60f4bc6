/* SPDX-License-Identifier: Apache-2.0
 *
 * On which row of a thread's track a region is drawn, so that the regions of each row nest, whatever
 * order their begins and ends have: tools that read exports close the newest region of a row.
 *
 *     row 0   |--- a ---------|      |--- d ----------|
 *                |- b -|                |- e -|
 *     row 1           |--- c ---|                          c crosses a
 *
 * Regions come as their records were made: by their ends. Ranges open on row 0 when they begin. Both
 * the perfetto exporter and exchange/ use it. All-zero is valid. One thread.
 */
#ifndef SPAN_LANES_H
#define SPAN_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Finished regions side by side on a row that are kept apart. Of more, the oldest count as one, without
 * room in it: what begins there gets another row than it needs. */
#define SPAN_LANES_APART 8192
/* Two partitions read their clocks apart, and their times may overlap by less than a tick (64 ns): what
 * overlaps by no more than this begins where the other ends. */
#define SPAN_LANES_SLACK_NS 60

struct span_lane_item;
struct span_lane {
    struct span_lane_item *items; /* by their begins; none reaches into the next */
    size_t count, cap;
};
struct span_lanes {
    struct span_lane *rows;
    size_t count, cap;
    uint64_t *open; /* begins of the open ranges of row 0, outermost first */
    size_t open_count, open_cap;
};

void span_lanes_fini(struct span_lanes *lanes);

/* A range opens on row 0. *at_ns is raised to the end of what is there already.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int span_lanes_open(struct span_lanes *lanes, uint64_t *at_ns);

/* The innermost open range ends. *at_ns is raised to the end of what lies in it. Nothing, where none is
 * open. SKEIN_OK, SKEIN_NO_MEMORY. */
int span_lanes_close(struct span_lanes *lanes, uint64_t *at_ns);

/* The row of a finished region, from 0, or SKEIN_NO_MEMORY. Of two that begin at once the outer one is
 * written behind the other, and readers take the order of the file for that of nesting: *from_ns of the
 * outer one is made 1 ns earlier. */
int64_t span_lanes_put(struct span_lanes *lanes, uint64_t *from_ns, uint64_t *to_ns);

/* The row of a region that has not ended, which is not taken in; count: none of those that there are. */
size_t span_lanes_find(const struct span_lanes *lanes, uint64_t from_ns);

#endif
