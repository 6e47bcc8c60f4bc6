/* SPDX-License-Identifier: Apache-2.0
 *
 * Who ran on each CPU, so that one can say who had it while somebody waited for it. Of each the last
 * runs are kept one by one; of older ones, some at a time, who ran for how long in all of them:
 *
 *   joined                      joined            one by one
 *   ├── 41: 9 ms, 12: 3 ms ──┤├── 41: 2 ms ──┤├─ 12 ─┤├ 41 ┤├─ 12 ─┤ ...
 *
 * The timeline's; one owner.
 */
#ifndef SCHED_RUNS_H
#define SCHED_RUNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCHED_CPUS_MAX  8192
#define SCHED_RUNS_KEPT 4096 /* 128 KiB a CPU, while a capture is made */

/* A task had the CPU for ns in this time: all of it, or some, where runs were joined. */
struct sched_run {
    uint32_t tid;
    uint64_t from_ns, to_ns, ns;
};

struct sched_cpu {
    bool known; /* who is on it now, and since when */
    uint32_t tid;
    uint64_t since_ns;
    size_t count, joined;                   /* joined: of these, the first ones */
    struct sched_run runs[SCHED_RUNS_KEPT]; /* as they came */
};

/* All-zero is empty. */
struct sched_cpus {
    struct sched_cpu **cpus; /* by number; NULL: nothing was seen of it */
    size_t count, cap;
};

void sched_cpus_fini(struct sched_cpus *cpus);

/* NULL: no memory, or the number is none. */
struct sched_cpu *sched_cpu_get(struct sched_cpus *cpus, uint32_t number);
/* Only where something was seen of it. */
struct sched_cpu *sched_cpu_find(const struct sched_cpus *cpus, uint32_t number);

void sched_cpu_ran(struct sched_cpu *cpu, uint32_t tid, uint64_t from_ns, uint64_t to_ns);
/* Nothing is known of it any more. */
void sched_cpu_forget(struct sched_cpu *cpu);

/* Who, other than idle and `not_tid`, had the CPU longest in [from, to]: run->tid and how long at
 * least; tid 0: nobody. A run that goes on counts where it has begun. */
struct sched_most {
    uint32_t tid;
    uint64_t ns;
};
struct sched_most sched_cpu_most(const struct sched_cpu *cpu, uint64_t from_ns, uint64_t to_ns,
                                 uint32_t not_tid);

#endif
