/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures: one capture, stop and delete by the engine, listings from the catalog; deletion also of
 * all captures of an incident. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "api_trace_id.h"
#include "catalog_capture.h"
#include "catalog_loss.h"
#include "json.h"
#include "process_labels.h"
#include "rules.h"

#define SCAN_PAGE 200
#define SCAN_MAX  10000 /* captures looked at for one answer; a short page with a cursor follows */

void api_no_capture(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no capture %.64s; GET /api/v1/captures lists them",
                 http_part(x, 0));
}

bool api_capture_get(struct api_services *api, struct http_exchange *x, const struct capture_id *id,
                     cJSON **capture)
{
    int status = capture_get(api->captures, id, http_principal(x)->selector, capture);
    if (status == SKEIN_NOT_FOUND)
        api_no_capture(x);
    else if (status != SKEIN_OK)
        api_failed(x, status, "the capture cannot be read");
    return status == SKEIN_OK;
}

static void no_incident(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no capture of the incident %.64s; GET /api/v1/captures lists them",
                 http_query(x, "incident"));
}

void api_no_pin(struct http_exchange *x)
{
    http_problem_of(
        x, PROBLEM_CONFINED, "pin",
        "pin: pinned captures have half of retention.max_bytes, which is all that tokens "
        "that are confined may pin: unpin or delete some, or ask without a pin");
}

void api_no_change(struct http_exchange *x, int status, const char *what)
{
    if (status == SKEIN_NOT_FOUND && http_part(x, 0)[0] == '\0')
        no_incident(x);
    else if (status == SKEIN_NOT_FOUND)
        api_no_capture(x);
    else if (status == SKEIN_DENIED)
        http_problem(x, 403, NULL,
                     "there are targets that the token %s may not see; who changes it must see "
                     "all",
                     http_principal(x)->name);
    else if (status == SKEIN_REFUSED)
        api_no_pin(x);
    else
        api_failed(x, status, what);
}

bool api_captures_id(struct http_exchange *x, struct capture_id *id, bool *incident)
{
    bool given;
    *incident = http_part(x, 0)[0] == '\0';
    if (!*incident)
        return api_path_id(x, "capture", id->bytes);
    if (!api_query_id(x, "incident", id->bytes, &given))
        return false;
    if (!given)
        http_problem(x, 400, "incident", "is missing: whose captures it is about");
    return given;
}

void api_audit_captures(struct http_exchange *x, const char *action, const struct capture_id *id,
                        bool incident, const struct capture_ids *ids, int status,
                        const char *detail)
{
    char text[ID_TEXT_BYTES], of[64];
    id_text(id->bytes, text);
    snprintf(of, sizeof of, "of the incident %s", text);
    if (incident)
        detail = of;
    if (!incident || ids->count == 0)
        api_audit_id(x, action, id->bytes, status, detail);
    for (size_t i = 0; incident && i < ids->count; i++)
        api_audit_id(x, action, ids->items[i].bytes, status, detail);
}

/* ---- the listing ---- */

/* One capture of a page, copied out of the catalog's callback. */
struct listed {
    struct capture_id id, incident;
    uint64_t created_ns;
    char *listing;
};
struct scan {
    struct listed items[SCAN_PAGE];
    size_t count;
};

static int listed_take(void *context, const struct catalog_capture *row)
{
    struct scan *scan = context;
    char *copy = strdup(row->listing);
    if (copy == NULL || scan->count == SCAN_PAGE) {
        free(copy);
        return 1;
    }
    scan->items[scan->count++] = (struct listed){row->id, row->incident, row->created_ns, copy};
    return 0;
}

/* What a listing asks about a capture's targets. It reads rows only: it loads no capture, and waits
 * for nobody. */
struct look {
    const struct selector *selector; /* the listing's */
    const struct selector *within;   /* what the asker is confined to; NULL: nothing */
    bool matched;
    cJSON *counts;        /* of the targets within; only for a confined asker */
    struct ledger ledger; /* of the same targets */
};

static int api_captures_look_at(void *context, const struct catalog_target *t)
{
    struct look *look = context;
    struct process_labels labels = {t->service, t->host, t->exe,
                                    t->labels,  t->pid,  t->process.bytes};
    look->matched = look->matched || process_labels_match(look->selector, &labels);
    if (look->within == NULL)
        return look->matched;
    if (process_labels_match(look->within, &labels)) {
        cJSON *count = cJSON_GetObjectItemCaseSensitive(look->counts, t->status);
        if (count == NULL)
            cJSON_AddNumberToObject(look->counts, t->status, 1);
        else
            cJSON_SetNumberValue(count, count->valuedouble + 1);
    }
    return 0;
}

