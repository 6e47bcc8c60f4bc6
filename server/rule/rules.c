/* SPDX-License-Identifier: Apache-2.0
 *
 * What a rule is in the set of rules (named_set.h): its text, its push, and what is loaded and
 * saved with it. Guarded by the control lock.
 */
#include "rules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "catalog_rules.h"
#include "clock.h"
#include "clock_steps.h"
#include "json.h"
#include "log.h"
#include "ruleset_int.h"

/* ---- the list ---- */

struct rule *rules_find(struct rules *r, const char *name)
{
    control_assert_locked(r->control);
    return (struct rule *)named_set_find(&r->set, name);
}

struct named_set *rules_set(struct rules *r)
{
    return &r->set;
}

static void rule_free(struct named_item *item)
{
    struct rule *rule = (struct rule *)item;
    size_t at = 0;
    for (void *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
        free(p);
    idmap_fini(&rule->processes);
    free(rule->grants);
    free(rule);
}

static struct named_item *rule_make(const cJSON *json)
{
    struct rule *rule = calloc(1, sizeof *rule);
    const cJSON *limits = cJSON_GetObjectItemCaseSensitive(json, "limits");
    const cJSON *capture = cJSON_GetObjectItemCaseSensitive(json, "capture");
    const cJSON *retain = cJSON_GetObjectItemCaseSensitive(json, "retain");
    const cJSON *when = cJSON_GetObjectItemCaseSensitive(json, "when");
    const cJSON *schedule = cJSON_GetObjectItemCaseSensitive(when, "schedule");
    if (rule == NULL)
        return NULL;
    rule->enabled = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "enabled"));
    rule->cooldown_ms = named_number(limits, "cooldown_ms");
    rule->firings = named_number(limits, "firings");
    rule->window_ms = named_number(limits, "window_ms");
    rule->max_targets = named_number(limits, "max_targets");
    rule->captures_per_hour = named_number(limits, "captures_per_hour");
    rule->bytes_per_hour = named_number(limits, "bytes_per_hour");
    rule->pre_ms = named_number(capture, "pre_ms");
    rule->post_ms = named_number(capture, "post_ms");
    rule->deadline_ms = named_number(capture, "deadline_ms");
    rule->include = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(capture, "include"));
    evidence_wish_told(&(struct json_reader){{0}}, capture, "capture", false, &rule->wish);
    rule->same_host = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(capture, "same_host"));
    rule->ttl_ms = named_number(retain, "ttl_ms");
    rule->pin = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(retain, "pin"));
    rule->webhook = cJSON_GetObjectItemCaseSensitive(when, "webhook");
    rule->receiver = cJSON_GetObjectItemCaseSensitive(
        cJSON_GetObjectItemCaseSensitive(json, "notify"), "webhook");
    rule->every_ms = named_number(schedule, "every_ms");
    rule->offset_ms = named_number(schedule, "offset_ms");
    /* Times of the schedule before now are not made up for. */
    rule->slot = rule_slot(rule, clock_realtime_ns());
    return &rule->item;
}

static void rule_inherit(struct named_item *item, const struct named_item *before)
{
    struct rule *fresh = (struct rule *)item;
    const struct rule *old = (const struct rule *)before;
    fresh->fired = old->fired;
    fresh->suppressed = old->suppressed;
    fresh->last_fired_ns = old->last_fired_ns;
    fresh->last_held_ns = old->last_held_ns;
    memcpy(fresh->last_why, old->last_why, sizeof fresh->last_why);
    memcpy(fresh->last_held_why, old->last_held_why, sizeof fresh->last_held_why);
    fresh->last_capture = old->last_capture;
}

static void rule_take(struct named_item *item, struct named_item *before)
{
    struct rule *fresh = (struct rule *)item, *old = (struct rule *)before;
    fresh->processes = old->processes;
    fresh->grants = old->grants;
    fresh->grant_count = old->grant_count;
    fresh->grant_cap = old->grant_cap;
    old->processes = (struct idmap){0};
    old->grants = NULL;
}

/* Sets who gets the rule's notices from now on. */
static void receiver_set(void *context, const char *name, const struct named_item *item)
{
    const struct rules *r = context;
    control_assert_locked(r->control);
    const cJSON *webhook = item != NULL ? ((const struct rule *)item)->receiver : NULL;
    if (r->notify != NULL && notify_rule_set(r->notify, name, webhook) != SKEIN_OK)
        log_error("rules", "out of memory: nobody is notified", "rule", name, NULL);
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

/* Others are conditions that we check ourselves. */
static bool rule_is_pushed(const struct named_item *item)
{
    const struct rule *rule = (const struct rule *)item;
    return rule->every_ms == 0 && rule->webhook == NULL;
}

static cJSON *rules_list(void *context, const struct fleet_agent *agent, uint64_t base,
                         cJSON *removed)
{
    struct rules *r = context;
    control_assert_locked(r->control);
    cJSON *set = cJSON_CreateArray();
    for (struct rule *rule = rules_first(r); rule != NULL; rule = rule_next(rule)) {
        if (base != PUSHED_WHOLE && rule->item.generation <= base)
            continue;
        if (!rule_is_pushed(&rule->item) || !pushed_set_concerns(rule->item.selector, agent)) {
            if (removed != NULL)
                cJSON_AddItemToArray(removed, cJSON_CreateString(rule->item.name));
            continue;
        }
        cJSON *copy = cJSON_Duplicate(rule->item.json, true);
        cJSON_DeleteItemFromObjectCaseSensitive(copy, "notify"); /* no affair of agents */
        cJSON_AddItemToArray(set, copy);
    }
    return set;
}

/* ---- load and save ---- */

static cJSON *rule_state(void *context, struct named_item *item)
{
    struct rules *r = context;
    control_assert_locked(r->control);
    return rules_state_json(r, (struct rule *)item);
}

static void rule_save(void *context, struct named_item *item, const char *json)
{
    const struct rules *r = context;
    control_assert_locked(r->control);
    struct rule *rule = (struct rule *)item;
    struct catalog_rule row = {
        item->name, json, rule->fired, rule->suppressed, rule->last_fired_ns, rule->last_capture};
    catalog_put_rule(r->catalog, &row);
    size_t at = 0;
    for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;) {
        struct catalog_firing firing = {item->name, p->process, p->granted_ns};
        if (saving_take(&p->save))
            catalog_put_firing(r->catalog, &firing);
    }
}

