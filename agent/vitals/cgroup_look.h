/* SPDX-License-Identifier: Apache-2.0
 *
 * The cgroup of a process, version 2, 1 or both: what it may use, uses, and was held back. Of each
 * kind the nearest cgroup counts that has a limit, from the process's own upward, as throttling is
 * told by the one that limits; where none has, its own. One thread.
 */
#ifndef CGROUP_LOOK_H
#define CGROUP_LOOK_H

#include <stdbool.h>
#include <stdint.h>

struct cgroup_look {
    int cpu_stat, memory_now, memory_events, frozen; /* descriptors, -1: not there */
    bool cpu_v1, memory_v1, frozen_v1;
    double cpu_limit, memory_limit; /* percent of a core, bytes; NaN: none */
};

/* What is known now; raw numbers since the cgroup was made. */
struct cgroup_state {
    bool has_throttling, has_memory, has_events, has_frozen;
    uint64_t throttled_ns, throttles, memory_bytes, limited, oom_kills;
    bool frozen;
    uint64_t cpu_id, memory_id; /* of the cgroups that the numbers are of */
};

void cgroup_look_init(struct cgroup_look *look);
/* Finds the cgroup of "proc/PID" below the folder where cgroups are mounted. What there is not
 * stays away. */
void cgroup_look_open(struct cgroup_look *look, const char *cgroups, const char *proc_pid);
void cgroup_look_close(struct cgroup_look *look);
void cgroup_look_read(const struct cgroup_look *look, struct cgroup_state *state);

#endif
