/* SPDX-License-Identifier: Apache-2.0
 *
 * /loss and /processes/{process}: ledgers of processes, summed from what the catalog keeps of their
 * captures and what their rings say. No state; any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "catalog_loss.h"
#include "clock.h"
#include "json.h"
#include "ledger.h"
#include "process_labels.h"

#define SUMS_AT_ONCE 4
#define SUM_S        15 /* one may take so long */

/* ---- one process ---- */

/* Sums the accounts of a process, which come one after the other. */
struct process_ledger {
    struct ledger ledger;
    uint64_t ring_lost;
};

static void take_account(struct process_ledger *p, const struct catalog_ledger *row)
{
    struct ledger one = {.stored = 0};
    ledger_parse(&one, row->ledger);
    if (row->evicted) {
        ledger_lose(&one, LOSS_EVICTED, one.stored);
        one.stored = 0;
    }
    ledger_add(&p->ledger, &one);
    ledger_fini(&one);
    p->ring_lost = row->ring_lost > p->ring_lost ? row->ring_lost : p->ring_lost;
}

/* Captures tell of what the ring lost within their windows; the ring of all. */
static void ring_settle(struct process_ledger *p)
{
    uint64_t told = p->ledger.events[LOSS_RING_FULL];
    if (p->ring_lost > told)
        ledger_lose(&p->ledger, LOSS_RING_FULL, p->ring_lost - told);
}

struct one_process {
    const struct selector *selector;
    struct process_ledger sum;
    cJSON *json; /* what it is; NULL: nobody has said yet */
};

