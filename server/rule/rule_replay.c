/* SPDX-License-Identifier: Apache-2.0
 *
 * Tries a rule on the past; see rule_replay.h. First the instants at which the condition was met,
 * from stored records (replay_scan.c), from the rule's history or from the clock; then the limits,
 * by the code that holds real firings back, on a copy of the rule.
 */
#include "rule_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "json.h"
#include "replay_int.h"

#define HISTORY_PAGE 1000

/* ---- instants ---- */

int replay_add(struct replay *p, uint64_t at_ns, const struct process_uid *process,
               const char *reason)
{
    if (p->count == REPLAY_INSTANTS_MAX) {
        p->cut_short = "the condition was met too often";
        return SKEIN_OK;
    }
    if (!array_grow(p->instants, p->count + 1, &p->cap))
        return SKEIN_NO_MEMORY;
    struct replay_instant *instant = &p->instants[p->count++];
    memset(instant, 0, sizeof *instant);
    instant->at_ns = at_ns;
    if (process != NULL)
        instant->process = *process;
    snprintf(instant->reason, sizeof instant->reason, "%s", reason);
    return SKEIN_OK;
}

bool replay_is_late(struct replay *p)
{
    if (clock_monotonic_ns() < p->until_ns)
        return false;
    p->cut_short = "it took too long";
    return true;
}

static int instants_compare(const void *left, const void *right)
{
    const struct replay_instant *a = left, *b = right;
    return a->at_ns < b->at_ns ? -1 : a->at_ns > b->at_ns;
}

static int slots_add(struct replay *p, const struct rule *rule)
{
    uint64_t every_ns = rule->every_ms * NS_PER_MS, offset_ns = rule->offset_ms * NS_PER_MS;
    uint64_t from = p->request->from_ns, past = from > offset_ns ? from - offset_ns : 0;
    int status = SKEIN_OK;
    for (uint64_t at = offset_ns + (past + every_ns - 1) / every_ns * every_ns;
         status == SKEIN_OK && at <= p->request->to_ns && p->count < REPLAY_INSTANTS_MAX;
         at += every_ns) {
        p->met++;
        status = replay_add(p, at, NULL, "schedule");
    }
    if (p->count == REPLAY_INSTANTS_MAX)
        p->cut_short = "the schedule has too many times";
    return status;
}

static const char *replay_text_of(const cJSON *json, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));
    return text != NULL ? text : "";
}

