/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the captures, shared by agent_capture.c, capture_job.c, capture_evidence.c and
 * capture_recover.c alone.
 */
#ifndef CAPTURE_JOB_H
#define CAPTURE_JOB_H

#include <stdbool.h>
#include <sys/queue.h>

#include "agent_capture.h"
#include "capture_saved.h"
#include "cut_chain.h"
#include "shares.h"

/* What the worker does for a target. A job is one cut of it, up to job->to_ns; the loop posts them
 * in the order of time (agent_capture.c), in the turn of target->whose (worker.h), and the last one
 * ends the target.
 *
 *            capture_job_run: cut_turn               more, to the worker's queue again
 *      IDLE ────────────────────────▶ (cutting) ──────────────────────▶ TURN ◀─┐ capture_job_run,
 *       ▲                               │                                │  └──┘ more
 *       └──────── job_end: it is cut ───┴────────────────────────────────┘
 *
 *   IDLE   no job is half done                           turn: NULL
 *   TURN   the rest of `turn` is in the worker's queue
 *
 * A job that comes at a TURN is joined to it (job_join), so that a target has one at a time.
 *
 * The last job asks for evidence as it begins, so that both are taken at once (capture_evidence.h).
 * job_end of it: finish, a wait for what is not there yet, and capture_target_end, after which the
 * target is the loop's (capture_done).
 */

/* Whether it waits for evidence, and what came of that (capture_evidence.c). */
enum target_wait { WAIT_NONE, WAIT_OPEN, WAIT_HAD, WAIT_LATE, WAIT_ENDED };

/* One process in one capture. Constant after captures_begin, but for what a thread is named above. */
struct target {
    TAILQ_ENTRY(target) link;
    struct captures *captures;
    struct process *process; /* a reference */
    struct capture_id capture;
    enum trigger_type trigger;
    struct share_key whose; /* in whose turn the worker does it */
    char rule[128], reason[256];
    struct process_uid *with; /* others of the same firing */
    size_t with_count;
    uint64_t at_ns, pre_ms, post_ms, end_ns;
    uint64_t stream_ms;             /* 0: a window */
    bool unshared;                  /* shares nothing that was cut before it */
    struct evidence_task *evidence; /* NULL: none is taken */
    /* loop thread */
    struct loop_timer *timer, *follow_timer, *late_timer; /* late: of the evidence */
    struct process_cursors cut_at;                        /* when the last cut was posted */
    uint64_t cut_ns;                                      /* the same, monotonic */
    bool first_posted, last_posted;
    /* atomic */
    uint32_t cutting;    /* a cut that is not the last waits for the worker or runs */
    uint32_t full;       /* enum target_full (capture_saved.h): no more is cut */
    uint32_t references; /* the table's, and one for each late_run in the worker's queue */
    /* worker */
    struct cut_member member; /* of the process's chain of cuts */
    struct target_result result;
    struct saved *saved;   /* of a run before this one, until a cut is set against it; or NULL */
    uint64_t last_ns;      /* of the last record that it lists */
    uint64_t losses_until; /* ticks; the result has what the ring counted before; 0: nothing */
    bool begun;            /* nobody asked for the capture, and the journal says why it began */
    bool changed;          /* since the last report of a stream */
    int failure;
    struct capture_job *turn; /* its rest is in the worker's queue; or NULL */
    enum target_wait wait;    /* for evidence */
    bool cut;                 /* the last job is done: only evidence is waited for */
    bool evidence_hangs;      /* none was asked for: EVIDENCE_HANGS */
};
TAILQ_HEAD(target_list, target);

/* Ranges of a report: those of earlier cuts by others, and 104 for its own cuts, whose row of
 * sequences is broken where captures of other chains cut. With the gaps and the evidence, whose
 * partition may be one more, they fill most of SPOOL_REPORT_MAX. */
#define CAPTURE_RANGES_MAX (CUT_CHAIN_ENTRIES_MAX + 104)

/* What was captured lately, so that a repeated command begins nothing (P-7). */
#define CAPTURES_REMEMBERED 1024
struct done_target {
    struct capture_id capture;
    struct process_uid process;
};

struct captures {
    struct captures_settings settings; /* constant */
    struct target_list targets;
    struct captures_saved saved;
    size_t running;
    uint32_t draining; /* atomic, set by the loop: the agent ends */
    struct done_target done[CAPTURES_REMEMBERED];
    size_t done_count;
    struct shares shares; /* of the captures an hour that the agent begins by itself */
    uint64_t refused;
};

struct capture_job {
    struct target *target;
    uint64_t to_ns;
    bool first, last;
    bool asked;     /* the worker's: of the last job, for evidence */
    unsigned turns; /* the worker's: its partitions so far */
    struct {
        int32_t signal, status;
        bool known;
    } death;
    /* Of the last job: what the process does behind it, up to here, is lacking, and why. Either the
     * process left its ring and runs on, as by exec, or the agent ends. 0: nothing is lacking. */
    uint64_t lacks_from_ns, lacks_to_ns; /* from its last record, or from here */
    uint64_t lacks_least_ns;             /* what is shorter is none */
    enum loss_reason lacks_reason;
    /* Of the last job: what the ring cannot have, as far as is known by now. Empty: nothing. */
    struct loss_gap unrecorded;
};

/* Relaxed: the worker's queue orders it; capture_evidence_drain posts late_run behind it. */
static inline bool captures_are_draining(const struct captures *captures)
{
    return __atomic_load_n(&captures->draining, __ATOMIC_RELAXED) != 0;
}

/* Whose shares it uses, and turns: of the rule, or the trigger where that is NULL or "". */
struct share_key capture_share_key(const struct process *process, enum trigger_type trigger,
                                   const char *rule);

void capture_job_run(void *job); /* worker_fn; frees the job; the last one posts capture_done */
void capture_done(void *target); /* loop_fn */
void capture_target_unref(struct target *target); /* loop or worker */
/* Worker: makes the final report; the target is the loop's then. */
void capture_target_end(struct target *target);

/* What a report says of evidence before it is taken. */
#define TARGET_EVIDENCE_YET "not taken yet"

/* Gives a target without a clock map the newest; until the collector is known there is none. The
 * target keeps it, to report the window that was asked for even if a clock is set meanwhile. */
void target_place(struct target *target);

/* Journals the final report, releases the partitions, wakes the uplink (NULL before it runs). */
void capture_finish(struct spool *spool, struct uplink *uplink, uint64_t agent,
                    const struct target_result *result);

#endif
