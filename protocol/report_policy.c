/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT policy as JSON; see report_policy.h.
 */
#include "report_policy.h"

#include "report_int.h"

void report_policy_put(const struct report_policy *report, struct buf *out)
{
    cJSON *root = report_begin(report->agent, "policy");
    cJSON_AddStringToObject(root, "policy", report->policy);
    cJSON_AddBoolToObject(root, "paused", report->paused);
    json_add_u64(root, "cpu_percent", report->cpu_percent);
    body_print(root, out);
}

int report_policy_get(const cJSON *json, struct report_policy *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct report_policy report = {.agent = body_agent(&r, json)};
    report.policy = json_str(&r, json, "", "policy", JSON_REQUIRED, "", 63);
    report.paused = json_bool(&r, json, "", "paused", false);
    report.cpu_percent = body_number(&r, json, "", "cpu_percent");
    *out = report;
    return body_status(&r, error, error_bytes);
}
