/* SPDX-License-Identifier: Apache-2.0
 *
 * /rules. No state; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api.h"

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
    if (rules_get(c->rules, http_part(x, 0), &json) == SKEIN_OK)
        http_reply_json(x, 200, json);
    else
        no_rule(x);
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
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else
        api_failed(x, status, "the rule could not be deleted");
}
