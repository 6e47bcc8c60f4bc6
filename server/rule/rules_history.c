/* SPDX-License-Identifier: Apache-2.0
 *
 * What each rule did, when and why: rows that wait for the next save, and rows read back from the
 * catalog. Under the control lock, except the query.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "catalog_rules.h"
#include "clock.h"
#include "clock_steps.h"
#include "json.h"
#include "metrics.h"
#include "ruleset_int.h"

#define ROWS_WAITING_MAX 10000
#define HISTORY_KEEP_NS  (UINT64_C(7) * 24 * HOUR_NS)
#define HISTORY_ROWS     100000

/* Tells watchers what limits and captures made of a firing. */
static void history_publish(struct rules *r, const char *type, const char *rule, const char *why,
                            const struct process_uid *uid,
                            const struct rule_capture *capture) CONTROL_LOCKED
{
    struct buf processes = {0};
    const struct fleet_process *p = uid != NULL ? fleet_process_find(r->fleet, uid) : NULL;
    cJSON *data = cJSON_CreateObject();
    cJSON_AddStringToObject(data, "why", why);
    if (capture != NULL) {
        json_add_id(data, "capture", capture->id.bytes);
        json_add_id(data, "incident", capture->incident.bytes);
    }
    if (p != NULL) {
        json_add_id(data, "process", uid->bytes);
        struct process_labels labels = fleet_process_labels(p);
        process_labels_put(&processes, &labels);
    }
    struct event_note note = {
        .type = type, .about = "rule", .name = rule, .processes = &processes, .data = data};
    events_publish(r->events, &note);
    buf_fini(&processes);
}

void rules_note(struct rules *r, const char *rule, const char *what, const char *why,
                uint64_t at_ns, const struct process_uid *process,
                const struct rule_capture *capture)
{
    control_assert_locked(r->control);
    if (strcmp(what, "suppressed") == 0)
        history_publish(r, "rule.suppressed", rule, why, process, capture);
    else if (capture != NULL)
        history_publish(r, "rule.fired", rule, why, process, capture);
    if (r->row_count >= ROWS_WAITING_MAX || !array_grow(r->rows, r->row_count + 1, &r->row_cap)) {
        metrics_add(rules_history_dropped_total, 1);
        return;
    }
    struct history_row *row = &r->rows[r->row_count++];
    memset(row, 0, sizeof *row);
    row->capture.user = SHARE_USER_UNKNOWN;
    snprintf(row->rule, sizeof row->rule, "%s", rule);
    snprintf(row->what, sizeof row->what, "%s", what);
    snprintf(row->why, sizeof row->why, "%s", why);
    row->at_ns = at_ns;
    if (process != NULL)
        row->process = *process;
    if (capture != NULL)
        row->capture = *capture;
}

/* ---- for receivers ---- */

void rules_tell(struct rules *r, const struct rule *rule, const char *event, cJSON *listing)
{
    control_assert_locked(r->control);
    capture_add_url(listing, r->public_url);
    if (listing == NULL || r->notify == NULL)
        cJSON_Delete(listing);
    else if (notify_add(r->notify, rule->item.name, event, "capture", listing))
        control_mark_dirty(r->control);
}

void rules_on_ended(struct rules *r, const struct capture_id *incident, const char *name,
                    cJSON *listing)
{
    control_assert_locked(r->control);
    struct rule *rule = rules_find(r, name);
    if (rule == NULL) {
        cJSON_Delete(listing);
        return;
    }
    rule_recount(rule, incident); /* what came late counts too */
    rules_tell(r, rule, "capture.finished", listing);
}

/* ---- rows ---- */

void rules_history_save(struct rules *r)
{
    control_assert_locked(r->control);
    r->row_taken = r->row_count;
    for (size_t i = 0; i < r->row_count; i++) {
        const struct history_row *row = &r->rows[i];
        struct catalog_history out = {.rule = row->rule,
                                      .at_ns = row->at_ns,
                                      .process = row->process,
                                      .what = row->what,
                                      .why = row->why,
                                      .capture = row->capture.id,
                                      .incident = row->capture.incident,
                                      .user = row->capture.user};
        catalog_add_history(r->catalog, &out);
    }
    if (r->sweep == SAVE_TAKEN)
        catalog_trim_history(r->catalog, clock_setting_before(HISTORY_KEEP_NS), HISTORY_ROWS);
}

