/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads control bodies. Owns nothing but the arrays that it hands out; any thread.
 */
#include "control_msg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "selector.h"

static void fail(struct json_reader *r, const char *path, const char *key, const char *words)
{
    if (r->error[0] == '\0')
        snprintf(r->error, sizeof r->error, "%s%s%s: %s", path, path[0] != '\0' ? "." : "", key,
                 words);
}

static int result(const struct json_reader *r, char *error, size_t error_bytes)
{
    if (r->error[0] == '\0')
        return SKEIN_OK;
    snprintf(error, error_bytes, "%s", r->error);
    return SKEIN_INVALID;
}

static uint64_t number(struct json_reader *r, const cJSON *o, const char *path, const char *key)
{
    return json_u64(r, o, path, key, JSON_OPTIONAL, 0, 0, UINT64_MAX);
}

/* Below 2^62, so that adding durations cannot wrap and SQLite's signed integers hold it. */
static uint64_t time_ns(struct json_reader *r, const cJSON *o, const char *path, const char *key)
{
    return json_u64(r, o, path, key, JSON_OPTIONAL, 0, 0, UINT64_C(1) << 62);
}

/* The same of a report, on the collector's clock: its own are the host's. */
static uint64_t host_time_ns(struct json_reader *r, const cJSON *report, const cJSON *o,
                             const char *path, const char *key)
{
    const uint64_t host_ns = time_ns(r, o, path, key);
    const __int128 ns =
        (__int128)host_ns + json_i64(r, report, "", "clock_offset_ns", JSON_OPTIONAL, 0);
    return host_ns == 0 || ns < 0 ? 0 : ns > INT64_C(1) << 62 ? UINT64_C(1) << 62 : (uint64_t)ns;
}

static uint64_t agent_get(struct json_reader *r, const cJSON *o)
{
    uint64_t agent = 0;
    const char *text = json_str(r, o, "", "agent", JSON_REQUIRED, "", 16);
    if (r->error[0] == '\0' && agent_parse(text, &agent) != SKEIN_OK)
        fail(r, "", "agent", "must be 16 hex digits");
    return agent;
}

static void id_get(struct json_reader *r, const cJSON *o, const char *path, const char *key,
                   uint8_t id[16])
{
    const char *text = json_str(r, o, path, key, JSON_REQUIRED, "", 32);
    if (r->error[0] == '\0' && id_parse(text, id) != SKEIN_OK)
        fail(r, path, key, "must be 32 hex digits");
}

static const char *labels_of(struct json_reader *r, const cJSON *o, const char *path)
{
    const char *labels = json_str(r, o, path, "labels", JSON_OPTIONAL, "", CONTROL_LABELS_MAX);
    if (labels[0] != '\0' && !labels_valid(labels))
        fail(r, path, "labels", "must be k=v,k2=v2");
    return labels;
}

int control_hello_get(const cJSON *json, struct control_hello *out, char *error, size_t error_bytes)
{
    struct json_reader r = {{0}};
    struct control_hello h = {.agent = agent_get(&r, json)};
    h.host = json_str(&r, json, "", "host", JSON_REQUIRED, "", CONTROL_NAME_MAX);
    h.version = json_str(&r, json, "", "version", JSON_OPTIONAL, "", 63);
    h.boot = json_str(&r, json, "", "boot", JSON_OPTIONAL, "", 63);
    h.labels = labels_of(&r, json, "");
    h.epoch = number(&r, json, "", "epoch");
    h.heartbeat_ms = number(&r, json, "", "heartbeat_ms");
    *out = h;
    return result(&r, error, error_bytes);
}

