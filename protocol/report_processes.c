/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT processes as JSON; see report_processes.h.
 */
#include "report_processes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_int.h"

#define PAGE_BYTES (48u << 10) /* of processes; the rest of a message is small */
#define ITEM_BYTES 720         /* of one, at most, without its texts */
#define PAGES_MAX  (1u << 20)

/* ---- put ---- */

static void ring_add(cJSON *item, const struct report_process *p)
{
    cJSON_AddStringToObject(item, "mode", p->mode);
    json_add_u64(item, "ring_bytes", p->ring_bytes);
    json_add_u64_some(item, "ring_wished_bytes", p->ring_wished_bytes);
    json_add_u64_some(item, "ring_memory_bytes", p->ring_memory_bytes);
    json_add_text_some(item, "ring_why", p->ring_why != NULL ? p->ring_why : "");
    json_add_u64(item, "attached_ns", p->attached_ns);
    json_add_u64(item, "events_lost", p->events_lost);
    json_add_u64(item, "wrapped", p->wrapped);
    json_add_u64(item, "used_bytes", p->used_bytes);
    json_add_u64(item, "bytes_per_s", p->bytes_per_s);
    json_add_u64(item, "reach_ms", p->reach_ms);
    cJSON_AddStringToObject(item, "title", p->title);
}

static cJSON *process_json(const struct report_process *p)
{
    cJSON *item = cJSON_CreateObject();
    json_add_id(item, "process", p->uid.bytes);
    json_add_u64(item, "pid", p->pid);
    if (p->user != SHARE_USER_UNKNOWN)
        json_add_u64(item, "uid", p->user);
    cJSON_AddStringToObject(item, "service", p->service);
    cJSON_AddStringToObject(item, "labels", p->labels);
    cJSON_AddStringToObject(item, "exe", p->exe);
    json_add_u64(item, "start_ns", p->start_ns);
    cJSON_AddStringToObject(item, "state", p->live ? "live" : "gone");
    json_add_u64_some(item, "ended_ns", p->ended_ns);
    if (p->not_recorded[0] == '\0') {
        ring_add(item, p);
    } else {
        json_add_u64(item, "attached_ns", p->attached_ns);
        cJSON_AddStringToObject(item, "not_recorded", p->not_recorded);
        if (p->title != NULL && p->title[0] != '\0')
            cJSON_AddStringToObject(item, "title", p->title);
    }
    return item;
}

void report_processes_put(const struct report_processes *list, struct buf *out)
{
    char offset_ns[24];
    cJSON *root = report_begin(list->agent, "processes");
    json_add_u64(root, "version", list->version);
    json_add_u64(root, "page", list->page);
    json_add_u64(root, "pages", list->pages);
    /* Text in this one, also where a number would do. */
    snprintf(offset_ns, sizeof offset_ns, "%" PRId64, list->clock_offset_ns);
    cJSON_AddStringToObject(root, "clock_offset_ns", offset_ns);
    json_add_u64_some(root, "clock", list->clock);
    json_add_u64_some(root, "known_from_ns", list->known_from_ns);
    cJSON *processes = cJSON_AddArrayToObject(root, "processes");
    for (size_t i = 0; i < list->count; i++)
        cJSON_AddItemToArray(processes, process_json(&list->items[i]));
    body_print(root, out);
}

/* At most, as JSON. */
static size_t text_bytes(const char *text)
{
    size_t bytes = 0;
    for (; *text != '\0'; text++)
        bytes += (unsigned char)*text < 0x20 ? 6 : *text == '"' || *text == '\\' ? 2 : 1;
    return bytes;
}

/* A page need not be full, and agents with a thousand processes make many lists. */
size_t report_processes_fit(const struct report_process *items, size_t count)
{
    size_t n = 0;
    for (size_t bytes = 0; n < count && bytes <= PAGE_BYTES; n++) {
        const struct report_process *p = &items[n];
        bytes += ITEM_BYTES + text_bytes(p->service) + text_bytes(p->labels) + text_bytes(p->exe);
        bytes += p->not_recorded[0] != '\0' ? text_bytes(p->not_recorded) : text_bytes(p->mode);
        bytes += p->title != NULL ? text_bytes(p->title) : 0;
        bytes += p->ring_why != NULL ? text_bytes(p->ring_why) : 0;
    }
    return n;
}

