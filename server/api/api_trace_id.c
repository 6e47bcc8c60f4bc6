/* SPDX-License-Identifier: Apache-2.0
 *
 * `trace_id` of listings: which stored partitions may hold records of an OpenTelemetry trace, by the
 * filters of their footers (docs/format.md, F-35). A filter says "none" or "perhaps", never "yes"; a
 * footer that cannot be read says nothing. No partition is unpacked. Reading takes TRACE_ID_S at most,
 * beside the server's threads; the listing goes on at the cursor. No state; any thread.
 */
#include <string.h>

#include "api.h"
#include "api_trace_id.h"
#include "clock.h"
#include "json.h"

#define TRACE_ID_S 10

bool api_trace_id_take(struct http_exchange *x, struct api_trace_id *t)
{
    const char *text = http_query(x, "trace_id");
    *t = (struct api_trace_id){.x = x, .given = text != NULL};
    if (text == NULL || trace_id_parse(text, strlen(text), t->id))
        return true;
    http_problem(x, 400, "trace_id", "must be 32 hex digits");
    return false;
}

void api_trace_id_begin(struct api_trace_id *t, struct api_services *api)
{
    t->api = api;
    t->deadline_ns = clock_monotonic_ns() + TRACE_ID_S * NS_PER_S;
}

bool api_trace_id_is_over(const struct api_trace_id *t)
{
    return clock_monotonic_ns() >= t->deadline_ns ||
           __atomic_load_n(&t->api->draining, __ATOMIC_RELAXED) || http_gone(t->x);
}

int api_trace_id_look(struct api_trace_id *t, const struct partition_row *row)
{
    struct partition_footer footer;
    int status = api_footer_read(t->api, row, &footer);
    if (status == SKEIN_NO_MEMORY)
        return status;
    if (status == SKEIN_NOT_FOUND) /* it was deleted meanwhile */
        return TRACE_ID_NONE;
    t->footers++;
    if (status != SKEIN_OK) {
        t->unread++;
        return TRACE_ID_UNREAD;
    }
    bool perhaps = partition_footer_has_trace_id(&footer, t->id);
    partition_footer_free(&footer);
    return perhaps ? TRACE_ID_PERHAPS : TRACE_ID_NONE;
}

/* ---- of one capture ---- */

struct capture_look {
    struct api_trace_id *t;
    cJSON *found; /* the first partition that may hold it */
    uint64_t unread;
    int status;
};

static cJSON *found_json(const struct partition_row *row)
{
    char key[PARTITION_KEY_TEXT_BYTES];
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "answer", "perhaps");
    partition_key_text(&row->record.key, key);
    cJSON_AddStringToObject(json, "partition", key);
    json_add_id(json, "process", row->record.key.process.bytes);
    cJSON_AddStringToObject(json, "service", row->service);
    cJSON_AddStringToObject(json, "host", row->host);
    json_add_time(json, "from", row->from_ns);
    json_add_time(json, "to", row->to_ns);
    return json;
}

static int row_look(void *context, const struct partition_row *row)
{
    struct capture_look *look = context;
    if (api_trace_id_is_over(look->t)) {
        look->unread++;
        look->t->unread++;
        return 0;
    }
    int answer = api_trace_id_look(look->t, row);
    if (answer == TRACE_ID_PERHAPS)
        look->found = found_json(row);
    look->unread += answer == TRACE_ID_UNREAD;
    look->status = answer < 0 ? answer : SKEIN_OK;
    return answer < 0 || look->found != NULL;
}

int api_trace_id_capture(struct api_trace_id *t, const struct capture_id *id,
                         const struct selector *selector, cJSON **out)
{
    struct capture_look look = {.t = t, .status = SKEIN_OK};
    struct partition_ranges *ranges = NULL;
    struct partition_query q = {.selector = selector, .to_ns = UINT64_MAX};
    *out = NULL;
    int64_t rows = capture_ranges(t->api->captures, id, 1, NULL, &ranges);
    q.ranges = ranges;
    if (rows == SKEIN_OK)
        rows = index_query(t->api->index, &q, row_look, &look);
    partition_ranges_unref(&ranges);
    if (rows == SKEIN_NOT_FOUND) /* the capture was deleted meanwhile */
        return SKEIN_OK;
    if (look.found == NULL && look.unread > 0) {
        look.found = cJSON_CreateObject();
        cJSON_AddStringToObject(look.found, "answer", "unread");
    }
    if (look.found != NULL && look.unread > 0)
        json_add_u64(look.found, "unread", look.unread);
    *out = look.found;
    return rows < 0 ? (int)rows : look.status;
}

/* ---- answers ---- */

void api_trace_id_reply(struct http_exchange *x, cJSON *items, const char *next_cursor,
                        const struct api_trace_id *t)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddItemToObject(json, "items", items);
    if (next_cursor != NULL)
        cJSON_AddStringToObject(json, "next_cursor", next_cursor);
    if (t->given) {
        cJSON *says = cJSON_AddObjectToObject(json, "trace_id");
        json_add_id(says, "id", t->id);
        json_add_u64(says, "footers", t->footers);
        json_add_u64(says, "unread", t->unread);
    }
    http_reply_json(x, 200, json);
}
