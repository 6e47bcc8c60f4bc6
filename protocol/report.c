/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kinds of REPORT share, which one a body is of, and the answer; see report.h.
 */
#include "report.h"

#include <string.h>

#include "report_int.h"

#define TIME_MAX (INT64_C(1) << 62)

uint64_t report_clock_time(const struct report_clock *clock, uint64_t line_ns)
{
    const __int128 ns = (__int128)line_ns + clock->offset_ns;
    return line_ns == 0 || ns < 0 ? 0 : ns > TIME_MAX ? (uint64_t)TIME_MAX : (uint64_t)ns;
}

cJSON *report_begin(uint64_t agent, const char *kind)
{
    cJSON *root = cJSON_CreateObject();
    body_add_agent(root, agent);
    cJSON_AddStringToObject(root, "kind", kind);
    return root;
}

void report_add_clock(cJSON *root, const struct report_clock *clock)
{
    if (clock->offset_ns != 0)
        json_add_i64(root, "clock_offset_ns", clock->offset_ns);
    json_add_u64_some(root, "clock", clock->clock);
    json_add_u64_some(root, "clock_error_ns", clock->error_ns);
}

struct report_clock report_read_clock(struct json_reader *r, const cJSON *json)
{
    return (struct report_clock){json_i64(r, json, "", "clock_offset_ns", JSON_OPTIONAL, 0),
                                 body_number(r, json, "", "clock"),
                                 body_number(r, json, "", "clock_error_ns")};
}

static enum report_kind kind_get(struct json_reader *r, const cJSON *json)
{
    static const char *const kinds[] = {"processes", "fired", "target", "rule", "policy"};
    const char *kind = json_str(r, json, "", "kind", JSON_REQUIRED, "", 15);
    for (int i = 0; i <= REPORT_POLICY; i++)
        if (strcmp(kind, kinds[i]) == 0)
            return (enum report_kind)i;
    body_fail(r, "", "kind", "must be processes, fired, target, rule or policy");
    return REPORT_PROCESSES;
}

int report_get(const cJSON *json, struct report *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    memset(out, 0, sizeof *out);
    out->agent = body_agent(&r, json);
    out->kind = kind_get(&r, json);
    int status = body_status(&r, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    switch (out->kind) {
    case REPORT_FIRED:
        return report_fired_get(json, &out->fired, error, error_bytes);
    case REPORT_TARGET:
        return report_target_get(json, &out->target, error, error_bytes);
    case REPORT_RULE:
        return report_rule_get(json, &out->rule, error, error_bytes);
    case REPORT_POLICY:
        return report_policy_get(json, &out->policy, error, error_bytes);
    case REPORT_PROCESSES:
    default:
        return report_processes_get(json, &out->processes, error, error_bytes);
    }
}

void report_fini(struct report *report)
{
    if (report->kind == REPORT_PROCESSES)
        report_processes_fini(&report->processes);
    else if (report->kind == REPORT_FIRED)
        report_fired_fini(&report->fired);
    else if (report->kind == REPORT_TARGET)
        report_target_fini(&report->target);
}

void report_align(struct report *report)
{
    if (report->kind == REPORT_PROCESSES)
        report_processes_align(&report->processes);
    else if (report->kind == REPORT_FIRED)
        report_fired_align(&report->fired);
    else if (report->kind == REPORT_TARGET)
        report_target_align(&report->target);
    else if (report->kind == REPORT_RULE)
        report_rule_align(&report->rule);
}

void report_ack_put(const struct report_ack *ack, struct buf *out)
{
    cJSON *root = cJSON_CreateObject();
    cJSON_AddBoolToObject(root, "ok", ack->ok);
    if (!ack->ok)
        cJSON_AddStringToObject(root, "error", ack->error);
    body_print(root, out);
}

int report_ack_get(const cJSON *json, struct report_ack *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    out->ok = json_bool(&r, json, "", "ok", false);
    out->error = json_str(&r, json, "", "error", JSON_OPTIONAL, "refused without a reason", 4096);
    return body_status(&r, error, error_bytes);
}
