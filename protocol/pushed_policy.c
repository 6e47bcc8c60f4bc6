/* SPDX-License-Identifier: Apache-2.0
 *
 * A pushed policy as JSON; see pushed_policy.h.
 */
#include "pushed_policy.h"

#include <stdio.h>

#include "control_body_int.h"
#include "evidence_kinds.h"

static void kinds_add(cJSON *item, uint32_t kinds)
{
    cJSON *list = kinds != 0 ? cJSON_AddArrayToObject(item, "evidence") : NULL;
    for (unsigned i = 0; i < EVIDENCE_KIND_COUNT; i++)
        if ((kinds & EVIDENCE_BIT(i)) != 0)
            cJSON_AddItemToArray(list, cJSON_CreateString(evidence_kind_name(i)));
}

bool pushed_policy_put(const struct pushed_policy *policy, cJSON *set)
{
    cJSON *item = cJSON_CreateObject();
    cJSON_AddStringToObject(item, "name", policy->name);
    json_add_u64(item, "generation", policy->generation);
    cJSON_AddStringToObject(item, "selector", policy->selector);
    json_add_u64(item, "record_ms", policy->record_ms);
    json_add_u64(item, "every_ms", policy->every_ms);
    json_add_u64_some(item, "agent_cpu_percent", policy->agent_cpu_percent);
    kinds_add(item, policy->kinds);
    json_add_u64_some(item, "samples_hz", policy->samples_hz);
    bool whole = cJSON_AddBoolToObject(item, "paused", policy->paused) != NULL;
    if (cJSON_AddItemToArray(set, item))
        return whole;
    cJSON_Delete(item);
    return false;
}

int pushed_policy_get(const cJSON *json, struct pushed_policy *out, char *error, size_t error_bytes)
{
    struct json_reader r = {.error = ""};
    struct evidence_wish wish;
    if (!cJSON_IsObject(json)) {
        snprintf(error, error_bytes, "must be an object");
        return SKEIN_INVALID;
    }
    struct pushed_policy policy = {
        .name = json_str(&r, json, "", "name", JSON_REQUIRED, "", PUSHED_POLICY_NAME_MAX),
        .selector = json_str(&r, json, "", "selector", JSON_REQUIRED, "", 1024),
        .generation = json_u64(&r, json, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX),
        .record_ms = json_u64(&r, json, "", "record_ms", JSON_REQUIRED, 0, 1, UINT32_MAX),
        .every_ms = json_u64(&r, json, "", "every_ms", JSON_REQUIRED, 0, 1, UINT32_MAX),
        .agent_cpu_percent = body_up_to(&r, json, "agent_cpu_percent", UINT32_MAX),
        .samples_hz = body_up_to(&r, json, "samples_hz", UINT32_MAX),
        .paused = json_bool(&r, json, "", "paused", false)};
    if (r.error[0] == '\0' && policy.name[0] == '\0')
        body_fail(&r, "", "name", "must not be empty");
    evidence_wish_told(&r, json, "", false, &wish);
    policy.kinds = wish.kinds;
    *out = policy;
    return body_status(&r, error, error_bytes);
}
