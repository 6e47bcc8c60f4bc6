/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy as it is shown: its text and its state. Under the control lock.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "policyset_int.h"

#define DAY_NS      (UINT64_C(86400) * 1000000000u)
#define HOSTS_SHOWN 20

static bool agent_paused(const struct policy *policy, uint64_t agent)
{
    for (size_t i = 0; i < policy->paused_count; i++)
        if (policy->paused[i].agent == agent)
            return true;
    return false;
}

/* Whether its agent takes samples of the policy, as far as is known here. */
static bool process_sampled(struct policies *p, const struct policy *policy,
                            const struct fleet_process *q) CONTROL_LOCKED
{
    const struct fleet_agent *agent = fleet_agent_find(p->fleet, q->agent);
    return policy->enabled && !policy->suspended && agent != NULL && agent->online &&
           agent->sets[FLEET_POLICIES].generation == p->set.pushed.generation &&
           !agent_paused(policy, agent->id);
}

static void status_add(const struct policy *policy, uint64_t now_ns, cJSON *state)
{
    char reason[160] = "", until[CLOCK_TEXT_BYTES];
    const char *status = "active";
    if (!policy->enabled) {
        status = "paused";
        snprintf(reason, sizeof reason, "it is not enabled");
    } else if (policy->suspended) {
        status = "suspended";
        clock_text((now_ns / DAY_NS + 1) * DAY_NS, until);
        snprintf(reason, sizeof reason,
                 "the %" PRIu64 " bytes of today's budget are used up; it goes on at %s",
                 policy->bytes_per_day, until);
    }
    cJSON_AddStringToObject(state, "status", status);
    if (reason[0] != '\0')
        cJSON_AddStringToObject(state, "reason", reason);
}

static void push_add(struct policies *p, cJSON *state) CONTROL_LOCKED
{
    size_t agents, current = pushed_set_current(&p->set.pushed, &agents);
    json_add_u64(state, "generation", p->set.pushed.generation);
    json_add_u64(state, "agents", agents);
    json_add_u64(state, "agents_current", current);
    cJSON_AddNumberToObject(state, "share_of_agents",
                            agents > 0 ? (double)current / (double)agents : 0);
}

/* Whether samples are taken of it: of one without a ring there are none. */
static bool is_sampled(struct policies *p, const struct policy *policy,
                       const struct fleet_process *q) CONTROL_LOCKED
{
    return fleet_process_status(p->fleet, q) != FLEET_GONE && q->not_recorded[0] == '\0' &&
           fleet_process_match(policy->selector, q);
}

/* Who matches, and whose slot it is now. */
static void processes_add(struct policies *p, const struct policy *policy, uint64_t now_ns,
                          cJSON *state) CONTROL_LOCKED
{
    const struct sampling_plan *plan = &policy->plan;
    uint32_t slot = sampling_slot_at(plan, now_ns);
    size_t at = 0, matching = 0, on = 0;
    for (struct fleet_process *q; (q = fleet_process_next(p->fleet, &at)) != NULL;) {
        if (!is_sampled(p, policy, q))
            continue;
        matching++;
        on += sampling_slot_of(plan, &q->uid) == slot && process_sampled(p, policy, q);
    }
    double planned = (double)matching * (double)plan->record_ms / (double)plan->every_ms;
    cJSON *to = cJSON_AddObjectToObject(state, "processes");
    json_add_u64(to, "matching", matching);
    json_add_u64(to, "on", on);
    cJSON_AddNumberToObject(to, "planned_on", policy->enabled ? planned : 0);
}

static void held_add(const struct policy *policy, cJSON *state)
{
    if (policy->held_today == 0)
        return;
    cJSON *to = cJSON_AddObjectToObject(state, "held_back");
    json_add_u64(to, "samples", policy->held_today);
    cJSON_AddStringToObject(to, "why", policy->held_why);
}

