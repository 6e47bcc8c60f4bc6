/* SPDX-License-Identifier: Apache-2.0
 *
 * /loss and /processes/{process}: ledgers, as the catalog sums them up. No state; any thread.
 */
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "catalog_loss.h"
#include "json.h"

/* ---- one process ---- */

struct one_process {
    cJSON *json; /* what it is; NULL: nobody has said yet */
    struct ledger ledger;
};

/* A process that the fleet has forgotten, or that only partitions speak of. */
static cJSON *gone_json(const struct catalog_account *account)
{
    cJSON *json = cJSON_CreateObject();
    json_add_id(json, "process", account->process.bytes);
    json_add_agent(json, "agent", account->agent);
    cJSON_AddStringToObject(json, "host", account->host);
    cJSON_AddNumberToObject(json, "pid", account->pid);
    cJSON_AddStringToObject(json, "service", account->service);
    api_add_labels(json, "labels", account->labels);
    cJSON_AddStringToObject(json, "exe", account->exe);
    cJSON_AddStringToObject(json, "status", "gone");
    return json;
}

static struct ledger *process_begin(void *context, const struct catalog_loss_group *group)
{
    struct one_process *one = context;
    if (one->json == NULL)
        one->json = gone_json(&group->account);
    return &one->ledger;
}

void api_processes_get(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct process_uid uid;
    struct one_process one = {.json = NULL};
    struct catalog_loss_query query = {.by = CATALOG_LOSS_BY_PROCESS,
                                       .selector = http_principal(x)->selector,
                                       .to_ns = UINT64_MAX,
                                       .process = &uid};
    if (!api_path_id(x, "process", uid.bytes))
        return;
    control_lock(api->control);
    const struct fleet_process *p = fleet_process_find(api->fleet, &uid);
    if (p != NULL && fleet_process_match(query.selector, p))
        one.json = api_process_json(api->fleet, p);
    control_unlock(api->control);
    control_catch_up(api->control);
    int status = catalog_loss(api->catalog, &query, process_begin, &one, NULL);
    if (status != SKEIN_OK) {
        cJSON_Delete(one.json);
        api_failed(x, status, "the catalog cannot be read");
    } else if (one.json == NULL) {
        http_problem(x, 404, NULL, "no process %.64s is known; GET /api/v1/processes lists them",
                     http_part(x, 0));
    } else {
        cJSON_AddItemToObject(one.json, "ledger", ledger_json(&one.ledger));
        http_reply_json(x, 200, one.json);
    }
    ledger_fini(&one.ledger);
}

/* ---- many ---- */

/* How items are grouped; reasons and places are parts of the total. */
static const struct loss_by {
    const char *text;
    enum catalog_loss_by by;
    bool paged;
} loss_bys[] = {
    {"process", CATALOG_LOSS_BY_PROCESS, true}, {"service", CATALOG_LOSS_BY_SERVICE, false},
    {"host", CATALOG_LOSS_BY_HOST, false},      {"capture", CATALOG_LOSS_BY_CAPTURE, true},
    {"rule", CATALOG_LOSS_BY_RULE, false},      {"reason", CATALOG_LOSS_ALL, false},
    {"place", CATALOG_LOSS_ALL, false},
};

struct loss_list {
    const struct loss_by *by;
    struct ledger total, ledger; /* of all; of the current item */
    uint64_t processes;          /* in the total */
    cJSON *items, *item;
    char next[ID_TEXT_BYTES];
};

static struct ledger *total_begin(void *context, const struct catalog_loss_group *group)
{
    struct loss_list *list = context;
    list->processes = group->processes;
    return &list->total;
}

static void item_end(struct loss_list *list)
{
    if (list->item != NULL)
        cJSON_AddItemToObject(list->item, "ledger", ledger_json(&list->ledger));
    ledger_fini(&list->ledger);
    list->item = NULL;
}

static struct ledger *item_begin(void *context, const struct catalog_loss_group *group)
{
    struct loss_list *list = context;
    item_end(list);
    list->item = cJSON_CreateObject();
    cJSON_AddItemToArray(list->items, list->item);
    cJSON_AddStringToObject(list->item, list->by->text, group->name);
    if (list->by->by == CATALOG_LOSS_BY_PROCESS) {
        cJSON_AddStringToObject(list->item, "host", group->account.host);
        cJSON_AddStringToObject(list->item, "service", group->account.service);
        cJSON_AddNumberToObject(list->item, "pid", group->account.pid);
    } else {
        json_add_u64(list->item, "processes", group->processes);
    }
    return &list->ledger;
}

