/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a pushed policy; see policy_spec.h. No state; any thread.
 */
#include "policy_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_groups.h"
#include "json.h"

static void fail(struct json_reader *r, const char *why)
{
    if (r->error[0] == '\0')
        snprintf(r->error, sizeof r->error, "%s", why);
}

static int slot_compare(const void *left, const void *right)
{
    const struct policy_slot *a = left, *b = right;
    return memcmp(a->process.bytes, b->process.bytes, sizeof a->process.bytes);
}

/* {"<process>":slot,…}. SKEIN_OK, also where r has failed; SKEIN_NO_MEMORY. */
static int read_slots(struct json_reader *r, const cJSON *json, struct policy_spec *spec)
{
    const cJSON *item, *slots = json_object(r, json, "", "slots", JSON_OPTIONAL);
    size_t count = slots == NULL ? 0 : (size_t)cJSON_GetArraySize(slots);
    if (r->error[0] != '\0' || count == 0)
        return SKEIN_OK;
    spec->slots = calloc(count, sizeof *spec->slots);
    if (spec->slots == NULL)
        return SKEIN_NO_MEMORY;
    cJSON_ArrayForEach(item, slots)
    {
        struct policy_slot *to = &spec->slots[spec->slot_count++];
        if (id_parse(item->string, to->process.bytes) != SKEIN_OK)
            fail(r, "slots: names must be processes, 32 hex digits");
        to->slot = (uint32_t)json_u64(r, slots, "slots", item->string, JSON_REQUIRED, 0, 0,
                                      sampling_slots(&spec->plan) - 1);
        if (r->error[0] != '\0')
            return SKEIN_OK;
    }
    qsort(spec->slots, spec->slot_count, sizeof *spec->slots, slot_compare);
    return SKEIN_OK;
}

static int read_selector(struct json_reader *r, const cJSON *json, struct policy_spec *spec)
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

static int read_spec(struct json_reader *r, const cJSON *json, struct policy_spec *spec)
{
    const char *name = json_str(r, json, "", "name", JSON_REQUIRED, "", POLICY_NAME_MAX);
    snprintf(spec->name, sizeof spec->name, "%s", name);
    spec->generation = json_u64(r, json, "", "generation", JSON_REQUIRED, 0, 0, INT64_MAX);
    spec->plan.record_ms = json_u64(r, json, "", "record_ms", JSON_REQUIRED, 0, 1, UINT32_MAX);
    spec->plan.every_ms = json_u64(r, json, "", "every_ms", JSON_REQUIRED, 0, 1, UINT32_MAX);
    spec->groups = event_groups_get(r, json, "groups");
    spec->agent_cpu_percent =
        json_u64(r, json, "", "agent_cpu_percent", JSON_OPTIONAL, 0, 0, UINT32_MAX);
    spec->paused = json_bool(r, json, "", "paused", false);
    if (r->error[0] == '\0' && !sampling_plan_valid(&spec->plan))
        fail(r, "every_ms: must be a multiple of record_ms, 2 to 10000 times as long");
    if (r->error[0] == '\0' && name[0] == '\0')
        fail(r, "name: must not be empty");
    int status = read_selector(r, json, spec);
    return status == SKEIN_OK ? read_slots(r, json, spec) : status;
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
    int status = read_spec(&r, json, spec);
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
    free(spec->slots);
    free(spec);
}

uint32_t policy_spec_slot(const struct policy_spec *spec, const struct process_uid *process)
{
    const struct policy_slot key = {.process = *process};
    const struct policy_slot *found =
        spec->slot_count == 0
            ? NULL
            : bsearch(&key, spec->slots, spec->slot_count, sizeof key, slot_compare);
    return found != NULL ? found->slot : sampling_hash_slot(&spec->plan, process);
}
