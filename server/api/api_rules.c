/* SPDX-License-Identifier: Apache-2.0
 *
 * /rules/{name}/history. No state; any thread.
 */
#include <inttypes.h>
#include <stdio.h>

#include "api.h"
#include "api_handlers.h"

void api_rules_history(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct rules_history_query q = {.before = UINT64_MAX};
    const char *rest;
    char next[32];
    bool given;
    cJSON *items;
    if (!api_limit(x, &q.limit) || !api_window(x, &q.from_ns, &q.to_ns) ||
        !api_cursor(x, &given, &q.before, &rest))
        return;
    if (!given)
        q.before = UINT64_MAX;
    q.selector = http_principal(x)->selector;
    int status = rules_history(api->rules, http_part(x, 0), &q, &items);
    snprintf(next, sizeof next, "%" PRIu64 "-h", q.before);
    if (status == SKEIN_OK)
        api_reply_items(x, items, q.before != 0 ? next : NULL);
    else if (status == SKEIN_NOT_FOUND)
        api_named_none(x, rules_set(api->rules));
    else
        api_failed(x, status, "the rule's history cannot be read");
}
