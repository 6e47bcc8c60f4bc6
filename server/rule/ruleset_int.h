/* SPDX-License-Identifier: Apache-2.0
 *
 * The rules in memory. For rules*.c and rule_replay.c; what the control lock guards says so.
 */
#ifndef RULESET_INT_H
#define RULESET_INT_H

#include "capture.h"
#include "idmap.h"
#include "rules.h"
#include "shares.h"

#define FIRINGS_KEEP_NS (UINT64_C(24) * 3600 * 1000000000u) /* the longest cooldown and window */
#define HOUR_NS         (UINT64_C(3600) * 1000000000u)
#define RULE_WHY_BYTES  256

/* What is known of a rule for one process. */
struct rule_process {
    struct process_uid process;
    uint64_t agent, since_ns, checks, failures, fired, suppressed;
    char health[16], last_error[CONTROL_WORDS_MAX + 1];
    uint64_t granted_ns;       /* the last firing that began a capture; 0: none */
    struct capture_id capture; /* the one that it began */
    bool reported;             /* the agent has told its health since this collector started */
    enum save_state save;      /* granted_ns */
};

/* A firing that began an incident. */
struct rule_grant {
    uint64_t at_ns;
    uint32_t user; /* whose process fired; SHARE_USER_UNKNOWN: nobody's, or not known */
    struct capture_id incident;
    uint64_t bytes; /* stored of its captures */
    bool counted;   /* `bytes` will not change any more */
};

/* The capture of a firing. */
struct rule_capture {
    struct capture_id id, incident; /* equal: it began the incident */
    uint32_t user;                  /* as of rule_grant */
};

/* How much of a limit is used. */
struct rule_use {
    uint64_t all, own; /* by all users, by the one who was asked for */
    uint64_t left_ns;  /* until some is free */
};

struct rule {
    struct named_item item;
    /* 0: no such limit */
    uint64_t cooldown_ms, firings, window_ms, captures_per_hour, bytes_per_hour;
    bool enabled;
    const char *include; /* in json; NULL: none */
    bool same_host, pin;
    struct evidence_wish wish; /* what it asks for by name */
    uint64_t pre_ms, post_ms, deadline_ms, max_targets, ttl_ms;
    uint64_t every_ms, offset_ms; /* a schedule; 0: none */
    uint64_t slot;                /* the last slot of the schedule that is over */
    const cJSON *webhook;         /* in json; NULL: it cannot be triggered */
    const cJSON *receiver;        /* notify.webhook, in json; NULL: nobody */
    uint64_t fired, suppressed, last_fired_ns, last_held_ns;
    char last_why[RULE_WHY_BYTES], last_held_why[RULE_WHY_BYTES];
    struct capture_id last_capture; /* the last that began an incident, at last_fired_ns */
    struct idmap processes;
    struct rule_grant *grants; /* of the last FIRINGS_KEEP_NS */
    size_t grant_count, grant_cap;
};

struct history_row { /* that is not saved yet */
    char rule[64], what[16], why[RULE_WHY_BYTES];
    uint64_t at_ns;
    struct process_uid process;
    struct rule_capture capture;
};

struct rules {
    struct fleet *fleet;
    struct control *control; /* the fleet's; of rules_alone, its own */
    struct catalog *catalog;
    struct capture_engine *captures;
    struct events *events;
    struct notify *notify;
    const char *public_url; /* of rules_settings */
    struct named_set set;
    uint64_t captures_per_hour, bytes_per_hour; /* of all rules together; 0: no bound */
    struct shares shares CONTROL_GUARDED;       /* of captures_per_hour: by rule, host and user */
    uint64_t clock CONTROL_GUARDED;             /* the setting that times are of (clock_steps.h) */
    uint64_t sweep_ns CONTROL_GUARDED;          /* monotonic: when the next one is due */
    struct history_row *rows CONTROL_GUARDED;
    size_t row_count CONTROL_GUARDED, row_cap CONTROL_GUARDED;
    size_t row_taken CONTROL_GUARDED; /* by the save that is under way */
    /* firings older than the longest cooldown are to be deleted */
    enum save_state sweep CONTROL_GUARDED;
};

/* Makes a set with this one rule (from rule_check) and a lock of its own, without fleet, captures
 * or catalog. rule_held and rule_grant then say what limits would do. SKEIN_OK, SKEIN_NO_MEMORY;
 * free it with rules_free. */
