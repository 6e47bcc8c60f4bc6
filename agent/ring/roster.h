/* SPDX-License-Identifier: Apache-2.0
 *
 * The roster: whoever was on this host and is not in the table of attached processes. Those that
 * have ended keep their rings here for a while, so that a capture asked just after still has them;
 * then a note remains of when they lived. Those that the agent did not take are noted too. So a
 * capture names each process of its window, recorded or not. Loop thread only.
 *
 *                attached --------- gone ----> kept (ring) ---- linger, or no room ----> note
 *                refused ----------------------------------------------------------> note
 *                    note, kept ---- the same process attaches (again) ----> not here
 */
#ifndef ROSTER_H
#define ROSTER_H

#include <sys/queue.h>

#include "loop.h"
#include "loss.h"
#include "process.h"

#define ROSTER_NOTES_MAX 4096

struct roster_entry {
    TAILQ_ENTRY(roster_entry) link;
    struct process *process; /* a reference, while its ring is kept; else NULL */
    struct process_uid uid;
    uint32_t pid, user;
    uint64_t start_clock_ticks;
    /* realtime; recorded 0: never was; ended 0: it runs */
    uint64_t start_ns, recorded_ns, ended_ns;
    uint64_t ring_bytes, keep_until_ns; /* of the ring: memory; monotonic */
    enum loss_reason reason;            /* why nothing is recorded of it, where no ring is kept */
    int status;                         /* of a refusal */
    bool listed, told;                  /* in a list; in one that the collector has answered */
    bool expected; /* it was attached to the run before, and while it runs it may come back */
    bool overdue;  /* one of these that has not, in the time that all had for it */
    const char *service, *labels, *exe;
};
TAILQ_HEAD(roster_list, roster_entry);

struct roster;

/* linger_ms is read whenever a process ends; it and the loop must outlive the roster. Rings that
 * are kept take max_bytes of memory together at most. SKEIN_OK, SKEIN_NO_MEMORY. */
int roster_new(struct loop *loop, const uint64_t *linger_ms, uint64_t max_bytes,
               struct roster **out);
void roster_free(struct roster **roster);
/* fn is told of each process whose ring the roster lets go, but at its own end. */
void roster_on_release(struct roster *roster, void (*fn)(void *context, const struct process *p),
                       void *context);

/* It has ended, or left its ring for another: its ring is kept. Takes a reference of its own. */
void roster_keep(struct roster *roster, struct process *p);
/* It was attached to the run before, and had ended by ended_ns; 0: it may come back. */
void roster_recall(struct roster *roster, const struct process *p, uint64_t ended_ns);
/* Those that were expected and run have not come back in time: from now on they are noted as not
 * recorded, until they do. True: some. */
bool roster_overdue(struct roster *roster);
/* It runs, and nobody knows yet whether it comes back. */
bool roster_is_awaited(const struct roster_entry *entry);
/* The agent refused it with this status; it runs, but for SKEIN_CLOSED. True: not noted before. */
bool roster_refuse(struct roster *roster, const struct process *p, int status);
/* It is attached (again): no longer here, but for a ring that is kept. */
void roster_attached(struct roster *roster, const struct process *p);

/* The newest entry of this identity; NULL. */
const struct roster_entry *roster_find(const struct roster *roster, const struct process_uid *uid);
/* Ring bytes that are kept, in memory. */
uint64_t roster_ring_bytes(const struct roster *roster);
/* Lets go of a ring, the oldest of the user who has most of them; false: there is none. */
bool roster_release_one(struct roster *roster);

/* ---- the collector's list ---- */

/* Looks which of the refused, and of those that may come back, have ended meanwhile. True: some. */
bool roster_refresh(struct roster *roster);
struct roster_list *roster_entries(struct roster *roster); /* oldest first */
/* The collector knows those that were in the last list; _untold: it knows nobody. */
void roster_told(struct roster *roster);
void roster_untold(struct roster *roster);
/* Notes of processes that ended before this instant may be gone. 0: none are. */
uint64_t roster_known_from_ns(const struct roster *roster);

#endif
