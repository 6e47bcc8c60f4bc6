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

static void add_time(cJSON *to, const char *key, uint64_t ns)
{
    char text[CLOCK_TEXT_BYTES];
    if (ns == 0)
        return;
    clock_text(ns, text);
    cJSON_AddStringToObject(to, key, text);
}

static cJSON *process_json(struct rules *r, const struct rule_process *p)
{
    const struct fleet_process *process = fleet_process_find(r->fleet, &p->process);
    char id[ID_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject();
    id_text(p->process.bytes, id);
    cJSON_AddStringToObject(json, "process", id);
    cJSON_AddStringToObject(json, "host", process != NULL ? process->host : "");
    cJSON_AddNumberToObject(json, "pid", process != NULL ? process->pid : 0);
    cJSON_AddStringToObject(json, "health", p->health);
    add_time(json, "since", p->since_ns);
    json_add_u64(json, "checks", p->checks);
    json_add_u64(json, "failures", p->failures);
    cJSON_AddStringToObject(json, "last_error", p->last_error);
    json_add_u64(json, "fired", p->fired);
    json_add_u64(json, "suppressed", p->suppressed);
    return json;
}

/* Why an agent leaves the rule out, from its words "rule NAME: why; rule NAME2: why"; NULL where it
 * does not. */
static const char *refused_why(const struct fleet_agent *agent, const struct rule *rule)
{
    char mark[sizeof rule->name + 8];
    snprintf(mark, sizeof mark, "rule %s: ", rule->name);
    const char *at = agent->rules_refused != NULL ? strstr(agent->rules_refused, mark) : NULL;
    return at != NULL ? at + strlen(mark) : NULL;
}

/* Agents that do not understand the rule, where there are any: how many, and some by name. */
static void add_unsupported(struct rules *r, const struct rule *rule, cJSON *state)
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

cJSON *rules_state_json(struct rules *r, const struct rule *rule)
{
    uint64_t agents = 0, current = 0;
    size_t at = 0;
    char id[ID_TEXT_BYTES];
    for (struct fleet_agent *a; (a = fleet_agent_next(r->fleet, &at)) != NULL;) {
        agents += a->online;
        current += a->online && a->rules_generation == r->generation;
    }
    cJSON *json = cJSON_Duplicate(rule->json, true);
    cJSON *state = cJSON_AddObjectToObject(json, "state");
    json_add_u64(state, "generation", r->generation);
    json_add_u64(state, "agents", agents);
    json_add_u64(state, "agents_current", current);
    add_unsupported(r, rule, state);
    cJSON *list = cJSON_AddArrayToObject(state, "processes");
    at = 0;
    for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
        if (p->reported)
            cJSON_AddItemToArray(list, process_json(r, p));
    json_add_u64(state, "fired", rule->fired);
    json_add_u64(state, "suppressed", rule->suppressed);
    if (rule->last_fired_ns != 0) {
        add_time(state, "last_fired", rule->last_fired_ns);
        id_text(rule->last_capture.bytes, id);
        cJSON_AddStringToObject(state, "last_capture", id);
    }
    return json;
}
