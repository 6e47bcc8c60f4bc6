/* SPDX-License-Identifier: Apache-2.0
 *
 * The policies in memory. For policies*.c alone; guarded by the control lock.
 */
#ifndef POLICYSET_INT_H
#define POLICYSET_INT_H

#include "idmap.h"
#include "policies.h"
#include "sampling_place.h"

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
    uint64_t bytes_per_day, ttl_ms;  /* 0: none */
    uint64_t generation;             /* of the set, when it was changed last */
    struct sampling_member *members; /* sorted; processes that match and are not gone */
    size_t member_count;
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
    uint64_t fleet_version, next_look_ns; /* what the members were taken from; monotonic */
    bool push;                            /* to all, at the next look */
};

struct policy *policies_find(struct policies *p, const char *name) CONTROL_LOCKED;
void policy_publish(struct policies *p, const struct policy *policy,
                    const char *change) CONTROL_LOCKED;

/* policies_members.c */
/* Takes the members anew and gives them slots; the array before is the caller's then. SKEIN_OK,
 * SKEIN_NO_MEMORY: all is as before. */
int policy_take_members(struct policies *p, struct policy *policy) CONTROL_LOCKED;
/* The member of this process, or NULL. */
const struct sampling_member *policy_member(const struct policy *policy,
                                            const struct process_uid *process);
/* Takes all members anew where the fleet has changed, and tells agents of other slots. */
void policies_look(struct policies *p) CONTROL_LOCKED;
cJSON *policies_set_json(void *policies, const struct fleet_agent *agent) CONTROL_LOCKED;
/* Of a push that is not in the set itself, in bytes. */
#define POLICY_SLOTS_BYTES 32768

/* policies_state.c: the policy with its state. */
cJSON *policy_state_json(struct policies *p, const struct policy *policy,
                         uint64_t now_ns) CONTROL_LOCKED;
bool policy_agent_paused(const struct policy *policy, uint64_t agent);

#endif
