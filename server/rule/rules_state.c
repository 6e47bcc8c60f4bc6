/* SPDX-License-Identifier: Apache-2.0
 *
 * A rule's state as JSON: who has it, who does not understand it, how each process fares. Reads
 * only; under the control lock.
 */
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "json.h"
#include "ruleset_int.h"

#define UNSUPPORTED_SHOWN 20

static cJSON *process_json(struct rules *r, const struct rule *rule, const struct rule_process *p,
                           uint64_t now_ns) CONTROL_LOCKED
{
    const struct fleet_process *process = fleet_process_find(r->fleet, &p->process);
    cJSON *json = cJSON_CreateObject();
    json_add_id(json, "process", p->process.bytes);
    cJSON_AddStringToObject(json, "host", process != NULL ? process->host : "");
    cJSON_AddNumberToObject(json, "pid", process != NULL ? process->pid : 0);
    cJSON_AddStringToObject(json, "health", p->health);
    if (p->since_ns != 0)
        json_add_time(json, "since", p->since_ns);
    json_add_u64(json, "checks", p->checks);
    json_add_u64(json, "failures", p->failures);
    cJSON_AddStringToObject(json, "last_error", p->last_error);
    uint64_t over_ns = p->granted_ns + rule->cooldown_ms * 1000000u;
    json_add_u64(json, "cooldown_left_ms",
                 p->granted_ns != 0 && over_ns > now_ns ? (over_ns - now_ns) / 1000000u : 0);
    json_add_u64(json, "fired", p->fired);
    json_add_u64(json, "suppressed", p->suppressed);
    return json;
}

/* Why an agent leaves the rule out, from its words "rule NAME: why; rule NAME2: why"; NULL where it
 * does not. */
static const char *refused_why(const struct fleet_agent *agent, const struct rule *rule)
{
    char mark[sizeof rule->item.name + 8];
    snprintf(mark, sizeof mark, "rule %s: ", rule->item.name);
    const char *words = agent->sets[FLEET_RULES].refused;
    const char *at = words != NULL ? strstr(words, mark) : NULL;
    return at != NULL ? at + strlen(mark) : NULL;
}

/* Agents that do not understand the rule, where there are any: how many, and some by name. */
static void unsupported_add(struct rules *r, const struct rule *rule, cJSON *state) CONTROL_LOCKED
{
    size_t at = 0, count = 0;
    cJSON *json = NULL, *hosts = NULL;
    for (struct fleet_agent *a; (a = fleet_agent_next(r->fleet, &at)) != NULL;) {
        const char *why = refused_why(a, rule), *end;
        if (why == NULL)
            continue;
        if (json == NULL) {
            char text[256];
            end = strstr(why, "; rule ");
            json = cJSON_AddObjectToObject(state, "unsupported");
            snprintf(text, sizeof text, "%.*s", (int)(end != NULL ? end - why : 255), why);
            cJSON_AddStringToObject(json, "why", text);
            hosts = cJSON_AddArrayToObject(json, "hosts");
        }
        if (count++ < UNSUPPORTED_SHOWN)
            cJSON_AddItemToArray(hosts, cJSON_CreateString(a->host));
    }
    if (json != NULL)
        json_add_u64(json, "agents", count);
}

/* One limit's use; true where it is used up. */
static bool limit_add(cJSON *limits, const char *name, const struct rule_use *use, uint64_t limit)
{
    if (limit == 0)
        return false;
    cJSON *json = cJSON_AddObjectToObject(limits, name);
    json_add_u64(json, "used", use->all);
    json_add_u64(json, "limit", limit);
    json_add_u64(json, "next_free_ms", use->all >= limit ? use->left_ns / 1000000u : 0);
    return use->all >= limit;
}

