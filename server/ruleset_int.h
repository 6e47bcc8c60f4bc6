/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules in memory. For rules*.c alone; guarded by the control lock.
 */
#ifndef RULESET_INT_H
#define RULESET_INT_H

#include "idmap.h"
#include "rules.h"

#define FIRINGS_KEEP_NS (UINT64_C(24) * 3600 * 1000000000u) /* the longest cooldown */

/* What is known of a rule on one process. */
struct rule_process {
    struct process_uid process;
    uint64_t agent, since_ns, checks, failures, fired, suppressed;
    char health[16], last_error[CONTROL_WORDS_MAX + 1];
    uint64_t granted_ns; /* the last firing that began a capture; 0: none */
    bool reported;       /* the agent has told its health since this collector started */
    bool dirty;          /* granted_ns must be saved */
};

struct rule {
    struct rule *next; /* by name */
    char name[64];
    cJSON *json;
    uint64_t cooldown_ms, fired, suppressed, last_fired_ns;
    struct capture_id last_capture;
    struct idmap processes;
    bool dirty;
};

struct rules {
    struct fleet *fleet;
    struct catalog *catalog;
    struct rule *list;
    uint64_t generation, sweep_ns;
    bool sweep; /* firings older than the longest cooldown are to be deleted with the next save */
};

struct rule *rules_find(struct rules *r, const char *name);
/* Made where it is new; NULL when out of memory. */
struct rule_process *rule_process_of(struct rule *rule, const struct process_uid *uid);

/* rules_state.c: the rule with its state. */
cJSON *rules_state_json(struct rules *r, const struct rule *rule);

#endif
