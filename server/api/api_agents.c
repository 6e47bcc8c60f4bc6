/* SPDX-License-Identifier: Apache-2.0
 *
 * /agents and /processes. Reads the fleet under the control lock; lists by id, so that a cursor
 * stays valid while the fleet changes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "capture_control.h"
#include "clock.h"
#include "json.h"

/* ---- agents ---- */

static cJSON *agent_json(const struct fleet_agent *a)
{
    uint64_t error_ns;
    cJSON *json = cJSON_CreateObject();
    json_add_agent(json, "agent", a->id);
    cJSON_AddStringToObject(json, "host", a->host);
    cJSON_AddStringToObject(json, "version", a->version);
    api_add_labels(json, "labels", a->labels);
    cJSON_AddStringToObject(json, "status", a->online ? "online" : "offline");
    json_add_time(json, "last_seen", a->last_seen_ns);
    json_add_u64(json, "epoch", a->epoch);
    if (fleet_agent_is_cloned(a))
        cJSON_AddBoolToObject(json, "cloned", true);
    cJSON_AddNumberToObject(json, "clock_offset_ns", (double)a->clock_offset_ns);
    if (fleet_agent_clock_error(a, &error_ns))
        json_add_u64(json, "clock_error_ns", error_ns);
    json_add_u64(json, "rules_generation", a->sets[FLEET_RULES].generation);
    json_add_u64(json, "policies_generation", a->sets[FLEET_POLICIES].generation);
    json_add_u64(json, "processes", a->processes_live);
    cJSON *own = cJSON_AddObjectToObject(json, "own_captures");
    json_add_u64(own, "last_hour",
                 (shares_used(&a->own, clock_monotonic_ns()) + CAPTURE_OWN_UNITS - 1) /
                     CAPTURE_OWN_UNITS);
    json_add_u64(own, "refused", a->own_refused);
    heartbeat_state_add(&a->state, json);
    return json;
}

static int agents_compare(const void *a, const void *b)
{
    const struct fleet_agent *const *x = a, *const *y = b;
    return (*x)->id < (*y)->id ? -1 : (*x)->id > (*y)->id;
}

/* All agents behind `after` in the order of their ids; the caller frees. Locked. */
static struct fleet_agent **agents_after(struct fleet *f, bool given, uint64_t after,
                                         size_t *count) CONTROL_LOCKED
{
    size_t at = 0, all = 0;
    *count = 0;
    while (fleet_agent_next(f, &at) != NULL)
        all++;
    struct fleet_agent **list = calloc(all + 1, sizeof *list);
    at = 0;
    for (struct fleet_agent *a; list != NULL && (a = fleet_agent_next(f, &at)) != NULL;)
        if (!given || a->id > after)
            list[(*count)++] = a;
    if (list != NULL)
        qsort(list, *count, sizeof *list, agents_compare);
    return list;
}

void api_agents_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    size_t limit, count;
    uint64_t after = 0;
    const char *cursor = http_query(x, "cursor");
    char next[AGENT_TEXT_BYTES];
    if (!api_limit(x, &limit))
        return;
    if (cursor != NULL && agent_parse(cursor, &after) != SKEIN_OK) {
        api_bad_cursor(x);
        return;
    }
    cJSON *items = cJSON_CreateArray();
    control_lock(api->control);
    struct fleet_agent **list = agents_after(api->fleet, cursor != NULL, after, &count);
    for (size_t i = 0; list != NULL && i < count && i < limit; i++) {
        cJSON_AddItemToArray(items, agent_json(list[i]));
        agent_text(list[i]->id, next);
    }
    control_unlock(api->control);
    if (list == NULL) {
        cJSON_Delete(items);
        return;
    }
    free(list);
    for (cJSON *item = items->child; item != NULL; item = item->next)
        api_add_enrolment(api->enroll, item);
    api_reply_items(x, items, count > limit ? next : NULL);
}

void api_agents_get(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    uint64_t id;
    cJSON *json = NULL;
    if (agent_parse(http_part(x, 0), &id) == SKEIN_OK) {
        control_lock(api->control);
        const struct fleet_agent *a = fleet_agent_find(api->fleet, id);
        json = a != NULL ? agent_json(a) : NULL;
        control_unlock(api->control);
    }
    if (json != NULL) {
        api_add_enrolment(api->enroll, json);
        http_reply_json(x, 200, json);
    } else
        http_problem(x, 404, NULL, "no agent %.64s; GET /api/v1/agents lists them",
                     http_part(x, 0));
}

/* ---- processes ---- */

