/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of threads went, by the scheduler's events of a trace (docs/evidence-sched.md):
 * running, waiting for a CPU, blocked by state; the longest of each wait and whom it was for; and
 * who used the CPUs. Takes events one by one, in the memory of a few numbers for each thread; no
 * I/O. One owner, one thread.
 */
#ifndef SCHED_SUMS_H
#define SCHED_SUMS_H

#include "partition_reader.h"

#define SCHED_SUMS_COMM 64

enum sched_blocked { SCHED_BLOCKED_S, SCHED_BLOCKED_D, SCHED_BLOCKED_T, SCHED_BLOCKED_OTHER };
#define SCHED_BLOCKED_KINDS (SCHED_BLOCKED_OTHER + 1)

/* The longest of its kind on a thread; dur_ns 0: there is none. */
struct sched_longest {
    uint64_t time_ns, dur_ns;
    bool cut;       /* it is longer than dur_ns, or a bound */
    uint32_t other; /* who ran instead, or who woke; 0: nobody, or nobody knows */
    char other_name[SCHED_SUMS_COMM];
    uint64_t other_ns; /* of who ran instead: at least so long */
    char more[16];     /* of a wait for a CPU, why; of a block, its state */
    char context[16];  /* of a block: what woke: task, softirq, hardirq */
};

struct sched_thread_sums {
    uint32_t pid, tid;
    char name[SCHED_SUMS_COMM], service[SCHED_SUMS_COMM], host[SCHED_SUMS_COMM];
    uint64_t from_ns, to_ns; /* of its events */
    uint64_t run_ns, runnable_ns, blocked_ns[SCHED_BLOCKED_KINDS];
    uint64_t runs, preempted; /* how often it had a CPU, and was taken off it */
    struct sched_longest runnable, blocked;
    bool totals; /* run_ns and so on are since the thread began, by /proc: no more is known */
};

struct sched_user { /* of CPUs */
    uint32_t pid;
    char comm[SCHED_SUMS_COMM], host[SCHED_SUMS_COMM];
    uint64_t cpu_ns, window_ns, threads;
};

struct sched_sums;

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_sums_new(struct sched_sums **out);
void sched_sums_free(struct sched_sums **sums);

/* An event of a partition, in any order; all that are not of the scheduler are passed over.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_sums_add(struct sched_sums *sums, const struct partition_info *info,
                   const struct trace_event *event);

/* After the last event: threads by what they waited for a CPU, longest first; users as they came;
 * the time for which records are lost, and how many. The sums'. */
size_t sched_sums_threads(struct sched_sums *sums, const struct sched_thread_sums **threads);
size_t sched_sums_users(const struct sched_sums *sums, const struct sched_user **users);
uint64_t sched_sums_lost(const struct sched_sums *sums, uint64_t *records);

#endif