static struct ledger *look_ledger(void *context, const struct catalog_loss_group *group)
{
    (void)group;
    return &((struct look *)context)->ledger;
}

/* Keeps of a listing what capture_json shows a confined asker; the rest tells of all targets. Owns
 * all three from here on. */
static cJSON *within_json(cJSON *listing, cJSON *counts, cJSON *ledger)
{
    static const char *const shown[] = {"capture",  "incident", "kind",   "status",  "at",
                                        "pre_ms",   "post_ms",  "window", "created", "deadline",
                                        "finished", "expires",  NULL};
    cJSON *json = cJSON_CreateObject();
    json_members_copy(json, listing, shown);
    cJSON_AddItemToObject(json, "target_counts", counts);
    cJSON_AddItemToObject(json, "ledger", ledger);
    cJSON_Delete(listing);
    return json;
}

void api_add_url(const struct api_services *api, cJSON *capture)
{
    capture_add_url(capture, api->config.http_public_url);
}

/* The capture as its listing has it, or what a confined asker may see of it. NULL: no target
 * matches the selector (NULL: all match). */
static cJSON *listing_json(struct api_services *api, const struct http_exchange *x,
                           const struct selector *selector, const struct listed *l)
{
    struct look look = {.selector = selector, .within = http_principal(x)->selector};
    char error[64];
    if (look.within != NULL)
        look.counts = cJSON_CreateObject();
    if (selector != NULL)
        catalog_targets(api->catalog, &l->id, api_captures_look_at, &look);
    cJSON *json = NULL;
    if (selector == NULL || look.matched)
        json = json_parse(l->listing, strlen(l->listing), error, sizeof error);
    /* Older rows, from before incidents, lack it in the listing. */
    if (json != NULL && !cJSON_HasObjectItem(json, "incident"))
        json_add_id(json, "incident", l->incident.bytes);
    if (json != NULL && look.within != NULL) {
        struct catalog_loss_query query = {
            .selector = look.within, .to_ns = UINT64_MAX, .capture = &l->id};
        look.ledger.status = catalog_loss(api->catalog, &query, look_ledger, &look, NULL);
        json = within_json(json, look.counts, ledger_json(&look.ledger));
    } else {
        cJSON_Delete(look.counts);
    }
    ledger_fini(&look.ledger);
    api_add_url(api, json);
    return json;
}

/* What a listing asks for. */
struct captures_ask {
    struct api_services *api;
    struct http_exchange *x;
    struct catalog_capture_query query;
    struct capture_id incident;
    struct selector *selector;
    struct api_trace_id trace; /* what is asked for besides */
    size_t limit, found, looked_at;
    cJSON *items;
    bool more; /* there are older ones, behind the query's cursor */
};

/* Adds the capture if it is asked for. SKEIN_OK, SKEIN_NO_MEMORY, or the index's status. */
static int listed_add(struct captures_ask *ask, const struct listed *l)
{
    cJSON *says = NULL, *json = listing_json(ask->api, ask->x, ask->selector, l);
    int status = SKEIN_OK;
    if (json != NULL && ask->trace.given)
        status = api_trace_id_capture(&ask->trace, &l->id, ask->selector, &says);
    if (says != NULL)
        cJSON_AddItemToObject(json, "trace_id", says);
    if (json != NULL && (status != SKEIN_OK || (ask->trace.given && says == NULL))) {
        cJSON_Delete(json);
        return status;
    }
    ask->found += cJSON_AddItemToArray(ask->items, json) != 0;
    return SKEIN_OK;
}

static bool is_full(const struct captures_ask *ask)
{
    return ask->found == ask->limit ||
           (ask->trace.given && ask->looked_at > 0 && api_trace_id_is_over(&ask->trace));
}

/* Goes through a page of rows; older ones are left where the answer is full. */
static int scan_take(struct captures_ask *ask, struct scan *scan)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < scan->count; i++) {
        struct listed *l = &scan->items[i];
        if (status == SKEIN_OK && !is_full(ask)) {
            status = listed_add(ask, l);
            ask->looked_at++;
            ask->query.before = true;
            ask->query.before_created_ns = l->created_ns;
            ask->query.before_id = l->id;
        } else {
            ask->more = true;
        }
        free(l->listing);
    }
    return status;
}