int control_heartbeat_get(const cJSON *json, struct control_heartbeat *out, char *error,
                          size_t error_bytes)
{
    struct json_reader r = {{0}};
    struct control_heartbeat h = {.agent = agent_get(&r, json)};
    h.instance = number(&r, json, "", "instance");
    h.sent_ns = time_ns(&r, json, "", "sent_ns");
    h.knows_offset = cJSON_GetObjectItemCaseSensitive(json, "clock_offset_ns") != NULL;
    h.clock_offset_ns = json_i64(&r, json, "", "clock_offset_ns", JSON_OPTIONAL, 0);
    h.rules_generation = number(&r, json, "", "rules_generation");
    h.policies_generation = number(&r, json, "", "policies_generation");
    h.processes_version = number(&r, json, "", "processes_version");
    h.cpu_ms = number(&r, json, "", "cpu_ms");
    const cJSON *spool = json_object(&r, json, "", "spool", JSON_OPTIONAL);
    if (spool != NULL) {
        h.spool_bytes = number(&r, spool, "spool", "bytes");
        h.spool_partitions = number(&r, spool, "spool", "partitions");
    }
    const cJSON *lost = json_object(&r, json, "", "lost", JSON_OPTIONAL);
    if (lost != NULL) {
        h.lost_partitions = number(&r, lost, "lost", "spool_partitions");
        h.lost_events = number(&r, lost, "lost", "spool_events");
    }
    const cJSON *counters = json_object(&r, json, "", "counters", JSON_OPTIONAL);
    if (counters != NULL) {
#define X(name, help) h.counters.name = number(&r, counters, "counters", #name);
        AGENT_COUNTER_LIST(X)
#undef X
    }
    *out = h;
    return result(&r, error, error_bytes);
}

int control_ack_get(const cJSON *json, struct control_ack *out, char *error, size_t error_bytes)
{
    struct json_reader r = {{0}};
    struct control_ack a = {.agent = agent_get(&r, json)};
    a.command = json_str(&r, json, "", "command", JSON_REQUIRED, "", 63);
    a.error = json_str(&r, json, "", "error", JSON_OPTIONAL, "", CONTROL_WORDS_MAX);
    const char *status = json_str(&r, json, "", "status", JSON_REQUIRED, "", 15);
    a.ok = strcmp(status, "ok") == 0;
    if (!a.ok && strcmp(status, "failed") != 0)
        fail(&r, "", "status", "must be ok or failed");
    *out = a;
    return result(&r, error, error_bytes);
}

/* Memory for the members of an array; NULL and a failed reader where there is none. */
static void *array_new(struct json_reader *r, const cJSON *array, size_t item_bytes, size_t *count)
{
    int n = cJSON_GetArraySize(array);
    *count = n > 0 ? (size_t)n : 0;
    void *items = calloc(*count + 1, item_bytes);
    if (items == NULL)
        fail(r, "", "array", "out of memory");
    return items;
}

static void process_get(struct json_reader *r, const cJSON *report, const cJSON *o,
                        struct control_process *p)
{
    const char *path = "processes[]";
    id_get(r, o, path, "process", p->uid.bytes);
    p->pid = (uint32_t)json_u64(r, o, path, "pid", JSON_REQUIRED, 0, 0, UINT32_MAX);
    p->service = json_str(r, o, path, "service", JSON_OPTIONAL, "", 127);
    p->labels = labels_of(r, o, path);
    p->exe = json_str(r, o, path, "exe", JSON_OPTIONAL, "", CONTROL_NAME_MAX);
    p->mode = json_str(r, o, path, "mode", JSON_OPTIONAL, "", 15);
    p->live = strcmp(json_str(r, o, path, "state", JSON_OPTIONAL, "live", 15), "live") == 0;
    p->start_ns = host_time_ns(r, report, o, path, "start_ns");
    p->attached_ns = host_time_ns(r, report, o, path, "attached_ns");
    p->ended_ns = host_time_ns(r, report, o, path, "ended_ns");
    p->not_recorded = json_str(r, o, path, "not_recorded", JSON_OPTIONAL, "", 31);
    p->ring_bytes = number(r, o, path, "ring_bytes");
    p->used_bytes = number(r, o, path, "used_bytes");
    p->bytes_per_s = number(r, o, path, "bytes_per_s");
    p->reach_ms = number(r, o, path, "reach_ms");
    p->events_lost = number(r, o, path, "events_lost");
    p->wrapped = number(r, o, path, "wrapped");
    p->title = json_str(r, o, path, "title", JSON_OPTIONAL, "", CONTROL_NAME_MAX);
}

