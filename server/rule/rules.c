/* SPDX-License-Identifier: Apache-2.0
 *
 * The set of rules in memory and its life: put, get, delete, push. Guarded by the control lock. A
 * change is committed before it is answered and before any agent hears of it.
 */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_rules.h"
#include "clock.h"
#include "json.h"
#include "log.h"
#include "ruleset_int.h"

/* ---- the list ---- */

static struct rule **find_place(struct rules *r, const char *name)
{
    struct rule **at = &r->list;
    while (*at != NULL && strcmp((*at)->name, name) < 0)
        at = &(*at)->next;
    return at;
}

struct rule *rules_find(struct rules *r, const char *name)
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
    free(rule->grants);
    cJSON_Delete(rule->json);
    free(rule);
}

static uint64_t number_of(const cJSON *object, const char *key)
{
    struct json_reader reader = {{0}};
    return object == NULL ? 0 : json_u64(&reader, object, "", key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

/* Takes json, which rule_check has made. */
static void set_json(struct rule *rule, cJSON *json)
{
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(json, "limits");
    const cJSON *capture = cJSON_GetObjectItemCaseSensitive(json, "capture");
    const cJSON *retain = cJSON_GetObjectItemCaseSensitive(json, "retain");
    const cJSON *when = cJSON_GetObjectItemCaseSensitive(json, "when");
    const cJSON *schedule = cJSON_GetObjectItemCaseSensitive(when, "schedule");
    cJSON_Delete(rule->json);
    rule->json = json;
    rule->enabled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "enabled"));
    rule->selector = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "selector"));
    rule->cooldown_ms = number_of(limits, "cooldown_ms");
    rule->firings = number_of(limits, "firings");
    rule->window_ms = number_of(limits, "window_ms");
    rule->max_targets = number_of(limits, "max_targets");
    rule->captures_per_hour = number_of(limits, "captures_per_hour");
    rule->bytes_per_hour = number_of(limits, "bytes_per_hour");
    rule->pre_ms = number_of(capture, "pre_ms");
    rule->post_ms = number_of(capture, "post_ms");
    rule->deadline_ms = number_of(capture, "deadline_ms");
    rule->include = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(capture, "include"));
    rule->same_host = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(capture, "same_host"));
    rule->ttl_ms = number_of(retain, "ttl_ms");
    rule->pin = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(retain, "pin"));
    rule->webhook = cJSON_GetObjectItemCaseSensitive(when, "webhook");
    rule->receiver = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(json, "notify"), "webhook");
    rule->every_ms = number_of(schedule, "every_ms");
    rule->offset_ms = number_of(schedule, "offset_ms");
    /* Times of the schedule before now are not made up for. */
    rule->slot = rule_slot(rule, clock_realtime_ns());
}

/* Whom the rule's notices go to from now on; NULL: nobody. */
static void set_receiver(struct rules *r, const char *name, const cJSON *webhook)
{
    if (r->notify != NULL && notify_rule_set(r->notify, name, webhook) != SKEIN_OK)
        log_error("rules", "out of memory: nobody is notified", "rule", name, NULL);
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

struct rule_process *rule_process_of(struct rule *rule, const struct process_uid *uid)
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

/* ---- the push ---- */

const struct pushed_set *rules_pushed(struct rules *r)
{
    control_assert_locked(r->control);
    return &r->pushed;
}

static cJSON *list_rules(void *context)
{
    struct rules *r = context;
    cJSON *set = cJSON_CreateArray();
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next) {
        if (rule->every_ms != 0 || rule->webhook != NULL)
            continue; /* those are ours alone, as is who is notified */
        cJSON *copy = cJSON_Duplicate(rule->json, true);
        cJSON_DeleteItemFromObjectCaseSensitive(copy, "notify");
        cJSON_AddItemToArray(set, copy);
    }
    return set;
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
    set_receiver(r, rule->name, rule->receiver);
    rule->fired = row->fired;
    rule->suppressed = row->suppressed;
    rule->last_fired_ns = row->last_fired_ns;
    rule->last_capture = row->last_capture;
    return 0;
}

static int load_firing(void *context, const struct catalog_firing *row)
{
    struct rule *rule = rules_find(context, row->rule);
    struct rule_process *p = rule != NULL ? rule_process_of(rule, &row->process) : NULL;
    if (p != NULL)
        p->granted_ns = row->at_ns;
    return 0;
}

int rules_new(const struct rules_settings *settings, struct fleet *fleet, struct catalog *catalog,
              struct rules **out)
{
    struct rules *r = calloc(1, sizeof *r);
    *out = r;
    if (r == NULL)
        return SKEIN_NO_MEMORY;
    r->fleet = fleet;
    r->control = fleet_control(fleet);
    r->catalog = catalog;
    r->captures_per_hour = settings->captures_per_hour;
    r->bytes_per_hour = settings->bytes_per_hour;
    r->events = settings->events;
    r->notify = settings->notify;
    r->pushed =
        (struct pushed_set){.fleet = fleet,
                            .set = FLEET_RULES,
                            .generation = catalog_generation(catalog, fleet_set_text(FLEET_RULES)),
                            .list = list_rules,
                            .context = r};
    int64_t rows = catalog_rules(catalog, load_rule, r);
    if (rows >= 0)
        rows = catalog_firings(catalog, load_firing, r);
    control_lock(r->control);
    if (rows >= 0)
        rows = rules_history_load(r);
    control_unlock(r->control);
    if (rows < 0) {
        rules_free(out);
        return (int)rows;
    }
    return SKEIN_OK;
}

