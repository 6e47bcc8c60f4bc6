/* SPDX-License-Identifier: Apache-2.0
 *
 * /captures/{capture}/overview: where the events and the losses of each target lie in time, by footers
 * alone: no partition is unpacked. Memory is bounded by the page, time by OVERVIEW_S. A capture of many
 * partitions takes seconds, so it is done beside the server's threads (http_aside). No state but the
 * places of exports; any thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "api_handlers.h"
#include "capture_has.h"
#include "clock.h"
#include "footer_strip.h"
#include "json.h"

#define OVERVIEW_S      10 /* footers that could not be read within are counted */
#define TARGETS_MAX     200
#define BUCKETS_DEFAULT 400
#define BUCKETS_MAX     2000
#define DAMAGED_SHOWN   20 /* of a target; the rest is counted */

struct overview {
    struct api_services *api;
    struct http_exchange *x;
    cJSON *capture; /* as the asker sees it */
    struct capture_id id;
    const struct selector *within;
    uint64_t from_ns, to_ns; /* to_ns is excluded */
    size_t buckets, limit;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC */
    const char *after;    /* cursor: the last target of the page before; NULL: the first page */
    cJSON *targets;       /* of the page */
    char last[ID_TEXT_BYTES];
    bool more;
};

/* What is gathered of one target. */
struct target_look {
    const struct overview *of;
    struct footer_strip strip;
    cJSON *damaged;
    uint64_t footers, damaged_count, left_out;
    int64_t clock_offset_ns;
    int status;
};

/* ---- one target ---- */

struct stored_bytes {
    struct index *index;
    const struct partition_key *key;
    struct store_place place;
};

static int stored_read(void *context, uint64_t offset, void *out, size_t n)
{
    struct stored_bytes *s = context;
    return index_read(s->index, s->key, &s->place, offset, out, n);
}

static void damaged_add(struct target_look *look, const struct partition_row *row, int status)
{
    char key[PARTITION_KEY_TEXT_BYTES];
    if (++look->damaged_count > DAMAGED_SHOWN)
        return;
    cJSON *item = cJSON_CreateObject();
    partition_key_text(&row->record.key, key);
    cJSON_AddStringToObject(item, "partition", key);
    json_add_time(item, "from", row->spans_from_ns);
    json_add_time(item, "to", row->spans_to_ns);
    cJSON_AddStringToObject(item, "why", skein_status_text(status));
    cJSON_AddItemToArray(look->damaged, item);
}

static int footer_take(void *context, const struct partition_row *row)
{
    struct target_look *look = context;
    struct stored_bytes bytes = {look->of->api->index, &row->record.key, row->place};
    const struct partition_source source = {stored_read, &bytes, row->place.bytes};
    if (clock_monotonic_ns() >= look->of->deadline_ns ||
        __atomic_load_n(&look->of->api->draining, __ATOMIC_RELAXED) || http_gone(look->of->x)) {
        look->left_out++;
        return 0;
    }
    int status = footer_strip_add(&look->strip, &source);
    look->status = status == SKEIN_NO_MEMORY ? status : SKEIN_OK;
    look->clock_offset_ns = row->clock_offset_ns;
    look->footers += status == SKEIN_OK;
    if (status != SKEIN_OK && status != SKEIN_NOT_FOUND) /* that one was deleted meanwhile */
        damaged_add(look, row, status);
    return look->status != SKEIN_OK;
}

static int footers_read(struct target_look *look, const struct process_uid *process)
{
    const struct overview *o = look->of;
    struct partition_ranges *ranges = NULL;
    struct partition_query query = {.process = process, .selector = o->within, .to_ns = UINT64_MAX};
    int status = capture_ranges(o->api->captures, &o->id, 1, process, &ranges);
    query.ranges = ranges;
    int64_t rows =
        status == SKEIN_OK ? index_query(o->api->index, &query, footer_take, look) : status;
    partition_ranges_unref(&ranges);
    return rows < 0 ? (int)rows : look->status;
}

static void losses_add(cJSON *to, const struct footer_strip *strip)
{
    cJSON *list = cJSON_AddArrayToObject(to, "losses");
    for (size_t i = 0; i < strip->loss_count; i++) {
        const struct strip_loss *l = &strip->losses[i];
        cJSON *loss = cJSON_CreateObject();
        cJSON_AddStringToObject(loss, "reason", partition_loss_text(l->reason));
        json_add_time(loss, "from", l->from_ns);
        json_add_time(loss, "to", l->to_ns);
        json_add_u64(loss, "events", l->records);
        if (l->unknown > 0)
            json_add_u64(loss, "uncounted", l->unknown);
        cJSON_AddItemToArray(list, loss);
    }
}

static void kinds_list(cJSON *to, const struct footer_strip *strip)
{
    cJSON *list = cJSON_AddArrayToObject(to, "evidence");
    for (unsigned kind = 0; kind < EVIDENCE_KIND_COUNT; kind++)
        if ((strip->kinds & EVIDENCE_BIT(kind)) != 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(evidence_kind_name(kind)));
    cJSON_AddNumberToObject(to, "evidence_events", strip->evidence);
}

/* The members that a target has here as in the capture. */
static cJSON *target_begin(const cJSON *target)
{
    static const char *const same[] = {"process", "host",   "service",        "pid",
                                       "status",  "reason", "clock_error_ns", NULL};
    cJSON *json = cJSON_CreateObject();
    json_members_copy(json, target, same);
    const cJSON *ledger = cJSON_GetObjectItemCaseSensitive(target, "ledger");
    const cJSON *gaps = cJSON_GetObjectItemCaseSensitive(ledger, "gaps");
    cJSON_AddItemToObject(json, "gaps",
                          gaps != NULL ? cJSON_Duplicate(gaps, true) : cJSON_CreateArray());
    return json;
}

