/* SPDX-License-Identifier: Apache-2.0
 *
 * What outside.c (selectors and the search) and outside_hand.c (those by hand) share. Included by
 * these two alone. Loop thread only.
 */
#ifndef OUTSIDE_INT_H
#define OUTSIDE_INT_H

#include <sys/queue.h>

#include "outside.h"
#include "outside_ports.h"
#include "outside_rule.h"
#include "outside_scan.h"

#define HANDS_MAX 1024 /* by hand, those included that are not there yet */

/* A process by hand. One that `becomes` is about to call exec: it is taken when it has.
 *
 *    outside_ask ──▶ WAITS ──── exec ────▶ WATCHED ──── ended, undone, not the asker's any more ──▶ (none)
 *         │            └── 30 s, ended ──────────────────────────────────────────────────────────────┘
 *         └─────────────────────────────▶ WATCHED
 */
struct hand {
    TAILQ_ENTRY(hand) link;
    struct process_uid uid; /* zero while it waits */
    uint32_t pid;
    uint64_t start_clock_ticks;
    uint32_t asker; /* the user */
    unsigned waits; /* looks that it still waits; 0: it is watched */
    char service[128], labels[512];
    char before[256]; /* the program that it ran when its question was read */
};
TAILQ_HEAD(hand_list, hand);

struct outside {
    struct outside_settings settings;
    struct outside_rules rules;
    bool by_cgroup; /* some rule asks for it */
    uint16_t ports[OUTSIDE_RULES_MAX];
    size_t port_count;
    struct outside_sockets *sockets; /* that listen on these; NULL: no rule asks for a port */
    bool sockets_refused;            /* that was said */
    struct outside_scan *scan;
    struct loop_timer *timer; /* while there is something to look for */
    struct hand_list hands;
    size_t hand_count;
};

/* outside.c: sets or ends the timer. */
void outside_wake(struct outside *outside);

/* outside_hand.c */
void hands_load(struct outside *outside);
void hands_look(struct outside *outside); /* each second */
void hands_free(struct outside *outside);
/* Ends the watch of a process that somebody else than root has named, the newest of whoever named
 * most: a selector of the agent's config wants its place. False: there is none. */
bool hands_give_way(struct outside *outside);
bool hand_has(const struct outside *outside, const struct process_uid *uid);

#endif
