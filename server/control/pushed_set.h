/* SPDX-License-Identifier: Apache-2.0
 *
 * A set that agents are pushed (rules, policies): its generation, the push to agents that do not
 * have it, what they say of it. Agents are told again until their heartbeats name the generation
 * that they are to have. One that is away is told nothing: it counts as here again from its HELLO on,
 * which brings it the whole set. Guarded by the control lock; every function is called with it held.
 *
 * Of rules, an agent that has said HELLO gets the whole set, and then what has changed since the
 * generation that it has, where that concerns it: a selector may want another host. Whatever else a
 * selector wants, a process that has it may come at any moment, so the agent has the rule before.
 */
#ifndef PUSHED_SET_H
#define PUSHED_SET_H

#include "fleet.h"

#define PUSHED_WHOLE         UINT64_MAX
#define PUSHED_REMOVED_MAX   256 /* that are remembered, for agents that still have them */
#define PUSHED_SET_BYTES_MAX (WIRE_CONTROL_MAX - 1024u) /* it travels in one message */

struct pushed_set {
    struct fleet *fleet;
    enum fleet_set set;
    uint64_t generation;
    uint64_t since; /* changes are known from this generation on */
    struct {
        char name[64];
        uint64_t generation;
    } removed[PUSHED_REMOVED_MAX]; /* a ring */
    size_t removed_count;
    /* What the agent is to have that has changed behind the generation `base`, PUSHED_WHOLE: all of
     * it; the caller's then. Names of what has changed and is not for it go to `removed`, where that
     * is not NULL. */
    cJSON *(*list)(void *context, const struct fleet_agent *agent, uint64_t base, cJSON *removed);
    void *context;
};

/* To all that are here, whatever it concerns. */
void pushed_set_to_all(struct pushed_set *set) CONTROL_LOCKED;
/* Something was put or removed, with the set's generation: to those that are here and that it
 * concerns, by the selectors that it had and has; NULL: it was, or is, nothing for agents. */
void pushed_set_changed(struct pushed_set *set, const char *name, const char *before,
                        const char *after, bool is_removed) CONTROL_LOCKED;
/* Whether a process of this agent may match. */
bool pushed_set_concerns(const char *selector, const struct fleet_agent *agent);

/* HELLO of the agent. Where there never was a set, nothing is told: an agent that has one from
 * elsewhere says so by its heartbeat. */
void pushed_set_joined(struct pushed_set *set, struct fleet_agent *agent) CONTROL_LOCKED;

/* A heartbeat of the agent: pushes where it has another generation and no push is on its way. */
void pushed_set_heard(struct pushed_set *set, struct fleet_agent *agent) CONTROL_LOCKED;

/* The agent has acknowledged; "" or what it leaves out. It runs the rest of such a set, so its
 * heartbeats tell whether it has the set. One that does not take a change gets the whole set. */
void pushed_set_done(struct pushed_set *set, struct fleet_agent *agent,
                     const char *error) CONTROL_LOCKED;

/* How many agents are online (*online), and how many of those have all that concerns them. */
size_t pushed_set_current(const struct pushed_set *set, size_t *online) CONTROL_LOCKED;

#endif
