/* SPDX-License-Identifier: Apache-2.0
 *
 * /healthz, /readyz, /metrics. No state; any thread.
 */
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "clock.h"
#include "metrics.h"

void api_healthz(void *context, struct http_exchange *x)
{
    (void)context;
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "status", "ok");
    http_reply_json(x, 200, json);
}

static bool check_add(cJSON *checks, const char *name, const char *state)
{
    cJSON_AddStringToObject(checks, name, state);
    return strcmp(state, "ok") == 0;
}

void api_readyz(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct partition_query query = {.to_ns = UINT64_MAX, .limit = 1};
    cJSON *json = cJSON_CreateObject();
    cJSON *checks = cJSON_CreateObject();
    int64_t index = index_query(api->index, &query, NULL, NULL);
    int state = control_last_save(api->control); /* the control thread tries again each round */
    bool ready = check_add(checks, "store", ingest_state(api->ingest));
    ready &= check_add(checks, "index", index >= 0 ? "ok" : skein_status_text((int)index));
    const char *words = state == SKEIN_OK ? "ok" : skein_status_text(state);
    if (catalog_is_damaged(api->catalog))
        words = "damaged: stop the collector and run skeind --restore-state";
    else if (state_backup_is_lost(api->config.folder))
        words = "lost: stop the collector and run skeind --restore-state, or remove state.db.lost";
    ready &= check_add(checks, "state", words);
    int tokens = tokens_any(api->tokens);
    ready &=
        check_add(checks, "tokens", tokens >= 0 ? "ok" : "cannot be read: restart the collector");
    ready &= check_add(checks, "ports",
                       __atomic_load_n(&api->draining, __ATOMIC_RELAXED) ? "stopping" : "ok");
    cJSON_AddBoolToObject(json, "ready", ready);
    cJSON_AddItemToObject(json, "checks", checks);
    if (ready) {
        http_reply_json(x, 200, json);
        return;
    }
    http_add_header(x, "Retry-After", "5");
    cJSON_AddStringToObject(json, "detail",
                            "the collector is not ready; checks says what is wrong");
    cJSON_AddStringToObject(json, "type", PROBLEM_URN "unavailable");
    cJSON_AddStringToObject(json, "title", "Service Unavailable");
    cJSON_AddNumberToObject(json, "status", 503);
    http_reply_json(x, 503, json);
}

/* While it cannot be found out, a session goes on. */
static bool token_is_gone(void *context, const char *token)
{
    struct api_services *api = context;
    return tokens_still(api->tokens, token, clock_realtime_ns()) == SKEIN_NOT_FOUND;
}

void api_metrics(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct buf text = {0};
    logins_sweep(api->logins, clock_boottime_ns(), token_is_gone, api);
    metrics_set(http_sessions, logins_count(api->logins, clock_boottime_ns()));
    metrics_print(&text);
    if (text.status == SKEIN_OK)
        http_reply(x, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
    buf_fini(&text);
}
