/* SPDX-License-Identifier: Apache-2.0
 *
 * HEARTBEAT and its answer as JSON; see heartbeat.h.
 */
#include "heartbeat.h"

#include <stdio.h>

#include "control_body_int.h"

static void samples_put(const struct heartbeat_samples *samples, cJSON *json)
{
    json_add_u64(json, "hz", samples->hz);
    json_add_u64(json, "cpus", samples->cpus);
    json_add_u64(json, "bytes", samples->bytes);
    json_add_u64(json, "reach_ms", samples->reach_ms);
    json_add_text_some(json, "refused", samples->refused);
}

static struct heartbeat_samples samples_get(struct json_reader *r, const cJSON *json)
{
    return (struct heartbeat_samples){
        .told = true,
        .hz = body_number(r, json, "samples", "hz"),
        .cpus = body_number(r, json, "samples", "cpus"),
        .bytes = body_number(r, json, "samples", "bytes"),
        .reach_ms = body_number(r, json, "samples", "reach_ms"),
        .refused = body_text(r, json, "samples", "refused", HEARTBEAT_REFUSED_MAX)};
}

static void refused_put(const struct heartbeat_refused *refused, cJSON *root)
{
    if (refused->sched[0] == '\0' && refused->threads[0] == '\0')
        return;
    cJSON *json = cJSON_AddObjectToObject(root, "refused");
    json_add_text_some(json, "sched", refused->sched);
    json_add_text_some(json, "threads", refused->threads);
}

static void refused_get(struct json_reader *r, const cJSON *json, struct heartbeat_refused *out)
{
    snprintf(out->sched, sizeof out->sched, "%s",
             body_text(r, json, "refused", "sched", HEARTBEAT_REFUSED_MAX));
    snprintf(out->threads, sizeof out->threads, "%s",
             body_text(r, json, "refused", "threads", HEARTBEAT_REFUSED_MAX));
}

void heartbeat_put(const struct heartbeat *beat, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    body_add_agent(root, beat->agent);
    json_add_u64(root, "instance", beat->instance);
    json_add_u64(root, "sent_ns", beat->sent_ns);
    if (beat->knows_offset)
        json_add_i64(root, "clock_offset_ns", beat->clock_offset_ns);
    if (beat->knows_offset && beat->clock_error_ns != 0) {
        json_add_u64(root, "clock_error_ns", beat->clock_error_ns);
        json_add_u64(root, "clock", beat->clock);
    }
    json_add_u64(root, "rules_generation", beat->rules_generation);
    json_add_u64(root, "policies_generation", beat->policies_generation);
    json_add_u64(root, "processes_version", beat->processes_version);
    cJSON *spool = cJSON_AddObjectToObject(root, "spool");
    json_add_u64(spool, "bytes", beat->spool_bytes);
    json_add_u64(spool, "partitions", beat->spool_partitions);
    cJSON *lost = cJSON_AddObjectToObject(root, "lost");
    json_add_u64(lost, "spool_partitions", beat->lost_partitions);
    json_add_u64(lost, "spool_events", beat->lost_events);
    json_add_u64(root, "cpu_ms", beat->cpu_ms);
    cJSON *counters = cJSON_AddObjectToObject(root, "counters");
#define X(name, help) json_add_u64(counters, #name, beat->counters.name);
    AGENT_COUNTER_LIST(X)
#undef X
    if (beat->samples.told)
        samples_put(&beat->samples, cJSON_AddObjectToObject(root, "samples"));
    refused_put(&beat->refused, root);
    body_print(root, out);
}

int heartbeat_get(const cJSON *json, struct heartbeat *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct heartbeat h = {.agent = body_agent(&r, json)};
    h.instance = body_number(&r, json, "", "instance");
    h.sent_ns = body_time(&r, json, "", "sent_ns");
    h.knows_offset = cJSON_GetObjectItemCaseSensitive(json, "clock_offset_ns") != NULL;
    h.clock_offset_ns = json_i64(&r, json, "", "clock_offset_ns", JSON_OPTIONAL, 0);
    h.clock_error_ns = h.knows_offset ? body_number(&r, json, "", "clock_error_ns") : 0;
    h.clock = h.clock_error_ns != 0 ? body_number(&r, json, "", "clock") : 0;
    h.rules_generation = body_number(&r, json, "", "rules_generation");
    h.policies_generation = body_number(&r, json, "", "policies_generation");
    h.processes_version = body_number(&r, json, "", "processes_version");
    h.cpu_ms = body_number(&r, json, "", "cpu_ms");
    const cJSON *spool = json_object(&r, json, "", "spool", JSON_OPTIONAL);
    if (spool != NULL) {
        h.spool_bytes = body_number(&r, spool, "spool", "bytes");
        h.spool_partitions = body_number(&r, spool, "spool", "partitions");
    }
    const cJSON *lost = json_object(&r, json, "", "lost", JSON_OPTIONAL);
    if (lost != NULL) {
        h.lost_partitions = body_number(&r, lost, "lost", "spool_partitions");
        h.lost_events = body_number(&r, lost, "lost", "spool_events");
    }
    const cJSON *counters = json_object(&r, json, "", "counters", JSON_OPTIONAL);
    if (counters != NULL) {
#define X(name, help) h.counters.name = body_number(&r, counters, "counters", #name);
        AGENT_COUNTER_LIST(X)
#undef X
    }
    const cJSON *samples = json_object(&r, json, "", "samples", JSON_OPTIONAL);
    if (samples != NULL)
        h.samples = samples_get(&r, samples);
    const cJSON *refused = json_object(&r, json, "", "refused", JSON_OPTIONAL);
    if (refused != NULL)
        refused_get(&r, refused, &h.refused);
    *out = h;
    return body_status(&r, error, error_bytes);
}

void heartbeat_ack_put(const struct heartbeat_ack *ack, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    json_add_u64(root, "received_ns", ack->received_ns);
    json_add_u64(root, "clock", ack->clock);
    json_add_u64(root, "rules_generation", ack->rules_generation);
    cJSON_AddBoolToObject(root, "hello", ack->hello);
    json_add_flag(root, "cloned", ack->cloned);
    body_print(root, out);
}

int heartbeat_ack_get(const cJSON *json, struct heartbeat_ack *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct heartbeat_ack a = {.received_ns = body_up_to(&r, json, "received_ns", INT64_MAX)};
    a.clock = body_up_to(&r, json, "clock", INT64_MAX);
    a.rules_generation = body_up_to(&r, json, "rules_generation", INT64_MAX);
    a.hello = json_bool(&r, json, "", "hello", false);
    a.cloned = json_bool(&r, json, "", "cloned", false);
    *out = a;
    return body_status(&r, error, error_bytes);
}
