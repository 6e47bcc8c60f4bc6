/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT rule: how a rule does on one process, when its health changes and every 10 s
 * (P-8).
 */
#ifndef REPORT_RULE_H
#define REPORT_RULE_H

#include "control_body.h"
#include "ids.h"
#include "report_clock.h"

struct report_rule {
    uint64_t agent;
    struct process_uid process;
    struct report_clock clock; /* of since_ns */
    const char *rule;
    const char *health; /* "passing", "failing" or "unknown" */
    const char *last_error;
    const char *held; /* why its last firing began no capture; "": a cooldown, or it did */
    uint64_t since_ns, checks, failures, fired, suppressed;
};
void report_rule_put(const struct report_rule *report, struct buf *out);
int report_rule_get(const cJSON *json, struct report_rule *out, char *error, size_t error_bytes);
void report_rule_align(struct report_rule *report);

#endif
