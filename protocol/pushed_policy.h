/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy as an agent is to sample by it: an item of the set that COMMAND policies pushes (P-25).
 */
#ifndef PUSHED_POLICY_H
#define PUSHED_POLICY_H

#include <stdbool.h>

#include "control_body.h"

#define PUSHED_POLICY_NAME_MAX 63

struct pushed_policy {
    const char *name, *selector;
    uint64_t generation;          /* that the policy has had since its last change */
    uint64_t record_ms, every_ms; /* of its period */
    uint64_t agent_cpu_percent;   /* of one core; 0: no limit */
    uint32_t kinds;               /* of evidence that its samples have, by name alone (P-32) */
    uint64_t samples_hz;          /* how often CPUs are sampled at least; 0: it does not say */
    bool paused;                  /* by the collector, which says why */
};
/* Appends it to the set. False: out of memory, and the set is not whole. */
bool pushed_policy_put(const struct pushed_policy *policy, cJSON *set);
/* Neither selector nor period is judged here; else as all (control_body.h). */
int pushed_policy_get(const cJSON *json, struct pushed_policy *out, char *error,
                      size_t error_bytes);

#endif