/* Fills items with at most `limit` captures. SKEIN_OK or a status. */
static int captures_list(struct captures_ask *ask)
{
    struct scan *scan = malloc(sizeof *scan);
    int status = scan != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    ask->more = true;
    control_catch_up(ask->api->control);
    while (status == SKEIN_OK && !is_full(ask) && ask->looked_at < SCAN_MAX && ask->more) {
        scan->count = 0;
        ask->query.limit = SCAN_PAGE;
        int64_t rows = catalog_captures(ask->api->catalog, &ask->query, listed_take, scan);
        ask->more = scan->count == SCAN_PAGE;
        int taken = scan_take(ask, scan);
        status = rows < 0 ? (int)rows : taken;
    }
    free(scan);
    return status;
}

/* One of a few words. False: a 400 was given. */
static bool word_take(struct http_exchange *x, const char *name, const char *const *words,
                      const char *told, const char **out)
{
    *out = http_query(x, name);
    for (size_t i = 0; *out != NULL && words[i] != NULL; i++)
        if (strcmp(*out, words[i]) == 0)
            return true;
    if (*out != NULL)
        http_problem(x, 400, name, "must be %s", told);
    return *out == NULL;
}

/* What began a capture. Who is confined is not shown it, and may not find it out by a filter. False:
 * an answer was given. */
static bool began_take(struct http_exchange *x, const char *name, const char **out)
{
    *out = http_query(x, name);
    if (*out == NULL)
        return true;
    if (http_principal(x)->selector != NULL) {
        http_problem_of(x, PROBLEM_CONFINED, name,
                        "the token %s is confined to some processes, and is not shown which rule "
                        "or policy began a capture",
                        http_principal(x)->name);
        return false;
    }
    if (rule_name_valid(*out))
        return true;
    http_problem(x, 400, name, "must be the name of a %s", name);
    return false;
}

static bool kinds_take(struct http_exchange *x, struct catalog_capture_query *q)
{
    static const char *const states[] = {"running", "complete", "incomplete", "stopped", NULL};
    static const char *const kinds[] = {"snapshot", "record", "stream", "sample", NULL};
    if (!word_take(x, "status", states, "running, complete, incomplete or stopped", &q->status) ||
        !word_take(x, "kind", kinds, "snapshot, record, stream or sample", &q->kind) ||
        !began_take(x, "rule", &q->rule) || !began_take(x, "policy", &q->policy))
        return false;
    if (q->rule == NULL || q->policy == NULL)
        return true;
    http_problem(x, 400, "policy", "must not be given with rule: what began a capture is one");
    return false;
}

/* False: a 400 was given. */
static bool list_query(struct captures_ask *ask, struct http_exchange *x)
{
    struct catalog_capture_query *q = &ask->query;
    const char *rest;
    bool one;
    if (!api_limit(x, &ask->limit) || !api_window(x, &q->from_ns, &q->to_ns) ||
        !api_query_id(x, "incident", ask->incident.bytes, &one) ||
        !api_trace_id_take(x, &ask->trace) ||
        !api_cursor(x, &q->before, &q->before_created_ns, &rest))
        return false;
    if (q->before && id_parse(rest, q->before_id.bytes) != SKEIN_OK) {
        api_bad_cursor(x);
        return false;
    }
    q->incident = one ? &ask->incident : NULL;
    q->id_begins = http_query(x, "id");
    if (q->id_begins != NULL && (strlen(q->id_begins) > 32 || q->id_begins[0] == '\0' ||
                                 q->id_begins[strspn(q->id_begins, "0123456789abcdef")] != '\0')) {
        http_problem(x, 400, "id", "must be 1 to 32 hex digits, lower case");
        return false;
    }
    return kinds_take(x, q) && api_selector(x, &ask->selector, NULL);
}

static void captures_ask_free(struct captures_ask *ask)
{
    selector_free(&ask->selector);
    free(ask);
}

static void captures_answer(struct captures_ask *ask, struct http_exchange *x)
{
    char id[ID_TEXT_BYTES], next[64];
    ask->items = cJSON_CreateArray();
    int status = captures_list(ask);
    if (status != SKEIN_OK) {
        cJSON_Delete(ask->items);
        api_failed(x, status, "the captures cannot be listed");
        return;
    }
    id_text(ask->query.before_id.bytes, id);
    snprintf(next, sizeof next, "%" PRIu64 "-%s", ask->query.before_created_ns, id);
    api_trace_id_reply(x, ask->items, ask->more ? next : NULL, &ask->trace);
}

