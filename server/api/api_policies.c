/* SPDX-License-Identifier: Apache-2.0
 *
 * /policies. No state; any thread.
 */
#include <stdlib.h>

#include "api.h"
#include "api_handlers.h"

static const struct api_named named = {"policy", "policies", 31};

void api_policies_list(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    cJSON *all = NULL;
    policies_list(api->policies, &all);
    api_reply_named(x, all);
}

static void no_policy(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no policy %.64s; GET /api/v1/policies lists them", http_part(x, 0));
}

void api_policies_get(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct api_services *api = context;
    cJSON *json;
    if (!http_query_known(x, known))
        return;
    if (policies_get(api->policies, http_part(x, 0), &json) != SKEIN_OK) {
        no_policy(x);
        return;
    }
    api_add_etag(x, json);
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
        policies_put(api->policies, http_part(x, 0), &asked, &created, &out, error, sizeof error);
    cJSON_Delete(body);
    if (status == SKEIN_NOT_FOUND)
        no_policy(x);
    else
        api_reply_put(x, &named, status, created, out, error);
}

void api_policies_put(void *context, struct http_exchange *x)
{
    change(context, x, false);
}

void api_policies_patch(void *context, struct http_exchange *x)
{
    change(context, x, true);
}

void api_policies_delete(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    const struct named_if when = api_named_if(x);
    if (!api_reply_deleted(x, &named, policies_delete(api->policies, http_part(x, 0), &when)))
        no_policy(x);
}

void api_policies_matches(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    char *text;
    int status = policies_selector(api->policies, http_part(x, 0), &text);
    if (status == SKEIN_NOT_FOUND)
        no_policy(x);
    else if (status != SKEIN_OK)
        api_failed(x, status, "the policy's selector cannot be read");
    else
        api_reply_matches(api, x, text);
    free(text);
}
