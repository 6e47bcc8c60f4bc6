/* SPDX-License-Identifier: Apache-2.0
 *
 * The host page and the clock: owns the sealed memfd whose one store switches the generation of
 * every process of the host, and the clock snapshots that place ticks on real time. Any thread.
 */
#ifndef HOST_PAGE_H
#define HOST_PAGE_H

#include "partition.h"
#include "ring_layout.h"

struct host_page_owner;

/* first_generation must be above any that an earlier agent of this boot used, also one whose state
 * is lost: rings that live on hold records of those. */
int host_page_new(uint64_t first_generation, struct host_page_owner **out);
void host_page_free(struct host_page_owner **owner);
int host_page_fd(const struct host_page_owner *owner); /* to hand to producers: read-only there */
/* stores generation + 1; returns the one that ended */
uint64_t host_page_switch(struct host_page_owner *owner);
uint64_t host_page_generation(const struct host_page_owner *owner); /* the one that runs */
uint8_t host_page_clock(const struct host_page_owner *owner);
uint8_t host_page_shift(const struct host_page_owner *owner);

void host_page_snapshot(const struct host_page_owner *owner, struct clock_snapshot *out); /* now */

/* of host_page_new */
void host_page_first(const struct host_page_owner *owner, struct clock_snapshot *out);

/* Two snapshots for what follows, the first and now. */
void host_page_line(const struct host_page_owner *owner, struct clock_snapshot *begin,
                    struct clock_snapshot *end);

/* ns <-> ticks by two snapshots, also outside of them: MONOTONIC gives the slope, b's REALTIME the
 * place (F-17). */
uint64_t clock_snapshot_ticks(const struct clock_snapshot *a, const struct clock_snapshot *b,
                              uint64_t realtime_ns);
uint64_t clock_snapshot_realtime(const struct clock_snapshot *a, const struct clock_snapshot *b,
                                 uint64_t ticks);

#endif