/* In its place among the exports: footers are read. */
static void captures_aside(void *context, struct http_exchange *x)
{
    struct captures_ask *ask = context;
    struct api_services *api = ask->api;
    api_trace_id_begin(&ask->trace, api);
    captures_answer(ask, x);
    captures_ask_free(ask);
    places_leave(api->exports, api_holder(x));
}

void api_captures_list(void *context, struct http_exchange *x)
{
    struct captures_ask *ask = calloc(1, sizeof *ask);
    if (ask == NULL)
        return;
    ask->api = context;
    ask->x = x;
    bool taken = list_query(ask, x);
    if (taken && ask->trace.given && api_read_aside(x, captures_aside, ask))
        return;
    if (taken && !ask->trace.given)
        captures_answer(ask, x);
    captures_ask_free(ask);
}

/* ---- one capture ---- */

/* Whether its report and summary are there: they are of all targets, so only who sees all hears of
 * them. */
static void analysis_add(struct api_services *api, const struct capture_id *id, cJSON *json)
{
    char reason[AGGREGATE_REASON_BYTES];
    const cJSON *status = cJSON_GetObjectItemCaseSensitive(json, "status");
    if (api->aggregate == NULL || !cJSON_IsString(status) ||
        strcmp(status->valuestring, "running") == 0)
        return;
    enum aggregate_state state = aggregate_state(api->aggregate, id, reason);
    cJSON *analysis = cJSON_AddObjectToObject(json, "analysis");
    cJSON_AddStringToObject(analysis, "state", aggregate_state_text(state));
    if (reason[0] != '\0')
        cJSON_AddStringToObject(analysis, "reason", reason);
}

void api_captures_get(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct capture_id id;
    cJSON *json;
    if (!api_path_id(x, "capture", id.bytes) || !api_capture_get(api, x, &id, &json))
        return;
    if (http_principal(x)->selector == NULL)
        analysis_add(api, &id, json);
    api_add_url(api, json);
    http_reply_json(x, 200, json);
}

void api_captures_stop(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct capture_id id;
    cJSON *json = NULL;
    if (!api_path_id(x, "capture", id.bytes))
        return;
    int status = capture_stop(api->captures, &id, http_principal(x)->selector, &json);
    if (status != 0)
        api_audit_id(x, "capture.stop", id.bytes, status < 0 ? status : SKEIN_OK, NULL);
    api_add_url(api, json);
    if (status >= 0)
        http_reply_json(x, status > 0 ? 202 : 200, json);
    else
        api_no_change(x, status, "the stop could not be saved");
}

void api_captures_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct capture_id id;
    struct capture_ids ids = {0};
    bool incident;
    if (!api_captures_id(x, &id, &incident))
        return;
    int status = capture_delete(api->captures, &id, incident, http_principal(x)->selector, &ids);
    api_audit_captures(x, "capture.delete", &id, incident, &ids, status, NULL);
    free(ids.items);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else
        api_no_change(x, status,
                      incident ? "the captures are deleted, some of their partitions are not yet; "
                                 "this is tried again"
                               : "the capture is deleted, its partitions are not yet; this is "
                                 "tried again");
}

/* ---- what a download is of ---- */

/* The captures of the incident that have a target within, found as a listing finds them. */
static int incident_ids(struct api_services *api, const struct capture_id *incident,
                        const struct selector *within, struct capture_ids *out)
{
    control_catch_up(api->control);
    int status = capture_incident_ids(api->catalog, incident, out);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++) {
        struct look look = {.selector = within, .matched = within == NULL};
        if (within != NULL)
            catalog_targets(api->catalog, &out->items[i], api_captures_look_at, &look);
        if (look.matched)
            out->items[kept++] = out->items[i];
    }
    out->count = kept;
    return status == SKEIN_OK && kept == 0 ? SKEIN_NOT_FOUND : status;
}

bool api_captures_of(struct api_services *api, struct http_exchange *x, struct api_captures *out)
{
    const struct selector *within = http_principal(x)->selector;
    *out = (struct api_captures){.incident = false};
    if (!api_captures_id(x, &out->id, &out->incident))
        return false;
    int status = SKEIN_OK;
    if (out->incident)
        status = incident_ids(api, &out->id, within, &out->all);
    else if ((status = capture_look(api->captures, &out->id, within)) == SKEIN_OK)
        out->all = (struct capture_ids){.items = &out->id, .count = 1};
    if (status == SKEIN_OK)
        return true;
    api_no_change(x, status, "the capture cannot be read");
    api_captures_fini(out);
    return false;
}

void api_captures_fini(struct api_captures *captures)
{
    if (captures->all.items != &captures->id)
        free(captures->all.items);
}
