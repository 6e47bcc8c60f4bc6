/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of rules in memory and its life: put, get, delete, push, cooldown, state. Guarded by the
 * control lock. A change is committed before it is answered and before any agent hears of it; an
 * agent whose heartbeats tell another generation gets the whole set again.
 */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "idmap.h"
#include "json.h"
#include "log.h"
#include "metrics.h"
#include "wire.h"

#define SET_BYTES_MAX   (WIRE_CONTROL_MAX - 1024u)          /* the set travels in one message */
#define FIRINGS_KEEP_NS (UINT64_C(24) * 3600 * 1000000000u) /* the longest cooldown */
#define SWEEP_NS        (UINT64_C(60) * 1000000000u)

/* What is known of a rule on one process. */
struct rule_process {
    struct process_uid process;
    uint64_t agent, since_ns, checks, failures, fired, suppressed;
    char health[16], last_error[CONTROL_WORDS_MAX + 1];
    uint64_t granted_ns; /* the last firing that began a capture; 0: none */
    bool reported;       /* the agent has told its health since this collector started */
    bool dirty;          /* granted_ns must be saved */
};

struct rule {
    struct rule *next; /* by name */
    char name[64];
    cJSON *json;
    uint64_t cooldown_ms, fired, suppressed, last_fired_ns;
    struct capture_id last_capture;
    struct idmap processes;
    bool dirty;
};

struct rules {
    struct fleet *fleet;
    struct catalog *catalog;
    struct rule *list;
    uint64_t generation, sweep_ns;
    bool sweep; /* firings older than the longest cooldown are to be deleted with the next save */
};

/* ---- the list ---- */

