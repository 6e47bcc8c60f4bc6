/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT target as JSON; see report_target.h.
 */
#include "report_target.h"

#include <stdlib.h>
#include <string.h>

#include "report_int.h"

static const char *const states[] = {"capturing", "uploading", "nothing", "failed"};

const char *report_state_text(enum report_state state)
{
    return states[state];
}

/* ---- put ---- */

static void window_add(cJSON *object, uint64_t from_ns, uint64_t to_ns)
{
    json_add_u64(object, "from_ns", from_ns);
    json_add_u64(object, "to_ns", to_ns);
}

void report_partitions_add(const struct report_target *report, cJSON *to)
{
    cJSON *list = cJSON_AddArrayToObject(to, "partitions");
    for (size_t i = 0; i < report->partition_count; i++) {
        const struct report_range *range = &report->partitions[i];
        cJSON *item = cJSON_CreateObject();
        json_add_u64(item, "epoch", range->epoch);
        json_add_u64(item, "first", range->first);
        json_add_u64(item, "last", range->last);
        json_add_u64(item, "events", range->events);
        json_add_u64(item, "bytes", range->bytes);
        cJSON_AddItemToArray(list, item);
    }
}

static void gaps_add(cJSON *root, const struct report_target *report)
{
    cJSON *list = cJSON_AddArrayToObject(root, "gaps");
    for (size_t i = 0; i < report->gap_count; i++) {
        cJSON *item = cJSON_CreateObject();
        window_add(item, report->gaps[i].from_ns, report->gaps[i].to_ns);
        cJSON_AddStringToObject(item, "reason", report->gaps[i].reason);
        cJSON_AddItemToArray(list, item);
    }
}

static void ledger_add(cJSON *root, const struct report_target *report)
{
    cJSON *ledger = cJSON_AddObjectToObject(root, "ledger");
    json_add_u64(ledger, "events", report->events);
    if (report->has_window_events)
        json_add_u64(ledger, "window_events", report->window_events);
    if (report->at_most)
        cJSON_AddBoolToObject(ledger, "at_most", true);
    cJSON *lost = cJSON_AddObjectToObject(ledger, "lost");
    for (size_t i = 0; i < report->loss_count; i++)
        json_add_u64(lost, report->losses[i].reason, report->losses[i].events);
}

void report_death_add(const struct report_target *report, cJSON *to)
{
    if (!report->has_death)
        return;
    cJSON *death = cJSON_AddObjectToObject(to, "death");
    cJSON_AddNumberToObject(death, "signal", (double)report->signal);
    cJSON_AddNumberToObject(death, "status", (double)report->status);
}

void report_evidence_add(const struct report_target *report, cJSON *to)
{
    if (report->evidence_count == 0)
        return;
    cJSON *list = cJSON_AddArrayToObject(to, "evidence");
    for (size_t i = 0; i < report->evidence_count; i++) {
        const struct report_evidence *evidence = &report->evidence[i];
        cJSON *item = cJSON_CreateObject();
        cJSON_AddStringToObject(item, "kind", evidence->kind);
        cJSON_AddStringToObject(item, "state", evidence->state);
        json_add_text_some(item, "reason", evidence->reason);
        json_add_u64(item, "events", evidence->events);
        json_add_u64(item, "took_us", evidence->took_us);
        cJSON_AddItemToArray(list, item);
    }
}

void report_ring_add(const struct report_target *report, cJSON *to)
{
    const struct report_ring *ring = &report->ring;
    if (ring->bytes == 0)
        return;
    cJSON *item = cJSON_AddObjectToObject(to, "ring");
    json_add_u64(item, "bytes", ring->bytes);
    json_add_u64(item, "wished_bytes", ring->wished_bytes);
    json_add_u64(item, "memory_bytes", ring->memory_bytes);
    json_add_text_some(item, "why", ring->why != NULL ? ring->why : "");
}

static void evidence_at_add(cJSON *root, const struct report_target *report)
{
    if (report->evidence_count == 0 || !report->has_evidence_at)
        return;
    cJSON *at = cJSON_AddObjectToObject(root, "evidence_at");
    json_add_u64(at, "epoch", report->evidence_epoch);
    json_add_u64(at, "sequence", report->evidence_sequence);
}