/* ---- get ---- */

static void process_get(struct json_reader *r, const cJSON *o, struct report_process *p)
{
    const char *path = "processes[]";
    body_id(r, o, path, "process", p->uid.bytes);
    p->pid = (uint32_t)json_u64(r, o, path, "pid", JSON_REQUIRED, 0, 0, UINT32_MAX);
    p->user = (uint32_t)json_u64(r, o, path, "uid", JSON_OPTIONAL, SHARE_USER_UNKNOWN, 0,
                                 SHARE_USER_UNKNOWN);
    p->service = body_text(r, o, path, "service", 127);
    p->labels = body_labels(r, o, path);
    p->exe = body_text(r, o, path, "exe", CONTROL_NAME_MAX);
    p->mode = body_text(r, o, path, "mode", 15);
    p->live = strcmp(json_str(r, o, path, "state", JSON_OPTIONAL, "live", 15), "live") == 0;
    p->start_ns = body_time(r, o, path, "start_ns");
    p->attached_ns = body_time(r, o, path, "attached_ns");
    p->ended_ns = body_time(r, o, path, "ended_ns");
    p->not_recorded = body_text(r, o, path, "not_recorded", 31);
    p->ring_bytes = body_number(r, o, path, "ring_bytes");
    p->ring_wished_bytes = body_number(r, o, path, "ring_wished_bytes");
    p->ring_memory_bytes = body_number(r, o, path, "ring_memory_bytes");
    p->ring_why = body_text(r, o, path, "ring_why", REPORT_RING_WHY_MAX);
    p->used_bytes = body_number(r, o, path, "used_bytes");
    p->bytes_per_s = body_number(r, o, path, "bytes_per_s");
    p->reach_ms = body_number(r, o, path, "reach_ms");
    p->events_lost = body_number(r, o, path, "events_lost");
    p->wrapped = body_number(r, o, path, "wrapped");
    p->title = body_text(r, o, path, "title", CONTROL_NAME_MAX);
}

static void items_get(struct json_reader *r, const cJSON *json, struct report_processes *out)
{
    const cJSON *array = json_array(r, json, "", "processes", JSON_REQUIRED), *item;
    out->items = body_array(r, array, sizeof *out->items, &out->count);
    size_t i = 0;
    cJSON_ArrayForEach(item, array) {
        if (r->error[0] == '\0' && cJSON_IsObject(item))
            process_get(r, item, &out->items[i++]);
        else
            json_fail(r, "", "processes", "must hold objects");
    }
    out->count = i;
}

int report_processes_get(const cJSON *json, struct report_processes *out, char *error,
                         size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    *out = (struct report_processes){.agent = body_agent(&r, json)};
    out->version = body_number(&r, json, "", "version");
    out->page = body_up_to(&r, json, "page", PAGES_MAX);
    out->pages = json_u64(&r, json, "", "pages", JSON_OPTIONAL, 1, 1, PAGES_MAX);
    const struct report_clock clock = report_read_clock(&r, json);
    out->clock_offset_ns = clock.offset_ns;
    out->clock = clock.clock;
    out->known_from_ns = body_time(&r, json, "", "known_from_ns");
    if (out->page >= out->pages)
        json_fail(&r, "", "page", "must be below pages");
    items_get(&r, json, out);
    int status = body_status(&r, error, error_bytes);
    if (status != SKEIN_OK)
        report_processes_fini(out);
    return status;
}

void report_processes_fini(struct report_processes *list)
{
    free(list->items);
    *list = (struct report_processes){.items = NULL};
}

void report_processes_align(struct report_processes *list)
{
    const struct report_clock clock = {.offset_ns = list->clock_offset_ns};
    for (size_t i = 0; i < list->count; i++) {
        struct report_process *p = &list->items[i];
        p->start_ns = report_clock_time(&clock, p->start_ns);
        p->attached_ns = report_clock_time(&clock, p->attached_ns);
        p->ended_ns = report_clock_time(&clock, p->ended_ns);
    }
    list->known_from_ns = report_clock_time(&clock, list->known_from_ns);
    list->clock_offset_ns = 0;
}
