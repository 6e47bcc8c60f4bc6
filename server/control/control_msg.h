/* SPDX-License-Identifier: Apache-2.0
 *
 * The bodies of the control port (docs/protocol.md), from JSON into structs. Pure functions over
 * hostile input; strings point into the JSON, arrays are freed with control_msg_fini. Unknown
 * members are ignored, wrong types are not.
 */
#ifndef CONTROL_MSG_H
#define CONTROL_MSG_H

#include <cjson/cJSON.h>

#include "agent_counters.h"
#include "ids.h"

#define CONTROL_NAME_MAX   255
#define CONTROL_LABELS_MAX 511
#define CONTROL_WORDS_MAX  1023

struct control_hello {
    uint64_t agent, epoch, heartbeat_ms;
    const char *host, *version, *boot, *labels;
};

struct control_heartbeat {
    uint64_t instance; /* 0: it does not say */
    bool knows_offset;
    int64_t clock_offset_ns; /* our clock less the host's, as the agent has measured it */
    uint64_t agent, sent_ns, rules_generation, policies_generation, processes_version, cpu_ms;
    uint64_t spool_bytes, spool_partitions, lost_partitions, lost_events;
    struct agent_counters counters;
};

struct control_ack {
    uint64_t agent;
    const char *command, *error;
    bool ok;
};

struct control_process {
    struct process_uid uid;
    uint32_t pid;
    const char *title;
    bool live;
    uint64_t start_ns, attached_ns, ring_bytes, used_bytes, events_lost, wrapped;
    uint64_t ended_ns; /* 0: it runs, or nobody knows */
    uint64_t bytes_per_s, reach_ms;
    const char *service, *labels, *exe, *mode;
    const char *not_recorded; /* why there is no ring of it; "": there is */
};
struct control_processes {
    uint64_t version, page, pages;
    uint64_t known_from_ns; /* of what ended before, the agent may know nothing; 0: it does */
    struct control_process *items;
    size_t count;
};

#define CONTROL_WITH_MAX 512
struct control_fired {
    struct capture_id capture;
    struct process_uid process;
    const cJSON *with; /* ids of others that the firing captures; NULL: none */
    const char *trigger, *rule, *policy, *reason; /* rule, policy: "" where none */
    uint32_t pid;                                 /* 0: the agent does not say who it is */
    const char *service, *labels, *exe;
    uint64_t at_ns, pre_ms, post_ms;
    uint64_t clock; /* the setting of our clock that at_ns is of */
};

#define CONTROL_LISTED_MAX (UINT64_C(1) << 40) /* partitions of a target */
struct control_partitions {                    /* consecutive ones, and what they hold together */
    uint64_t epoch, first, last, events, bytes;
};
struct control_loss {
    const char *reason;
    uint64_t events;
};
struct control_gap {
    uint64_t from_ns, to_ns;
    const char *reason;
};
enum control_target_state { CONTROL_CAPTURING, CONTROL_UPLOADING, CONTROL_NOTHING, CONTROL_FAILED };
struct control_target {
    struct capture_id capture;
    struct process_uid process;
    enum control_target_state state;
    const char *reason;
    bool has_window, has_death;
    uint64_t from_ns, to_ns, events;
    int64_t signal, status;
    struct control_partitions *partitions;
    uint64_t listed, listed_events; /* by all of these */
    struct control_loss *losses;
    struct control_gap *gaps;
    size_t partition_count, loss_count, gap_count;
};

struct control_rule {
    const char *rule, *health, *last_error;
    struct process_uid process;
    uint64_t since_ns, checks, failures, fired, suppressed;
};

struct control_policy {
    const char *policy;
    bool paused;
    uint64_t cpu_percent;
};

enum control_kind {
    CONTROL_PROCESSES,
    CONTROL_FIRED,
    CONTROL_TARGET,
    CONTROL_RULE,
    CONTROL_POLICY
};
struct control_report {
    uint64_t agent;
    enum control_kind kind;
    union {
        struct control_processes processes;
        struct control_fired fired;
        struct control_target target;
        struct control_rule rule;
        struct control_policy policy;
    };
};

/* SKEIN_OK; SKEIN_INVALID with "path: what is wrong" in error; SKEIN_NO_MEMORY. Nothing is to be
 * freed after a failure. */
int control_hello_get(const cJSON *json, struct control_hello *out, char *error,
                      size_t error_bytes);
int control_heartbeat_get(const cJSON *json, struct control_heartbeat *out, char *error,
                          size_t error_bytes);
int control_ack_get(const cJSON *json, struct control_ack *out, char *error, size_t error_bytes);
int control_report_get(const cJSON *json, struct control_report *out, char *error,
                       size_t error_bytes);
void control_report_fini(struct control_report *report);

/* A target report's own members, without agent and kind: as the catalog keeps it. */
int control_target_get(const cJSON *json, struct control_target *out, char *error,
                       size_t error_bytes);
void control_target_fini(struct control_target *target);

#endif
