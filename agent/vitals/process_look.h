/* SPDX-License-Identifier: Apache-2.0
 *
 * Looks at one process again and again: from the kernel's files to a row of counters. What costs
 * more comes less often: sums over threads every second for 32 threads and less, every fourth for
 * 128, never for more than LOOK_THREADS_MAX; the cgroup's limits every LOOK_CGROUP_EVERY looks. One
 * thread.
 */
#ifndef PROCESS_LOOK_H
#define PROCESS_LOOK_H

#include <stddef.h>

#include "cgroup_look.h"
#include "process_row.h"

#define LOOK_THREADS_MAX  512
#define LOOK_THREADS_EACH 32 /* threads that are summed up in a second */
#define LOOK_CGROUP_EVERY 30

struct look_roots {
    const char *proc, *cgroups; /* "/proc", "/sys/fs/cgroup" */
    bool counts_descriptors;    /* the kernel tells how many there are (6.2) */
};

struct thread_sums; /* process_threads.c */

struct process_look {
    uint32_t pid;
    uint64_t start_ticks;
    bool kept; /* its files stay open between looks */
    unsigned looks;
    int stat, io; /* descriptors, -1: not open */
    struct cgroup_look cgroup;
    uint64_t sums_due_ns;
    struct thread_sums *sums; /* NULL: none yet */
    struct {
        uint64_t at_ns;  /* 0: no look yet */
        uint64_t cpu_ns; /* of the ticks */
        uint64_t user_ticks, system_ticks, minor_faults, major_faults, read_bytes, write_bytes;
        bool has_io;
        struct cgroup_state cgroup;
    } before;
};

void process_look_init(struct process_look *look, uint32_t pid, uint64_t start_ticks, bool kept);
void process_look_fini(struct process_look *look);

/* SKEIN_OK with the row; SKEIN_NOT_FOUND: it is gone, or cannot be looked at. */
int process_look(struct process_look *look, const struct look_roots *roots, uint64_t now_ns,
                 struct process_row *row);

/* Run delays and switches of a process: what all of its threads had since the look before. A
 * thread that has ended since then is left out with what it had. False: nothing to tell yet, too
 * many threads (*too_many), or not allowed. */
struct thread_rates {
    double delay_ms, voluntary, involuntary; /* a second */
};
bool thread_sums_take(struct thread_sums **sums, const char *proc_pid, uint64_t now_ns,
                      struct thread_rates *rates, bool *too_many);
void thread_sums_free(struct thread_sums **sums);

/* What one thread had between the two last looks at sums. */
#define THREAD_NAME_BYTES 16 /* with its NUL */
struct thread_growth {
    uint32_t tid;
    char name
        [THREAD_NAME_BYTES]; /* at the last look; the kernel's, where \ and line ends are escaped */
    uint64_t over_ns, run_ns, delay_ns, voluntary, involuntary;
};
/* The threads of the look at at_ns, from at = 0 on: fills in one and returns the next `at`; 0: no
 * more, or that look had no sums. Left out are those that did nothing then and at the look before. */
size_t thread_sums_next(const struct thread_sums *sums, uint64_t at_ns, size_t at,
                        struct thread_growth *growth);

#endif