static void processes_get(struct json_reader *r, const cJSON *json, struct control_processes *out)
{
    out->version = number(r, json, "", "version");
    out->page = json_u64(r, json, "", "page", JSON_OPTIONAL, 0, 0, 1u << 20);
    out->pages = json_u64(r, json, "", "pages", JSON_OPTIONAL, 1, 1, 1u << 20);
    out->known_from_ns = host_time_ns(r, json, json, "", "known_from_ns");
    if (out->page >= out->pages)
        fail(r, "", "page", "must be below pages");
    const cJSON *array = json_array(r, json, "", "processes", JSON_REQUIRED), *item;
    out->items = array_new(r, array, sizeof *out->items, &out->count);
    size_t i = 0;
    cJSON_ArrayForEach(item, array)
    {
        if (r->error[0] == '\0' && cJSON_IsObject(item))
            process_get(r, json, item, &out->items[i++]);
        else
            fail(r, "", "processes", "must hold objects");
    }
    out->count = i;
}

/* The conditions that agents look at. */
static bool trigger_known(const char *trigger)
{
    static const char *const known[] = {"health", "latency",  "log",   "counter",    "cpu",
                                        "memory", "pressure", "crash", "application"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(known[i], trigger) == 0)
            return true;
    }
    return false;
}

static void fired_get(struct json_reader *r, const cJSON *json, struct control_fired *out)
{
    id_get(r, json, "", "capture", out->capture.bytes);
    id_get(r, json, "", "process", out->process.bytes);
    out->with = json_array(r, json, "", "with", JSON_OPTIONAL);
    out->trigger = json_str(r, json, "", "trigger", JSON_REQUIRED, "", 15);
    out->rule = json_str(r, json, "", "rule", JSON_OPTIONAL, "", 63);
    out->policy = json_str(r, json, "", "policy", JSON_OPTIONAL, "", 63);
    out->reason = json_str(r, json, "", "reason", JSON_OPTIONAL, "", CONTROL_WORDS_MAX);
    out->pid = (uint32_t)json_u64(r, json, "", "pid", JSON_OPTIONAL, 0, 0, UINT32_MAX);
    out->service = json_str(r, json, "", "service", JSON_OPTIONAL, "", 127);
    out->labels = labels_of(r, json, "");
    out->exe = json_str(r, json, "", "exe", JSON_OPTIONAL, "", CONTROL_NAME_MAX);
    out->at_ns = host_time_ns(r, json, json, "", "at_ns");
    out->clock = number(r, json, "", "clock");
    out->pre_ms = json_u64(r, json, "", "pre_ms", JSON_OPTIONAL, 0, 0, UINT32_MAX);
    out->post_ms = json_u64(r, json, "", "post_ms", JSON_OPTIONAL, 0, 0, UINT32_MAX);
    bool sample = strcmp(out->trigger, "policy") == 0;
    if (!sample && !trigger_known(out->trigger))
        fail(r, "", "trigger", "must be the condition of a rule, or policy");
    if (sample != (out->policy[0] != '\0'))
        fail(r, "", "policy", "must be there with the trigger policy, and with no other");
    if (capture_id_is_zero(&out->capture))
        fail(r, "", "capture", "must not be zero");
}

