/* SPDX-License-Identifier: Apache-2.0
 *
 * Captures on this host, whoever asked: the collector, a failing check, the application, a crash.
 * Owns the targets under way and the memory of those done. Called on the loop thread; the worker
 * cuts and writes to disk. Never waits for the collector.
 *
 *   begin --> cut [at - pre, at] at once --> wait for at + post --> cut the rest --> report, upload
 *                                              |  stop, or the process is gone  ^
 *                                              +--------------------------------+
 *
 * While it waits, a target is cut whenever half of the ring has been written anew. So a window is
 * whole even if it is longer than the ring reaches back:
 *
 *   window  |------ pre ------ at ------------- post -------------|
 *   cuts                       1 first    2 half    3 half        4 last
 *
 * A stream is also cut every stream_ms; it journals what it has so far and uploads it. When a
 * target's partitions no longer fit a report, nothing more is cut, and a gap tells of the rest; a
 * stream ends at once then.
 *
 * The worker cuts one partition of each target in turn, so that a large one holds nobody up; and
 * users take turns, so that a crowd of captures of one holds nobody else up (worker.h).
 *
 * Behind its last cut a target waits for its evidence, if any is taken, until a deadline.
 *
 * A final report is in the spool's journal before it is sent, and before the target's partitions
 * are released for upload.
 */
#ifndef AGENT_CAPTURE_H
#define AGENT_CAPTURE_H

#include "cutter.h"
#include "evidence_task.h"
#include "loop.h"
#include "process.h"
#include "spool.h"
#include "target_result.h"
#include "uplink.h"
#include "worker.h"

struct captures;

/* What is said of a target whose agent was killed, and of one that has no ring. */
#define CAPTURE_RESTARTED_TEXT "the agent was restarted during the capture"
#define CAPTURE_WATCHED_TEXT   "watched from outside: it has no ring, and what it did is not recorded"

struct captures_settings {
    struct loop *loop;
    struct worker *worker;
    struct spool *spool;
    struct uplink *uplink;
    struct host_page_owner *host_page;
    struct evidence *evidence;  /* NULL: none is taken */
    const bool *threads_barred; /* no thread dumps; NULL: they may be. Loop thread */
    const char *host;           /* all of these must outlive the captures */
    uint64_t agent, epoch;
    uint64_t partition_bytes; /* ring bytes that close a partition; 0: the cutter's default */
    uint32_t max_targets;     /* under way at once; beyond, a target fails with the reason "busy" */
    struct symbolizer *symbolizer; /* NULL: stacks stay raw */
    uint64_t names_ns;             /* for the names of a partition */
};

int captures_new(const struct captures_settings *settings, struct captures **out);

/* Ends every target under way: the worker cuts what is there, and makes the final reports. */
void captures_drain(struct captures *captures);
/* After the worker has ended. */
void captures_free(struct captures **captures);

struct capture_order {
    struct capture_id capture;
    enum trigger_type trigger;
    const char *rule;   /* or policy; NULL where none fired */
    const char *reason; /* for the person who reads the capture; NULL for requests */
    uint64_t at_ns;     /* on the agent's line of time, as all here */
    uint64_t pre_ms, post_ms;
    uint64_t stream_ms;        /* 0: a window */
    uint64_t deadline_ns;      /* of a stream, 0: none but the window's end */
    bool unshared;             /* shares no partitions of earlier captures */
    struct evidence_wish wish; /* for which evidence */
    struct clock_map map;      /* that its times were placed by; not known: the newest is taken */
    struct process **with;     /* others that the same firing captures, each by a call of its own */
    size_t with_count;
};

#define CAPTURE_WHY_BYTES 256
/* Whether a capture of the agent's own may begin for this process and cause: the rule, or the trigger
 * where that is NULL or "". It counts then. False, and why says whose share is used up; nothing is
 * told to anybody. */
bool captures_admit(struct captures *captures, const struct process *process,
                    enum trigger_type trigger, const char *rule, char why[CAPTURE_WHY_BYTES]);
uint64_t captures_refused(const struct captures *captures);

/* Begins a capture of one process; one that is known already is left alone. Failures are reported
 * to the collector as the target's state. SKEIN_OK, SKEIN_EXISTS, SKEIN_BUSY, SKEIN_NO_MEMORY. */
int captures_begin(struct captures *captures, const struct capture_order *order,
                   struct process *process);

/* Reports a target that cannot be captured at all. */
void captures_refuse(struct captures *captures, const struct capture_id *capture,
                     const struct process_uid *process, const char *reason);

/* Reports a target without a record: it ran in `life`, and `life->reason` says why it has none. */
void captures_absent(struct captures *captures, const struct capture_order *order,
                     const struct process_uid *process, const struct loss_gap *life,
                     const char *reason);

bool captures_know(const struct captures *captures, const struct capture_id *capture,
                   const struct process_uid *process);
void captures_stop(struct captures *captures, const struct capture_id *capture);
void captures_process_gone(struct captures *captures, const struct process *process);
size_t captures_running(const struct captures *captures);

/* Before captures_new: ends in the journal each target that an earlier run left unfinished. Its report
 * is sent then; of a request it stays an intent, until the ring was cut anew (capture_saved.h). Returns
 * how many targets, or an error. */
int captures_recover(struct spool *spool, uint64_t agent);

#endif
