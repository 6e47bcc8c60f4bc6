/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/manifest and /captures/manifest: what is stored of a capture or an incident,
 * with the address of each piece. Reads rows of the index alone. No state; any thread.
 */
#include <stdio.h>
#include <string.h>

#include "api_clock_errors.h"
#include "api_handlers.h"
#include "capture_has.h"
#include "json.h"
#include "stored_walk.h"

static cJSON *partition_json(const struct stored_piece *row)
{
    char key[PARTITION_KEY_TEXT_BYTES], url[PARTITION_KEY_TEXT_BYTES + 32];
    cJSON *json = cJSON_CreateObject();
    partition_key_text(&row->key, key);
    snprintf(url, sizeof url, "/api/v1/partitions/%s", key);
    cJSON_AddStringToObject(json, "partition", key);
    json_add_time(json, "from", row->from_ns);
    json_add_time(json, "to", row->to_ns);
    json_add_u64(json, "events", row->events);
    json_add_u64(json, "lost", row->lost);
    json_add_u64(json, "bytes", row->place.bytes);
    cJSON_AddNumberToObject(json, "clock_offset_ns", (double)row->clock_offset_ns);
    cJSON_AddStringToObject(json, "url", url);
    return json;
}

/* The target whose partitions begin at *i; *i moves behind them. */
static cJSON *target_json(const struct stored_list *list, const struct idmap *errors,
                          const char *trace, size_t *i)
{
    const struct process_uid *uid = &list->pieces[*i].key.process;
    const struct stored_process *process = idmap_get(list->processes, uid->bytes);
    char id[ID_TEXT_BYTES], url[160];
    uint64_t events = 0, bytes = 0;
    cJSON *json = cJSON_CreateObject(), *partitions = cJSON_CreateArray();
    for (; *i < list->count && process_uid_equal(uid, &list->pieces[*i].key.process); ++*i) {
        events += list->pieces[*i].events;
        bytes += list->pieces[*i].place.bytes;
        cJSON_AddItemToArray(partitions, partition_json(&list->pieces[*i]));
    }
    id_text(uid->bytes, id);
    snprintf(url, sizeof url, "%s%sprocess=%s", trace, strchr(trace, '?') != NULL ? "&" : "?", id);
    cJSON_AddStringToObject(json, "process", id);
    cJSON_AddStringToObject(json, "host", process->host);
    cJSON_AddStringToObject(json, "service", process->service);
    cJSON_AddNumberToObject(json, "pid", process->pid);
    json_add_u64(json, "events", events);
    json_add_u64(json, "bytes", bytes);
    api_clock_error_add(json, errors, uid);
    cJSON_AddStringToObject(json, "url", url);
    cJSON_AddItemToObject(json, "partitions", partitions);
    return json;
}

static cJSON *manifest_json(const struct stored_list *list, const struct idmap *errors,
                            const struct api_captures *of)
{
    char id[ID_TEXT_BYTES], trace[96];
    uint64_t events = 0, bytes = 0;
    cJSON *json = cJSON_CreateObject(), *targets = cJSON_CreateArray();
    for (size_t i = 0; i < list->count; i++) {
        events += list->pieces[i].events;
        bytes += list->pieces[i].place.bytes;
    }
    id_text(of->id.bytes, id);
    if (of->incident)
        snprintf(trace, sizeof trace, "/api/v1/captures/trace?incident=%s", id);
    else
        snprintf(trace, sizeof trace, "/api/v1/captures/%s/trace", id);
    cJSON_AddStringToObject(json, of->incident ? "incident" : "capture", id);
    cJSON_AddStringToObject(json, "url", trace);
    json_add_u64(json, "events", events);
    json_add_u64(json, "bytes", bytes);
    for (size_t i = 0; i < list->count;)
        cJSON_AddItemToArray(targets, target_json(list, errors, trace, &i));
    cJSON_AddItemToObject(json, "targets", targets);
    return json;
}

void api_captures_manifest(void *context, struct http_exchange *x)
{
    struct api_services *api = context;
    struct api_captures of;
    struct idmap processes = {0}, errors = {0};
    struct stored_list list = {.processes = &processes};
    if (!api_captures_of(api, x, &of))
        return;
    struct partition_ranges *ranges;
    struct partition_query query = {.selector = http_principal(x)->selector, .to_ns = UINT64_MAX};
    int status = capture_ranges(api->captures, of.all.items, of.all.count, NULL, &ranges);
    query.ranges = ranges;
    if (status == SKEIN_OK)
        status = stored_list_query(&list, api->index, &query);
    partition_ranges_unref(&ranges);
    if (status == SKEIN_OK)
        status = api_clock_errors(api, of.all.items, of.all.count, &errors);
    if (status == SKEIN_OK)
        http_reply_json(x, 200, manifest_json(&list, &errors, &of));
    else
        api_failed(x, status, "the capture's partitions cannot be listed");
    api_captures_fini(&of);
    stored_list_fini(&list);
    api_clock_errors_fini(&errors);
    stored_processes_fini(&processes);
}
