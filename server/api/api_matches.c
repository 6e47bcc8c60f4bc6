/* SPDX-License-Identifier: Apache-2.0
 *
 * Whom a selector matches: the dry run of selectors, rules and policies. No state; any thread.
 */
#include "api.h"
#include "api_handlers.h"
#include "json.h"

/* Processes that a capture with this selector would have as targets. */
static void reply_matches(struct api_services *api, struct http_exchange *x, const char *text,
                          const struct selector *selector)
{
    static const char *const states[] = {"live", "gone", "offline"};
    const struct selector *confined = http_principal(x)->selector;
    cJSON *json = cJSON_CreateObject(), *items = cJSON_CreateArray();
    size_t at = 0, count = 0;
    control_lock(api->control);
    for (struct fleet_process *p; (p = fleet_process_next(api->fleet, &at)) != NULL;) {
        enum fleet_process_status status = fleet_process_status(api->fleet, p);
        if (status == FLEET_GONE || !fleet_process_match(selector, p) ||
            (confined != NULL && !fleet_process_match(confined, p)))
            continue;
        if (count++ >= API_LIMIT_MAX)
            continue;
        cJSON *item = cJSON_CreateObject();
        json_add_id(item, "process", p->uid.bytes);
        cJSON_AddStringToObject(item, "host", p->host);
        cJSON_AddNumberToObject(item, "pid", p->pid);
        cJSON_AddStringToObject(item, "service", p->service);
        cJSON_AddStringToObject(item, "status", states[status]);
        cJSON_AddItemToArray(items, item);
    }
    control_unlock(api->control);
    cJSON_AddStringToObject(json, "selector", text);
    json_add_u64(json, "matches", count);
    cJSON_AddItemToObject(json, "items", items);
    http_reply_json(x, 200, json);
}

void api_reply_matches(struct api_services *api, struct http_exchange *x, const char *text)
{
    struct selector *selector = NULL;
    char error[160];
    int status = selector_new(text, &selector, error, sizeof error);
    if (status == SKEIN_OK)
        reply_matches(api, x, text, selector);
    else
        api_failed(x, status, "the selector cannot be read");
    selector_free(&selector);
}

void api_selectors_match(void *context, struct http_exchange *x)
{
    static const char *const known[] = {"selector", NULL};
    struct api_services *api = context;
    struct json_reader r = {{0}};
    struct selector *selector = NULL;
    cJSON *body = http_body_json(x);
    if (body == NULL)
        return;
    json_known(&r, body, "", known);
    const char *text = json_str(&r, body, "", "selector", JSON_REQUIRED, "", 1024);
    if (r.error[0] == '\0' && selector_new(text, &selector, r.error, sizeof r.error) == SKEIN_OK)
        reply_matches(api, x, text, selector);
    else
        api_invalid(x, r.error);
    selector_free(&selector);
    cJSON_Delete(body);
}
