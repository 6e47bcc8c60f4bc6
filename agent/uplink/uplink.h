/* SPDX-License-Identifier: Apache-2.0
 *
 * The agent's end of docs/protocol.md: control and data connection to the collector, in one thread
 * of its own. Owns both transports, what waits for an answer, and the estimate of the collector's
 * clock. Reads the spool; never decides what is captured.
 *
 *           +--+                                     +--+
 *           |  v          WELCOME comes              |  v
 *   HELLO each second ----------------------> UP: HEARTBEAT with jitter
 *           ^                                         |
 *           +------- the answer says "hello" ---------+
 *
 * Ten HELLOs, or three heartbeats (P-10), without an answer: both connections are dialled anew.
 */
#ifndef UPLINK_H
#define UPLINK_H

#include "agent_command.h"
#include "agent_counters.h"
#include "heartbeat.h"
#include "spool.h"
#include "uplink_clock.h"
#include "uplink_seal.h"

struct uplink;

struct uplink_settings {
    const char *control_address, *data_address; /* copied, as all texts here */
    const char *host, *version, *boot, *labels;
    uint64_t agent, epoch;
    uint64_t heartbeat_ms;    /* wished; the collector's WELCOME decides */
    uint64_t resend_ms;       /* a partition without answer is sent again; 0: 5000 (P-13) */
    uint64_t idle_ms;         /* the data connection without work is dropped; 0: 60000 (P-15) */
    struct uplink_seal *seal; /* must outlive the uplink; NULL: all is plain */
    struct spool *spool;      /* must outlive the uplink */
};

/* Called by the uplink's thread; must not block. */
struct uplink_hooks {
    void *context;
    void (*command)(void *context, struct agent_command *command); /* takes it over */
    void (*welcomed)(void *context,
                     uint64_t rules_generation); /* the collector wants to know everything */
};

/* SKEIN_OK; SKEIN_INVALID (address), SKEIN_IO, SKEIN_NO_MEMORY. */
int uplink_new(const struct uplink_settings *settings, const struct uplink_hooks *hooks,
               struct uplink **out);

/* Starts the thread: reports of an earlier run may be acknowledged, and gone, from then on.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int uplink_start(struct uplink *uplink);

/* Goes on for at most drain_ms while the collector answers and something waits for it, then ends
 * the thread. What is left stays in the spool. */
void uplink_free(struct uplink **uplink, uint64_t drain_ms);

/* ---- any thread, from here on ---- */

void uplink_wake(struct uplink *uplink); /* the spool has something new */

/* Queues a REPORT that need not survive the agent; replaces one of the same key that is still
 * unanswered. `capture` and `process` are for reports on a target, else NULL. SKEIN_OK,
 * SKEIN_NO_MEMORY, SKEIN_TOO_LARGE. */
int uplink_report(struct uplink *uplink, const char *key, const struct capture_id *capture,
                  const struct process_uid *process, const char *text, size_t n);
void uplink_forget(struct uplink *uplink, const char *key_prefix);
/* Whether one of these has no answer yet. */
bool uplink_awaits(struct uplink *uplink, const char *key_prefix);

/* Answers a command by its own text; error NULL: ok. */
void uplink_command_ack(struct uplink *uplink, uint64_t frame_id, const char *command,
                        const char *error);

/* What the next heartbeats say. */
void uplink_set_rules_generation(struct uplink *uplink, uint64_t generation);
void uplink_set_policies_generation(struct uplink *uplink, uint64_t generation);
void uplink_set_processes_version(struct uplink *uplink, uint64_t version);

/* How many captures an hour the collector takes of this agent's own, as it said last; 0: without a
 * bound. Before it has, what it has by default. */
uint64_t uplink_captures_per_hour(struct uplink *uplink);

/* From this agent's line of time to the collector's clock, as of now. */
struct clock_map uplink_clock_map(struct uplink *uplink);
int64_t uplink_clock_offset(struct uplink *uplink); /* the map's; 0 while it is not known */

/* What the next heartbeats say of what is no affair of the uplink's: the members attach_… and
 * symbol…. */
void uplink_set_local(struct uplink *uplink, const struct agent_counters *counters);
/* The same of which CPUs are sampled; nothing is told before the first call. */
void uplink_set_samples(struct uplink *uplink, const struct heartbeat_samples *samples);
/* And of kinds of evidence that it may not take. */
void uplink_set_refused(struct uplink *uplink, const struct heartbeat_refused *refused);
void uplink_count(struct uplink *uplink, struct agent_counters *out);

#endif
