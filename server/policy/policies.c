/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of policies in memory and its life: put, get, delete, samples, budgets. Guarded by the
 * control lock. A change is committed before it is answered and before any agent hears of it.
 */
#include "policies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture_control.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "policyset_int.h"

#define DAY_NS  (UINT64_C(86400) * 1000000000u)
#define LOOK_NS UINT64_C(1000000000)

#define UNKNOWN_RECORD_MS 60000 /* at most, of a part of a sample whose policy is gone */

/* ---- the list ---- */

static struct policy **find_place(struct policies *p, const char *name)
{
    struct policy **at = &p->list;
    while (*at != NULL && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    return at;
}

struct policy *policies_find(struct policies *p, const char *name)
{
    control_assert_locked(p->control);
    struct policy *policy = *find_place(p, name);
    return policy != NULL && strcmp(policy->name, name) == 0 ? policy : NULL;
}

static void free_policy(struct policy *policy)
{
    if (policy == NULL)
        return;
    cJSON_Delete(policy->json);
    selector_free(&policy->selector);
    free(policy->paused);
    free(policy);
}

static uint64_t number_of(const cJSON *object, const char *key)
{
    struct json_reader reader = {{0}};
    return object == NULL ? 0 : json_u64(&reader, object, "", key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

/* Takes json, which policy_check has made. NULL: no memory. */
static struct policy *new_policy(const char *name, cJSON *json)
{
    char error[160];
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(json, "limits");
    const cJSON *retain = cJSON_GetObjectItemCaseSensitive(json, "retain");
    struct policy *policy = calloc(1, sizeof *policy);
    if (policy == NULL) {
        cJSON_Delete(json);
        return NULL;
    }
    snprintf(policy->name, sizeof policy->name, "%s", name);
    policy->json = json;
    policy->selector_text =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "selector"));
    policy->enabled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "enabled"));
    policy->plan =
        (struct sampling_plan){number_of(json, "record_ms"), number_of(json, "every_ms")};
    policy->bytes_per_day = number_of(limits, "bytes_per_day");
    policy->ttl_ms = number_of(retain, "ttl_ms");
    policy->pin = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(retain, "pin"));
    if (selector_new(policy->selector_text, &policy->selector, error, sizeof error) != SKEIN_OK) {
        free_policy(policy);
        return NULL;
    }
    return policy;
}

static void insert_policy(struct policies *p, struct policy *policy)
{
    struct policy **at = find_place(p, policy->name);
    policy->next = *at;
    *at = policy;
}

static struct policy *remove_policy(struct policies *p, const char *name)
{
    struct policy **at = find_place(p, name), *policy = *at;
    *at = policy->next;
    policy->next = NULL;
    return policy;
}

void policy_publish(struct policies *p, const struct policy *policy, const char *change)
{
    control_assert_locked(p->control);
    cJSON *data = cJSON_CreateObject();
    cJSON_AddStringToObject(data, "change", change);
    struct event_note note = {
        .type = "policy.changed", .about = "policy", .name = policy->name, .data = data};
    events_publish(p->events, &note);
}

static void mark_dirty(struct policies *p, struct policy *policy) CONTROL_LOCKED
{
    policy->dirty = true;
    control_mark_dirty(p->control);
}

/* ---- the push to agents ---- */

static void copy_member(const cJSON *from, const char *key, cJSON *to)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, key);
    if (item != NULL)
        cJSON_AddItemToObject(to, key, cJSON_Duplicate(item, true));
}

static cJSON *set_list(void *context)
{
    const struct policies *p = context;
    control_assert_locked(p->control);
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
        cJSON_AddItemToArray(set, item);
    }
    return set;
}

/* ---- load and save ---- */