static const struct named_kind rule_kind = {.noun = "rule",
                                            .folder = "rules",
                                            .set = FLEET_RULES,
                                            .check = rule_check,
                                            .make = rule_make,
                                            .free = rule_free,
                                            .inherit = rule_inherit,
                                            .take = rule_take,
                                            .save = rule_save,
                                            .drop = catalog_delete_rule,
                                            .state = rule_state,
                                            .changed = receiver_set,
                                            .is_pushed = rule_is_pushed,
                                            .list = rules_list};

static int rule_load(void *context, const struct catalog_rule *row)
{
    struct rules *r = context;
    control_assert_locked(r->control);
    struct rule *rule = (struct rule *)named_set_load(&r->set, row->name, row->json);
    if (rule == NULL)
        return 0;
    receiver_set(r, row->name, &rule->item);
    rule->fired = row->fired;
    rule->suppressed = row->suppressed;
    rule->last_fired_ns = rule_time_past(row->last_fired_ns);
    rule->last_capture = row->last_capture;
    return 0;
}

static int firing_load(void *context, const struct catalog_firing *row)
{
    struct rules *r = context;
    control_assert_locked(r->control);
    struct rule *rule = rules_find(r, row->rule);
    struct rule_process *p = rule != NULL ? rule_process_of(rule, &row->process) : NULL;
    if (p != NULL)
        p->granted_ns = rule_time_past(row->at_ns);
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
    r->public_url = settings->public_url;
    named_set_init(&r->set, &rule_kind, r, fleet, catalog, settings->events);
    control_lock(r->control);
    r->clock = clock_setting(NULL);
    int64_t rows = catalog_rules(catalog, rule_load, r);
    if (rows >= 0)
        rows = catalog_firings(catalog, firing_load, r);
    if (rows >= 0)
        rows = rules_history_load(r);
    control_unlock(r->control);
    if (rows < 0) {
        rules_free(out);
        return (int)rows;
    }
    return SKEIN_OK;
}

int rules_alone(const cJSON *json, struct rules **out, struct rule **rule)
{
    struct rules *r = calloc(1, sizeof *r);
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "name"));
    struct named_item *item = named_item_make(&rule_kind, name, cJSON_Duplicate(json, true));
    *out = r;
    *rule = (struct rule *)item;
    if (r == NULL || item == NULL ||
        control_new(NULL, &(struct control_hooks){0}, &r->control) != SKEIN_OK) {
        named_item_free(&rule_kind, item);
        rules_free(out);
        return SKEIN_NO_MEMORY;
    }
    r->set.kind = &rule_kind;
    r->set.control = r->control;
    control_lock(r->control);
    named_set_insert(&r->set, item);
    control_unlock(r->control);
    return SKEIN_OK;
}

void rules_set_captures(struct rules *r, struct capture_engine *captures)
{
    r->captures = captures;
}

/* Nobody else has the rules any more. */
void rules_free(struct rules **rules) CONTROL_ALONE
{
    struct rules *r = *rules;
    if (r == NULL)
        return;
    named_set_fini(&r->set);
    free(r->rows);
    shares_fini(&r->shares);
    if (r->fleet == NULL)
        control_free(&r->control);
    free(r);
    *rules = NULL;
}

void rules_save(struct rules *r)
{
    control_assert_locked(r->control);
    (void)saving_take(&r->sweep);
    named_set_save(&r->set);
    rules_history_save(r);
    if (r->notify != NULL)
        notify_save(r->notify);
    if (r->sweep == SAVE_TAKEN)
        catalog_drop_firings(r->catalog, clock_setting_before(FIRINGS_KEEP_NS));
}

void rules_saved(struct rules *r, bool ok)
{
    control_assert_locked(r->control);
    saving_end(&r->sweep, ok);
    rules_history_saved(r, ok);
    if (r->notify != NULL)
        notify_saved(r->notify, ok);
    for (struct rule *rule = rules_first(r); rule != NULL; rule = rule_next(rule)) {
        size_t at = 0;
        if (rule->item.save == SAVE_NOTHING)
            continue;
        for (struct rule_process *p; (p = idmap_next(&rule->processes, &at)) != NULL;)
            saving_end(&p->save, ok);
    }
    named_set_saved(&r->set, ok);
}
