/* SPDX-License-Identifier: Apache-2.0
 *
 * What /proc says of the threads of a process, and of which process a thread is. Keeps nothing. Any
 * thread.
 */
#ifndef SCHED_THREADS_H
#define SCHED_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sched_event.h"

struct sched_thread {
    uint32_t tid, cpu; /* where it was last */
    char state;        /* as ps shows it */
    char comm[SCHED_COMM_BYTES];
    uint64_t began_ns; /* CLOCK_MONOTONIC, on clock ticks; 0: before that clock */
};

/* Of /proc/PID/task/TID/stat: SKEIN_OK, SKEIN_CORRUPT. `ahead_ns`: boot time less monotonic. */
int sched_stat_parse(const char *text, uint64_t ahead_ns, struct sched_thread *out);

/* All threads of a process that are there; freed by the caller. SKEIN_OK, SKEIN_NOT_FOUND: it is
 * gone, SKEIN_NO_MEMORY. */
int sched_threads_list(uint32_t pid, struct sched_thread **list, size_t *count);

/* What the kernel adds up of a thread since it began. */
struct sched_totals {
    uint64_t run_ns, runnable_ns, runs, gave_way, preempted;
};
/* Of /proc/PID/task/TID/schedstat, and of its status. SKEIN_OK; SKEIN_CORRUPT, and nothing has
 * changed. */
int sched_totals_parse(const char *schedstat, const char *status, struct sched_totals *out);
/* SKEIN_OK, SKEIN_NOT_FOUND: it is gone, or the kernel keeps none. */
int sched_totals_read(uint32_t pid, uint32_t tid, struct sched_totals *out);

/* The process of a thread; 0: it is gone. */
uint32_t sched_process_of(uint32_t tid);

/* Whether this process sees the tids that the kernel records: those of the first pid namespace. */
bool sched_tids_are_ours(void);

#endif