static int load_policy(void *context, const struct catalog_policy *row)
{
    struct policies *p = context;
    char error[256] = "out of memory";
    cJSON *stored = json_parse(row->json, strlen(row->json), error, sizeof error);
    cJSON *json = stored != NULL ? policy_check(row->name, stored, error, sizeof error) : NULL;
    struct policy *policy = json != NULL ? new_policy(row->name, json) : NULL;
    cJSON_Delete(stored);
    if (policy == NULL) {
        log_error("policies", "a stored one is unusable and left out", "policy", row->name, "error",
                  error, NULL);
        return 0;
    }
    policy->generation = row->generation;
    policy->day = row->day;
    policy->bytes_today = row->bytes;
    policy->captures = row->captures;
    policy->last_capture = row->last_capture;
    insert_policy(p, policy);
    return 0;
}

int policies_new(struct fleet *fleet, struct catalog *catalog, struct events *events,
                 struct policies **out)
{
    struct policies *p = calloc(1, sizeof *p);
    *out = p;
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    p->fleet = fleet;
    p->control = fleet_control(fleet);
    p->catalog = catalog;
    p->events = events;
    p->pushed = (struct pushed_set){.fleet = fleet,
                                    .set = FLEET_POLICIES,
                                    .generation =
                                        catalog_generation(catalog, fleet_set_text(FLEET_POLICIES)),
                                    .list = set_list,
                                    .context = p};
    int64_t rows = catalog_policies(catalog, load_policy, p);
    if (rows >= 0)
        return SKEIN_OK;
    policies_free(out);
    return (int)rows;
}

void policies_set_captures(struct policies *p, struct capture_engine *captures)
{
    p->captures = captures;
}

void policies_free(struct policies **policies)
{
    struct policies *p = *policies;
    if (p == NULL)
        return;
    while (p->list != NULL) {
        struct policy *next = p->list->next;
        free_policy(p->list);
        p->list = next;
    }
    free(p);
    *policies = NULL;
}

static int save_policy(struct policies *p, const struct policy *policy)
{
    struct buf text = {0};
    json_print(policy->json, &text);
    buf_put_u8(&text, 0);
    int status = text.status;
    if (status == SKEIN_OK) {
        struct catalog_policy row = {
            policy->name,        (const char *)text.data, policy->generation,  policy->day,
            policy->bytes_today, policy->captures,        policy->last_capture};
        status = catalog_put_policy(p->catalog, &row);
    }
    buf_fini(&text);
    return status;
}

int policies_save(struct policies *p)
{
    control_assert_locked(p->control);
    int status = SKEIN_OK;
    for (struct policy *policy = p->list; status == SKEIN_OK && policy != NULL;
         policy = policy->next)
        if (policy->dirty)
            status = save_policy(p, policy);
    return status;
}

void policies_saved(struct policies *p)
{
    control_assert_locked(p->control);
    for (struct policy *policy = p->list; policy != NULL; policy = policy->next)
        policy->dirty = false;
}

/* ---- put, get, delete ---- */

const struct pushed_set *policies_pushed(struct policies *p)
{
    control_assert_locked(p->control);
    return &p->pushed;
}

/* Saves the change and its generation in one transaction. */
static int commit(struct policies *p, const struct policy *policy, const char *deleted)
{
    int status = catalog_begin(p->catalog);
    if (status != SKEIN_OK)
        return status;
    status = policy != NULL ? save_policy(p, policy) : catalog_delete_policy(p->catalog, deleted);
    if (status == SKEIN_OK)
        status = catalog_put_generation(p->catalog, fleet_set_text(FLEET_POLICIES),
                                        p->pushed.generation + 1);
    int ended = catalog_end(p->catalog, status == SKEIN_OK);
    if (status == SKEIN_OK)
        status = ended;
    if (status == SKEIN_OK)
        p->pushed.generation++;
    return status;
}

/* What a policy has done goes over to the one that replaces it. */
static void inherit(struct policy *fresh, const struct policy *old)
{
    fresh->day = old->day;
    fresh->bytes_today = old->bytes_today;
    fresh->captures = old->captures;
    fresh->last_capture = old->last_capture;
    fresh->suspended = fresh->bytes_per_day > 0 && fresh->bytes_today >= fresh->bytes_per_day;
}

