/* SPDX-License-Identifier: Apache-2.0
 *
 * A sampling policy as the collector pushes it (docs/protocol.md), read into a struct. Pure
 * functions over hostile JSON; immutable after parsing.
 */
#ifndef POLICY_SPEC_H
#define POLICY_SPEC_H

#include <cjson/cJSON.h>

#include "evidence_kinds.h"
#include "sampling.h"
#include "selector.h"

#define POLICY_NAME_MAX 63

struct policy_spec {
    char name[POLICY_NAME_MAX + 1];
    struct selector *selector;
    struct sampling_plan plan;
    uint64_t generation;        /* that the policy has had since its last change */
    uint64_t agent_cpu_percent; /* of one core; 0: no limit */
    struct evidence_wish wish;  /* of its samples: kinds by name alone */
    uint64_t samples_hz;        /* how often CPUs are sampled at least; 0: it does not say */
    bool paused;                /* by the collector, which says why */
};

/* SKEIN_OK; SKEIN_INVALID with "every_ms: must be ..." in error; SKEIN_NO_MEMORY. On failure *out
 * is NULL. */
int policy_spec_new(const cJSON *json, struct policy_spec **out, char *error, size_t error_bytes);
void policy_spec_free(struct policy_spec **spec);

#endif