/* Adds a part. A gap that nobody could count has no events: it is listed all the same. */
static void part_add(struct loss_list *list, const char *reason, enum loss_place place,
                     uint64_t events, uint64_t gaps)
{
    if (events == 0 && gaps == 0)
        return;
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "place", loss_place_text(place));
    if (reason != NULL)
        cJSON_AddStringToObject(item, "reason", reason);
    json_add_u64(item, "events", events);
    json_add_u64(item, "gaps", gaps);
    cJSON_AddItemToArray(list->items, item);
}

/* Lists the parts of the total, whose gaps have been merged. */
static void parts_list(struct loss_list *list, bool by_place)
{
    uint64_t gaps[LOSS_REASONS] = {0}, place_gaps[LOSS_PLACES] = {0}, events[LOSS_PLACES] = {0};
    for (size_t i = 0; i < list->total.gap_count; i++)
        gaps[list->total.gaps[i].reason]++;
    for (int i = 0; i < LOSS_REASONS; i++) {
        enum loss_reason reason = (enum loss_reason)i;
        enum loss_place place = loss_place(reason);
        if (place == LOSS_PLACE_KEPT)
            continue;
        events[place] += list->total.events[i];
        place_gaps[place] += gaps[i];
        if (!by_place)
            part_add(list, loss_text(reason), place, list->total.events[i], gaps[i]);
    }
    for (int i = 0; by_place && i < LOSS_PLACES; i++)
        part_add(list, NULL, (enum loss_place)i, events[i], place_gaps[i]);
}

static const struct loss_by *grouping_read(struct http_exchange *x)
{
    const char *text = http_query(x, "by");
    for (size_t i = 0; i < sizeof loss_bys / sizeof loss_bys[0]; i++) {
        const struct loss_by *by = &loss_bys[i];
        if (strcmp(text != NULL ? text : "process", by->text) != 0)
            continue;
        if (by->by != CATALOG_LOSS_BY_RULE || http_principal(x)->selector == NULL)
            return by;
        http_problem(x, 403, "by", "by: rules are not told to a token with a selector");
        return NULL;
    }
    http_problem(x, 400, "by",
                 "by: must be process, service, host, capture, rule, reason or place");
    return NULL;
}

/* Answers with the total, unless this is a page that follows another. Owns the items from here
 * on. */
static void loss_reply(struct http_exchange *x, struct loss_list *list, bool follows)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *total = follows ? NULL : ledger_json(&list->total); /* merges its gaps */
    if (list->by->by == CATALOG_LOSS_ALL)
        parts_list(list, strcmp(list->by->text, "place") == 0);
    cJSON_AddItemToObject(json, "items", list->items);
    list->items = NULL;
    if (!follows) {
        json_add_u64(json, "processes", list->processes);
        cJSON_AddItemToObject(json, "total", total);
    }
    if (list->next[0] != '\0')
        cJSON_AddStringToObject(json, "next_cursor", list->next);
    http_reply_json(x, 200, json);
}

void api_loss(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct loss_list list = {.by = NULL};
    struct catalog_loss_query query = {.by = CATALOG_LOSS_ALL};
    struct selector *selector;
    uint8_t after[16];
    char cursor[ID_TEXT_BYTES] = "";
    size_t limit;
    bool follows;
    if ((list.by = grouping_read(x)) == NULL || !api_limit(x, &limit) ||
        !api_window(x, &query.from_ns, &query.to_ns) ||
        !api_query_id(x, "cursor", after, &follows) || !api_selector(x, &selector, NULL))
        return;
    query.selector = selector;
    list.items = cJSON_CreateArray();
    follows = follows && list.by->paged;
    if (follows)
        id_text(after, cursor);
    control_catch_up(api->control);
    int status = follows ? SKEIN_OK : catalog_loss(api->catalog, &query, total_begin, &list, NULL);
    if (status == SKEIN_OK && list.by->by != CATALOG_LOSS_ALL) {
        query.by = list.by->by;
        query.limit = list.by->paged ? limit : 0;
        query.after = cursor;
        status = catalog_loss(api->catalog, &query, item_begin, &list, list.next);
        item_end(&list);
    }
    if (status == SKEIN_OK)
        loss_reply(x, &list, follows);
    else
        api_failed(x, status, "the catalog cannot be read");
    ledger_fini(&list.total);
    cJSON_Delete(list.items);
    selector_free(&selector);
}