/* Takes a row of the rule's history, if it says that the condition was met. */
static int row_add(struct replay *p, const cJSON *row)
{
    const char *what = replay_text_of(row, "what");
    struct process_uid process = {{0}};
    uint64_t at_ns;
    if ((strcmp(what, "fired") != 0 && strcmp(what, "joined") != 0 &&
         strcmp(what, "suppressed") != 0) ||
        clock_parse(replay_text_of(row, "time"), &at_ns) != SKEIN_OK)
        return SKEIN_OK;
    (void)id_parse(replay_text_of(row, "process"), process.bytes); /* none: of no single process */
    p->met++;
    const struct stored_process who = {0, replay_text_of(row, "host"),
                                       replay_text_of(row, "service"), ""};
    if (who.host[0] != '\0' && stored_process_note(&p->processes, &process, &who) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    return replay_add(p, at_ns, &process, replay_text_of(row, "why"));
}

/* SKEIN_NOT_FOUND: there is no history for this condition. */
static int history_add(struct replay *p, struct rules *r, const struct rule *rule)
{
    struct rules_history_query q = {.selector = p->request->confined,
                                    .from_ns = p->request->from_ns,
                                    .to_ns = p->request->to_ns,
                                    .before = UINT64_MAX,
                                    .limit = HISTORY_PAGE};
    cJSON *known = NULL, *items;
    int status = named_set_get(rules_set(r), rule->item.name, &known);
    bool same = status == SKEIN_OK &&
                cJSON_Compare(cJSON_GetObjectItemCaseSensitive(known, "when"),
                              cJSON_GetObjectItemCaseSensitive(rule->item.json, "when"), true);
    cJSON_Delete(known);
    if (!same)
        return SKEIN_NOT_FOUND;
    do {
        status = rules_history(r, rule->item.name, &q, &items);
        const cJSON *row;
        cJSON_ArrayForEach(row, items) {
            if (status == SKEIN_OK)
                status = row_add(p, row);
        }
        cJSON_Delete(items);
    } while (status == SKEIN_OK && q.before != 0 && p->count < REPLAY_INSTANTS_MAX &&
             !replay_is_late(p));
    return status;
}

/* ---- limits ---- */

/* Whose cooldown applies: for a crash, that of its program, run for the service on the host. */
static struct process_uid cooldown_of(const struct replay *p, const struct replay_instant *instant)
{
    char group[1024];
    const struct stored_process *who = idmap_get(&p->processes, instant->process.bytes);
    if (p->spec == NULL || p->spec->when != RULE_CRASH || who == NULL)
        return instant->process;
    snprintf(group, sizeof group, "%s/%s/%s", who->host, who->service, who->exe);
    return rule_group_uid(group);
}

struct outcome {
    uint64_t fired, incidents, held;
};

/* Decides what becomes of the instant. An agent's cooldown begins with each firing; the collector's
 * begins with a firing that it grants. */
static int replay_judge(const struct replay *p, struct replay_instant *instant,
                        struct outcome *o) CONTROL_LOCKED
{
    struct rule *rule = p->rule;
    struct process_uid group = cooldown_of(p, instant);
    struct rule_process *q = rule_process_of(rule, &group);
    struct capture_id none = {{0}};
    if (q == NULL)
        return SKEIN_NO_MEMORY;
    /* Whose processes they were is not stored: all count as one user's. */
    const struct rule_ask ask = {
        .process = q,
        .user = SHARE_USER_UNKNOWN,
        .at_ns = instant->at_ns,
        .joins =
            p->spec != NULL && rule_overlapped(rule, instant->at_ns, SHARE_USER_UNKNOWN) != NULL};
    bool cooling = q->granted_ns != 0 && instant->at_ns < q->granted_ns + p->cooldown_ns;
    bool held = rule_held(p->alone, rule, &ask, instant->why);
    if (!held && !ask.joins) {
        if (!rule_grant(rule, instant->at_ns, &none, SHARE_USER_UNKNOWN))
            return SKEIN_NO_MEMORY;
        o->incidents++;
    }
    instant->incident = held ? 0 : o->incidents;
    o->held += held;
    o->fired += !held;
    if (!cooling && (p->spec != NULL || !held))
        q->granted_ns = instant->at_ns;
    return SKEIN_OK;
}

static int firings_judge(struct replay *p, struct outcome *o)
{
    int status = SKEIN_OK;
    if (p->count > 0) /* else the list is NULL, which qsort does not take */
        qsort(p->instants, p->count, sizeof *p->instants, instants_compare);
    control_lock(p->alone->control);
    for (size_t i = 0; status == SKEIN_OK && i < p->count; i++)
        status = replay_judge(p, &p->instants[i], o);
    control_unlock(p->alone->control);
    return status;
}

/* ---- the answer ---- */

static cJSON *instant_json(const struct replay *p, const struct replay_instant *instant)
{
    cJSON *json = cJSON_CreateObject();
    const struct stored_process *who = idmap_get(&p->processes, instant->process.bytes);
    json_add_time(json, "time", instant->at_ns);
    cJSON_AddStringToObject(json, "result", instant->incident > 0 ? "fired" : "held");
    if (instant->incident > 0)
        json_add_u64(json, "incident", instant->incident);
    cJSON_AddStringToObject(json, "reason", instant->reason);
    if (instant->why[0] != '\0')
        cJSON_AddStringToObject(json, "why", instant->why);
    if (!rule_uid_is_group(&instant->process))
        json_add_id(json, "process", instant->process.bytes);
    if (who != NULL) {
        cJSON_AddStringToObject(json, "host", who->host);
        cJSON_AddStringToObject(json, "service", who->service);
        if (who->pid != 0)
            cJSON_AddNumberToObject(json, "pid", who->pid);
    }
    return json;
}

static void outcome_add(const struct replay *p, const struct outcome *o, const char *source,
                        cJSON *json)
{
    cJSON_AddStringToObject(json, "source", source);
    json_add_u64(json, "met", p->met);
    json_add_u64(json, "fired", o->fired);
    json_add_u64(json, "incidents", o->incidents);
    json_add_u64(json, "held", o->held + p->held);
    if (p->bytes_per_hour != 0)
        cJSON_AddStringToObject(json, "left_out", "limits.bytes_per_hour");
    cJSON *list = cJSON_AddArrayToObject(json, "instants");
    for (size_t i = 0; i < p->count && i < p->request->shown; i++)
        cJSON_AddItemToArray(list, instant_json(p, &p->instants[i]));
    cJSON *covered = cJSON_AddObjectToObject(json, "covered");
    cJSON_AddBoolToObject(covered, "complete", p->cut_short == NULL);
    if (p->cut_short != NULL)
        cJSON_AddStringToObject(covered, "why", p->cut_short);
    json_add_u64(covered, "processes", p->processes.count);
    json_add_u64(covered, "partitions", p->partitions);
    json_add_u64(covered, "partitions_read", p->partitions_read);
    json_add_u64(covered, "bytes_read", p->bytes_read);
}

/* Why nothing that is stored can show the condition. */
static const char *unseen_why(const struct rule_spec *spec)
{
    if (spec == NULL)
        return "nobody knows when somebody would have posted";
    switch (spec->when) {
    case RULE_HEALTH:
        return spec->kind == CHECK_HEARTBEAT
                   ? "heartbeats go to the agent, no trace holds them"
                   : "checks are made when they are due; no trace tells how one would have ended";
    case RULE_APPLICATION:
        return "a program's requests for snapshots go to the agent, no trace holds them";
    default:
        return "agents measure it when it is due, no trace holds it";
    }
}

static cJSON *answer_begin(const struct replay *p)
{
    cJSON *json = cJSON_CreateObject();
    json_add_time(json, "from", p->request->from_ns);
    json_add_time(json, "to", p->request->to_ns);
    return json;
}

static int replay_run(struct replay *p, struct rules *r, cJSON **out)
{
    struct outcome o = {0};
    const char *source = "history";
    int status;
    if (replay_scans(p->spec)) {
        source = "records";
        status = replay_scan(p);
    } else if (p->rule->every_ms != 0) {
        source = "schedule";
        status = slots_add(p, p->rule);
    } else {
        status = history_add(p, r, p->rule);
    }
    if (status == SKEIN_OK)
        status = firings_judge(p, &o);
    if (status != SKEIN_OK && status != SKEIN_NOT_FOUND)
        return status;
    *out = answer_begin(p);
    cJSON_AddBoolToObject(*out, "evaluated", status == SKEIN_OK);
    if (status == SKEIN_OK)
        outcome_add(p, &o, source, *out);
    else
        cJSON_AddStringToObject(*out, "why", unseen_why(p->spec));
    return SKEIN_OK;
}

int rule_replay(struct rules *r, struct index *index, const struct replay_request *request,
                cJSON **out)
{
    struct replay p = {.request = request, .index = index};
    char error[256];
    *out = NULL;
    p.until_ns = clock_monotonic_ns() + REPLAY_TIME_NS;
    int status = rule_spec_new(request->rule, &p.spec, error, sizeof error);
    if (status == SKEIN_OK || status == SKEIN_UNSUPPORTED) /* the collector checks it: no spec */
        status = rules_alone(request->rule, &p.alone, &p.rule);
    if (status == SKEIN_OK) {
        p.cooldown_ns = p.rule->cooldown_ms * NS_PER_MS;
        p.bytes_per_hour = p.rule->bytes_per_hour;
        p.rule->bytes_per_hour = 0; /* what was not captured has no bytes */
        status = replay_run(&p, r, out);
    }
    stored_processes_fini(&p.processes);
    free(p.instants);
    rule_spec_free(&p.spec);
    rules_free(&p.alone);
    return status;
}
