/* SPDX-License-Identifier: Apache-2.0
 *
 * REPORT fired: the agent has begun a capture of its own (P-8, P-30). It says all of the process, which may be
 * gone before the collector hears of it.
 */
#ifndef REPORT_FIRED_H
#define REPORT_FIRED_H

#include "control_body.h"
#include "ids.h"
#include "report_clock.h"
#include "shares.h"
#include "trigger.h"

#define REPORT_WITH_MAX 512 /* so that it fits a message (P-5) */

struct report_fired {
    uint64_t agent;
    struct capture_id capture; /* that the agent has minted; of a sample: P-25 */
    struct process_uid process;
    struct process_uid *with; /* others that the firing captures; the first REPORT_WITH_MAX */
    size_t with_count;
    enum trigger_type trigger; /* the condition, or TRIGGER_POLICY */
    const char *rule, *policy; /* "" where it is none's */
    const char *reason;
    uint32_t pid;  /* 0: the agent does not say who it is */
    uint32_t user; /* whose shares the process uses; SHARE_USER_UNKNOWN: the agent does not say */
    const char *service, *labels, *exe;
    uint64_t at_ns, pre_ms, post_ms;
    struct report_clock clock; /* of at_ns */
};
void report_fired_put(const struct report_fired *report, struct buf *out);
int report_fired_get(const cJSON *json, struct report_fired *out, char *error, size_t error_bytes);
void report_fired_fini(struct report_fired *report); /* of report_fired_get */
void report_fired_align(struct report_fired *report);

#endif