cJSON *api_process_json(struct fleet *f, const struct fleet_process *p)
{
    control_assert_locked(fleet_control(f));
    static const char *const states[] = {"live", "gone", "offline"};
    cJSON *json = cJSON_CreateObject();
    json_add_id(json, "process", p->uid.bytes);
    json_add_agent(json, "agent", p->agent);
    cJSON_AddStringToObject(json, "host", p->host);
    cJSON_AddNumberToObject(json, "pid", p->pid);
    cJSON_AddStringToObject(json, "service", p->service);
    api_add_labels(json, "labels", p->labels);
    cJSON_AddStringToObject(json, "exe", p->exe);
    cJSON_AddStringToObject(json, "status", states[fleet_process_status(f, p)]);
    json_add_time(json, "started", p->start_ns);
    json_add_time(json, "attached", p->attached_ns);
    if (p->ended_ns != 0)
        json_add_time(json, "ended", p->ended_ns);
    if (p->not_recorded[0] != '\0')
        cJSON_AddStringToObject(json, "not_recorded", p->not_recorded);
    cJSON_AddStringToObject(json, "mode", p->mode);
    json_add_u64(json, "ring_bytes", p->ring_bytes);
    json_add_u64_some(json, "ring_wished_bytes", p->ring_wished_bytes);
    json_add_u64_some(json, "ring_memory_bytes", p->ring_memory_bytes);
    json_add_text_some(json, "ring_why", p->ring_why);
    json_add_u64(json, "used_bytes", p->used_bytes);
    json_add_u64(json, "bytes_per_s", p->bytes_per_s);
    json_add_u64(json, "reach_ms", p->reach_ms);
    json_add_u64(json, "events_lost", p->events_lost);
    if (p->lost_implausible > 0)
        json_add_u64(json, "events_lost_implausible", p->lost_implausible);
    json_add_u64(json, "wrapped", p->wrapped);
    cJSON_AddStringToObject(json, "title", p->title);
    json_add_u64(json, "age_ms", (clock_monotonic_ns() - p->listed_ns) / 1000000);
    return json;
}

static int processes_compare(const void *a, const void *b)
{
    const struct fleet_process *const *x = a, *const *y = b;
    return memcmp((*x)->uid.bytes, (*y)->uid.bytes, sizeof(*x)->uid.bytes);
}

struct process_page {
    const struct selector *selector;
    bool with_gone;
    bool after_given;
    struct process_uid after;
    size_t limit;
    char next[ID_TEXT_BYTES];
    bool more;
};

static cJSON *process_items(struct fleet *f, struct process_page *page) CONTROL_LOCKED
{
    size_t at = 0, all = 0, count = 0;
    while (fleet_process_next(f, &at) != NULL)
        all++;
    struct fleet_process **list = calloc(all + 1, sizeof *list);
    cJSON *items = cJSON_CreateArray();
    at = 0;
    for (struct fleet_process *p; list != NULL && (p = fleet_process_next(f, &at)) != NULL;) {
        bool behind =
            !page->after_given || memcmp(p->uid.bytes, page->after.bytes, sizeof p->uid.bytes) > 0;
        if (behind && (p->live || page->with_gone) && fleet_process_match(page->selector, p))
            list[count++] = p;
    }
    if (list != NULL)
        qsort(list, count, sizeof *list, processes_compare);
    for (size_t i = 0; i < count && i < page->limit; i++) {
        cJSON *json = api_process_json(f, list[i]);
        const struct fleet_agent *agent = fleet_agent_find(f, list[i]->agent);
        if (agent != NULL && agent->state.samples.refused[0] != '\0')
            cJSON_AddStringToObject(json, "samples_refused", agent->state.samples.refused);
        if (agent != NULL)
            heartbeat_refused_add(&agent->state.refused, json);
        cJSON_AddItemToArray(items, json);
        id_text(list[i]->uid.bytes, page->next);
    }
    page->more = count > page->limit;
    free(list);
    return items;
}

static bool query_bool(struct http_exchange *x, const char *name, bool otherwise, bool *out)
{
    const char *text = http_query(x, name);
    *out = text == NULL ? otherwise : strcmp(text, "true") == 0;
    if (text == NULL || *out || strcmp(text, "false") == 0)
        return true;
    http_problem(x, 400, name, "must be true or false");
    return false;
}

void api_processes_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct process_page page = {.limit = 0};
    bool fresh;
    struct selector *selector = NULL;
    if (!api_limit(x, &page.limit) || !query_bool(x, "gone", true, &page.with_gone) ||
        !query_bool(x, "fresh", false, &fresh) ||
        !api_query_id(x, "cursor", page.after.bytes, &page.after_given) ||
        !api_selector(x, &selector, NULL))
        return;
    if (fresh)
        fleet_lists_refresh(api->fleet);
    page.selector = selector;
    control_lock(api->control);
    cJSON *items = process_items(api->fleet, &page);
    control_unlock(api->control);
    selector_free(&selector);
    api_reply_items(x, items, page.more ? page.next : NULL);
}
