/* SPDX-License-Identifier: Apache-2.0
 *
 * /rules. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "json.h"

/* Shows only the server of an address: for many receivers the path is the password. */
static void path_hide(cJSON *url)
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
static void secrets_hide(const struct http_exchange *x, cJSON *rule)
{
    const cJSON *notify = cJSON_GetObjectItemCaseSensitive(rule, "notify");
    const cJSON *webhook = cJSON_GetObjectItemCaseSensitive(notify, "webhook");
    cJSON *header;
    if (http_principal(x)->scope >= HTTP_ADMIN)
        return;
    path_hide(cJSON_GetObjectItemCaseSensitive(webhook, "url"));
    cJSON_ArrayForEach(header, cJSON_GetObjectItemCaseSensitive(webhook, "headers"))
        cJSON_SetValuestring(header, "hidden");
}

static struct named_set *set_of(void *context)
{
    return rules_set(((struct api_services *)context)->rules);
}

void api_rules_list(void *context, struct http_exchange *x)
{
    api_named_list(x, set_of(context), secrets_hide);
}

void api_rules_get(void *context, struct http_exchange *x)
{
    api_named_get(x, set_of(context), secrets_hide);
}

void api_rules_put(void *context, struct http_exchange *x)
{
    api_named_change(x, set_of(context), false);
}

void api_rules_patch(void *context, struct http_exchange *x)
{
    api_named_change(x, set_of(context), true);
}

void api_rules_delete(void *context, struct http_exchange *x)
{
    api_named_delete(x, set_of(context));
}

void api_rules_matches(void *context, struct http_exchange *x)
{
    api_named_matches(context, x, set_of(context));
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
    snprintf(next, sizeof next, "%" PRIu64 "-h", q.before);
    if (status == SKEIN_OK)
        api_reply_items(x, items, q.before != 0 ? next : NULL);
    else if (status == SKEIN_NOT_FOUND)
        api_named_none(x, set_of(context));
    else
        api_failed(x, status, "the rule's history cannot be read");
}
