/* SPDX-License-Identifier: Apache-2.0
 *
 * What a run of the agent before this one had cut of a request that it could not end. It is kept until
 * a new cut of the same window is stored and holds at least as much. For this room alone.
 *
 *   start      captures_recover: the journal has the report that ends the target with what was cut
 *              saved_recall: a list of these, and each is told as under way
 *   its command comes again (P-7)
 *              captures_begin ──▶ the first cut is stored ──┬──▶ saved_drop: the new cut counts
 *                                                           └──▶ saved_take_back: the old one does
 *   none comes, as it is over (the collector says stop), or its process is away for good, or the agent
 *   ends       the journal's report is sent
 *
 * The ring may overwrite what was cut as long as the agent is away, and then as long as the collector is.
 * So nobody decides before the new cut is there.
 */
#ifndef CAPTURE_SAVED_H
#define CAPTURE_SAVED_H

#include <stdbool.h>
#include <sys/queue.h>

#include "target_result.h"

struct captures;
struct target;

struct saved {
    TAILQ_ENTRY(saved) link;
    struct target_result result; /* its times are on the line of the agent that cut it */
};
struct captures_saved {
    TAILQ_HEAD(, saved) list;
    struct loop_timer *timer; /* tells of them; or NULL */
};

/* Why no more of a target is cut: its report takes no more ranges, and the loop ends a stream; or an
 * earlier run had cut more, and the loop ends it. */
enum target_full { FULL_NOT, FULL_REPORT, FULL_SAVED };

/* Before the uplink and the worker run. SKEIN_OK, SKEIN_NO_MEMORY. */
int saved_recall(struct captures *captures);
/* Takes it out of the list; NULL: there is none. Loop thread. */
struct saved *saved_take(struct captures *captures, const struct capture_id *capture,
                         const struct process_uid *process);
void saved_free(struct saved **saved);

/* Worker, behind a cut of a target with ->saved, whose result has all of it. */
bool saved_is_had(const struct target *target); /* the result lacks nothing that was saved */
/* The journal lists the new cut: what was saved goes. */
void saved_drop(struct target *target);
/* The new cut goes, and the result is what was saved. Nothing more is to be cut. */
void saved_take_back(struct target *target);

#endif