/* A range, added to the totals; that of a capture's target ends far below these bounds. */
static void partitions_get(struct json_reader *r, const cJSON *item, struct control_target *out,
                           struct control_partitions *to)
{
    const char *path = "partitions[]";
    to->epoch = number(r, item, path, "epoch");
    to->first = json_u64(r, item, path, "first", JSON_REQUIRED, 0, 0, UINT64_MAX);
    to->last = json_u64(r, item, path, "last", JSON_REQUIRED, 0, 0, UINT64_MAX);
    to->events = number(r, item, path, "events");
    to->bytes = number(r, item, path, "bytes");
    if (r->error[0] == '\0' && to->last < to->first)
        fail(r, path, "last", "must not be below first");
    else if (to->last - to->first >= CONTROL_LISTED_MAX - out->listed)
        fail(r, path, "last", "too many partitions");
    else if (to->events > UINT64_MAX - out->listed_events)
        fail(r, path, "events", "too many events");
    if (r->error[0] != '\0')
        return;
    out->listed += to->last - to->first + 1;
    out->listed_events += to->events;
}

static void target_lists_get(struct json_reader *r, const cJSON *json, struct control_target *out)
{
    const cJSON *item, *array = json_array(r, json, "", "partitions", JSON_OPTIONAL);
    out->partitions = array_new(r, array, sizeof *out->partitions, &out->partition_count);
    size_t i = 0;
    cJSON_ArrayForEach(item, array)
    {
        if (r->error[0] != '\0')
            return;
        partitions_get(r, item, out, &out->partitions[i++]);
    }
    const cJSON *gaps = json_array(r, json, "", "gaps", JSON_OPTIONAL);
    out->gaps = array_new(r, gaps, sizeof *out->gaps, &out->gap_count);
    i = 0;
    cJSON_ArrayForEach(item, gaps)
    {
        if (r->error[0] != '\0')
            return;
        out->gaps[i++] = (struct control_gap){
            host_time_ns(r, json, item, "gaps[]", "from_ns"),
            host_time_ns(r, json, item, "gaps[]", "to_ns"),
            json_str(r, item, "gaps[]", "reason", JSON_OPTIONAL, "unknown", 63)};
    }
}

static void target_ledger_get(struct json_reader *r, const cJSON *json, struct control_target *out)
{
    const cJSON *ledger = json_object(r, json, "", "ledger", JSON_OPTIONAL), *item;
    const cJSON *lost =
        ledger == NULL ? NULL : json_object(r, ledger, "ledger", "lost", JSON_OPTIONAL);
    out->losses = array_new(r, lost, sizeof *out->losses, &out->loss_count);
    if (ledger != NULL)
        out->events = number(r, ledger, "ledger", "events");
    size_t i = 0;
    cJSON_ArrayForEach(item, lost)
    {
        if (r->error[0] != '\0')
            return;
        out->losses[i++] =
            (struct control_loss){item->string, number(r, lost, "ledger.lost", item->string)};
    }
}

static void target_state_get(struct json_reader *r, const cJSON *json, struct control_target *out)
{
    static const char *const names[] = {"capturing", "uploading", "nothing", "failed"};
    const char *state = json_str(r, json, "", "state", JSON_REQUIRED, "", 15);
    for (size_t i = 0; i < 4; i++) {
        if (strcmp(state, names[i]) == 0) {
            out->state = (enum control_target_state)i;
            return;
        }
    }
    fail(r, "", "state", "must be capturing, uploading, nothing or failed");
}

