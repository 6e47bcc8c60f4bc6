/* SPDX-License-Identifier: Apache-2.0
 *
 * What captures came to, worked out once and kept: the report and the summary of each that has ended,
 * and of policies' samples the series (series.h). A thread of its own takes one capture after the
 * other, the newest first; a confined process reads its trace (analyst.h). What is still to be done is
 * found from the catalog: nothing is lost with a queue.
 *
 *     ended, changed, deleted ── aggregate_touch ──▶ queue ─┐
 *     start, queue overflowed, disk was full ─────▶ walk ───┴▶ worker ─▶ analyst ─▶ analysis.db
 *
 * Never holds the control lock while it works; nobody waits for it. aggregate_touch may be called with
 * any lock held.
 */
#ifndef AGGREGATE_H
#define AGGREGATE_H

#include "analyst.h"
#include "capture.h"
#include "catalog.h"
#include "control.h"
#include "index.h"

struct aggregate;

struct aggregate_settings {
    const char *folder; /* outlives it */
    /* analyst_run, or anything else that answers so. NULL: nobody reads traces; nothing is summed up,
     * and what there is can be asked. */
    int (*run)(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
               char error[ANALYST_ERROR_BYTES]);
    struct analyst *analyst;
    uint64_t max_trace_bytes;   /* larger captures are refused */
    uint64_t timeout_ms;        /* of one answer */
    uint64_t max_bytes;         /* of all answers that are kept; the oldest go */
    uint64_t keep_ms, max_rows; /* of the series; keep_ms 0: by their number alone */
    /* Whether the disk is too short to keep anything now; NULL: never. Called without locks. */
    bool (*is_full)(void *context);
    /* How many processes of the service are traced now, for the share that was sampled; NULL: not
     * known. Called without locks. */
    uint64_t (*live)(void *context, const char *service);
    void *context;
    /* For tests. Told when the worker has nothing to do any more; NULL: nobody asks. */
    void (*idle)(void *context);
    uint64_t late_ms; /* how long a capture may change after it was summed up; 0: an hour */
};

/* Opens folder/analysis.db and starts the thread. SKEIN_OK; SKEIN_IO, SKEIN_VERSION, SKEIN_FULL,
 * SKEIN_NO_MEMORY with words. */
int aggregate_start(const struct aggregate_settings *settings, struct capture_engine *captures,
                    struct catalog *catalog, struct index *index, struct aggregate **out,
                    char *error, size_t error_bytes);
/* Ends the work that runs; it is done at the next start. */
void aggregate_stop(struct aggregate **aggregate);

/* Something of the capture was saved, or it was deleted. Any thread; `aggregate` may be NULL. */
void aggregate_touch(struct aggregate *aggregate, const struct capture_id *id);

/* ---- what there is; any thread ---- */

enum aggregate_state { AGGREGATE_PENDING, AGGREGATE_DONE, AGGREGATE_REFUSED };
const char *aggregate_state_text(enum aggregate_state state); /* "pending", … */

#define AGGREGATE_REASON_BYTES 256
/* Of a capture that has ended. AGGREGATE_REFUSED: why, in words. */
enum aggregate_state aggregate_state(struct aggregate *aggregate, const struct capture_id *id,
                                     char reason[AGGREGATE_REASON_BYTES]);

/* Appends what is kept: ANALYST_REPORT (of all of the capture, findings and rows as the library has
 * it by default) or ANALYST_SUMMARY. Of the last state that was summed up. SKEIN_OK; SKEIN_NOT_FOUND:
 * none is kept (still to be done, refused, or dropped by max_bytes); else a status. Whoever may see
 * the whole capture may see it. */
int aggregate_answer(struct aggregate *aggregate, const struct capture_id *id,
                     enum analyst_kind kind, struct buf *out);

#endif