static void paused_add(struct policies *p, const struct policy *policy, cJSON *state) CONTROL_LOCKED
{
    if (policy->paused_count == 0)
        return;
    cJSON *to = cJSON_AddObjectToObject(state, "paused_agents");
    json_add_u64(to, "agents", policy->paused_count);
    cJSON_AddStringToObject(to, "why", "the agent's CPU is over limits.agent_cpu_percent");
    cJSON *hosts = cJSON_AddArrayToObject(to, "hosts");
    for (size_t i = 0; i < policy->paused_count && i < HOSTS_SHOWN; i++) {
        const struct fleet_agent *agent = fleet_agent_find(p->fleet, policy->paused[i].agent);
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "host", agent != NULL ? agent->host : "");
        json_add_u64(item, "cpu_percent", policy->paused[i].cpu_percent);
        cJSON_AddItemToArray(hosts, item);
    }
}

/* Whether a process runs there of which the policy takes samples. */
static bool agent_matches(struct policies *p, const struct policy *policy,
                          const struct fleet_agent *agent) CONTROL_LOCKED
{
    for (const struct fleet_process *q = agent->processes; q != NULL; q = q->next_of_agent)
        if (is_sampled(p, policy, q))
            return true;
    return false;
}

/* Why the agent samples its CPUs less often than the policy asks for; "": it does not. */
static void slower_why(const struct policy *policy, const struct fleet_agent *agent, char why[256])
{
    const struct heartbeat_samples *samples = &agent->state.samples;
    why[0] = '\0';
    if (!samples->told)
        snprintf(why, 256, "it does not say how often it samples: an older agent?");
    else if (samples->hz == 0)
        snprintf(why, 256, "switched off by the agent's configuration: samples.hz is 0");
    else if (samples->cpus == 0 ||
             (samples->hz < policy->samples_hz && samples->refused[0] != '\0'))
        snprintf(why, 256, "%.250s", samples->refused);
    else if (samples->hz < policy->samples_hz)
        snprintf(why, 256,
                 "its configuration allows no more (samples.max_hz), or its next "
                 "heartbeat will tell");
}

/* Of the hosts on which it is in force. */
static void slower_add(struct policies *p, const struct policy *policy, cJSON *state) CONTROL_LOCKED
{
    size_t at = 0, agents = 0;
    char why[256];
    if (policy->samples_hz == 0 || !policy->enabled || policy->suspended)
        return;
    cJSON *hosts = cJSON_CreateArray();
    for (struct fleet_agent *agent; (agent = fleet_agent_next(p->fleet, &at)) != NULL;) {
        if (!agent->online || !agent->counted || !agent_matches(p, policy, agent))
            continue;
        slower_why(policy, agent, why);
        if (why[0] == '\0' || agents++ >= HOSTS_SHOWN)
            continue;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "host", agent->host);
        json_add_u64(item, "samples_hz",
                     agent->state.samples.cpus > 0 ? agent->state.samples.hz : 0);
        cJSON_AddStringToObject(item, "why", why);
        cJSON_AddItemToArray(hosts, item);
    }
    cJSON *to = agents > 0 ? cJSON_AddObjectToObject(state, "slower_agents") : NULL;
    if (to == NULL) {
        cJSON_Delete(hosts);
        return;
    }
    json_add_u64(to, "agents", agents);
    cJSON_AddItemToObject(to, "hosts", hosts);
}

cJSON *policy_state_json(struct policies *p, const struct policy *policy, uint64_t now_ns)
{
    control_assert_locked(p->control);
    cJSON *json = cJSON_Duplicate(policy->item.json, true);
    cJSON *state = cJSON_AddObjectToObject(json, "state");
    status_add(policy, now_ns, state);
    push_add(p, state);
    processes_add(p, policy, now_ns, state);
    json_add_u64(state, "bytes_today", policy->day == now_ns / DAY_NS ? policy->bytes_today : 0);
    json_add_u64(state, "captures", policy->captures);
    if (!capture_id_is_zero(&policy->last_capture))
        json_add_id(state, "last_capture", policy->last_capture.bytes);
    held_add(policy, state);
    paused_add(p, policy, state);
    slower_add(p, policy, state);
    return json;
}
