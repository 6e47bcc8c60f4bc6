/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the sources of evidence for one target of a capture, on a thread of its own. Owns that
 * thread. The sources of evidence are added before the first task.
 *
 *            evidence_begin                 evidence_finish              done(), on the thread
 *   (none) ─────────────────▶ BEGUN ──────────────────────▶ FINISHING ──────────────────▶ DONE
 *                               │ evidence_drop                 │ evidence_drop
 *                               └──────────────▶ DROPPED ◀──────┘
 *
 * While sources hold the task (evidence_hold), what evidence_finish has begun stops before its end,
 * the thread takes other tasks, and the last release goes on with it.
 *
 * A task that was dropped calls nobody, and what it had is gone. A source may hang, in the kernel,
 * whatever its deadline says: so nobody waits for the thread, but only until a time.
 */
#ifndef EVIDENCE_TASK_H
#define EVIDENCE_TASK_H

#include "evidence.h"
#include "evidence_kinds.h"
#include "report_target.h"
#include "shares.h"

struct evidence;
struct evidence_task;

/* Kinds of evidence that an agent has at most. */
#define EVIDENCE_KINDS_MAX 8

/* Copies `settings`; `symbolizer` (or NULL) outlives it. SKEIN_OK, SKEIN_NO_MEMORY. */
int evidence_new(const struct evidence_settings *settings, struct symbolizer *symbolizer,
                 struct evidence **out);
/* Waits for the thread, for the deadline of a process that lives and a second more. Returns 1 where it
 * hangs: the memory stays then, and so must all that the sources use; else 0. */
size_t evidence_free(struct evidence **evidence);
/* SKEIN_OK; SKEIN_FULL: there are EVIDENCE_KINDS_MAX. */
int evidence_add(struct evidence *evidence, const struct evidence_source *source);
/* Whether there is something to tell: a source to ask, or that there is none. */
bool evidence_asks(const struct evidence *evidence, const struct evidence_wish *wish);

struct evidence_order {
    struct process *process;
    uint64_t from_ns;          /* of the window, CLOCK_MONOTONIC */
    struct evidence_wish wish; /* which sources are asked */
    bool threads_barred;       /* by the agent's config: those AT_BEGIN are not */
    uint64_t epoch;            /* of this agent run */
    const char *host;          /* outlives the task */
    struct share_key whose;    /* in whose turn the sources are asked */
};
/* Begins a task: the caller has a reference, and the sources AT_BEGIN are asked soon. Any thread.
 * SKEIN_OK; SKEIN_NO_MEMORY. */
int evidence_begin(struct evidence *evidence, const struct evidence_order *order,
                   struct evidence_task **out);

/* Why nothing is had while a source does not return. */
#define EVIDENCE_HANGS "a source of evidence hangs since an earlier capture"

/* The rest, once: asks the sources AT_END of a window that is over, makes the partition, and calls
 * done on the evidence thread, unless the task is dropped first. done must not call in here. Any
 * thread. SKEIN_OK; SKEIN_NO_MEMORY, SKEIN_BUSY (EVIDENCE_HANGS): done is not called. */
typedef bool evidence_done_fn(void *context); /* false: it is dropped */
int evidence_finish(struct evidence_task *task, uint64_t to_ns, int64_t clock_offset_ns,
                    evidence_done_fn *done, void *context);
/* How long that may take: longer, if the process has crashed by then. */
uint64_t evidence_deadline_ms(const struct evidence_task *task);
/* Ends interest in it. false: done was called, or is about to return. Any thread. */
bool evidence_drop(struct evidence_task *task);
struct evidence_task *evidence_ref(struct evidence_task *task);
void evidence_unref(struct evidence_task **task);

/* After done. What became of each kind; the texts are the task's. */
size_t evidence_notes(const struct evidence_task *task,
                      struct report_evidence out[EVIDENCE_KINDS_MAX]);
/* The notes of a task of which nothing was had, at any time. `why` lives as long as `out`. */
size_t evidence_notes_none(const struct evidence_task *task, const char *why,
                           struct report_evidence out[EVIDENCE_KINDS_MAX]);

/* After done: the partition; bytes.len 0: there is none. */
struct evidence_partition {
    struct buf bytes;
    struct partition_key key;
    uint64_t events, from_ns, to_ns; /* on the agent's line */
};
const struct evidence_partition *evidence_result(const struct evidence_task *task);

#endif