void rules_history_saved(struct rules *r, bool ok)
{
    control_assert_locked(r->control);
    if (ok && r->row_taken > 0) {
        r->row_count -= r->row_taken;
        memmove(r->rows, r->rows + r->row_taken, r->row_count * sizeof *r->rows);
    }
    r->row_taken = 0;
}

static int fired_load(void *context, const struct catalog_history *row)
{
    struct rules *r = context;
    control_assert_locked(r->control);
    struct rule *rule = rules_find(r, row->rule);
    if (rule == NULL)
        return 0;
    snprintf(rule->last_why, sizeof rule->last_why, "%s", row->why);
    struct rule_process *p = idmap_get(&rule->processes, row->process.bytes);
    if (p != NULL)
        p->capture = row->capture;
    if (row->at_ns + FIRINGS_KEEP_NS < clock_realtime_ns())
        return 0;
    return rule_grant(rule, rule_time_past(row->at_ns), &row->incident, row->user) ? 0 : 1;
}

static int held_load(void *context, const struct catalog_history *row)
{
    struct rules *r = context;
    control_assert_locked(r->control);
    struct rule *rule = rules_find(r, row->rule);
    if (rule == NULL)
        return 0;
    rule->last_held_ns = row->at_ns;
    snprintf(rule->last_held_why, sizeof rule->last_held_why, "%s", row->why);
    return 0;
}

int rules_history_load(struct rules *r)
{
    control_assert_locked(r->control);
    int64_t rows = catalog_history_since(r->catalog, "fired", 0, fired_load, r);
    if (rows >= 0)
        rows = catalog_history_since(r->catalog, "suppressed", 0, held_load, r);
    return rows < 0 ? (int)rows : SKEIN_OK;
}

/* ---- for people ---- */

struct history_list {
    struct rules *rules;
    struct rules_history_query *query;
    cJSON *items;
    size_t looked_at;
};

static int row_take(void *context, const struct catalog_history *row)
{
    struct history_list *list = context;
    control_assert_locked(list->rules->control);
    const struct selector *selector = list->query->selector;
    list->looked_at++;
    list->query->before = row->id;
    const struct fleet_process *process = fleet_process_find(list->rules->fleet, &row->process);
    if (selector != NULL && (process == NULL || !fleet_process_match(selector, process)))
        return 0;
    cJSON *json = cJSON_CreateObject();
    json_add_time(json, "time", row->at_ns);
    cJSON_AddStringToObject(json, "what", row->what);
    cJSON_AddStringToObject(json, "why", row->why);
    if (process != NULL || !rule_uid_is_group(&row->process))
        json_add_id(json, "process", row->process.bytes);
    if (process != NULL) {
        cJSON_AddStringToObject(json, "host", process->host);
        cJSON_AddStringToObject(json, "service", process->service);
    }
    if (!capture_id_is_zero(&row->capture))
        json_add_id(json, "capture", row->capture.bytes);
    if (!capture_id_is_zero(&row->incident))
        json_add_id(json, "incident", row->incident.bytes);
    cJSON_AddItemToArray(list->items, json);
    return 0;
}

int rules_history(struct rules *r, const char *name, struct rules_history_query *query, cJSON **out)
{
    struct history_list list = {r, query, cJSON_CreateArray(), 0};
    bool first = query->before == UINT64_MAX;
    struct catalog_history_query q = {name, query->before, query->from_ns, query->to_ns,
                                      query->limit};
    control_lock(r->control);
    if (r->row_count > 0) /* an event may have told of them */
        (void)control_save(r->control);
    bool known = rules_find(r, name) != NULL;
    int64_t rows = catalog_history(r->catalog, &q, row_take, &list);
    control_unlock(r->control);
    if (list.looked_at < query->limit)
        query->before = 0;
    *out = list.items;
    if (rows >= 0 && (known || list.looked_at > 0 || !first))
        return SKEIN_OK;
    cJSON_Delete(list.items);
    *out = NULL;
    return rows < 0 ? (int)rows : SKEIN_NOT_FOUND;
}