int control_target_get(const cJSON *json, struct control_target *out, char *error,
                       size_t error_bytes)
{
    struct json_reader r = {{0}};
    memset(out, 0, sizeof *out);
    id_get(&r, json, "", "capture", out->capture.bytes);
    id_get(&r, json, "", "process", out->process.bytes);
    target_state_get(&r, json, out);
    out->reason = json_str(&r, json, "", "reason", JSON_OPTIONAL, "", CONTROL_WORDS_MAX);
    const cJSON *window = json_object(&r, json, "", "window", JSON_OPTIONAL);
    if (window != NULL) {
        out->has_window = true;
        out->from_ns = host_time_ns(&r, json, window, "window", "from_ns");
        out->to_ns = host_time_ns(&r, json, window, "window", "to_ns");
    }
    const cJSON *death = json_object(&r, json, "", "death", JSON_OPTIONAL);
    if (death != NULL) {
        out->has_death = true;
        out->signal = (int64_t)json_u64(&r, death, "death", "signal", JSON_OPTIONAL, 0, 0, 127);
        out->status =
            (int64_t)json_u64(&r, death, "death", "status", JSON_OPTIONAL, 0, 0, INT32_MAX);
    }
    target_lists_get(&r, json, out);
    target_ledger_get(&r, json, out);
    if (capture_id_is_zero(&out->capture))
        fail(&r, "", "capture", "must not be zero");
    int status = result(&r, error, error_bytes);
    if (status != SKEIN_OK)
        control_target_fini(out);
    return status;
}

void control_target_fini(struct control_target *target)
{
    free(target->partitions);
    free(target->losses);
    free(target->gaps);
    memset(target, 0, sizeof *target);
}

static void rule_get(struct json_reader *r, const cJSON *json, struct control_rule *out)
{
    out->rule = json_str(r, json, "", "rule", JSON_REQUIRED, "", 63);
    out->health = json_str(r, json, "", "health", JSON_REQUIRED, "", 15);
    out->last_error = json_str(r, json, "", "last_error", JSON_OPTIONAL, "", CONTROL_WORDS_MAX);
    id_get(r, json, "", "process", out->process.bytes);
    out->since_ns = host_time_ns(r, json, json, "", "since_ns");
    out->checks = number(r, json, "", "checks");
    out->failures = number(r, json, "", "failures");
    out->fired = number(r, json, "", "fired");
    out->suppressed = number(r, json, "", "suppressed");
    if (strcmp(out->health, "passing") != 0 && strcmp(out->health, "failing") != 0 &&
        strcmp(out->health, "unknown") != 0)
        fail(r, "", "health", "must be passing, failing or unknown");
}

static void policy_get(struct json_reader *r, const cJSON *json, struct control_policy *out)
{
    out->policy = json_str(r, json, "", "policy", JSON_REQUIRED, "", 63);
    out->paused = json_bool(r, json, "", "paused", false);
    out->cpu_percent = number(r, json, "", "cpu_percent");
}

int control_report_get(const cJSON *json, struct control_report *out, char *error,
                       size_t error_bytes)
{
    struct json_reader r = {{0}};
    memset(out, 0, sizeof *out);
    out->agent = agent_get(&r, json);
    const char *kind = json_str(&r, json, "", "kind", JSON_REQUIRED, "", 15);
    if (r.error[0] != '\0')
        return result(&r, error, error_bytes);
    if (strcmp(kind, "target") == 0) {
        out->kind = CONTROL_TARGET;
        return control_target_get(json, &out->target, error, error_bytes);
    }
    if (strcmp(kind, "processes") == 0) {
        out->kind = CONTROL_PROCESSES;
        processes_get(&r, json, &out->processes);
    } else if (strcmp(kind, "fired") == 0) {
        out->kind = CONTROL_FIRED;
        fired_get(&r, json, &out->fired);
    } else if (strcmp(kind, "rule") == 0) {
        out->kind = CONTROL_RULE;
        rule_get(&r, json, &out->rule);
    } else if (strcmp(kind, "policy") == 0) {
        out->kind = CONTROL_POLICY;
        policy_get(&r, json, &out->policy);
    } else {
        fail(&r, "", "kind", "must be processes, fired, target, rule or policy");
    }
    int status = result(&r, error, error_bytes);
    if (status != SKEIN_OK)
        control_report_fini(out);
    return status;
}

void control_report_fini(struct control_report *report)
{
    if (report->kind == CONTROL_PROCESSES)
        free(report->processes.items);
    else if (report->kind == CONTROL_TARGET)
        control_target_fini(&report->target);
    memset(report, 0, sizeof *report);
}
