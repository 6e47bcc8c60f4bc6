/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the tasks of evidence: what evidence_task.c, which does them, and evidence_notes.c, which
 * says what came of them, share. Included by those alone.
 */
#ifndef EVIDENCE_INT_H
#define EVIDENCE_INT_H

#include <pthread.h>
#include <stdbool.h>

#include "evidence_task.h"
#include "worker.h"

struct evidence {
    struct evidence_settings settings; /* constant, as all before the first task */
    struct symbolizer *symbolizer;
    struct evidence_source sources[EVIDENCE_KINDS_MAX];
    size_t source_count;
    uint64_t made; /* partitions; the thread's */
    struct worker *worker;
    pthread_mutex_t mutex;
    pthread_cond_t idle;
    size_t jobs;            /* posted and not over; under the mutex */
    uint64_t busy_since_ns; /* the job under way; 0: none; under the mutex */
    uint64_t busy_most_ns;  /* beyond it hangs; the same */
};

enum task_state { TASK_BEGUN, TASK_FINISHING, TASK_DONE, TASK_DROPPED };

struct evidence_task {
    struct evidence *evidence;
    struct evidence_order order; /* constant; with a reference to the process */
    uint32_t concerned;          /* constant; bits of sources */
    uint32_t references;         /* atomic */
    pthread_mutex_t mutex;
    enum task_state state; /* under the mutex */
    /* constant after evidence_finish */
    evidence_done_fn *done;
    void *context;
    uint64_t to_ns, deadline_ms, deadline_ns;
    int64_t clock_offset_ns;
    bool dead; /* the process has ended by then */
    /* the evidence thread's until it is done, then the owner's */
    uint64_t program; /* of the process, when the sources began: program_of */
    bool denied;      /* what was had may be another user's */
    uint32_t holds;   /* of sources that fetch */
    bool parked;      /* it waits for their release alone */
    struct evidence_out *out;
    struct {
        void *of; /* NULL: none */
        void (*free)(void *state);
    } states[EVIDENCE_KINDS_MAX];                   /* by source */
    struct evidence_note notes[EVIDENCE_KINDS_MAX]; /* by source */
    struct evidence_partition partition;
};

/* evidence_notes.c: whether the i-th source has to do with the task, and is to be asked. */
bool evidence_is_wished(const struct evidence_task *task, size_t i);

#endif
