/* SPDX-License-Identifier: Apache-2.0
 *
 * Gives the kept pages of all CPUs to a timeline: records in the order of time, and gaps, in which
 * nothing is known. Evidence thread.
 */
#ifndef SCHED_WALK_H
#define SCHED_WALK_H

#include "sched_keep.h"
#include "sched_layout.h"
#include "sched_timeline.h"

struct sched_gap {
    uint32_t cpu;
    uint64_t from_ns, to_ns, records; /* 0: nobody knows how many */
};

struct sched_walk {
    uint64_t since_ns, until_ns; /* records of this time alone */
    uint64_t deadline_ns;        /* CLOCK_MONOTONIC: none behind it */
    /* results */
    struct sched_gap *gaps; /* by time; freed by sched_walk_fini */
    size_t gap_count;
    uint64_t known_ns; /* from here to end_ns nothing is missing */
    uint64_t end_ns;   /* as far as it came: until_ns, or less where the deadline was over */
    uint64_t foreign;  /* records that are none of ours, or damaged */
};

/* Results are set also where it fails. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_TIMEOUT. */
int sched_walk_run(struct sched_walk *walk, const struct sched_keep *keep,
                   const struct sched_layout *layout, struct sched_timeline *timeline);
void sched_walk_fini(struct sched_walk *walk);

#endif
