/* SPDX-License-Identifier: Apache-2.0
 *
 * As which events scheduling is stored (docs/evidence-sched.md): their types, and the arguments of
 * one. Constants; no state.
 */
#ifndef SCHED_TYPES_H
#define SCHED_TYPES_H

#include "partition.h"
#include "sched_timeline.h"

enum sched_type {
    SCHED_TYPE_RUN,
    SCHED_TYPE_RUNNABLE,
    SCHED_TYPE_BLOCKED,
    SCHED_TYPE_NEIGHBOUR, /* on thread "host" */
    SCHED_TYPE_LOST,      /* on thread "host" */
    SCHED_TYPE_SUMS       /* "thread.sched": where there are no records */
};
#define SCHED_TYPES (SCHED_TYPE_SUMS + 1)

/* Everywhere the names are written: here and in analysis/sched_sums.c, which reads them back. */
#define SCHED_NAME_RUN       "sched.run"
#define SCHED_NAME_RUNNABLE  "sched.runnable"
#define SCHED_NAME_BLOCKED   "sched.blocked"
#define SCHED_NAME_NEIGHBOUR "sched.neighbour"
#define SCHED_NAME_LOST      "sched.lost"
#define SCHED_NAME_SUMS      "thread.sched"

extern const struct partition_event_type sched_types[SCHED_TYPES];

/* Fills the arguments of the span's type and returns which it is; texts are the span's. */
enum sched_type sched_span_values(const struct sched_span *span,
                                  struct partition_value values[SKEIN_ARGS_MAX]);

/* Who used the CPUs of the host in the window: a process, with all its threads, or all others. */
struct sched_neighbour {
    uint32_t pid;
    const char *comm;
    uint64_t cpu_ns, runs, threads;
};
void sched_neighbour_values(const struct sched_neighbour *neighbour, uint64_t window_ns,
                            struct partition_value values[SKEIN_ARGS_MAX]);

#endif
