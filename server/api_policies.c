/* SPDX-License-Identifier: Apache-2.0
 *
 * /policies. No state; any thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include "api.h"
#include "api_handlers.h"

void api_policies_list(void *context, struct http_exchange *x)
{
    struct collector *c = context;
    cJSON *all = NULL;
    policies_list(c->policies, &all);
    api_reply_named(x, all);
}

static void no_policy(struct http_exchange *x)
{
    http_problem(x, 404, NULL, "no policy %.64s; GET /api/v1/policies lists them", http_part(x, 0));
}

void api_policies_get(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct collector *c = context;
    cJSON *json;
    if (!http_query_known(x, known))
        return;
    if (policies_get(c->policies, http_part(x, 0), &json) == SKEIN_OK)
        http_reply_json(x, 200, json);
    else
        no_policy(x);
}

void api_policies_put(void *context, struct http_exchange *x)
{
    struct collector *c = context;
    char error[512] = "", location[128];
    const char *name = http_part(x, 0);
    bool created;
    cJSON *out, *body = http_body_json(x);
    if (body == NULL)
        return;
    int status = policies_put(c->policies, name, body, &created, &out, error, sizeof error);
    cJSON_Delete(body);
    if (status != SKEIN_INVALID && status != SKEIN_TOO_LARGE)
        api_audit(x, "policy.put", name, api_result(status), NULL);
    if (status == SKEIN_OK) {
        snprintf(location, sizeof location, "/api/v1/policies/%.63s", name);
        if (created)
            http_add_header(x, "Location", location);
        http_reply_json(x, created ? 201 : 200, out);
    } else if (status == SKEIN_INVALID) {
        api_invalid(x, error);
    } else if (status == SKEIN_TOO_LARGE) {
        http_problem(x, 422, NULL,
                     "all policies together must fit one message to an agent, 31 KiB of JSON: "
                     "delete or shorten some");
    } else {
        api_failed(x, status, "the policy could not be saved");
    }
}

void api_policies_delete(void *context, struct http_exchange *x)
{
    struct collector *c = context;
    int status = policies_delete(c->policies, http_part(x, 0));
    api_audit(x, "policy.delete", http_part(x, 0), api_result(status), NULL);
    if (status == SKEIN_OK)
        http_reply(x, 204, NULL, NULL, 0);
    else if (status == SKEIN_NOT_FOUND)
        no_policy(x);
    else
        api_failed(x, status, "the policy could not be deleted");
}

void api_policies_matches(void *context, struct http_exchange *x)
{
    struct collector *c = context;
    char *text;
    int status = policies_selector(c->policies, http_part(x, 0), &text);
    if (status == SKEIN_NOT_FOUND)
        no_policy(x);
    else if (status != SKEIN_OK)
        api_failed(x, status, "the policy's selector cannot be read");
    else
        api_reply_matches(c, x, text);
    free(text);
}
