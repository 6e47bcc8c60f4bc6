/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a policy matches and when each is on; what agents are told of it. Under the control lock.
 *
 * Agents place a process by its hash. Only the others, some in a hundred, are named in a push; an
 * agent with more of them than fit one is told as many as fit.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "log.h"
#include "policyset_int.h"

#define SLOTS_SENT_MAX 750 /* {"<32 hex>":9999,…} in POLICY_SLOTS_BYTES */

static int member_compare(const void *left, const void *right)
{
    const struct sampling_member *a = left, *b = right;
    return memcmp(a->process.bytes, b->process.bytes, sizeof a->process.bytes);
}

const struct sampling_member *policy_member(const struct policy *policy,
                                            const struct process_uid *process)
{
    const struct sampling_member key = {.process = *process};
    return policy->member_count == 0
               ? NULL
               : bsearch(&key, policy->members, policy->member_count, sizeof key, member_compare);
}

/* SKEIN_OK, SKEIN_NO_MEMORY; *out is the caller's. */
static int collect(struct policies *p, const struct policy *policy, struct sampling_member **out,
                   size_t *count) CONTROL_LOCKED
{
    struct sampling_member *list = NULL;
    size_t at = 0, cap = 0;
    *count = 0;
    for (struct fleet_process *q; (q = fleet_process_next(p->fleet, &at)) != NULL;) {
        if (fleet_process_status(p->fleet, q) == FLEET_GONE ||
            !fleet_process_match(policy->selector, q))
            continue;
        if (*count == cap) {
            cap = cap * 2 + 64;
            struct sampling_member *larger = realloc(list, cap * sizeof *larger);
            if (larger == NULL) {
                free(list);
                return SKEIN_NO_MEMORY;
            }
            list = larger;
        }
        const struct sampling_member *before = policy_member(policy, &q->uid);
        list[(*count)++] =
            (struct sampling_member){q->uid, before != NULL ? before->slot : SAMPLING_UNPLACED};
    }
    *out = list;
    return SKEIN_OK;
}

int policy_take_members(struct policies *p, struct policy *policy)
{
    control_assert_locked(p->control);
    struct sampling_member *list = NULL;
    size_t count = 0;
    int status = collect(p, policy, &list, &count);
    if (status != SKEIN_OK)
        return status;
    if (count > 1)
        qsort(list, count, sizeof *list, member_compare);
    status = sampling_place(&policy->plan, list, count);
    if (status != SKEIN_OK) {
        free(list);
        return status;
    }
    policy->members = list;
    policy->member_count = count;
    return SKEIN_OK;
}

/* ---- what agents are told ---- */

static void add_slots(const struct policy *policy, const struct fleet_agent *agent, cJSON *item,
                      size_t *room)
{
    cJSON *slots = cJSON_AddObjectToObject(item, "slots");
    for (const struct fleet_process *q = agent->processes; q != NULL && *room > 0;
         q = q->next_of_agent) {
        char id[ID_TEXT_BYTES];
        const struct sampling_member *m = policy_member(policy, &q->uid);
        if (m == NULL || m->slot == sampling_hash_slot(&policy->plan, &q->uid))
            continue;
        id_text(q->uid.bytes, id);
        cJSON_AddNumberToObject(slots, id, m->slot);
        (*room)--;
    }
}

static void copy_member(const cJSON *from, const char *key, cJSON *to)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
    if (item != NULL)
        cJSON_AddItemToObject(to, key, cJSON_Duplicate(item, true));
}

cJSON *policies_set_json(void *context, const struct fleet_agent *agent)
{
    struct policies *p = context;
    control_assert_locked(p->control);
    size_t room = SLOTS_SENT_MAX;
    cJSON *set = cJSON_CreateArray();
    for (const struct policy *policy = p->list; policy != NULL; policy = policy->next) {
        if (!policy->enabled)
            continue;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "name", policy->name);
        json_add_u64(item, "generation", policy->generation);
        cJSON_AddStringToObject(item, "selector", policy->selector_text);
        json_add_u64(item, "record_ms", policy->plan.record_ms);
        json_add_u64(item, "every_ms", policy->plan.every_ms);
        copy_member(policy->json, "groups", item);
        copy_member(cJSON_GetObjectItemCaseSensitive(policy->json, "limits"), "agent_cpu_percent",
                    item);
        cJSON_AddBoolToObject(item, "paused", policy->suspended);
        if (agent != NULL)
            add_slots(policy, agent, item, &room);
        cJSON_AddItemToArray(set, item);
    }
    return set;
}

/* ---- a look at the fleet ---- */

/* The agent of a process that is told another slot than before; 0: none is. */
static uint64_t agent_told(struct policies *p, const struct policy *policy,
                           const struct sampling_member *m,
                           const struct sampling_member *before) CONTROL_LOCKED
{
    uint32_t by_itself = sampling_hash_slot(&policy->plan, &m->process);
    uint32_t known = before != NULL ? before->slot : by_itself;
    const struct fleet_process *q =
        m->slot != known ? fleet_process_find(p->fleet, &m->process) : NULL;
    return q != NULL ? q->agent : 0;
}

static int compare_agents(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

static void push_some(struct policies *p, uint64_t *agents, size_t count) CONTROL_LOCKED
{
    if (count > 1)
        qsort(agents, count, sizeof *agents, compare_agents);
    for (size_t i = 0; i < count; i++) {
        struct fleet_agent *agent =
            i > 0 && agents[i] == agents[i - 1] ? NULL : fleet_agent_find(p->fleet, agents[i]);
        if (agent != NULL && agent->online && agent->session)
            pushed_set_to(&p->pushed, agent);
    }
}

/* Takes the members anew; whose slots have changed is pushed. */
static int look_at(struct policies *p, struct policy *policy) CONTROL_LOCKED
{
    const struct policy before = {.members = policy->members, .member_count = policy->member_count};
    int status = policy_take_members(p, policy);
    if (status != SKEIN_OK)
        return status;
    size_t count = 0;
    uint64_t *agents = malloc((policy->member_count + 1) * sizeof *agents);
    for (size_t i = 0; agents != NULL && i < policy->member_count; i++) {
        const struct sampling_member *m = &policy->members[i];
        uint64_t agent = agent_told(p, policy, m, policy_member(&before, &m->process));
        if (agent != 0)
            agents[count++] = agent;
    }
    if (agents != NULL && policy->enabled)
        push_some(p, agents, count);
    status = agents != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    free(agents);
    free(before.members);
    return status;
}

void policies_look(struct policies *p)
{
    control_assert_locked(p->control);
    uint64_t version = fleet_processes_version(p->fleet);
    int status = SKEIN_OK;
    if (version == p->fleet_version)
        return;
    for (struct policy *policy = p->list; policy != NULL && status == SKEIN_OK;
         policy = policy->next)
        status = look_at(p, policy);
    if (status == SKEIN_OK)
        p->fleet_version = version;
    else
        log_error("policies", "out of memory: samples are spread by hashes for now", NULL);
}
