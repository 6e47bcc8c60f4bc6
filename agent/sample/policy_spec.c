/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a pushed policy; see policy_spec.h. No state; any thread.
 */
#include "policy_spec.h"

#include <stdio.h>
#include <stdlib.h>

#include "json.h"

static void spec_fail(struct json_reader *r, const char *why)
{
    if (r->error[0] == '\0')
        snprintf(r->error, sizeof r->error, "%s", why);
}

static int selector_read(struct json_reader *r, const cJSON *json, struct policy_spec *spec)
{
    char why[160];
    const char *text = json_str(r, json, "", "selector", JSON_REQUIRED, "", 1024);
    if (r->error[0] != '\0')
        return SKEIN_OK;
    int status = selector_new(text, &spec->selector, why, sizeof why);
    if (status == SKEIN_INVALID)
        snprintf(r->error, sizeof r->error, "selector: %s", why);
    return status == SKEIN_INVALID ? SKEIN_OK : status;
}

static int spec_read(struct json_reader *r, const cJSON *json, struct policy_spec *spec)
{
    const char *name = json_str(r, json, "", "name", JSON_REQUIRED, "", POLICY_NAME_MAX);
    snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->generation = json_u64(r, json, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX);
    spec->plan.record_ms = json_u64(r, json, "", "record_ms", JSON_REQUIRED, 0, 1, UINT32_MAX);
    spec->plan.every_ms = json_u64(r, json, "", "every_ms", JSON_REQUIRED, 0, 1, UINT32_MAX);
    spec->agent_cpu_percent =
        json_u64(r, json, "", "agent_cpu_percent", JSON_OPTIONAL, 0, 0, UINT32_MAX);
    evidence_wish_told(r, json, "", false, &spec->wish);
    spec->wish.only = true;
    spec->samples_hz = json_u64(r, json, "", "samples_hz", JSON_OPTIONAL, 0, 0, UINT32_MAX);
    spec->paused = json_bool(r, json, "", "paused", false);
    if (r->error[0] == '\0' && !sampling_plan_valid(&spec->plan))
        spec_fail(r, "every_ms: must be a multiple of record_ms, 2 to 10000 times as long");
    if (r->error[0] == '\0' && name[0] == '\0')
        spec_fail(r, "name: must not be empty");
    return selector_read(r, json, spec);
}

int policy_spec_new(const cJSON *json, struct policy_spec **out, char *error, size_t error_bytes)
{
    *out = NULL;
    struct json_reader r = {.error = ""};
    if (!cJSON_IsObject(json)) {
        snprintf(error, error_bytes, "must be an object");
        return SKEIN_INVALID;
    }
    struct policy_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL)
        return SKEIN_NO_MEMORY;
    int status = spec_read(&r, json, spec);
    if (status == SKEIN_OK && r.error[0] != '\0') {
        snprintf(error, error_bytes, "%s", r.error);
        status = SKEIN_INVALID;
    }
    if (status != SKEIN_OK)
        policy_spec_free(&spec);
    *out = spec;
    return status;
}

void policy_spec_free(struct policy_spec **spec_p)
{
    struct policy_spec *spec = *spec_p;
    *spec_p = NULL;
    if (spec == NULL)
        return;
    selector_free(&spec->selector);
    free(spec);
}
