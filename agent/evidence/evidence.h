/* SPDX-License-Identifier: Apache-2.0
 *
 * What a source of evidence is: something that can tell of a process and a window what its ring
 * does not hold. Each room with a source (dump, samples, sched, vitals) includes this header and
 * evidence_out.h, and gives the agent one struct evidence_source for each kind.
 *
 *   capture begins ──▶ sources AT_BEGIN ──┐
 *                                         ├──▶ one partition, beside the cuts, and a note each
 *   its last cut   ──▶ sources AT_END  ───┘
 *
 * All sources are asked on one thread, one after the other, and a source obeys the ask's deadline
 * by itself. The capture's report waits for them no longer than that. A source that must wait for
 * somebody else (EVIDENCE_FETCHED) does so on a thread of its own, and the evidence thread goes on
 * with other targets.
 */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include "evidence_out.h"
#include "process.h"

struct symbolizer;
struct evidence_task;

#define EVIDENCE_WHY_BYTES 160

/* How `why` begins where the host's owner does not want the kind: no request changes that. */
#define EVIDENCE_OFF "switched off by the agent's configuration: "

enum evidence_state {
    EVIDENCE_NONE,    /* there was nothing to tell; `why` says what that rests on, or is "" */
    EVIDENCE_TAKEN,   /* all of it */
    EVIDENCE_PARTIAL, /* `why` says what is missing */
    EVIDENCE_REFUSED  /* nothing could be had; `why` says what would allow it */
};

/* What became of one kind in one capture. The source sets state and why; what it has written is
 * counted by whoever asked it. */
struct evidence_note {
    enum evidence_state state;
    char why[EVIDENCE_WHY_BYTES];
    uint64_t events;  /* the asker's */
    uint64_t took_ns; /* the asker's */
};
/* Sets both; `why` is cut at its room. */
void evidence_say(struct evidence_note *note, enum evidence_state state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Of the agent's config; constant while a task runs. */
struct evidence_settings {
    uint64_t deadline_ms; /* for all sources of a target together, of one that lives */
    size_t out_bytes_max; /* of memory, for what they write; 0: EVIDENCE_OUT_BYTES */
};

enum evidence_when {
    EVIDENCE_AT_BEGIN, /* when the capture begins, beside its first cut; only if ask->threads */
    EVIDENCE_AT_END,   /* when its last cut has been made */
    EVIDENCE_AT_BOTH,  /* then, and at the begin whoever asks; ask->when says which it is */
    EVIDENCE_AT_DEATH, /* at the end, of a process that has ended */
    /* at the begin, and at the end behind all others, when whatever evidence_hold has held is
     * released */
    EVIDENCE_FETCHED
};

struct evidence_ask {
    struct process *process; /* a reference that is good for the call */
    /* The target's window, CLOCK_MONOTONIC. AT_BEGIN: it is not over, and to_ns is now. */
    uint64_t from_ns, to_ns;
    uint64_t deadline_ns;    /* CLOCK_MONOTONIC: return by then with what there is */
    bool threads;            /* a dump of its threads is asked for */
    enum evidence_when when; /* AT_BEGIN or AT_END */
    const struct evidence_settings *settings;
    struct symbolizer *symbolizer; /* for unwinding; NULL: there is none */
    void **state;                  /* the source's own, of this task; NULL at first */
    struct evidence_task *task;
};

/* The source fetches something for the task, on another thread: the task is not over until it says
 * that it has it. Evidence thread, in `collect`. Release: any thread, once for each; what it wrote
 * to its state before is seen by `collect` at the end. It must release by the deadline of the ask
 * at the begin. */
void evidence_hold(const struct evidence_ask *ask);
void evidence_release(struct evidence_task *task);

/* Writes to `out` and says in `note` (EVIDENCE_NONE before) what became of it. Evidence thread. */
typedef void evidence_collect_fn(void *source, const struct evidence_ask *ask,
                                 struct evidence_out *out, struct evidence_note *note);

struct evidence_source {
    const char *kind; /* static: threads, samples, sched, vitals, files, crash, go */
    enum evidence_when when;
    evidence_collect_fn *collect;
    void *source; /* outlives the agent's evidence */
    /* Whether it has to do with the process at all: else it is not asked, and not named unless
     * somebody did. Any thread. NULL: with any. */
    bool (*concerns)(const struct process *p);
    void (*state_free)(void *state); /* NULL: it has none. Any thread */
};

#endif
