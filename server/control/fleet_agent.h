/* SPDX-License-Identifier: Apache-2.0
 *
 * What the collector knows of an agent and of a process: the entries of fleet.h's tables. Guarded
 * by the control lock; files other than fleet*.c only read.
 */
#ifndef FLEET_AGENT_H
#define FLEET_AGENT_H

#include "catalog.h"
#include "control.h"
#include "control_body.h"
#include "heartbeat.h"
#include "shares.h"
#include "transport.h"

#define FLEET_OFFSET_SAMPLES 16

/* The sets that every agent is pushed whole, each with a generation (pushed_set.h). */
enum fleet_set { FLEET_RULES, FLEET_POLICIES, FLEET_SETS };
struct fleet_set_state {
    uint64_t generation; /* which one the agent has */
    uint64_t wanted;     /* of the last push: changes since then do not concern it */
    bool is_change;      /* the last push was of what has changed alone */
    bool whole;          /* it does not take changes: the whole set each time */
    char *refused;       /* what it says it left out of the last one; NULL: nothing */
};
const char *fleet_set_text(enum fleet_set set); /* "rules": the command's kind */

struct fleet_agent {
    uint64_t id, epoch;
    char host[CONTROL_NAME_MAX + 1], version[64], labels[CONTROL_LABELS_MAX + 1];
    bool session; /* it has said HELLO since this collector started */
    bool online;
    uint64_t last_seen_ns; /* realtime */
    /* collector's clock minus the agent's, from the least delayed of the last heartbeats */
    int64_t clock_offset_ns;
    /* how far the agent says that this may be from the true one, by which setting of our clock, and
     * when we heard it (monotonic); error 0: it does not say */
    uint64_t clock_error_ns, clock, clock_heard_ns;
    uint64_t instance, instance_before; /* numbers in its heartbeats: the last, and the other one */
    uint64_t hello_instance; /* which start of it said host, version and labels; 0: not known */
    uint64_t cloned_ns;      /* monotonic: when two took turns; 0: never */
    struct fleet_set_state sets[FLEET_SETS];
    uint64_t anew_ns; /* monotonic: when a later run of it said HELLO; 0: never */
    /* Realtime. Processes that ended before these times may be unknown. listed_from_ns: as the
     * agent says, those that were never in a list. known_from_ns: also those that we have
     * forgotten. */
    uint64_t listed_from_ns, known_from_ns;
    uint64_t processes_live;
    uint64_t processes_known;     /* in the table, live or gone */
    struct heartbeat_state state; /* as its last heartbeat says */
    bool counted;                 /* there was a heartbeat */
    /* capture_admits' own: what the agent began by itself, in CAPTURE_OWN_UNITS */
    struct shares own; /* by user, program and cause */
    uint64_t own_refused, own_said_ns;
    /* capture_refused.c's own: the last captures of it that were refused, a ring, and when (realtime) */
    struct capture_id *refused;
    size_t refused_count;
    uint64_t refused_to_ns;
    /* fleet.c's own */
    uint64_t heard_ns, saved_ns; /* monotonic */
    enum save_state save;        /* in the fleet's list of those to save */
    unsigned forgetting;         /* who wants its rows to go with the next save */
    bool crowds;                 /* others say HELLO by its connection, too */
    struct fleet_agent *next_dirty;
    struct transport_peer peer;
    int64_t offsets[FLEET_OFFSET_SAMPLES];
    size_t offset_count;
    uint64_t list_version, list_pages, list_seen; /* the process list being received */
    uint8_t *list_have;                           /* one byte a page */
    uint64_t list_ns, list_asked_ns; /* monotonic: when it came whole; 0: not asked, or in vain */
    struct fleet_command *commands;
    struct fleet_process *processes; /* live and gone, by next_of_agent */
};

struct fleet_process {
    struct process_uid uid;
    uint64_t agent;
    uint32_t pid;
    uint32_t user; /* whose shares it uses; SHARE_USER_UNKNOWN: its agent has not said */
    bool live;
    char service[128], labels[CONTROL_LABELS_MAX + 1], exe[CONTROL_NAME_MAX + 1], mode[16];
    char title[128];    /* what the program calls itself; "": unknown */
    uint64_t listed_ns; /* monotonic: when its agent last reported it */
    char host[CONTROL_NAME_MAX + 1];
    uint64_t start_ns, attached_ns, ring_bytes, used_bytes, events_lost, wrapped;
    uint64_t bytes_per_s, reach_ms, ring_wished_bytes, ring_memory_bytes;
    char ring_why[REPORT_RING_WHY_MAX + 1]; /* "": it is as large as was wished */
    uint64_t lost_implausible; /* a claim that cannot be, kept apart from events_lost; 0: none */
    uint64_t gone_ns;          /* monotonic: when we heard that it is gone */
    uint64_t ended_ns;   /* realtime; 0: it lives. gone_ns as a time where its agent does not say */
    uint64_t perhaps_ns; /* realtime: it may have run up to then, and may come back; 0: no doubt */
    char not_recorded[32];     /* why its agent has no ring for it (loss.h); "": it has, or had */
    enum save_state loss_save; /* events_lost */
    enum save_state row_save;  /* who it is, and whether it lives */
    uint64_t list_version;
    struct fleet_process *next_of_agent;
};

#endif
