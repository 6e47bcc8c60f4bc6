/* SPDX-License-Identifier: Apache-2.0
 *
 * One record of the kernel's scheduler, taken out of its bytes. Declarations only.
 */
#ifndef SCHED_EVENT_H
#define SCHED_EVENT_H

#include <stdint.h>

#define SCHED_COMM_BYTES 16 /* the kernel's TASK_COMM_LEN, its NUL with it */

enum sched_event_kind {
    SCHED_EVENT_SWITCH = 1, /* `tid` left the CPU, `next` came */
    SCHED_EVENT_WAKING,     /* `current` woke `tid` */
    SCHED_EVENT_WAKING_NEW, /* `tid` may run for the first time */
    SCHED_EVENT_NEW         /* `current` made `tid` with `clone_flags` */
};

/* What a CPU was doing when it woke a thread: running `current`, or an interrupt above it. */
enum sched_context { SCHED_IN_TASK, SCHED_IN_SOFTIRQ, SCHED_IN_HARDIRQ };

struct sched_event {
    uint64_t time_ns; /* as the record's clock says: CLOCK_MONOTONIC */
    uint32_t cpu;
    uint8_t kind;    /* enum sched_event_kind */
    uint8_t context; /* enum sched_context */
    uint32_t current;
    uint32_t tid, next;
    uint64_t state;      /* SWITCH: in which tid left, as the kernel's bits; 0: it would run on */
    uint32_t target_cpu; /* WAKING, WAKING_NEW */
    uint64_t clone_flags;
    char comm[SCHED_COMM_BYTES], next_comm[SCHED_COMM_BYTES]; /* end in a NUL */
};

#endif
