/* SPDX-License-Identifier: Apache-2.0
 *
 * All threads of the host that a timeline has met, by tid. The timeline's; one owner.
 */
#ifndef SCHED_TASKS_H
#define SCHED_TASKS_H

#include "intern_table.h"
#include "sched_timeline.h"

enum task_state {
    TASK_UNKNOWN, /* no record of it since the timeline's known time */
    TASK_RUNNING,
    TASK_RUNNABLE,
    TASK_BLOCKED,
    TASK_GONE /* it has ended, or has just been made */
};

struct task {
    uint32_t tid;
    char comm[SCHED_COMM_BYTES];
    uint8_t state; /* enum task_state */
    uint64_t since_ns;
    bool since_cut;    /* it was in the state already when it was first seen */
    bool since_unseen; /* since_ns is the earliest that can be */
    uint8_t why;       /* RUNNABLE: enum sched_why */
    char block;        /* BLOCKED: letter of the state */
    uint32_t cpu;      /* RUNNING: on it; RUNNABLE: where it was put */
    bool has_pending;  /* it was woken while on a CPU, or while nothing was known of it */
    uint64_t pending_ns;
    uint32_t pending_cpu;
    struct sched_waker pending;
    bool watched, watched_by_name; /* by name: sched_timeline_watch named it */
    uint64_t watched_from_ns;
    char now; /* the state that the watcher saw, 0: none */
    uint32_t now_cpu;
    struct sched_use use;
};

/* All-zero is empty. */
struct sched_tasks {
    struct intern_table tids;
    struct task *tasks;
    size_t count, cap;
    bool no_memory; /* once, and from then on: something is missing */
};

void sched_tasks_fini(struct sched_tasks *tasks);

/* Made where it is new; good until the next call. NULL: no memory, also for one that is known, as
 * the room for a next one is made first. */
struct task *sched_task_get(struct sched_tasks *tasks, uint32_t tid);

#endif
