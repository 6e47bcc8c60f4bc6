/* SPDX-License-Identifier: Apache-2.0
 *
 * /rules and the dry run of selectors. No state; any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "json.h"

/* Headers of a receiver may hold a password: who may not set them does not see them. */
static void hide_secrets(const struct http_exchange *x, cJSON *rule)
{
    const cJSON *notify = cJSON_GetObjectItemCaseSensitive(rule, "notify");
    const cJSON *webhook = cJSON_GetObjectItemCaseSensitive(notify, "webhook");
    cJSON *header;
    if (http_principal(x)->scope >= HTTP_ADMIN)
        return;
    cJSON_ArrayForEach(header, cJSON_GetObjectItemCaseSensitive(webhook, "headers"))
        cJSON_SetValuestring(header, "hidden");
}

void api_rules_list(void *context, struct http_exchange *x)
{
    static const char *const known[] = {"cursor", "limit", NULL};
    struct collector *c = context;
    const char *cursor = http_query(x, "cursor");
    size_t limit;
    char next[64] = "";
    cJSON *all = NULL, *items = cJSON_CreateArray(), *rule;
    bool more = false;
    if (!http_query_known(x, known) || !api_limit(x, &limit)) {
        cJSON_Delete(items);
        return;
    }
    rules_list(c->rules, &all);
    while ((rule = cJSON_DetachItemFromArray(all, 0)) != NULL) {
        const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(rule, "name"));
        bool behind = cursor == NULL || (name != NULL && strcmp(name, cursor) > 0);
        if (behind && (size_t)cJSON_GetArraySize(items) < limit) {
            snprintf(next, sizeof next, "%s", name != NULL ? name : "");
            hide_secrets(x, rule);
            cJSON_AddItemToArray(items, rule);
        } else {
            more |= behind;
            cJSON_Delete(rule);
        }
    }
    cJSON_Delete(all);
    api_reply_items(x, items, more ? next : NULL);
}

static void no_rule(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no rule %.64s; GET /api/v1/rules lists them", http_part(x, 0));
}

void api_rules_get(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct collector *c = context;
    cJSON *json;
    if (!http_query_known(x, known))
        return;
    if (rules_get(c->rules, http_part(x, 0), &json) != SKEIN_OK) {
        no_rule(x);
        return;
    }
    hide_secrets(x, json);
    http_reply_json(x, 200, json);
}

void api_rules_put(void *context, struct http_exchange *x)
{
    struct collector *c = context;
    char error[512] = "", location[128];
    bool created;
    cJSON *out, *body = http_body_json(x);
    if (body == NULL)
        return;
    int status = rules_put(c->rules, http_part(x, 0), body, &created, &out, error, sizeof error);
    cJSON_Delete(body);
    if (status != SKEIN_INVALID && status != SKEIN_TOO_LARGE)
        api_audit(x, "rule.put", http_part(x, 0), api_result(status), NULL);
    if (status == SKEIN_OK) {
        snprintf(location, sizeof location, "/api/v1/rules/%.63s", http_part(x, 0));
        if (created)
            http_add_header(x, "Location", location);
        http_reply_json(x, created ? 201 : 200, out);
    } else if (status == SKEIN_INVALID) {
        api_invalid(x, error);
    } else if (status == SKEIN_TOO_LARGE) {
        http_problem(x, 422, NULL,
                     "all rules together must fit one message to an agent, 63 KiB of JSON: "
                     "delete or shorten some");
    } else {
        api_failed(x, status, "the rule could not be saved");
    }
}

void api_rules_delete(void *context, struct http_exchange *x)
{
    struct collector *c = context;
    int status = rules_delete(c->rules, http_part(x, 0));
    api_audit(x, "rule.delete", http_part(x, 0), api_result(status), NULL);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else
        api_failed(x, status, "the rule could not be deleted");
}

void api_rules_history(void *context, struct http_exchange *x)
{
    static const char *const known[] = {"from", "to", "cursor", "limit", NULL};
    struct collector *c = context;
    struct rules_history_query q = {.before = UINT64_MAX};
    const char *rest;
    char next[32];
    bool given;
    cJSON *items;
    if (!http_query_known(x, known) || !api_limit(x, &q.limit) ||
        !api_time(x, "from", 0, &q.from_ns) || !api_time(x, "to", UINT64_MAX, &q.to_ns) ||
        !api_cursor(x, &given, &q.before, &rest))
        return;
    if (!given)
        q.before = UINT64_MAX;
    q.selector = http_principal(x)->selector;
    int status = rules_history(c->rules, http_part(x, 0), &q, &items);
    snprintf(next, sizeof next, "%llu-h", (unsigned long long)q.before);
    if (status == SKEIN_OK)
        api_reply_items(x, items, q.before != 0 ? next : NULL);
    else if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else
        api_failed(x, status, "the rule's history cannot be read");
}

/* ---- who matches ---- */

/* Processes that a capture with this selector would have as targets. */
static void reply_matches(struct collector *c, struct http_exchange *x, const char *text,
                          const struct selector *selector)
{
    static const char *const states[] = {"live", "gone", "offline"};
    const struct selector *confined = http_principal(x)->selector;
    cJSON *json = cJSON_CreateObject(), *items = cJSON_CreateArray();
    size_t at = 0, count = 0;
    fleet_lock(c->fleet);
    for (struct fleet_process *p; (p = fleet_process_next(c->fleet, &at)) != NULL;) {
        enum fleet_process_status status = fleet_process_status(c->fleet, p);
        if (status == FLEET_GONE || !fleet_process_match(selector, p) ||
            (confined != NULL && !fleet_process_match(confined, p)))
            continue;
        if (count++ >= API_LIMIT_MAX)
            continue;
        cJSON *item = cJSON_CreateObject();
        api_add_id(item, "process", p->uid.bytes);
        cJSON_AddStringToObject(item, "host", p->host);
        cJSON_AddNumberToObject(item, "pid", p->pid);
        cJSON_AddStringToObject(item, "service", p->service);
        cJSON_AddStringToObject(item, "status", states[status]);
        cJSON_AddItemToArray(items, item);
    }
    fleet_unlock(c->fleet);
    cJSON_AddStringToObject(json, "selector", text);
    json_add_u64(json, "matches", count);
    cJSON_AddItemToObject(json, "items", items);
    http_reply_json(x, 200, json);
}

void api_rules_matches(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct collector *c = context;
    struct selector *selector = NULL;
    char error[160], *text;
    if (!http_query_known(x, known))
        return;
    int status = rules_selector(c->rules, http_part(x, 0), &text);
    if (status == SKEIN_OK)
        status = selector_new(text, &selector, error, sizeof error);
    if (status == SKEIN_OK)
        reply_matches(c, x, text, selector);
    else if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else
        api_failed(x, status, "the rule's selector cannot be read");
    selector_free(&selector);
    free(text);
}

void api_selectors_match(void *context, struct http_exchange *x)
{
    static const char *const known[] = {"selector", NULL};
    struct collector *c = context;
    struct json_reader r = {{0}};
    struct selector *selector = NULL;
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    json_known(&r, body, "", known);
    const char *text = json_str(&r, body, "", "selector", JSON_REQUIRED, "", 1024);
    if (r.error[0] == '\0' && selector_new(text, &selector, r.error, sizeof r.error) == SKEIN_OK)
        reply_matches(c, x, text, selector);
    else
        api_invalid(x, r.error);
    selector_free(&selector);
    cJSON_Delete(body);
}
