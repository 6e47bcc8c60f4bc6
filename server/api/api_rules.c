/* SPDX-License-Identifier: Apache-2.0
 *
 * /rules. No state; any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "json.h"

static const struct api_named named = {"rule", "rules", 63};

/* Leaves of an address the server's: with many receivers the path is the password. */
static void hide_path(cJSON *url)
{
    char shown[1200];
    const char *text = cJSON_GetStringValue(url);
    const char *host = text != NULL ? strstr(text, "://") : NULL;
    size_t n = host != NULL ? (size_t)(host - text) + 3 : 0;
    if (n == 0)
        return;
    n += strcspn(text + n, "/?#");
    if (text[n] == '\0' || strcmp(text + n, "/") == 0)
        return;
    snprintf(shown, sizeof shown, "%.*s/hidden", (int)n, text);
    cJSON_SetValuestring(url, shown);
}

/* What leads to a receiver may hold a password: who may not set it does not see it. */
static void hide_secrets(const struct http_exchange *x, cJSON *rule)
{
    const cJSON *notify = cJSON_GetObjectItemCaseSensitive(rule, "notify");
    const cJSON *webhook = cJSON_GetObjectItemCaseSensitive(notify, "webhook");
    cJSON *header;
    if (http_principal(x)->scope >= HTTP_ADMIN)
        return;
    hide_path(cJSON_GetObjectItemCaseSensitive(webhook, "url"));
    cJSON_ArrayForEach(header, cJSON_GetObjectItemCaseSensitive(webhook, "headers"))
        cJSON_SetValuestring(header, "hidden");
}

void api_rules_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    cJSON *all = NULL, *rule;
    rules_list(api->rules, &all);
    cJSON_ArrayForEach(rule, all) hide_secrets(x, rule);
    api_reply_named(x, all);
}

static void no_rule(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no rule %.64s; GET /api/v1/rules lists them", http_part(x, 0));
}

void api_rules_get(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct api_services *api = context;
    cJSON *json;
    if (!http_query_known(x, known))
        return;
    if (rules_get(api->rules, http_part(x, 0), &json) != SKEIN_OK) {
        no_rule(x);
        return;
    }
    api_add_etag(x, json);
    hide_secrets(x, json);
    http_reply_json(x, 200, json);
}

static void change(struct api_services *api, struct http_exchange *x, bool patch)
{
    char error[512] = "";
    bool created = false;
    cJSON *out = NULL, *body = http_body_json(x);
    if (body == NULL)
        return;
    const struct named_change asked = {.body = body, .patch = patch, .when = api_named_if(x)};
    int status =
        rules_put(api->rules, http_part(x, 0), &asked, &created, &out, error, sizeof error);
    cJSON_Delete(body);
    if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else
        api_reply_put(x, &named, status, created, out, error);
}

void api_rules_put(void *context, struct http_exchange *x)
{
    change(context, x, false);
}

void api_rules_patch(void *context, struct http_exchange *x)
{
    change(context, x, true);
}

void api_rules_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    const struct named_if when = api_named_if(x);
    if (!api_reply_deleted(x, &named, rules_delete(api->rules, http_part(x, 0), &when)))
        no_rule(x);
}

void api_rules_history(void *context, struct http_exchange *x)
{
    static const char *const known[] = {"from", "to", "cursor", "limit", NULL};
    struct api_services *api = context;
    struct rules_history_query q = {.before = UINT64_MAX};
    const char *rest;
    char next[32];
    bool given;
    cJSON *items;
    if (!http_query_known(x, known) || !api_limit(x, &q.limit) ||
        !api_window(x, &q.from_ns, &q.to_ns) || !api_cursor(x, &given, &q.before, &rest))
        return;
    if (!given)
        q.before = UINT64_MAX;
    q.selector = http_principal(x)->selector;
    int status = rules_history(api->rules, http_part(x, 0), &q, &items);
    snprintf(next, sizeof next, "%llu-h", (unsigned long long)q.before);
    if (status == SKEIN_OK)
        api_reply_items(x, items, q.before != 0 ? next : NULL);
    else if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else
        api_failed(x, status, "the rule's history cannot be read");
}

void api_rules_matches(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    char *text;
    int status = rules_selector(api->rules, http_part(x, 0), &text);
    if (status == SKEIN_NOT_FOUND)
        no_rule(x);
    else if (status != SKEIN_OK)
        api_failed(x, status, "the rule's selector cannot be read");
    else
        api_reply_matches(api, x, text);
    free(text);
}
