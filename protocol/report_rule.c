/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT rule as JSON; see report_rule.h.
 */
#include "report_rule.h"

#include <string.h>

#include "report_int.h"

void report_rule_put(const struct report_rule *report, struct buf *out)
{
    cJSON *root = report_begin(report->agent, "rule");
    cJSON_AddStringToObject(root, "rule", report->rule);
    json_add_id(root, "process", report->process.bytes);
    cJSON_AddStringToObject(root, "health", report->health);
    json_add_u64(root, "since_ns", report->since_ns);
    report_add_clock(root, &report->clock);
    json_add_u64(root, "checks", report->checks);
    json_add_u64(root, "failures", report->failures);
    cJSON_AddStringToObject(root, "last_error", report->last_error);
    json_add_text_some(root, "held", report->held);
    json_add_u64(root, "fired", report->fired);
    json_add_u64(root, "suppressed", report->suppressed);
    body_print(root, out);
}

int report_rule_get(const cJSON *json, struct report_rule *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct report_rule report = {.agent = body_agent(&r, json)};
    report.rule = json_str(&r, json, "", "rule", JSON_REQUIRED, "", 63);
    report.health = json_str(&r, json, "", "health", JSON_REQUIRED, "", 15);
    report.last_error = body_text(&r, json, "", "last_error", CONTROL_WORDS_MAX);
    report.held = body_text(&r, json, "", "held", CONTROL_WORDS_MAX);
    body_id(&r, json, "", "process", report.process.bytes);
    report.since_ns = body_time(&r, json, "", "since_ns");
    report.clock = report_read_clock(&r, json);
    report.checks = body_number(&r, json, "", "checks");
    report.failures = body_number(&r, json, "", "failures");
    report.fired = body_number(&r, json, "", "fired");
    report.suppressed = body_number(&r, json, "", "suppressed");
    if (strcmp(report.health, "passing") != 0 && strcmp(report.health, "failing") != 0 &&
        strcmp(report.health, "unknown") != 0)
        json_fail(&r, "", "health", "must be passing, failing or unknown");
    *out = report;
    return body_status(&r, error, error_bytes);
}

void report_rule_align(struct report_rule *report)
{
    report->since_ns = report_clock_time(&report->clock, report->since_ns);
    report->clock.offset_ns = 0;
}