void report_target_put(const struct report_target *report, struct buf *out)
{
    cJSON *root = report_begin(report->agent, "target");
    json_add_id(root, "capture", report->capture.bytes);
    json_add_id(root, "process", report->process.bytes);
    cJSON_AddStringToObject(root, "state", states[report->state]);
    if (report->state == REPORT_CAPTURING)
        cJSON_AddStringToObject(root, "trigger", trigger_text(report->trigger));
    if (report->state == REPORT_CAPTURING && report->stream)
        cJSON_AddBoolToObject(root, "stream", true);
    json_add_text_some(root, "reason", report->reason);
    if (report->has_window)
        window_add(cJSON_AddObjectToObject(root, "window"), report->from_ns, report->to_ns);
    json_add_u64_some(root, "began_ns", report->began_ns);
    report_add_clock(root, &report->clock);
    report_partitions_add(report, root);
    gaps_add(root, report);
    ledger_add(root, report);
    report_evidence_add(report, root);
    evidence_at_add(root, report);
    report_death_add(report, root);
    report_ring_add(report, root);
    body_print(root, out);
}

/* ---- get ---- */

/* A range, added to the totals; that of a capture's target ends far below these bounds. */
static void range_get(struct json_reader *r, const cJSON *item, struct report_target *out,
                      struct report_range *to)
{
    const char *path = "partitions[]";
    to->epoch = body_number(r, item, path, "epoch");
    to->first = json_u64(r, item, path, "first", JSON_REQUIRED, 0, 0, UINT64_MAX);
    to->last = json_u64(r, item, path, "last", JSON_REQUIRED, 0, 0, UINT64_MAX);
    to->events = body_number(r, item, path, "events");
    to->bytes = body_number(r, item, path, "bytes");
    if (r->error[0] == '\0' && to->last < to->first)
        json_fail(r, path, "last", "must not be below first");
    else if (to->last - to->first >= REPORT_LISTED_MAX - out->listed)
        json_fail(r, path, "last", "too many partitions");
    else if (to->events > UINT64_MAX - out->listed_events)
        json_fail(r, path, "events", "too many events");
    if (r->error[0] != '\0')
        return;
    out->listed += to->last - to->first + 1;
    out->listed_events += to->events;
}

static void lists_get(struct json_reader *r, const cJSON *json, struct report_target *out)
{
    const cJSON *item, *array = json_array(r, json, "", "partitions", JSON_OPTIONAL);
    out->partitions = body_array(r, array, sizeof *out->partitions, &out->partition_count);
    size_t i = 0;
    cJSON_ArrayForEach(item, array) {
        if (r->error[0] != '\0')
            return;
        range_get(r, item, out, &out->partitions[i++]);
    }
    const cJSON *gaps = json_array(r, json, "", "gaps", JSON_OPTIONAL);
    out->gaps = body_array(r, gaps, sizeof *out->gaps, &out->gap_count);
    i = 0;
    cJSON_ArrayForEach(item, gaps) {
        if (r->error[0] != '\0')
            return;
        out->gaps[i++] = (struct report_gap){
            body_time(r, item, "gaps[]", "from_ns"), body_time(r, item, "gaps[]", "to_ns"),
            json_str(r, item, "gaps[]", "reason", JSON_OPTIONAL, "unknown", 63)};
    }
}

static void ledger_get(struct json_reader *r, const cJSON *json, struct report_target *out)
{
    const cJSON *ledger = json_object(r, json, "", "ledger", JSON_OPTIONAL), *item;
    const cJSON *lost =
        ledger == NULL ? NULL : json_object(r, ledger, "ledger", "lost", JSON_OPTIONAL);
    out->losses = body_array(r, lost, sizeof *out->losses, &out->loss_count);
    if (ledger != NULL) {
        out->events = body_number(r, ledger, "ledger", "events");
        out->has_window_events = cJSON_HasObjectItem(ledger, "window_events");
        out->window_events = body_number(r, ledger, "ledger", "window_events");
        out->at_most = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(ledger, "at_most"));
    }
    size_t i = 0;
    cJSON_ArrayForEach(item, lost) {
        if (r->error[0] != '\0')
            return;
        out->losses[i++] =
            (struct report_loss){item->string, body_number(r, lost, "ledger.lost", item->string)};
    }
}

