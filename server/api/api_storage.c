/* SPDX-License-Identifier: Apache-2.0
 *
 * GET /storage: what takes how much room, and whether there is more. No state; any thread.
 */
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "index_usage.h"
#include "json.h"

struct service_list {
    const struct config_map *quotas;
    cJSON *items;
};

static int service_add(void *context, const char *service, uint64_t bytes)
{
    struct service_list *list = context;
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "service", service);
    json_add_u64(item, "bytes", bytes);
    for (size_t i = 0; i < list->quotas->count; i++)
        if (strcmp(list->quotas->items[i].name, service) == 0)
            json_add_u64(item, "max_bytes", list->quotas->items[i].number);
    cJSON_AddItemToArray(list->items, item);
    return 0;
}

static cJSON *quota_json(struct api_services *api)
{
    char words[RETENTION_WORDS];
    cJSON *quota = cJSON_CreateObject();
    bool met = retention_is_met(api->retention, words);
    if (api->config.retention_max_bytes > 0)
        json_add_u64(quota, "max_bytes", api->config.retention_max_bytes);
    cJSON_AddStringToObject(quota, "status", met ? "ok" : "exceeded");
    if (!met)
        cJSON_AddStringToObject(quota, "reason", words);
    return quota;
}

void api_storage(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    uint64_t segments, bytes, end_segment, end_offset, live, dead, free_bytes, min_free_bytes, rows;
    struct service_list services = {api->config.retention_services, cJSON_CreateArray()};
    int64_t listed = index_services(api->index, service_add, &services);
    int status = index_usage(api->index, &live, &dead);
    if (status == SKEIN_OK)
        status = catalog_usage(api->catalog, &rows);
    if (status == SKEIN_OK)
        status = store_space(api->store, &free_bytes, &min_free_bytes);
    if (listed < 0 || status != SKEIN_OK) {
        cJSON_Delete(services.items);
        api_failed(x, listed < 0 ? (int)listed : status, "the storage cannot be looked at");
        return;
    }
    store_totals(api->store, &segments, &bytes, &end_segment, &end_offset);
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "status", ingest_is_full(api->ingest) ? "full" : "ok");
    json_add_u64(json, "bytes", bytes);
    json_add_u64(json, "live_bytes", live);
    json_add_u64(json, "dead_bytes", dead);
    json_add_u64(json, "segments", segments);
    json_add_u64(json, "catalog_bytes", rows);
    json_add_u64(json, "free_bytes", free_bytes);
    json_add_u64(json, "min_free_bytes", min_free_bytes);
    cJSON_AddItemToObject(json, "quota", quota_json(api));
    cJSON_AddItemToObject(json, "services", services.items);
    http_reply_json(x, 200, json);
}