/* How much of each limit is used; the last that is used up, by name, or NULL. */
static const char *limits_add(struct rules *r, struct rule *rule, uint64_t now_ns,
                              cJSON *limits) CONTROL_LOCKED
{
    const char *full = NULL;
    const uint32_t all = SHARE_USER_UNKNOWN; /* of whom nothing more is asked */
    struct rule_use use = rule_grants_within(rule, now_ns, rule->window_ms * 1000000u, all);
    if (limit_add(limits, "firings", &use, rule->firings))
        full = "firings";
    use = rule_grants_within(rule, now_ns, HOUR_NS, all);
    if (limit_add(limits, "captures_per_hour", &use, rule->captures_per_hour))
        full = "captures_per_hour";
    if (r->captures_per_hour != 0)
        use = rules_grants_hour(r, now_ns, all);
    if (limit_add(limits, "captures_per_hour_of_all_rules", &use, r->captures_per_hour))
        full = "captures_per_hour of all rules";
    if (rule->bytes_per_hour != 0)
        use = rules_bytes_hour(r, rule, now_ns, rule->bytes_per_hour, all);
    if (limit_add(limits, "bytes_per_hour", &use, rule->bytes_per_hour))
        full = "bytes_per_hour";
    if (r->bytes_per_hour != 0)
        use = rules_bytes_hour(r, NULL, now_ns, r->bytes_per_hour, all);
    if (limit_add(limits, "bytes_per_hour_of_all_rules", &use, r->bytes_per_hour))
        full = "bytes_per_hour of all rules";
    return full;
}

/* What the rule is at now, in a word and a sentence, and how much of its limits is used. */
static void status_add(struct rules *r, struct rule *rule, uint64_t now_ns,
                       cJSON *state) CONTROL_LOCKED
{
    size_t failing = 0, at = 0;
    char reason[160] = "";
    cJSON *limits = cJSON_CreateObject();
    const char *full = limits_add(r, rule, now_ns, limits);
    for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
        failing += p->reported && strcmp(p->health, "failing") == 0;
    const char *status = "armed";
    if (!rule->enabled) {
        status = "suspended";
        snprintf(reason, sizeof reason, "enabled is false");
    } else if (full != NULL) {
        status = "throttled";
        snprintf(reason, sizeof reason, "the limit %s is used up", full);
    } else if (failing > 0) {
        status = "firing";
        snprintf(reason, sizeof reason, "the condition holds for %zu process%s", failing,
                 failing == 1 ? "" : "es");
    }
    cJSON_AddStringToObject(state, "status", status);
    cJSON_AddStringToObject(state, "reason", reason);
    cJSON_AddItemToObject(state, "limits", limits);
}

cJSON *rules_state_json(struct rules *r, struct rule *rule)
{
    control_assert_locked(r->control);
    rules_follow_clock(r);
    uint64_t now_ns = clock_realtime_ns();
    size_t agents, current = pushed_set_current(&r->set.pushed, &agents), at = 0;
    cJSON *json = cJSON_Duplicate(rule->item.json, true);
    cJSON *state = cJSON_AddObjectToObject(json, "state");
    status_add(r, rule, now_ns, state);
    json_add_u64(state, "generation", r->set.pushed.generation);
    json_add_u64(state, "agents", agents);
    json_add_u64(state, "agents_current", current);
    unsupported_add(r, rule, state);
    cJSON *list = cJSON_AddArrayToObject(state, "processes");
    for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
        if (p->reported)
            cJSON_AddItemToArray(list, process_json(r, rule, p, now_ns));
    json_add_u64(state, "fired", rule->fired);
    json_add_u64(state, "suppressed", rule->suppressed);
    if (rule->last_fired_ns != 0) {
        json_add_time(state, "last_fired", rule->last_fired_ns);
        json_add_id(state, "last_capture", rule->last_capture.bytes);
        cJSON_AddStringToObject(state, "last_fired_why", rule->last_why);
    }
    cJSON *told = r->notify != NULL ? notify_state(r->notify, rule->item.name) : NULL;
    if (told != NULL)
        cJSON_AddItemToObject(state, "notify", told);
    if (rule->last_held_ns != 0) {
        json_add_time(state, "last_not_fired", rule->last_held_ns);
        cJSON_AddStringToObject(state, "last_not_fired_why", rule->last_held_why);
    }
    return json;
}
