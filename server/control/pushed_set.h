/* SPDX-License-Identifier: Apache-2.0
 *
 * A set that every agent is pushed whole (rules, policies): its generation, the push to agents that
 * do not have it, what they say of it. Agents are told again until their heartbeats name the
 * generation. Guarded by the control lock; every function is called with it held.
 */
#ifndef PUSHED_SET_H
#define PUSHED_SET_H

#include "fleet.h"

struct pushed_set {
    struct fleet *fleet;
    enum fleet_set set;
    uint64_t generation;
    cJSON *(*list)(void *context); /* the set, which is the caller's then */
    void *context;
};

void pushed_set_to_all(const struct pushed_set *set) CONTROL_LOCKED; /* that are here */

/* HELLO of the agent. Where there never was a set, nothing is told: an agent that has one from
 * elsewhere says so by its heartbeat. */
void pushed_set_joined(const struct pushed_set *set, struct fleet_agent *agent) CONTROL_LOCKED;

/* A heartbeat of the agent: pushes where it has another generation and no push is on its way. */
void pushed_set_heard(const struct pushed_set *set, struct fleet_agent *agent) CONTROL_LOCKED;

/* The agent has acknowledged; "" or what it leaves out. It runs the rest of such a set, so its
 * heartbeats tell whether it has the set. */
void pushed_set_done(const struct pushed_set *set, struct fleet_agent *agent,
                     const char *error) CONTROL_LOCKED;

/* SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_TOO_LARGE: it does not fit a message. */
int pushed_set_fits(const struct pushed_set *set) CONTROL_LOCKED;

/* How many agents are online (*online), and how many of those have this generation. */
size_t pushed_set_current(const struct pushed_set *set, size_t *online) CONTROL_LOCKED;

#endif
