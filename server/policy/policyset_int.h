/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies in memory. For policies*.c alone; what the control lock guards says so.
 */
#ifndef POLICYSET_INT_H
#define POLICYSET_INT_H

#include "policies.h"
#include "sampling.h"
#include "shares.h"

/* An agent that takes no samples because it has used too much CPU. */
struct paused_agent {
    uint64_t agent, cpu_percent;
};

struct policy {
    struct named_item item;
    struct selector *selector;
    bool enabled, pin;
    struct sampling_plan plan;
    uint64_t bytes_per_day, ttl_ms; /* 0: none */
    uint64_t groups;                /* that its samples are read for; 0: all */
    uint32_t kinds;                 /* of evidence that its samples have */
    uint64_t agent_cpu_percent;     /* that an agent may use; 0: no limit */
    uint64_t samples_hz;            /* how often its hosts sample their CPUs; 0: as they would */
    struct paused_agent *paused;
    size_t paused_count, paused_cap;
    uint64_t day, bytes_today; /* days since 1970, UTC */
    /* bytes_today, by user of a host: what this collector has counted since it started. */
    struct share_tally *users; /* NULL: nothing yet, or no memory */
    uint64_t held_today;       /* samples that were refused, as a user's share is used up */
    char held_why[256];        /* of the last one */
    uint64_t captures;
    struct capture_id last_capture;
    bool suspended; /* its budget of today is used up */
};

struct policies {
    struct fleet *fleet;
    struct control *control; /* the fleet's */
    struct catalog *catalog;
    struct capture_engine *captures;
    struct named_set set;
    uint64_t next_look_ns CONTROL_GUARDED; /* monotonic */
};

CONTROL_LOCKED static inline struct policy *policies_first(const struct policies *p)
{
    return (struct policy *)p->set.list;
}
static inline struct policy *policy_next(const struct policy *policy)
{
    return (struct policy *)policy->item.next;
}
struct policy *policies_find(struct policies *p, const char *name) CONTROL_LOCKED;

/* policies_state.c: the policy with its state. */
cJSON *policy_state_json(struct policies *p, const struct policy *policy,
                         uint64_t now_ns) CONTROL_LOCKED;

#endif