static cJSON *look_json(struct target_look *look, const cJSON *target)
{
    cJSON *json = target_begin(target);
    footer_strip_settle(&look->strip);
    cJSON_AddItemToObject(json, "events",
                          cJSON_CreateDoubleArray(look->strip.records, (int)look->of->buckets));
    cJSON_AddNumberToObject(json, "outside", look->strip.outside);
    losses_add(json, &look->strip);
    kinds_list(json, &look->strip);
    cJSON_AddNumberToObject(json, "clock_offset_ns", (double)look->clock_offset_ns);
    json_add_u64(json, "footers", look->footers);
    if (look->left_out > 0)
        json_add_u64(json, "footers_left_out", look->left_out);
    if (look->damaged_count > 0) {
        cJSON_AddItemToObject(json, "damaged", look->damaged);
        look->damaged = NULL;
    }
    if (look->damaged_count > DAMAGED_SHOWN)
        json_add_u64(json, "damaged_left_out", look->damaged_count - DAMAGED_SHOWN);
    return json;
}

static int target_add(struct overview *o, const cJSON *target)
{
    struct target_look look = {.of = o, .damaged = cJSON_CreateArray()};
    struct process_uid process;
    const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(target, "process"));
    look.strip.from_ns = o->from_ns;
    look.strip.to_ns = o->to_ns;
    look.strip.buckets = o->buckets;
    int status = id != NULL ? id_parse(id, process.bytes) : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = footer_strip_init(&look.strip);
    if (status == SKEIN_OK)
        status = footers_read(&look, &process);
    if (status == SKEIN_OK)
        cJSON_AddItemToArray(o->targets, look_json(&look, target));
    cJSON_Delete(look.damaged);
    footer_strip_fini(&look.strip);
    return status;
}

/* ---- the page ---- */

/* Targets come by process. */
static int targets_add(struct overview *o, const cJSON *capture)
{
    const cJSON *target, *all = cJSON_GetObjectItemCaseSensitive(capture, "targets");
    size_t count = 0;
    int status = SKEIN_OK;
    cJSON_ArrayForEach(target, all) {
        const char *id = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(target, "process"));
        if (id == NULL || (o->after != NULL && strcmp(id, o->after) <= 0))
            continue;
        o->more = count++ == o->limit;
        if (o->more || (status = target_add(o, target)) != SKEIN_OK)
            break;
        snprintf(o->last, sizeof o->last, "%s", id);
    }
    return status;
}

static bool time_at(const cJSON *json, const char *key, uint64_t *ns)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, key));
    return text != NULL && clock_parse(text, ns) == SKEIN_OK;
}

/* The strip is the capture's window: texts have milliseconds, and the last one is of it. */
static bool window_take(struct overview *o, const cJSON *capture)
{
    const cJSON *window = cJSON_GetObjectItemCaseSensitive(capture, "window");
    if (!time_at(window, "from", &o->from_ns) || !time_at(window, "to", &o->to_ns))
        return false;
    o->to_ns = o->to_ns > o->from_ns ? o->to_ns : o->from_ns;
    o->to_ns += o->to_ns < UINT64_MAX - NS_PER_MS ? NS_PER_MS : 0;
    return o->from_ns < o->to_ns;
}

static cJSON *overview_json(struct overview *o, const cJSON *capture)
{
    static const char *const same[] = {"capture", "kind",    "status", "at",
                                       "window",  "verdict", NULL};
    cJSON *json = cJSON_CreateObject();
    json_members_copy(json, capture, same);
    cJSON_AddNumberToObject(json, "buckets", (double)o->buckets);
    json_add_u64(json, "from_ns", o->from_ns);
    json_add_u64(json, "to_ns", o->to_ns);
    cJSON_AddItemToObject(json, "targets", o->targets);
    if (o->more)
        cJSON_AddStringToObject(json, "next_cursor", o->last);
    return json;
}

static bool query_take(struct overview *o, struct http_exchange *x)
{
    struct process_uid after;
    o->after = http_query(x, "cursor");
    o->buckets = BUCKETS_DEFAULT;
    o->limit = TARGETS_MAX;
    if (!api_query_number(x, "buckets", BUCKETS_MAX, &o->buckets) ||
        !api_query_number(x, "limit", TARGETS_MAX, &o->limit))
        return false;
    if (o->after == NULL || id_parse(o->after, after.bytes) == SKEIN_OK)
        return api_path_id(x, "capture", o->id.bytes);
    api_bad_cursor(x);
    return false;
}

static void overview_free(struct overview *o)
{
    cJSON_Delete(o->capture);
    free(o);
}

/* In its place among the exports. */
static void overview_run(void *context, struct http_exchange *x)
{
    struct overview *o = context;
    struct api_services *api = o->api;
    o->deadline_ns = clock_monotonic_ns() + OVERVIEW_S * NS_PER_S;
    o->targets = cJSON_CreateArray();
    int status = window_take(o, o->capture) ? targets_add(o, o->capture) : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK) {
        http_reply_json(x, 200, overview_json(o, o->capture));
    } else {
        cJSON_Delete(o->targets);
        api_failed(x, status, "the capture's footers cannot be read");
    }
    overview_free(o);
    places_leave(api->exports, api_holder(x));
}

void api_captures_overview(void *context, struct http_exchange *x)
{
    struct overview *o = calloc(1, sizeof *o);
    if (o == NULL)
        return;
    o->api = context;
    o->x = x;
    o->within = http_principal(x)->selector;
    if (!query_take(o, x) || !api_capture_get(o->api, x, &o->id, &o->capture) ||
        !api_read_aside(x, overview_run, o))
        overview_free(o);
}