static int put_locked(struct policies *p, struct policy *fresh, bool *created) CONTROL_LOCKED
{
    struct policy *old = policies_find(p, fresh->name);
    *created = old == NULL;
    if (old != NULL) {
        inherit(fresh, old);
        remove_policy(p, fresh->name);
    }
    fresh->generation = p->pushed.generation + 1;
    insert_policy(p, fresh);
    int status = pushed_set_fits(&p->pushed);
    if (status == SKEIN_OK)
        status = commit(p, fresh, NULL);
    if (status != SKEIN_OK) {
        free_policy(remove_policy(p, fresh->name));
        if (old != NULL)
            insert_policy(p, old);
        return status;
    }
    free_policy(old);
    pushed_set_to_all(&p->pushed);
    policy_publish(p, fresh, *created ? "created" : "replaced");
    return SKEIN_OK;
}

static int change_locked(struct policies *p, const char *name, const struct named_change *change,
                         bool *created, char *error, size_t error_bytes) CONTROL_LOCKED
{
    const struct policy *old = policies_find(p, name);
    cJSON *wanted, *checked;
    int status = named_changed(change, old != NULL ? old->json : NULL, &wanted);
    if (status != SKEIN_OK)
        return status;
    checked = policy_check(name, wanted, error, error_bytes);
    cJSON_Delete(wanted);
    if (checked == NULL)
        return SKEIN_INVALID;
    struct policy *fresh = new_policy(name, checked);
    return fresh != NULL ? put_locked(p, fresh, created) : SKEIN_NO_MEMORY;
}

int policies_put(struct policies *p, const char *name, const struct named_change *change,
                 bool *created, cJSON **out, char *error, size_t error_bytes)
{
    *out = NULL;
    control_lock(p->control);
    int status = change_locked(p, name, change, created, error, error_bytes);
    if (status == SKEIN_OK)
        *out = policy_state_json(p, policies_find(p, name), clock_realtime_ns());
    control_unlock(p->control);
    if (status == SKEIN_OK)
        log_info("policies", *created ? "created" : "replaced", "policy", name, NULL);
    return status;
}

int policies_get(struct policies *p, const char *name, cJSON **out)
{
    control_lock(p->control);
    struct policy *policy = policies_find(p, name);
    *out = policy != NULL ? policy_state_json(p, policy, clock_realtime_ns()) : NULL;
    control_unlock(p->control);
    return policy != NULL ? SKEIN_OK : SKEIN_NOT_FOUND;
}

int policies_list(struct policies *p, cJSON **out)
{
    *out = cJSON_CreateArray();
    control_lock(p->control);
    for (struct policy *policy = p->list; policy != NULL; policy = policy->next)
        cJSON_AddItemToArray(*out, policy_state_json(p, policy, clock_realtime_ns()));
    control_unlock(p->control);
    return SKEIN_OK;
}

int policies_delete(struct policies *p, const char *name, const struct named_if *when)
{
    control_lock(p->control);
    const struct policy *found = policies_find(p, name);
    int status = found == NULL                      ? SKEIN_NOT_FOUND
                 : !named_allows(when, found->json) ? SKEIN_EXISTS
                                                    : commit(p, NULL, name);
    if (status == SKEIN_OK) {
        struct policy *policy = remove_policy(p, name);
        pushed_set_to_all(&p->pushed);
        policy_publish(p, policy, "deleted");
        free_policy(policy);
    }
    control_unlock(p->control);
    if (status == SKEIN_OK)
        log_info("policies", "deleted", "policy", name, NULL);
    return status;
}