/* A process that the fleet has forgotten, or of which only partitions came. */
static cJSON *gone_json(const struct catalog_ledger *row)
{
    char agent[AGENT_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject();
    api_add_id(json, "process", row->process.bytes);
    agent_text(row->agent, agent);
    cJSON_AddStringToObject(json, "agent", agent);
    cJSON_AddStringToObject(json, "host", row->host);
    cJSON_AddNumberToObject(json, "pid", row->pid);
    cJSON_AddStringToObject(json, "service", row->service);
    api_add_labels(json, "labels", row->labels);
    cJSON_AddStringToObject(json, "exe", row->exe);
    cJSON_AddStringToObject(json, "status", "gone");
    return json;
}

static struct process_labels labels_of(const struct catalog_ledger *row)
{
    return (struct process_labels){row->service, row->host, row->exe,
                                   row->labels,  row->pid,  row->process.bytes};
}

static int take_row(void *context, const struct catalog_ledger *row)
{
    struct one_process *p = context;
    struct process_labels labels = labels_of(row);
    if (!process_labels_match(p->selector, &labels))
        return 0;
    if (p->json == NULL)
        p->json = gone_json(row);
    take_account(&p->sum, row);
    return 0;
}

void api_processes_get(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct api_services *api = context;
    struct process_uid uid;
    struct one_process one = {.selector = http_principal(x)->selector};
    if (!http_query_known(x, known) || !api_path_id(x, "process", uid.bytes))
        return;
    control_lock(api->control);
    const struct fleet_process *p = fleet_process_find(api->fleet, &uid);
    if (p != NULL && fleet_process_match(one.selector, p)) {
        one.json = api_process_json(api->fleet, p);
        one.sum.ring_lost = p->events_lost;
    }
    control_unlock(api->control);
    struct catalog_ledger_query query = {.process = &uid, .to_ns = UINT64_MAX};
    int64_t rows = catalog_ledgers(api->catalog, &query, take_row, &one);
    if (rows < 0) {
        cJSON_Delete(one.json);
        api_failed(x, (int)rows, "the catalog cannot be read");
    } else if (one.json == NULL) {
        http_problem(x, 404, NULL, "no process %.64s is known; GET /api/v1/processes lists them",
                     http_part(x, 0));
    } else {
        ring_settle(&one.sum);
        cJSON_AddItemToObject(one.json, "ledger", ledger_json(&one.sum.ledger));
        http_reply_json(x, 200, one.json);
    }
    ledger_fini(&one.sum.ledger);
}

/* ---- many ---- */

struct group { /* of processes with one service, or on one host */
    char *name;
    uint64_t processes;
    struct ledger ledger;
};

enum loss_by { BY_PROCESS, BY_SERVICE, BY_HOST, BY_REASON };

struct loss_list {
    enum loss_by by;
    struct selector *selector;
    bool follows, more; /* follows: a page behind the first one, which is of items alone */
    size_t limit;
    struct process_uid at; /* the process whose accounts come now */
    bool any;
    struct process_ledger sum;
    cJSON *item; /* who it is */
    char next[ID_TEXT_BYTES];
    struct group *groups;
    size_t group_count;
    uint64_t processes;
    struct ledger total;
    cJSON *items;
    uint64_t until_ns; /* monotonic */
    int status;        /* SKEIN_BUSY: there is too much of it */
};

static struct group *group_of(struct loss_list *list, const char *name)
{
    size_t low = 0, high = list->group_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strcmp(list->groups[middle].name, name);
        if (order == 0)
            return &list->groups[middle];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    struct group *more = realloc(list->groups, (list->group_count + 1) * sizeof *more);
    char *copy = strdup(name);
    if (more != NULL)
        list->groups = more;
    if (more == NULL || copy == NULL) {
        free(copy);
        list->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    memmove(more + low + 1, more + low, (list->group_count - low) * sizeof *more);
    list->group_count++;
    more[low] = (struct group){.name = copy};
    return &more[low];
}

static void list_process(struct loss_list *list)
{
    if (list->more || (size_t)cJSON_GetArraySize(list->items) == list->limit) {
        list->more = true;
        return;
    }
    id_text(list->at.bytes, list->next);
    cJSON_AddItemToObject(list->item, "ledger", ledger_json(&list->sum.ledger));
    cJSON_AddItemToArray(list->items, list->item);
    list->item = NULL;
}

/* All accounts of a process have come. */
static void process_end(struct loss_list *list)
{
    if (!list->any)
        return;
    ring_settle(&list->sum);
    ledger_add(&list->total, &list->sum.ledger);
    list->processes++;
    if (list->by == BY_PROCESS)
        list_process(list);
    if (list->by == BY_SERVICE || list->by == BY_HOST) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(
            list->item, list->by == BY_SERVICE ? "service" : "host"));
        struct group *group = group_of(list, name != NULL ? name : "");
        if (group != NULL) {
            group->processes++;
            ledger_add(&group->ledger, &list->sum.ledger);
        }
    }
    cJSON_Delete(list->item);
    list->item = NULL;
    ledger_fini(&list->sum.ledger);
    list->sum.ring_lost = 0;
    list->any = false;
}

static int take_loss(void *context, const struct catalog_ledger *row)
{
    struct loss_list *list = context;
    struct process_labels labels = labels_of(row);
    if (clock_monotonic_ns() > list->until_ns)
        list->status = SKEIN_BUSY;
    if (list->status != SKEIN_OK)
        return 1;
    if (!process_labels_match(list->selector, &labels))
        return 0;
    if (!list->any || !process_uid_equal(&list->at, &row->process)) {
        process_end(list);
        list->any = true;
        list->at = row->process;
        list->item = cJSON_CreateObject();
        api_add_id(list->item, "process", row->process.bytes);
        cJSON_AddStringToObject(list->item, "host", row->host);
        cJSON_AddStringToObject(list->item, "service", row->service);
        cJSON_AddNumberToObject(list->item, "pid", row->pid);
    }
    take_account(&list->sum, row);
    return list->status != SKEIN_OK || (list->follows && list->more);
}

static void list_groups(struct loss_list *list)
{
    for (size_t i = 0; i < list->group_count; i++) {
        struct group *group = &list->groups[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, list->by == BY_SERVICE ? "service" : "host", group->name);
        json_add_u64(item, "processes", group->processes);
        cJSON_AddItemToObject(item, "ledger", ledger_json(&group->ledger));
        cJSON_AddItemToArray(list->items, item);
    }
}