static struct rule **find_place(struct rules *r, const char *name)
{
    struct rule **at = &r->list;
    while (*at != NULL && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    return at;
}

static struct rule *find_rule(struct rules *r, const char *name)
{
    struct rule *rule = *find_place(r, name);
    return rule != NULL && strcmp(rule->name, name) == 0 ? rule : NULL;
}

static void free_rule(struct rule *rule)
{
    size_t at = 0;
    for (void *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
        free(p);
    idmap_fini(&rule->processes);
    cJSON_Delete(rule->json);
    free(rule);
}

/* Takes json, which rule_check has made. */
static void set_json(struct rule *rule, cJSON *json)
{
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(json, "limits");
    struct json_reader reader = {{0}};
    cJSON_Delete(rule->json);
    rule->json = json;
    rule->cooldown_ms =
        json_u64(&reader, limits, "limits", "cooldown_ms", JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

static struct rule *insert_rule(struct rules *r, const char *name)
{
    struct rule *rule = calloc(1, sizeof *rule), **at = find_place(r, name);
    if (rule == NULL)
        return NULL;
    snprintf(rule->name, sizeof rule->name, "%s", name);
    rule->next = *at;
    *at = rule;
    return rule;
}

static void remove_rule(struct rules *r, const char *name)
{
    struct rule **at = find_place(r, name), *rule = *at;
    *at = rule->next;
    free_rule(rule);
}

static struct rule_process *process_of(struct rule *rule, const struct process_uid *uid)
{
    struct rule_process *p = idmap_get(&rule->processes, uid->bytes);
    if (p != NULL)
        return p;
    p = calloc(1, sizeof *p);
    if (p == NULL || idmap_put(&rule->processes, uid->bytes, p) != SKEIN_OK) {
        free(p);
        return NULL;
    }
    p->process = *uid;
    snprintf(p->health, sizeof p->health, "unknown");
    return p;
}

/* ---- load and save ---- */

static int load_rule(void *context, const struct catalog_rule *row)
{
    struct rules *r = context;
    char error[256];
    cJSON *stored = json_parse(row->json, strlen(row->json), error, sizeof error);
    cJSON *json = stored != NULL ? rule_check(row->name, stored, error, sizeof error) : NULL;
    struct rule *rule = json != NULL ? insert_rule(r, row->name) : NULL;
    cJSON_Delete(stored);
    if (rule == NULL) {
        log_error("rules", "a stored rule is unusable and left out", "rule", row->name, "error",
                  error, NULL);
        cJSON_Delete(json);
        return 0;
    }
    set_json(rule, json);
    rule->fired = row->fired;
    rule->suppressed = row->suppressed;
    rule->last_fired_ns = row->last_fired_ns;
    rule->last_capture = row->last_capture;
    return 0;
}

static int load_firing(void *context, const struct catalog_firing *row)
{
    struct rule *rule = find_rule(context, row->rule);
    struct rule_process *p = rule != NULL ? process_of(rule, &row->process) : NULL;
    if (p != NULL)
        p->granted_ns = row->at_ns;
    return 0;
}

int rules_new(struct fleet *fleet, struct catalog *catalog, struct rules **out)
{
    struct rules *r = calloc(1, sizeof *r);
    *out = r;
    if (r == NULL)
        return SKEIN_NO_MEMORY;
    r->fleet = fleet;
    r->catalog = catalog;
    r->generation = catalog_generation(catalog);
    int64_t rows = catalog_rules(catalog, load_rule, r);
    if (rows >= 0)
        rows = catalog_firings(catalog, load_firing, r);
    if (rows < 0) {
        rules_free(out);
        return (int)rows;
    }
    return SKEIN_OK;
}

void rules_free(struct rules **rules)
{
    struct rules *r = *rules;
    if (r == NULL)
        return;
    while (r->list != NULL) {
        struct rule *next = r->list->next;
        free_rule(r->list);
        r->list = next;
    }
    free(r);
    *rules = NULL;
}

static int save_rule(struct rules *r, struct rule *rule)
{
    struct buf text = {0};
    json_print(rule->json, &text);
    buf_put_u8(&text, 0);
    int status = text.status;
    if (status == SKEIN_OK) {
        struct catalog_rule row = {rule->name,       (const char *)text.data, rule->fired,
                                   rule->suppressed, rule->last_fired_ns,     rule->last_capture};
        status = catalog_put_rule(r->catalog, &row);
    }
    buf_fini(&text);
    size_t at = 0;
    for (struct rule_process *p;
         status == SKEIN_OK && (p = idmap_next(&rule->processes, &at)) != NULL;) {
        struct catalog_firing row = {rule->name, p->process, p->granted_ns};
        if (p->dirty)
            status = catalog_put_firing(r->catalog, &row);
    }
    return status;
}

int rules_save(struct rules *r)
{
    int status = SKEIN_OK;
    for (struct rule *rule = r->list; status == SKEIN_OK && rule != NULL; rule = rule->next)
        if (rule->dirty)
            status = save_rule(r, rule);
    if (status == SKEIN_OK && r->sweep)
        status = catalog_drop_firings(r->catalog, clock_realtime_ns() - FIRINGS_KEEP_NS);
    return status;
}

void rules_saved(struct rules *r)
{
    r->sweep = false;
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next) {
        size_t at = 0;
        if (!rule->dirty)
            continue;
        rule->dirty = false;
        for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
            p->dirty = false;
    }
}

/* ---- the push ---- */

uint64_t rules_generation(struct rules *r)
{
    return r->generation;
}

static cJSON *command_body(struct rules *r)
{
    cJSON *body = cJSON_CreateObject();
    cJSON_AddStringToObject(body, "kind", "rules");
    json_add_u64(body, "generation", r->generation);
    cJSON *set = cJSON_AddArrayToObject(body, "rules");
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next)
        cJSON_AddItemToArray(set, cJSON_Duplicate(rule->json, true));
    return body;
}

static void push_to(struct rules *r, struct fleet_agent *agent)
{
    int status = fleet_command(r->fleet, agent->id, NULL, 0, command_body(r));
    if (status != SKEIN_OK)
        log_error("rules", "cannot send the rules to an agent", "host", agent->host, "error",
                  skein_status_text(status), NULL);
}

static void push_to_all(struct rules *r)
{
    size_t at = 0;
    fleet_drop_rules_commands(r->fleet);
    for (struct fleet_agent *agent; (agent = fleet_agent_next(r->fleet, &at)) != NULL;)
        if (agent->session && agent->online)
            push_to(r, agent);
}

void rules_agent_joined(struct rules *r, struct fleet_agent *agent)
{
    push_to(r, agent);
}

void rules_agent_heard(struct rules *r, struct fleet_agent *agent)
{
    if (agent->rules_generation != r->generation && !fleet_has_rules_command(r->fleet, agent->id))
        push_to(r, agent);
}

/* ---- state as JSON ---- */

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

static cJSON *rule_json(struct rules *r, const struct rule *rule)
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

/* ---- put, get, delete ---- */

static int set_fits(struct rules *r)
{
    struct buf text = {0};
    cJSON *body = command_body(r);
    json_print(body, &text);
    cJSON_Delete(body);
    int status = text.status != SKEIN_OK    ? text.status
                 : text.len > SET_BYTES_MAX ? SKEIN_TOO_LARGE
                                            : SKEIN_OK;
    buf_fini(&text);
    return status;
}

/* Saves the change and its generation in one transaction. */
static int commit(struct rules *r, struct rule *rule, const char *deleted)
{
    int status = catalog_begin(r->catalog);
    if (status != SKEIN_OK)
        return status;
    status = rule != NULL ? save_rule(r, rule) : catalog_delete_rule(r->catalog, deleted);
    if (status == SKEIN_OK)
        status = catalog_put_generation(r->catalog, r->generation + 1);
    int ended = catalog_end(r->catalog, status == SKEIN_OK);
    if (status == SKEIN_OK)
        status = ended;
    if (status == SKEIN_OK)
        r->generation++;
    return status;
}

/* Puts json in place, saves it, and takes it back where that fails. Takes json. */
static int put_locked(struct rules *r, const char *name, cJSON *json, bool *created)
{
    struct rule *rule = find_rule(r, name);
    *created = rule == NULL;
    if (rule == NULL)
        rule = insert_rule(r, name);
    if (rule == NULL) {
        cJSON_Delete(json);
        return SKEIN_NO_MEMORY;
    }
    cJSON *before = rule->json;
    rule->json = NULL;
    set_json(rule, json);
    int status = set_fits(r);
    if (status == SKEIN_OK)
        status = commit(r, rule, NULL);
    if (status == SKEIN_OK) {
        cJSON_Delete(before);
        push_to_all(r);
    } else if (*created) {
        remove_rule(r, name);
    } else {
        set_json(rule, before);
    }
    return status;
}

int rules_put(struct rules *r, const char *name, const cJSON *json, bool *created, cJSON **out,
              char *error, size_t error_bytes)
{
    *out = NULL;
    cJSON *checked = rule_check(name, json, error, error_bytes);
    if (checked == NULL)
        return SKEIN_INVALID;
    fleet_lock(r->fleet);
    int status = put_locked(r, name, checked, created);
    if (status == SKEIN_OK)
        *out = rule_json(r, find_rule(r, name));
    fleet_unlock(r->fleet);
    if (status == SKEIN_OK)
        log_info("rules", *created ? "rule created" : "rule replaced", "rule", name, NULL);
    return status;
}

int rules_get(struct rules *r, const char *name, cJSON **out)
{
    fleet_lock(r->fleet);
    struct rule *rule = find_rule(r, name);
    *out = rule != NULL ? rule_json(r, rule) : NULL;
    fleet_unlock(r->fleet);
    return rule != NULL ? SKEIN_OK : SKEIN_NOT_FOUND;
}

int rules_list(struct rules *r, cJSON **out)
{
    *out = cJSON_CreateArray();
    fleet_lock(r->fleet);
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next)
        cJSON_AddItemToArray(*out, rule_json(r, rule));
    fleet_unlock(r->fleet);
    return SKEIN_OK;
}

int rules_delete(struct rules *r, const char *name)
{
    fleet_lock(r->fleet);
    int status = find_rule(r, name) != NULL ? commit(r, NULL, name) : SKEIN_NOT_FOUND;
    if (status == SKEIN_OK) {
        remove_rule(r, name);
        push_to_all(r);
    }
    fleet_unlock(r->fleet);
    if (status == SKEIN_OK)
        log_info("rules", "rule deleted", "rule", name, NULL);
    return status;
}

/* ---- what agents report ---- */

/* An agent's counter since it last told it; an agent that has restarted counts from 0. */
static uint64_t grown(uint64_t before, uint64_t now)
{
    return now >= before ? now - before : now;
}

void rules_on_report(struct rules *r, struct fleet_agent *agent, const struct control_rule *report)
{
    struct rule *rule = find_rule(r, report->rule);
    struct rule_process *p = rule != NULL ? process_of(rule, &report->process) : NULL;
    if (p == NULL)
        return;
    uint64_t held_back = grown(p->suppressed, report->suppressed);
    if (held_back > 0) {
        rule->suppressed += held_back;
        metrics_add(rules_suppressed_total, held_back);
        rule->dirty = true;
        fleet_mark_dirty(r->fleet);
    }
    p->agent = agent->id;
    p->reported = true;
    p->since_ns = report->since_ns;
    p->checks = report->checks;
    p->failures = report->failures;
    p->fired = report->fired;
    p->suppressed = report->suppressed;
    snprintf(p->health, sizeof p->health, "%s", report->health);
    snprintf(p->last_error, sizeof p->last_error, "%s", report->last_error);
}

int rules_admit(struct rules *r, const char *name, const struct process_uid *process,
                uint64_t at_ns, const struct capture_id *capture, char *error, size_t error_bytes)
{
    struct rule *rule = find_rule(r, name);
    if (rule == NULL)
        return SKEIN_OK;
    struct rule_process *p = process_of(rule, process);
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    rule->dirty = true;
    fleet_mark_dirty(r->fleet);
    uint64_t cooldown_ns = rule->cooldown_ms * 1000000u;
    if (p->granted_ns != 0 && at_ns >= p->granted_ns && at_ns - p->granted_ns < cooldown_ns) {
        rule->suppressed++;
        metrics_add(rules_suppressed_total, 1);
        snprintf(error, error_bytes, "held back: rule %s fired for this process %llu ms before",
                 name, (unsigned long long)((at_ns - p->granted_ns) / 1000000u));
        return SKEIN_REFUSED;
    }
    p->granted_ns = at_ns;
    p->dirty = true;
    rule->fired++;
    rule->last_fired_ns = at_ns;
    rule->last_capture = *capture;
    metrics_add(rules_fired_total, 1);
    return SKEIN_OK;
}

/* Forgets processes that the fleet has forgotten and whose cooldown is over. */
static void sweep_rule(struct rules *r, struct rule *rule, uint64_t now_ns)
{
    struct rule_process *old[64];
    size_t count = 0, at = 0;
    for (struct rule_process *p; count < 64 && (p = idmap_next(&rule->processes, &at)) != NULL;) {
        const struct fleet_process *process = fleet_process_find(r->fleet, &p->process);
        if (process != NULL && !process->live)
            p->reported = false;
        if ((process == NULL || !process->live) && !p->dirty &&
            p->granted_ns + FIRINGS_KEEP_NS < now_ns)
            old[count++] = p;
    }
    for (size_t i = 0; i < count; i++) {
        idmap_remove(&rule->processes, old[i]->process.bytes);
        free(old[i]);
    }
}

void rules_tick(struct rules *r, uint64_t now_ns)
{
    if (now_ns < r->sweep_ns)
        return;
    bool hourly = r->sweep_ns / 3600000000000u != now_ns / 3600000000000u;
    r->sweep_ns = now_ns + SWEEP_NS;
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next)
        sweep_rule(r, rule, now_ns);
    if (hourly) {
        r->sweep = true;
        fleet_mark_dirty(r->fleet);
    }
}