static void evidence_get(struct json_reader *r, const cJSON *json, struct report_target *out)
{
    const cJSON *item, *array = json_array(r, json, "", "evidence", JSON_OPTIONAL);
    if (cJSON_GetArraySize(array) > REPORT_EVIDENCE_MAX) {
        json_fail(r, "", "evidence", "too many kinds");
        return;
    }
    out->evidence = body_array(r, array, sizeof *out->evidence, &out->evidence_count);
    size_t i = 0;
    cJSON_ArrayForEach(item, array) {
        if (r->error[0] != '\0')
            return;
        out->evidence[i++] = (struct report_evidence){
            json_str(r, item, "evidence[]", "kind", JSON_REQUIRED, "", 31),
            json_str(r, item, "evidence[]", "state", JSON_REQUIRED, "", 15),
            json_str(r, item, "evidence[]", "reason", JSON_OPTIONAL, "", 159),
            body_number(r, item, "evidence[]", "events"),
            body_number(r, item, "evidence[]", "took_us")};
    }
    const cJSON *at = json_object(r, json, "", "evidence_at", JSON_OPTIONAL);
    if (at == NULL)
        return;
    out->has_evidence_at = true;
    out->evidence_epoch = json_u64(r, at, "evidence_at", "epoch", JSON_REQUIRED, 0, 0, UINT64_MAX);
    out->evidence_sequence =
        json_u64(r, at, "evidence_at", "sequence", JSON_REQUIRED, 0, 0, UINT64_MAX);
}

static void ring_get(struct json_reader *r, const cJSON *json, struct report_target *out)
{
    const cJSON *ring = json_object(r, json, "", "ring", JSON_OPTIONAL);
    if (ring == NULL)
        return;
    out->ring.bytes = body_number(r, ring, "ring", "bytes");
    out->ring.wished_bytes = body_number(r, ring, "ring", "wished_bytes");
    out->ring.memory_bytes = body_number(r, ring, "ring", "memory_bytes");
    out->ring.why = body_text(r, ring, "ring", "why", REPORT_RING_WHY_MAX);
}

static void state_get(struct json_reader *r, const cJSON *json, struct report_target *out)
{
    const char *state = json_str(r, json, "", "state", JSON_REQUIRED, "", 15);
    enum trigger_type trigger = trigger_find(body_text(r, json, "", "trigger", 32));
    out->trigger = trigger == TRIGGER_TYPES ? TRIGGER_REQUEST : trigger;
    out->stream = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "stream"));
    for (int i = 0; i <= REPORT_FAILED; i++) {
        if (strcmp(state, states[i]) == 0) {
            out->state = (enum report_state)i;
            return;
        }
    }
    json_fail(r, "", "state", "must be capturing, uploading, nothing or failed");
}

static void window_get(struct json_reader *r, const cJSON *json, struct report_target *out)
{
    const cJSON *window = json_object(r, json, "", "window", JSON_OPTIONAL);
    if (window != NULL) {
        out->has_window = true;
        out->from_ns = body_time(r, window, "window", "from_ns");
        out->to_ns = body_time(r, window, "window", "to_ns");
    }
    out->began_ns = body_time(r, json, "", "began_ns");
    const cJSON *death = json_object(r, json, "", "death", JSON_OPTIONAL);
    if (death != NULL) {
        out->has_death = true;
        out->signal = (int64_t)json_u64(r, death, "death", "signal", JSON_OPTIONAL, 0, 0, 127);
        out->status =
            (int64_t)json_u64(r, death, "death", "status", JSON_OPTIONAL, 0, 0, INT32_MAX);
    }
}

int report_target_get(const cJSON *json, struct report_target *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    *out = (struct report_target){.agent = body_agent(&r, json)};
    body_id(&r, json, "", "capture", out->capture.bytes);
    body_id(&r, json, "", "process", out->process.bytes);
    state_get(&r, json, out);
    out->reason = body_text(&r, json, "", "reason", CONTROL_WORDS_MAX);
    out->clock = report_read_clock(&r, json);
    window_get(&r, json, out);
    lists_get(&r, json, out);
    ledger_get(&r, json, out);
    evidence_get(&r, json, out);
    ring_get(&r, json, out);
    if (capture_id_is_zero(&out->capture))
        json_fail(&r, "", "capture", "must not be zero");
    int status = body_status(&r, error, error_bytes);
    if (status != SKEIN_OK)
        report_target_fini(out);
    return status;
}

void report_target_fini(struct report_target *report)
{
    free(report->partitions);
    free(report->losses);
    free(report->gaps);
    free(report->evidence);
    *report = (struct report_target){.partitions = NULL};
}

void report_target_align(struct report_target *report)
{
    const struct report_clock *clock = &report->clock;
    report->from_ns = report_clock_time(clock, report->from_ns);
    report->to_ns = report_clock_time(clock, report->to_ns);
    report->began_ns = report_clock_time(clock, report->began_ns);
    for (size_t i = 0; i < report->gap_count; i++) {
        report->gaps[i].from_ns = report_clock_time(clock, report->gaps[i].from_ns);
        report->gaps[i].to_ns = report_clock_time(clock, report->gaps[i].to_ns);
    }
    report->clock.offset_ns = 0;
}
