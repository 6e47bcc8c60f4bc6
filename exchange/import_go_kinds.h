/* SPDX-License-Identifier: Apache-2.0
 *
 * Kinds of Go's events as the wire format numbers them, and the types of records that are made of
 * them. For the import of Go's traces (import_go_int.h) alone.
 */
#ifndef IMPORT_GO_KINDS_H
#define IMPORT_GO_KINDS_H

#include "partition.h"

/* Kinds, as the wire has them. */
enum go_kind {
    GO_BATCH = 1,
    GO_STACKS,
    GO_STACK,
    GO_STRINGS,
    GO_STRING,
    GO_CPU_SAMPLES,
    GO_CPU_SAMPLE,
    GO_FREQUENCY,
    GO_PROCS_CHANGE,
    GO_PROC_START,
    GO_PROC_STOP,
    GO_PROC_STEAL,
    GO_PROC_STATUS,
    GO_CREATE,
    GO_CREATE_SYSCALL,
    GO_START,
    GO_DESTROY,
    GO_DESTROY_SYSCALL,
    GO_STOP,
    GO_BLOCK,
    GO_UNBLOCK,
    GO_SYSCALL_BEGIN,
    GO_SYSCALL_END,
    GO_SYSCALL_END_BLOCKED,
    GO_STATUS,
    GO_STW_BEGIN,
    GO_STW_END,
    GO_GC_ACTIVE,
    GO_GC_BEGIN,
    GO_GC_END,
    GO_SWEEP_ACTIVE,
    GO_SWEEP_BEGIN,
    GO_SWEEP_END,
    GO_ASSIST_ACTIVE,
    GO_ASSIST_BEGIN,
    GO_ASSIST_END,
    GO_HEAP_ALLOC,
    GO_HEAP_GOAL,
    GO_LABEL,
    GO_TASK_BEGIN,
    GO_TASK_END,
    GO_REGION_BEGIN,
    GO_REGION_END,
    GO_LOG,
    GO_SWITCH,
    GO_SWITCH_DESTROY,
    GO_CREATE_BLOCKED,
    GO_STATUS_STACK,
    GO_EXPERIMENTAL,
    GO_SYNC,
    GO_CLOCK_SNAPSHOT,
    GO_END_OF_GENERATION,
    GO_EXPERIMENT_FROM = 128
};

enum go_status { GO_BAD, GO_RUNNABLE, GO_RUNNING, GO_SYSCALL, GO_WAITING };
enum go_proc { GO_PROC_BAD, GO_PROC_RUNNING, GO_PROC_IDLE, GO_PROC_SYSCALL, GO_PROC_ABANDONED };

/* Arguments behind the time; -1: no kind that lies in a thread's batch. */
int go_kind_args(unsigned kind);

enum go_type {
    GO_TYPE_RUNNING,
    GO_TYPE_RUNNABLE,
    GO_TYPE_SYSCALL,
    GO_TYPE_CREATE,
    GO_TYPE_UNBLOCK,
    GO_TYPE_LABEL,
    GO_TYPE_GC,
    GO_TYPE_STW,
    GO_TYPE_ASSIST,
    GO_TYPE_SWEEP,
    GO_TYPE_HEAP_ALLOC,
    GO_TYPE_HEAP_GOAL,
    GO_TYPE_PROCS,
    GO_TYPE_SAMPLE,
    GO_TYPE_LOG,
    GO_TYPES
};
extern const struct partition_event_type go_types[GO_TYPES];

#endif
