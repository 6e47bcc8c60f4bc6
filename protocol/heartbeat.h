/* SPDX-License-Identifier: Apache-2.0
 *
 * HEARTBEAT, from the agent every heartbeat_ms with jitter (P-10), and the collector's
 * HEARTBEAT_ACK. Their times are what the agent estimates the collector's clock by (P-28).
 */
#ifndef HEARTBEAT_H
#define HEARTBEAT_H

#include <stdbool.h>

#include "agent_counters.h"
#include "control_body.h"

/* Which CPUs the agent samples (docs/evidence.md). */
#define HEARTBEAT_REFUSED_MAX 159
struct heartbeat_samples {
    bool told;                               /* an older agent tells nothing */
    uint64_t hz, cpus;                       /* a second of each CPU; 0: off */
    uint64_t bytes;                          /* of the kernel's memory */
    uint64_t reach_ms;                       /* that they reach back if all CPUs are busy */
    char refused[HEARTBEAT_REFUSED_MAX + 1]; /* why not of all CPUs, or of none; "": they are */
};

/* Kinds of evidence that the agent is to take and may not, with what would allow it; "": it may. */
struct heartbeat_refused {
    char sched[HEARTBEAT_REFUSED_MAX + 1];
    char threads[HEARTBEAT_REFUSED_MAX + 1]; /* stacks of dumps, or those of other users alone */
};
void heartbeat_refused_add(const struct heartbeat_refused *refused, cJSON *to);

/* What the agent says of itself since its start, which the collector tells in the same words. */
struct heartbeat_state {
    uint64_t spool_bytes, spool_partitions, lost_partitions, lost_events, cpu_ms;
    struct agent_counters counters; /* all 0 where the agent tells none */
    struct heartbeat_samples samples;
    struct heartbeat_refused refused;
};
void heartbeat_state_add(const struct heartbeat_state *state, cJSON *to);

struct heartbeat {
    uint64_t agent;
    uint64_t instance; /* of this start of the agent (P-29); 0: it does not say */
    uint64_t sent_ns;  /* on the host's own clock */
    bool knows_offset;
    int64_t clock_offset_ns; /* the collector's clock less the host's, as the agent has measured */
    uint64_t clock_error_ns; /* how far that may be from the true one at sent_ns; 0: nobody says */
    uint64_t clock;          /* which setting of the collector's clock both are of */
    uint64_t rules_generation, policies_generation, processes_version;
    struct heartbeat_state state;
};
void heartbeat_put(const struct heartbeat *beat, struct buf *out);
int heartbeat_get(const cJSON *json, struct heartbeat *out, char *error, size_t error_bytes);

struct heartbeat_ack {
    uint64_t received_ns, clock; /* as those of WELCOME */
    uint64_t rules_generation;
    bool hello;  /* a new HELLO is asked for, and the list of processes */
    bool cloned; /* another process speaks as this agent (P-29) */
};
void heartbeat_ack_put(const struct heartbeat_ack *ack, struct buf *out);
int heartbeat_ack_get(const cJSON *json, struct heartbeat_ack *out, char *error,
                      size_t error_bytes);

#endif
