/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the rules, shared by agent_rules.c, rule_watch.c, rule_health.c and rules_store.c
 * alone. Loop thread.
 */
#ifndef RULES_INT_H
#define RULES_INT_H

#include <sys/queue.h>

#include "agent_rules.h"

enum health { HEALTH_UNKNOWN, HEALTH_PASSING, HEALTH_FAILING };

/* One rule on one process. */
struct watch_item {
    TAILQ_ENTRY(watch_item) link;
    struct agent_rules *rules;
    struct rule_spec *spec;   /* of the rule's list entry, which outlives this */
    struct process *process;  /* a reference */
    struct check *check;      /* NULL: a heartbeat, or no thread was to be had */
    struct loop_timer *timer; /* of a heartbeat */
    uint64_t looked_ns;       /* monotonic; at the heartbeat */
    enum health health;
    bool fired_now, passed_once; /* fired_now: no second time before it has passed */
    uint64_t since_ns, failures_in_row;
    uint64_t checks, failures, fired, suppressed;
    uint64_t last_fired_ns; /* realtime; 0: never */
    char last_error[256];
};
TAILQ_HEAD(watch_list, watch_item);

struct agent_rules {
    struct agent_rules_settings settings;
    uint64_t generation;
    struct rule_spec **specs;
    size_t count;
    struct process **processes; /* references; those attached now */
    size_t process_count;
    struct watch_list watches;
    struct loop_timer *report_timer;
};

/* rule_watch.c */
int watch_begin(struct agent_rules *rules, struct rule_spec *spec, struct process *process);
void watch_end(struct watch_item *watch);
void watch_report(struct watch_item *watch);
void watch_take(struct watch_item *watch, const struct check_result *result);
/* What keeps it from being looked at: told, without a change of its health. */
void watch_hinder(struct watch_item *watch, const char *why);

/* rule_health.c: looks by a check's thread or, for heartbeats, by a timer. */
void health_start(struct watch_item *watch); /* anew where it has been started */
void health_stop(struct watch_item *watch);
void health_heard(struct watch_item *watch); /* the process has said how it is */

/* rules_store.c: the set as it was pushed, on the worker. */
void rules_store(struct agent_rules *rules, uint64_t generation, const cJSON *array);
cJSON *rules_load(int folder, uint64_t *generation); /* the array, or NULL */

#endif
