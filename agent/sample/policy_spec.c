/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a policy to sample by of a pushed one; see policy_spec.h. No state; any thread.
 */
#include "policy_spec.h"

#include <stdio.h>
#include <stdlib.h>

/* What is not in the message: that the period can be sampled by, and the selector's language. */
static int spec_fill(struct policy_spec *spec, const struct pushed_policy *pushed, char *error,
                     size_t error_bytes)
{
    char why[160];
    snprintf(spec->name, sizeof spec->name, "%s", pushed->name);
    spec->generation = pushed->generation;
    spec->plan.record_ms = pushed->record_ms;
    spec->plan.every_ms = pushed->every_ms;
    spec->agent_cpu_percent = pushed->agent_cpu_percent;
    spec->wish = (struct evidence_wish){.only = true, .kinds = pushed->kinds};
    spec->samples_hz = pushed->samples_hz;
    spec->paused = pushed->paused;
    if (!sampling_plan_valid(&spec->plan)) {
        snprintf(error, error_bytes,
                 "every_ms: must be a multiple of record_ms, 2 to 10000 times as long");
        return SKEIN_INVALID;
    }
    int status = selector_new(pushed->selector, &spec->selector, why, sizeof why);
    if (status == SKEIN_INVALID)
        snprintf(error, error_bytes, "selector: %s", why);
    return status;
}

int policy_spec_new(const cJSON *json, struct policy_spec **out, char *error, size_t error_bytes)
{
    struct pushed_policy pushed;
    *out = NULL;
    int status = pushed_policy_get(json, &pushed, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    struct policy_spec *spec = calloc(1, sizeof *spec);
    if (spec == NULL)
        return SKEIN_NO_MEMORY;
    status = spec_fill(spec, &pushed, error, error_bytes);
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
