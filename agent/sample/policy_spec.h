/* SPDX-License-Identifier: Apache-2.0
 *
 * A sampling policy that the collector has pushed (pushed_policy.h), as it is sampled by. Pure
 * functions over hostile JSON; immutable once it is made.
 */
#ifndef POLICY_SPEC_H
#define POLICY_SPEC_H

#include <cjson/cJSON.h>

#include "evidence_kinds.h"
#include "pushed_policy.h"
#include "sampling.h"
#include "selector.h"

struct policy_spec {
    char name[PUSHED_POLICY_NAME_MAX + 1];
    struct selector *selector;
    struct sampling_plan plan;
    struct evidence_wish wish;                          /* of its samples: kinds by name alone */
    uint64_t generation, agent_cpu_percent, samples_hz; /* as in struct pushed_policy */
    bool paused;
};

/* SKEIN_OK; SKEIN_INVALID with "every_ms: must be ..." in error; SKEIN_NO_MEMORY. On failure *out
 * is NULL. */
int policy_spec_new(const cJSON *json, struct policy_spec **out, char *error, size_t error_bytes);
void policy_spec_free(struct policy_spec **spec);

#endif
