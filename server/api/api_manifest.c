/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/manifest: what is stored of a capture, with the address of each piece. Reads
 * rows of the index alone. No state; any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "json.h"
#include "trace_file.h"

struct entry {
    struct partition_key key;
    uint64_t from_ns, events, bytes;
    char *host, *service;
    uint32_t pid;
    cJSON *json;
};

struct manifest {
    struct entry *entries;
    size_t count, cap;
    int status; /* why a row could not be taken */
};

/* ---- rows ---- */

static cJSON *partition_json(const struct partition_row *row)
{
    char key[PARTITION_KEY_TEXT_BYTES], url[PARTITION_KEY_TEXT_BYTES + 32];
    cJSON *json = cJSON_CreateObject();
    partition_key_text(&row->record.key, key);
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

static int take_row(void *context, const struct partition_row *row)
{
    struct manifest *m = context;
    if (m->count == m->cap) {
        size_t cap = m->cap * 2 + 16;
        struct entry *larger = realloc(m->entries, cap * sizeof *larger);
        if (larger == NULL)
            return m->status = SKEIN_NO_MEMORY;
        m->entries = larger;
        m->cap = cap;
    }
    struct entry *e = &m->entries[m->count++];
    *e = (struct entry){.key = row->record.key,
                        .from_ns = row->from_ns,
                        .events = row->events,
                        .bytes = row->place.bytes,
                        .host = strdup(row->host),
                        .service = strdup(row->service),
                        .pid = row->pid,
                        .json = partition_json(row)};
    if (e->host == NULL || e->service == NULL || e->json == NULL)
        return m->status = SKEIN_NO_MEMORY;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return partition_trace_order(&x->key, x->from_ns, &y->key, y->from_ns);
}

static void manifest_fini(struct manifest *m)
{
    for (size_t i = 0; i < m->count; i++) {
        free(m->entries[i].host);
        free(m->entries[i].service);
        cJSON_Delete(m->entries[i].json);
    }
    free(m->entries);
}

/* ---- the answer ---- */

static bool same_process(const struct entry *a, const struct entry *b)
{
    return process_uid_equal(&a->key.process, &b->key.process);
}

/* The target whose partitions begin at *i, which moves behind them. */
static cJSON *target_json(struct manifest *m, const char *trace, size_t *i)
{
    const struct entry *first = &m->entries[*i];
    char id[ID_TEXT_BYTES], url[160];
    uint64_t events = 0, bytes = 0;
    cJSON *json = cJSON_CreateObject(), *partitions = cJSON_CreateArray();
    for (; *i < m->count && same_process(first, &m->entries[*i]); ++*i) {
        events += m->entries[*i].events;
        bytes += m->entries[*i].bytes;
        cJSON_AddItemToArray(partitions, m->entries[*i].json);
        m->entries[*i].json = NULL;
    }
    id_text(first->key.process.bytes, id);
    snprintf(url, sizeof url, "%s?process=%s", trace, id);
    cJSON_AddStringToObject(json, "process", id);
    cJSON_AddStringToObject(json, "host", first->host);
    cJSON_AddStringToObject(json, "service", first->service);
    cJSON_AddNumberToObject(json, "pid", first->pid);
    json_add_u64(json, "events", events);
    json_add_u64(json, "bytes", bytes);
    cJSON_AddStringToObject(json, "url", url);
    cJSON_AddItemToObject(json, "partitions", partitions);
    return json;
}

static cJSON *manifest_json(struct manifest *m, const struct capture_id *capture)
{
    char id[ID_TEXT_BYTES], trace[96];
    uint64_t events = 0, bytes = 0;
    cJSON *json = cJSON_CreateObject(), *targets = cJSON_CreateArray();
    for (size_t i = 0; i < m->count; i++) {
        events += m->entries[i].events;
        bytes += m->entries[i].bytes;
    }
    id_text(capture->bytes, id);
    snprintf(trace, sizeof trace, "/api/v1/captures/%s/trace", id);
    cJSON_AddStringToObject(json, "capture", id);
    cJSON_AddStringToObject(json, "url", trace);
    json_add_u64(json, "events", events);
    json_add_u64(json, "bytes", bytes);
    for (size_t i = 0; i < m->count;)
        cJSON_AddItemToArray(targets, target_json(m, trace, &i));
    cJSON_AddItemToObject(json, "targets", targets);
    return json;
}

void api_captures_manifest(void *context, struct http_exchange *x)
{
    static const char *const known[] = {NULL};
    struct api_services *api = context;
    struct capture_id id;
    struct manifest m = {0};
    if (!http_query_known(x, known) || !api_path_id(x, "capture", id.bytes))
        return;
    if (!capture_exists(api->captures, &id, http_principal(x)->selector)) {
        api_no_capture(x);
        return;
    }
    struct partition_query query = {
        .capture = &id, .selector = http_principal(x)->selector, .to_ns = UINT64_MAX};
    int64_t rows = index_query(api->index, &query, take_row, &m);
    int status = rows < 0 ? (int)rows : m.status;
    if (status != SKEIN_OK) {
        api_failed(x, status, "the capture's partitions cannot be listed");
    } else {
        if (m.count > 0)
            qsort(m.entries, m.count, sizeof *m.entries, compare);
        http_reply_json(x, 200, manifest_json(&m, &id));
    }
    manifest_fini(&m);
}
