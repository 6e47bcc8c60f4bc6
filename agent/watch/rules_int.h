/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the rules, shared by agent_rules.c, rule_watch.c, rule_events.c, rule_health.c
 * and rule_memory.c alone. Loop thread.
 */
#ifndef RULES_INT_H
#define RULES_INT_H

#include <sys/queue.h>

#include "agent_rules.h"
#include "rule_scan.h"
#include "rule_system.h"

enum health { HEALTH_UNKNOWN, HEALTH_PASSING, HEALTH_FAILING };

/* A process that is attached now. */
struct ruled_process {
    struct process *process; /* a reference */
    uint32_t owner;          /* the user whose service it belongs to */
};

/* One rule on one process, or (spec->per_service) on all processes of a user's service: `process` is
 * then the oldest of them. */
struct watch_item {
    TAILQ_ENTRY(watch_item) link;
    struct agent_rules *rules;
    struct rule_spec *spec;   /* of the rule's list entry, which outlives this */
    struct process *process;  /* a reference */
    uint32_t owner;           /* of the service; of another rule, who runs the process */
    struct loop_timer *timer; /* of a heartbeat, a condition on the system, or the next check */
    uint64_t looked_ns;       /* monotonic; at the heartbeat */
    /* health, but heartbeats; monotonic times */
    struct {
        struct check *now;             /* the run that is under way, or NULL */
        struct loop_timer *late_timer; /* while one is: when it has not answered in time, and on */
        bool late;                     /* that has been told */
        bool waits;                    /* its time has come, and another run of the rule is on */
        uint64_t due_ns, begun_ns;
        uint64_t free_ns; /* no run of the rule before this */
        char name[128];   /* of what runs */
    } run;
    enum health health;
    bool fired_now, passed_once; /* fired_now: no second time before it has passed */
    uint64_t since_ns, failures_in_row;
    uint64_t checks, failures, fired, suppressed;
    uint64_t suppressed_before; /* told of another process of the service */
    uint64_t memory_key;
    struct system_state system;
    struct rule_scan *scan; /* of a condition on events */
    struct scan_window window;
    uint64_t unseen; /* looks that did not see everything */
    char last_error[256];
    char held
        [CAPTURE_WHY_BYTES]; /* why its last firing began no capture; "": a cooldown, or it did */
};
TAILQ_HEAD(watch_list, watch_item);

/* When a rule fired last for whom; the oldest are forgotten first. */
struct rule_memory {
    uint64_t key;           /* 0: unused */
    uint64_t last_fired_ns; /* realtime; 0: never */
    uint64_t fired, suppressed;
};
#define RULE_MEMORIES 1024

struct agent_rules {
    struct agent_rules_settings settings;
    uint64_t generation;
    struct rule_spec **specs;
    size_t count;
    cJSON *array; /* the set as it was pushed, with rules that this agent leaves out; or NULL */
    struct ruled_process *processes;
    size_t process_count, process_cap;
    struct watch_list watches;
    struct loop_timer *report_timer;
    struct rule_scanner *scanner;
    struct rule_memory memories[RULE_MEMORIES];
    bool memories_changed;
};

/* rule_watch.c */
enum trigger_type rule_trigger(const struct rule_spec *spec);
int watch_begin(struct agent_rules *rules, struct rule_spec *spec,
                const struct ruled_process *ruled);
void watch_start(struct watch_item *watch); /* looks begin, anew where they had */
void watch_end(struct watch_item *watch);
/* From now on `process` stands for the service. */
void watch_lead(struct watch_item *watch, struct process *process);
void watch_report(struct watch_item *watch);
void watch_take(struct watch_item *watch, const struct check_result *result);
/* Fires, unless it has lately. */
void watch_fire(struct watch_item *watch, uint64_t at_ns, const char *reason);
/* It would fire, but for what `why` says: counted and told, as a cooldown is. */
void watch_hold(struct watch_item *watch, const char *why);
/* Reports where it is new. */
void watch_set_health(struct watch_item *watch, enum health health, uint64_t at_ns);
/* What keeps it from being looked at: told, without a change of its health. */
void watch_hinder(struct watch_item *watch, const char *why);
/* Its process is watched from outside, and has none of these: told once. */
void watch_without_ring(struct watch_item *watch, const char *what);

/* agent_rules.c: the first process from rules->processes[*at] on that the watch is about, and *at
 * behind it; NULL: no more. */
struct process *watch_next_process(const struct watch_item *watch, size_t *at);

/* rule_health.c: looks by a check's thread or, for heartbeats, by a timer. */
void health_start(struct watch_item *watch); /* anew where it has been started */
void health_stop(struct watch_item *watch);
void health_heard(struct watch_item *watch); /* the process has said how it is */

/* rule_events.c: looks at the ring's events. */
void events_start(struct watch_item *watch);
void events_stop(struct watch_item *watch);

/* rule_memory.c */
/* spec NULL: the agent's own captures of that type. `user`: who runs the process, or has the service;
 * what another user's processes of the same name do is remembered apart. */
uint64_t rule_memory_key(const struct rule_spec *spec, enum trigger_type type,
                         const struct process *process, uint32_t user);
/* Whether the cooldown of its last firing is not over. */
bool rule_memory_cools(const struct rule_memory *memory, uint64_t at_ns, uint64_t cooldown_ms);
void rule_memory_fire(struct rule_memory *memory, uint64_t at_ns); /* remembers that it fired */
const struct rule_memory *rule_memory_find(const struct agent_rules *rules, uint64_t key);
struct rule_memory *rule_memory_take(struct agent_rules *rules, uint64_t key); /* never NULL */
void rule_memory_save(struct agent_rules *rules);
void rule_memory_load(struct agent_rules *rules);
/* Takes in what the journal says of firings that were not saved before the agent died. */
void rule_memory_recover(struct agent_rules *rules);
/* What a file holds. SKEIN_OK; SKEIN_INVALID with words in error, and nothing in memories. */
int rule_memories_read(const char *text, size_t n, struct rule_memory memories[RULE_MEMORIES],
                       char *error, size_t error_bytes);

#endif
