/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT policy: whether a policy with a limit on the agent's CPU pauses for it (P-8, P-25).
 */
#ifndef REPORT_POLICY_H
#define REPORT_POLICY_H

#include <stdbool.h>

#include "control_body.h"

struct report_policy {
    uint64_t agent;
    const char *policy;
    bool paused;
    uint64_t cpu_percent;
};
void report_policy_put(const struct report_policy *report, struct buf *out);
int report_policy_get(const cJSON *json, struct report_policy *out, char *error,
                      size_t error_bytes);

#endif
