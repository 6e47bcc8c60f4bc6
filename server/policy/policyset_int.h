/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies in memory. For policies*.c alone; guarded by the control lock.
 */
#ifndef POLICYSET_INT_H
#define POLICYSET_INT_H

#include "policies.h"
#include "sampling.h"

/* An agent that takes no samples because it has used too much CPU. */
struct paused_agent {
    uint64_t agent, cpu_percent;
};

struct policy {
    struct policy *next; /* by name */
    char name[64];
    cJSON *json;
    struct selector *selector;
    const char *selector_text; /* in json */
    bool enabled, pin;
    struct sampling_plan plan;
    uint64_t bytes_per_day, ttl_ms; /* 0: none */
    uint64_t generation;            /* of the set, when it was changed last */
    struct paused_agent *paused;
    size_t paused_count;
    uint64_t day, bytes_today; /* days since 1970, UTC */
    uint64_t captures;
    struct capture_id last_capture;
    bool suspended; /* its budget of today is used up */
    bool dirty;
};

struct policies {
    struct fleet *fleet;
    struct control *control; /* the fleet's */
    struct catalog *catalog;
    struct capture_engine *captures;
    struct events *events;
    struct policy *list;
    struct pushed_set pushed;
    uint64_t next_look_ns; /* monotonic */
};

struct policy *policies_find(struct policies *p, const char *name) CONTROL_LOCKED;
void policy_publish(struct policies *p, const struct policy *policy,
                    const char *change) CONTROL_LOCKED;

/* policies_state.c: the policy with its state. */
cJSON *policy_state_json(struct policies *p, const struct policy *policy,
                         uint64_t now_ns) CONTROL_LOCKED;

#endif