/* What nobody could count is a gap without events: it is listed all the same. */
static void list_reasons(struct loss_list *list)
{
    uint64_t gaps[LOSS_REASONS] = {0};
    for (size_t i = 0; i < list->total.gap_count; i++)
        gaps[list->total.gaps[i].reason]++;
    for (int i = 0; i < LOSS_REASONS; i++) {
        enum loss_reason reason = (enum loss_reason)i;
        if ((list->total.events[i] == 0 && gaps[i] == 0) || loss_place(reason) == LOSS_PLACE_KEPT)
            continue;
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "place", loss_place_text(loss_place(reason)));
        cJSON_AddStringToObject(item, "reason", loss_text(reason));
        json_add_u64(item, "events", list->total.events[i]);
        json_add_u64(item, "gaps", gaps[i]);
        cJSON_AddItemToArray(list->items, item);
    }
}

static bool read_by(struct http_exchange *x, enum loss_by *by)
{
    static const char *const names[] = {"process", "service", "host", "reason"};
    const char *text = http_query(x, "by");
    for (int i = 0; i < 4; i++)
        if (text == NULL ? i == BY_PROCESS : strcmp(text, names[i]) == 0) {
            *by = (enum loss_by)i;
            return true;
        }
    http_problem(x, 400, "by", "by: must be process, service, host or reason");
    return false;
}

static void loss_reply(struct http_exchange *x, struct loss_list *list)
{
    cJSON *json = cJSON_CreateObject();
    cJSON *total = ledger_json(&list->total); /* merges its gaps */
    if (list->by == BY_REASON)
        list_reasons(list);
    else
        list_groups(list);
    cJSON_AddItemToObject(json, "items", list->items);
    list->items = NULL;
    if (list->follows) {
        cJSON_Delete(total);
    } else {
        json_add_u64(json, "processes", list->processes);
        cJSON_AddItemToObject(json, "total", total);
    }
    if (list->more)
        cJSON_AddStringToObject(json, "next_cursor", list->next);
    http_reply_json(x, 200, json);
}

static void loss_sum(struct api_services *api, struct http_exchange *x,
                     const struct catalog_ledger_query *query, struct loss_list *list)
{
    list->items = cJSON_CreateArray();
    list->until_ns = clock_monotonic_ns() + SUM_S * UINT64_C(1000000000);
    int64_t rows = catalog_ledgers(api->catalog, query, take_loss, list);
    process_end(list);
    if (rows >= 0 && list->status == SKEIN_BUSY)
        http_problem(x, 503, NULL, "this takes more than %d s; narrow it by from and to", SUM_S);
    else if (rows < 0 || list->status != SKEIN_OK)
        api_failed(x, rows < 0 ? (int)rows : list->status, "the catalog cannot be read");
    else
        loss_reply(x, list);
    for (size_t i = 0; i < list->group_count; i++) {
        free(list->groups[i].name);
        ledger_fini(&list->groups[i].ledger);
    }
    free(list->groups);
    ledger_fini(&list->total);
    cJSON_Delete(list->items);
}

void api_loss(void *context, struct http_exchange *x)
{
    static const char *const known[] = {"selector", "from", "to", "by", "cursor", "limit", NULL};
    struct api_services *api = context;
    struct loss_list list = {.by = BY_PROCESS};
    struct catalog_ledger_query query = {.process = NULL};
    struct process_uid after;
    bool given;
    if (!http_query_known(x, known) || !read_by(x, &list.by) || !api_limit(x, &list.limit) ||
        !api_window(x, &query.from_ns, &query.to_ns) ||
        !api_query_id(x, "cursor", after.bytes, &given) || !api_selector(x, &list.selector, NULL))
        return;
    list.follows = given && list.by == BY_PROCESS;
    query.after = list.follows ? &after : NULL;
    if (api_enter(x, &api->sums, SUMS_AT_ONCE, "sums of losses")) {
        loss_sum(api, x, &query, &list);
        api_leave(&api->sums);
    }
    selector_free(&list.selector);
}
