/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT, from the agent until the collector's REPORT_ACK (P-8), in five kinds; each has a header
 * with its struct and its put. Here they are read, whichever comes.
 */
#ifndef REPORT_H
#define REPORT_H

#include "report_fired.h"
#include "report_policy.h"
#include "report_processes.h"
#include "report_rule.h"
#include "report_target.h"

enum report_kind { REPORT_PROCESSES, REPORT_FIRED, REPORT_TARGET, REPORT_RULE, REPORT_POLICY };
struct report {
    enum report_kind kind;
    uint64_t agent;
    union {
        struct report_processes processes;
        struct report_fired fired;
        struct report_target target;
        struct report_rule rule;
        struct report_policy policy;
    };
};
int report_get(const cJSON *json, struct report *out, char *error, size_t error_bytes);
void report_fini(struct report *report);
/* Puts its times on the collector's clock. */
void report_align(struct report *report);

struct report_ack {
    bool ok; /* else it is not to be repeated either */
    const char *error;
};
void report_ack_put(const struct report_ack *ack, struct buf *out);
int report_ack_get(const cJSON *json, struct report_ack *out, char *error, size_t error_bytes);

#endif
