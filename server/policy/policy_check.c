/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks a sampling policy as people send it (docs/api.md) and writes it in its full form. Pure;
 * any thread; hostile input expected.
 */
#include <stdio.h>
#include <string.h>

#include "event_groups.h"
#include "policies.h"
#include "rule_check.h"
#include "sampling.h"

#define RECORD_MS_MIN 10
#define EVERY_MS_MIN  1000
#define EVERY_MS_MAX  UINT64_C(604800000) /* a week */
#define CPU_MAX       102400
#define HZ_MAX        1000

static void times_check(struct json_reader *r, const cJSON *json, cJSON *policy)
{
    struct sampling_plan plan = {
        json_u64(r, json, "", "record_ms", JSON_OPTIONAL, 1000, RECORD_MS_MIN, EVERY_MS_MAX),
        json_u64(r, json, "", "every_ms", JSON_OPTIONAL, 1000000, EVERY_MS_MIN, EVERY_MS_MAX)};
    if (r->error[0] == '\0' && !sampling_plan_valid(&plan))
        json_fail(r, "", "every_ms", "must be a multiple of record_ms, 2 to 10000 times as long");
    json_add_u64(policy, "record_ms", plan.record_ms);
    json_add_u64(policy, "every_ms", plan.every_ms);
}

static void groups_check(struct json_reader *r, const cJSON *json, cJSON *policy)
{
    if (event_groups_get(r, json, "groups") != 0)
        cJSON_AddItemToObject(
            policy, "groups",
            cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(json, "groups"), true));
}

static void limits_check(struct json_reader *r, const cJSON *json, cJSON *policy)
{
    static const char *const known[] = {"bytes_per_day", "agent_cpu_percent", NULL};
    const cJSON *limits = json_object(r, json, "", "limits", JSON_OPTIONAL);
    if (limits == NULL)
        return;
    json_known(r, limits, "limits", known);
    cJSON *to = cJSON_AddObjectToObject(policy, "limits");
    if (cJSON_GetObjectItemCaseSensitive(limits, "bytes_per_day") != NULL)
        rule_copy_number(r, limits, "limits", "bytes_per_day", 0, 1, INT64_MAX, to);
    if (cJSON_GetObjectItemCaseSensitive(limits, "agent_cpu_percent") != NULL)
        rule_copy_number(r, limits, "limits", "agent_cpu_percent", 0, 1, CPU_MAX, to);
}

cJSON *policy_check(const char *name, const cJSON *json, char *error, size_t error_bytes)
{
    static const char *const known[] = {
        "name",   "description", "selector", "enabled",  "record_ms",  "every_ms", "groups",
        "limits", "retain",      "state",    "evidence", "samples_hz", NULL};
    struct json_reader r = {{0}};
    cJSON *policy = cJSON_CreateObject();
    json_known(&r, json, "", known);
    rule_check_head(&r, name, json, policy);
    times_check(&r, json, policy);
    groups_check(&r, json, policy);
    rule_check_evidence(&r, json, "", policy);
    if (cJSON_GetObjectItemCaseSensitive(json, "samples_hz") != NULL)
        rule_copy_number(&r, json, "", "samples_hz", 0, 1, HZ_MAX, policy);
    limits_check(&r, json, policy);
    rule_check_retain(&r, json, policy);
    if (r.error[0] == '\0' && policy != NULL)
        return policy;
    snprintf(error, error_bytes, "%s", r.error[0] != '\0' ? r.error : "out of memory");
    cJSON_Delete(policy);
    return NULL;
}