int policies_selector(struct policies *p, const char *name, char **out)
{
    control_lock(p->control);
    const struct policy *policy = policies_find(p, name);
    *out = policy != NULL ? strdup(policy->selector_text) : NULL;
    control_unlock(p->control);
    return policy == NULL ? SKEIN_NOT_FOUND : *out == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

/* ---- samples ---- */

int policies_on_fired(struct policies *p, struct fleet_agent *agent,
                      const struct report_fired *fired)
{
    control_assert_locked(p->control);
    struct policy *policy = policies_find(p, fired->policy);
    bool news = capture_is_news(p->captures, &fired->capture);
    struct capture_sample sample = {.selector = policy != NULL ? policy->selector_text : NULL,
                                    .span_ms = policy != NULL ? sampling_span_ms(&policy->plan) : 0,
                                    .post_ms = fired->post_ms,
                                    .ttl_ms = policy != NULL ? policy->ttl_ms : 0,
                                    .pin = policy != NULL && policy->pin};
    uint64_t longest_ms = policy != NULL ? policy->plan.record_ms : UNKNOWN_RECORD_MS;
    if (sample.post_ms > longest_ms)
        sample.post_ms = longest_ms;
    int status = capture_on_sample(p->captures, agent, fired, &sample);
    if (status == SKEIN_OK && news && policy != NULL) {
        policy->captures++;
        policy->last_capture = fired->capture;
        mark_dirty(p, policy);
    }
    return status;
}

static void today(struct policy *policy, uint64_t now_ns)
{
    if (policy->day == now_ns / DAY_NS)
        return;
    policy->day = now_ns / DAY_NS;
    policy->bytes_today = 0;
}

void policies_on_stored(struct policies *p, const char *name, uint64_t bytes)
{
    control_assert_locked(p->control);
    struct policy *policy = policies_find(p, name);
    if (policy == NULL)
        return; /* deleted meanwhile */
    today(policy, clock_realtime_ns());
    policy->bytes_today += bytes;
    mark_dirty(p, policy);
}

/* ---- agents that pause ---- */

static void forget_paused(struct policy *policy, uint64_t agent)
{
    for (size_t i = 0; i < policy->paused_count; i++) {
        if (policy->paused[i].agent != agent)
            continue;
        policy->paused[i] = policy->paused[--policy->paused_count];
        return;
    }
}

void policies_agent_changed(struct policies *p, struct fleet_agent *agent)
{
    control_assert_locked(p->control);
    for (struct policy *policy = p->list; policy != NULL; policy = policy->next)
        forget_paused(policy, agent->id);
}

void policies_on_report(struct policies *p, struct fleet_agent *agent,
                        const struct report_policy *report)
{
    control_assert_locked(p->control);
    struct policy *policy = policies_find(p, report->policy);
    if (policy == NULL)
        return;
    forget_paused(policy, agent->id);
    if (!report->paused)
        return;
    struct paused_agent *more =
        realloc(policy->paused, (policy->paused_count + 1) * sizeof *policy->paused);
    if (more == NULL)
        return; /* it is not shown */
    policy->paused = more;
    more[policy->paused_count++] = (struct paused_agent){agent->id, report->cpu_percent};
}

/* ---- the clock ---- */

/* A budget that is used up, or a new day. true: agents must be told. */
static bool look_at_budget(struct policies *p, struct policy *policy,
                           uint64_t now_ns) CONTROL_LOCKED
{
    today(policy, now_ns);
    bool used_up = policy->bytes_per_day > 0 && policy->bytes_today >= policy->bytes_per_day;
    if (used_up == policy->suspended)
        return false;
    policy->suspended = used_up;
    log_info("policies", used_up ? "suspended: today's budget is used up" : "goes on", "policy",
             policy->name, NULL);
    policy_publish(p, policy, used_up ? "suspended" : "resumed");
    return true;
}

void policies_tick(struct policies *p, uint64_t now_ns)
{
    control_assert_locked(p->control);
    uint64_t now = clock_monotonic_ns();
    bool changed = false;
    if (now < p->next_look_ns)
        return;
    p->next_look_ns = now + LOOK_NS;
    for (struct policy *policy = p->list; policy != NULL; policy = policy->next)
        changed |= look_at_budget(p, policy, now_ns);
    if (changed)
        pushed_set_to_all(&p->pushed);
}