int rules_alone(const cJSON *json, struct rules **out)
{
    struct rules *r = calloc(1, sizeof *r);
    cJSON *copy = cJSON_Duplicate(json, true);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(copy, "name"));
    struct rule *rule = r != NULL && name != NULL ? insert_rule(r, name) : NULL;
    *out = r;
    if (rule != NULL) {
        set_json(rule, copy);
        return SKEIN_OK;
    }
    cJSON_Delete(copy);
    rules_free(out);
    return SKEIN_NO_MEMORY;
}

void rules_set_captures(struct rules *r, struct capture_engine *captures)
{
    r->captures = captures;
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
    free(r->rows);
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
    control_assert_locked(r->control);
    int status = SKEIN_OK;
    for (struct rule *rule = r->list; status == SKEIN_OK && rule != NULL; rule = rule->next)
        if (rule->dirty)
            status = save_rule(r, rule);
    if (status == SKEIN_OK)
        status = rules_history_save(r);
    if (status == SKEIN_OK && r->notify != NULL)
        status = notify_save(r->notify);
    if (status == SKEIN_OK && r->sweep)
        status = catalog_drop_firings(r->catalog, clock_realtime_ns() - FIRINGS_KEEP_NS);
    return status;
}

void rules_saved(struct rules *r)
{
    control_assert_locked(r->control);
    r->sweep = false;
    r->row_count = 0;
    if (r->notify != NULL)
        notify_saved(r->notify);
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next) {
        size_t at = 0;
        if (!rule->dirty)
            continue;
        rule->dirty = false;
        for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
            p->dirty = false;
    }
}

/* ---- put, get, delete ---- */

/* Saves the change and its generation in one transaction. */
static int commit(struct rules *r, struct rule *rule, const char *deleted)
{
    int status = catalog_begin(r->catalog);
    if (status != SKEIN_OK)
        return status;
    status = rule != NULL ? save_rule(r, rule) : catalog_delete_rule(r->catalog, deleted);
    if (status == SKEIN_OK)
        status = catalog_put_generation(r->catalog, fleet_set_text(FLEET_RULES),
                                        r->pushed.generation + 1);
    int ended = catalog_end(r->catalog, status == SKEIN_OK);
    if (status == SKEIN_OK)
        status = ended;
    if (status == SKEIN_OK)
        r->pushed.generation++;
    return status;
}

/* Puts json in place, saves it, and takes it back where that fails. Takes json. */
static int put_locked(struct rules *r, const char *name, cJSON *json, bool *created) CONTROL_LOCKED
{
    struct rule *rule = rules_find(r, name);
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
    int status = pushed_set_fits(&r->pushed);
    if (status == SKEIN_OK)
        status = commit(r, rule, NULL);
    if (status == SKEIN_OK) {
        cJSON_Delete(before);
        set_receiver(r, name, rule->receiver);
        rules_publish_change(r, name, *created ? "created" : "replaced");
        pushed_set_to_all(&r->pushed);
    } else if (*created) {
        remove_rule(r, name);
    } else {
        set_json(rule, before);
    }
    return status;
}

static int change_locked(struct rules *r, const char *name, const struct named_change *change,
                         bool *created, char *error, size_t error_bytes) CONTROL_LOCKED
{
    const struct rule *rule = rules_find(r, name);
    cJSON *wanted, *checked;
    int status = named_changed(change, rule != NULL ? rule->json : NULL, &wanted);
    if (status != SKEIN_OK)
        return status;
    checked = rule_check(name, wanted, error, error_bytes);
    cJSON_Delete(wanted);
    return checked != NULL ? put_locked(r, name, checked, created) : SKEIN_INVALID;
}

int rules_put(struct rules *r, const char *name, const struct named_change *change, bool *created,
              cJSON **out, char *error, size_t error_bytes)
{
    *out = NULL;
    control_lock(r->control);
    int status = change_locked(r, name, change, created, error, error_bytes);
    if (status == SKEIN_OK)
        *out = rules_state_json(r, rules_find(r, name));
    control_unlock(r->control);
    if (status == SKEIN_OK)
        log_info("rules", *created ? "rule created" : "rule replaced", "rule", name, NULL);
    return status;
}

int rules_get(struct rules *r, const char *name, cJSON **out)
{
    control_lock(r->control);
    struct rule *rule = rules_find(r, name);
    *out = rule != NULL ? rules_state_json(r, rule) : NULL;
    control_unlock(r->control);
    return rule != NULL ? SKEIN_OK : SKEIN_NOT_FOUND;
}

int rules_list(struct rules *r, cJSON **out)
{
    *out = cJSON_CreateArray();
    control_lock(r->control);
    for (struct rule *rule = r->list; rule != NULL; rule = rule->next)
        cJSON_AddItemToArray(*out, rules_state_json(r, rule));
    control_unlock(r->control);
    return SKEIN_OK;
}

int rules_delete(struct rules *r, const char *name, const struct named_if *when)
{
    control_lock(r->control);
    const struct rule *rule = rules_find(r, name);
    int status = rule == NULL                      ? SKEIN_NOT_FOUND
                 : !named_allows(when, rule->json) ? SKEIN_EXISTS
                                                   : commit(r, NULL, name);
    if (status == SKEIN_OK) {
        remove_rule(r, name);
        set_receiver(r, name, NULL);
        rules_publish_change(r, name, "deleted");
        pushed_set_to_all(&r->pushed);
    }
    control_unlock(r->control);
    if (status == SKEIN_OK)
        log_info("rules", "rule deleted", "rule", name, NULL);
    return status;
}
