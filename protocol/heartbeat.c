/* SPDX-License-Identifier: Apache-2.0
 *
 * HEARTBEAT and its answer as JSON; see heartbeat.h.
 */
#include "heartbeat.h"

#include <stdio.h>

#include "control_body_int.h"

static void samples_add(const struct heartbeat_samples *samples, cJSON *json)
{
    json_add_u64(json, "hz", samples->hz);
    json_add_u64(json, "cpus", samples->cpus);
    json_add_u64(json, "bytes", samples->bytes);
    json_add_u64(json, "reach_ms", samples->reach_ms);
    json_add_text_some(json, "refused", samples->refused);
}

static void samples_get(struct json_reader *r, const cJSON *json, struct heartbeat_samples *out)
{
    out->told = true;
    out->hz = body_number(r, json, "samples", "hz");
    out->cpus = body_number(r, json, "samples", "cpus");
    out->bytes = body_number(r, json, "samples", "bytes");
    out->reach_ms = body_number(r, json, "samples", "reach_ms");
    snprintf(out->refused, sizeof out->refused, "%s",
             body_text(r, json, "samples", "refused", HEARTBEAT_REFUSED_MAX));
}

void heartbeat_refused_add(const struct heartbeat_refused *refused, cJSON *to)
{
    if (refused->sched[0] == '\0' && refused->threads[0] == '\0')
        return;
    cJSON *json = cJSON_AddObjectToObject(to, "refused");
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

void heartbeat_state_add(const struct heartbeat_state *state, cJSON *to)
{
    cJSON *spool = cJSON_AddObjectToObject(to, "spool");
    json_add_u64(spool, "bytes", state->spool_bytes);
    json_add_u64(spool, "partitions", state->spool_partitions);
    cJSON *lost = cJSON_AddObjectToObject(to, "lost");
    json_add_u64(lost, "spool_partitions", state->lost_partitions);
    json_add_u64(lost, "spool_events", state->lost_events);
    json_add_u64(to, "cpu_ms", state->cpu_ms);
    cJSON *counters = cJSON_AddObjectToObject(to, "counters");
#define X(name, help) json_add_u64(counters, #name, state->counters.name);
    AGENT_COUNTER_LIST(X)
#undef X
    if (state->samples.told)
        samples_add(&state->samples, cJSON_AddObjectToObject(to, "samples"));
    heartbeat_refused_add(&state->refused, to);
}

void heartbeat_put(const struct heartbeat *beat, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    json_add_agent(root, "agent", beat->agent);
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
    heartbeat_state_add(&beat->state, root);
    body_print(root, out);
}

static void state_get(struct json_reader *r, const cJSON *json, struct heartbeat_state *out)
{
    out->cpu_ms = body_number(r, json, "", "cpu_ms");
    const cJSON *spool = json_object(r, json, "", "spool", JSON_OPTIONAL);
    if (spool != NULL) {
        out->spool_bytes = body_number(r, spool, "spool", "bytes");
        out->spool_partitions = body_number(r, spool, "spool", "partitions");
    }
    const cJSON *lost = json_object(r, json, "", "lost", JSON_OPTIONAL);
    if (lost != NULL) {
        out->lost_partitions = body_number(r, lost, "lost", "spool_partitions");
        out->lost_events = body_number(r, lost, "lost", "spool_events");
    }
    const cJSON *counters = json_object(r, json, "", "counters", JSON_OPTIONAL);
    if (counters != NULL) {
#define X(name, help) out->counters.name = body_number(r, counters, "counters", #name);
        AGENT_COUNTER_LIST(X)
#undef X
    }
    const cJSON *samples = json_object(r, json, "", "samples", JSON_OPTIONAL);
    if (samples != NULL)
        samples_get(r, samples, &out->samples);
    const cJSON *refused = json_object(r, json, "", "refused", JSON_OPTIONAL);
    if (refused != NULL)
        refused_get(r, refused, &out->refused);
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
    state_get(&r, json, &h.state);
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
