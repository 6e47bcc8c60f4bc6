/* SPDX-License-Identifier: Apache-2.0
 *
 * Processes that are watched from outside (docs/outside.md): finds those that the agent's config
 * selects, takes those that somebody names by hand, and has them put into the table of processes
 * (attach_watch). Owns the selectors, the search, and the list of those by hand, which it keeps in
 * the state folder. Loop thread only.
 */
#ifndef OUTSIDE_H
#define OUTSIDE_H

#include <sys/socket.h>

#include "attach.h"
#include "config.h"
#include "worker.h"

#define OUTSIDE_EVERY_MS  1000
#define OUTSIDE_BUDGET_NS UINT64_C(5000000) /* of CPU time, for a step of the search */

struct outside;
struct attach_watch;

struct outside_settings {
    struct loop *loop;
    struct worker *worker;
    struct attach *attach; /* all of these outlive it */
    int folder;            /* of the agent's state */
    uint64_t agent;
    const char *boot;
    const uint64_t *watched_max; /* processes that are watched at once */
    bool has_evidence;           /* whether captures take any */
    void *context;
    /* A selector matches it, and there is no room (SKEIN_BUSY, SKEIN_FULL). */
    void (*refused)(void *context, const struct process *p, int status);
    /* It was watched by hand when an agent ended, and has ended since. */
    void (*missed)(void *context, const struct process *p);
};

/* Takes again those that were watched by hand. SKEIN_OK; SKEIN_INVALID with a sentence in error;
 * SKEIN_NO_MEMORY. */
int outside_new(const struct outside_settings *settings, const struct config_strs *selectors,
                struct outside **out, char *error, size_t error_bytes);
void outside_free(struct outside **outside); /* those that are watched stay so */

/* Other selectors are in force: whoever was found by the old ones and by none of these is watched
 * no more. SKEIN_OK; else nothing is changed, and a sentence is in error. */
int outside_select(struct outside *outside, const struct config_strs *selectors, char *error,
                   size_t error_bytes);

/* Somebody on this host asks to have a process watched, or no longer (struct attach_hooks). */
int outside_ask(struct outside *outside, const struct attach_watch *ask, const struct ucred *asker,
                char *text, size_t bytes);
/* It has attached, or is watched: a selector may say where its Go runtime answers. Before others
 * hear of it. */
void outside_describe(const struct outside *outside, struct process *p);
/* It is out of the table. */
void outside_gone(struct outside *outside, const struct process *p);

#endif