int rules_alone(const cJSON *json, struct rules **out, struct rule **rule);
CONTROL_LOCKED static inline struct rule *rules_first(const struct rules *r)
{
    return (struct rule *)r->set.list;
}
static inline struct rule *rule_next(const struct rule *rule)
{
    return (struct rule *)rule->item.next;
}
struct rule *rules_find(struct rules *r, const char *name) CONTROL_LOCKED;
/* The process's entry, made if it is new; NULL: no memory. */
struct rule_process *rule_process_of(struct rule *rule, const struct process_uid *uid);

/* rules_history.c: notes what a rule did, for the next save. Never fails: without memory, or with
 * too many unsaved rows, the row is missing. process and capture may be NULL. */
void rules_note(struct rules *r, const char *rule, const char *what, const char *why,
                uint64_t at_ns, const struct process_uid *process,
                const struct rule_capture *capture) CONTROL_LOCKED;
int rules_history_load(struct rules *r) CONTROL_LOCKED; /* the rows that limits and state need */
void rules_history_save(struct rules *r) CONTROL_LOCKED;
void rules_history_saved(struct rules *r, bool ok) CONTROL_LOCKED;

/* rules_limits.c */
/* A firing that limits are asked about. */
struct rule_ask {
    const struct rule_process *process; /* NULL: of none */
    uint32_t user;                      /* as of rule_grant */
    uint64_t at_ns;
    bool joins; /* it would join an incident that is there */
};
/* Whether a limit holds a firing back; why says which. One that is not held back counts for the
 * shares of what all rules may begin. */
bool rule_held(struct rules *r, struct rule *rule, const struct rule_ask *ask,
               char why[RULE_WHY_BYTES]) CONTROL_LOCKED;
/* Notes a firing that a limit held back, or one that began a capture. */
void rule_note_held(struct rules *r, struct rule *rule, const struct process_uid *process,
                    uint64_t at_ns, const char *why) CONTROL_LOCKED;
int rule_note_fired(struct rules *r, struct rule *rule, struct rule_process *p, uint64_t at_ns,
                    const struct rule_capture *capture, const char *why) CONTROL_LOCKED;
/* false: no memory */
bool rule_grant(struct rule *rule, uint64_t at_ns, const struct capture_id *incident,
                uint32_t user);
/* What is stored of the incident may have changed: counts it again when next asked. */
void rule_recount(struct rule *rule, const struct capture_id *incident);
/* Incidents that began within the window that ends at now_ns. */
struct rule_use rule_grants_within(const struct rule *rule, uint64_t now_ns, uint64_t window_ns,
                                   uint32_t user);
struct rule_use rules_grants_hour(struct rules *r, uint64_t now_ns,
                                  uint32_t user) CONTROL_LOCKED; /* of all rules */
/* Bytes stored of incidents that the rule (NULL: all rules) began within the last hour; left_ns:
 * until they are less than limit. */
struct rule_use rules_bytes_hour(struct rules *r, struct rule *rule, uint64_t now_ns,
                                 uint64_t limit, uint32_t user) CONTROL_LOCKED;

/* rules_clock.c: moves the times of firings to the clock as it is set now. Each tick does; who compares
 * them with the clock calls it before (V-32). */
void rules_follow_clock(struct rules *r) CONTROL_LOCKED;
/* A time of a row, or now where it lies in the future: the clock was set back while no collector ran, and
 * nothing is held back for longer than it was to be. */
uint64_t rule_time_past(uint64_t ns);

/* rules_fire.c: the last incident that the rule began for a process of the user, if the window around
 * at_ns overlaps that of its first firing; else NULL. */
const struct rule_grant *rule_overlapped(const struct rule *rule, uint64_t at_ns, uint32_t user);
/* The schedule. */
void rules_schedule(struct rules *r, struct rule *rule, uint64_t now_ns) CONTROL_LOCKED;
uint64_t rule_slot(const struct rule *rule, uint64_t now_ns);

/* Stands for the process where a trigger has none: an id for an alert's group, or (empty) for the
 * rule itself. No process has such an id. */
struct process_uid rule_group_uid(const char *group);
bool rule_uid_is_group(const struct process_uid *uid);

/* rules_history.c */
/* Tells the rule's receiver of a capture, with the next save. Owns listing from here on. */
void rules_tell(struct rules *r, const struct rule *rule, const char *event,
                cJSON *listing) CONTROL_LOCKED;

/* rules_state.c: the rule with its state. */
cJSON *rules_state_json(struct rules *r, struct rule *rule) CONTROL_LOCKED;

#endif
