/* SPDX-License-Identifier: Apache-2.0
 *
 * The control port: agents' sessions and leases, the processes that they trace, commands that are
 * repeated until acknowledged, reports that are acknowledged once they are durable.
 *
 * Owns one thread, the only one that touches the transport, and makes the control lock (control.h),
 * which guards agents, processes, captures and rules together. Hooks run locked, on the control
 * thread unless said otherwise. An agent that goes silent is shown offline; nothing of it is
 * deleted.
 */
#ifndef FLEET_H
#define FLEET_H

#include "command.h"
#include "control.h"
#include "fleet_agent.h"
#include "gate.h"
#include "process_labels.h"
#include "report.h"

enum fleet_process_status { FLEET_LIVE, FLEET_GONE, FLEET_OFFLINE };

struct fleet_settings {
    const char *address; /* "tcp://127.0.0.1:7461" */
    uint64_t lease_ms, heartbeat_ms, max_agents, max_processes_per_agent, keep_gone_ms;
    uint64_t own_captures_per_hour; /* that each agent may begin by itself; 0: no bound */
};

struct fleet_hooks {
    void *context;
    void (*agent_joined)(void *context, struct fleet_agent *agent); /* HELLO: commands start over */
    void (*agent_heard)(void *context, struct fleet_agent *agent);  /* heartbeat */
    void (*agent_lost)(void *context, struct fleet_agent *agent);   /* its lease is over */
    /* A list of its processes named these, which were not known. */
    void (*listed)(void *context, struct fleet_agent *agent, struct fleet_process *const *news,
                   size_t count);
    /* A command was acknowledged. `error`: why it was refused; "": it was not. */
    void (*command_done)(void *context, struct fleet_agent *agent, const struct capture_id *capture,
                         const char *error);
    void (*push_done)(void *context, struct fleet_agent *agent, enum fleet_set set,
                      const char *error);
    /* A report: fired, target or rule. SKEIN_OK acknowledges it; SKEIN_AGAIN leaves it without an
     * answer, so it comes again; else it is refused for good, with the words in error. `json` is
     * its body. */
    int (*report)(void *context, struct fleet_agent *agent, const struct report *report,
                  const cJSON *json, char *error, size_t error_bytes);
    void (*tick)(void *context, uint64_t now_ns); /* each round; realtime */
    uint64_t (*rules_generation)(void *context);
    /* as control.h has them; any thread that saves */
    void (*save)(void *context);
    void (*saved)(void *context, bool ok);
    /* end of a round, not locked: work that waits for other threads */
    void (*unlocked)(void *context);
};

struct fleet;

/* Loads the agents known before. The hooks may be set until fleet_start. SKEIN_OK, SKEIN_NO_MEMORY,
 * SKEIN_IO. */
int fleet_new(const struct fleet_settings *settings, struct catalog *catalog, struct fleet **out);
void fleet_set_hooks(struct fleet *f, const struct fleet_hooks *hooks);
/* What seals messages and lets agents in; it must outlive the fleet. NULL: all is plain. Call it
 * before fleet_start. */
void fleet_set_gate(struct fleet *f, struct gate *gate);
/* Listens and starts the thread. SKEIN_OK or transport_listen's status with words in error. */
int fleet_start(struct fleet *f, char *error, size_t error_bytes);
/* Ends the thread; what was acknowledged is durable. fleet_free stops first. */
void fleet_stop(struct fleet *f);
void fleet_free(struct fleet **f);

/* The control lock, which is the fleet's to make; control_save saves what all hooks name. */
struct control *fleet_control(struct fleet *f);
/* Any thread: the control thread does a round soon. */
void fleet_wake(struct fleet *f);

/* ---- agents and processes ---- */

/* Whether two processes have spoken as this agent within the last minute. */
bool fleet_agent_is_cloned(const struct fleet_agent *agent);
/* How far its clock_offset_ns may be from the true one by now, as long as nobody sets its host's
 * clock. False: that is not known, as of an agent that is silent or does not say. */
bool fleet_agent_clock_error(const struct fleet_agent *agent, uint64_t *error_ns);
struct fleet_agent *fleet_agent_find(struct fleet *f, uint64_t agent) CONTROL_LOCKED;
/* Goes through all, from *at 0; NULL: the end. */
struct fleet_agent *fleet_agent_next(struct fleet *f, size_t *at) CONTROL_LOCKED;
/* Ends its lease now. */
void fleet_agent_end(struct fleet *f, struct fleet_agent *agent) CONTROL_LOCKED;
/* Removes it from tables and catalog, with its processes and the commands that wait for it. If it
 * says HELLO again, it is a new one. Saves (control_save). SKEIN_OK, or the catalog's status. */
int fleet_agent_forget(struct fleet *f, struct fleet_agent *agent) CONTROL_LOCKED;
struct fleet_process *fleet_process_find(struct fleet *f,
                                         const struct process_uid *uid) CONTROL_LOCKED;
struct fleet_process *fleet_process_next(struct fleet *f, size_t *at) CONTROL_LOCKED;
enum fleet_process_status fleet_process_status(struct fleet *f,
                                               const struct fleet_process *p) CONTROL_LOCKED;
struct process_labels fleet_process_labels(const struct fleet_process *p);
bool fleet_process_match(const struct selector *selector, const struct fleet_process *p);
/* Moves the times of processes to our clock as it is set now, where somebody has set it. Each tick
 * does; who compares them with the clock calls it before. */
void fleet_follow_clock(struct fleet *f) CONTROL_LOCKED;
/* Some matching processes that ended before this time may be unknown; 0: all are known. listed: the
 * asker has itself noted every process that was ever in a list. */
uint64_t fleet_known_from(struct fleet *f, const struct selector *selector,
                          bool listed) CONTROL_LOCKED;

/* The agent that has reported this process; 0: unknown. Any thread, not locked, never waits for the
 * control lock. */
uint64_t fleet_agent_of(struct fleet *f, const struct process_uid *process);

/* claims_take: whether the process belongs to this agent, which has proven itself. And whether that
 * claim is on disk; it soon is. Any thread, not locked, never waits for the control lock. */
int fleet_claim(struct fleet *f, const struct process_uid *process, uint64_t agent);
bool fleet_claim_is_kept(struct fleet *f, const struct process_uid *process);

/* ---- commands ---- */

/* Sends a command about a capture, under a text of its own, again and again: until it is
 * acknowledged, due_ns (monotonic; 0: no deadline) is over, or the agent says HELLO. SKEIN_OK,
 * SKEIN_NO_MEMORY, SKEIN_TOO_LARGE, SKEIN_NOT_FOUND (no such agent). */
int fleet_command(struct fleet *f, uint64_t agent, uint64_t due_ns,
                  const struct command *says) CONTROL_LOCKED;
void fleet_drop_commands(struct fleet *f,
                         const struct capture_id *capture) CONTROL_LOCKED; /* of all agents */
/* The same for a set; it has no deadline, and replaces one that waits. */
int fleet_push(struct fleet *f, struct fleet_agent *agent, enum fleet_set set,
               const struct command *says) CONTROL_LOCKED;
bool fleet_has_push(struct fleet_agent *agent, enum fleet_set set); /* whether one waits */

/* Asks every agent that is online, and whose list is older than a second, for a new list. Waits
 * until all have come, a second at most. Any thread, not locked. */
void fleet_lists_refresh(struct fleet *f);

/* ---- for the control thread and its fuzz target ---- */
/* Takes one message from the port; its answer waits in the outbox. The frame's form is for a
 * message that the gate has opened: one that names another agent than the peer is dropped. */
void fleet_handle_frame(struct fleet *f, const struct wire_frame *frame,
                        const struct transport_peer *peer) CONTROL_LOCKED;
void fleet_handle(struct fleet *f, const uint8_t *bytes, size_t n,
                  const struct transport_peer *peer) CONTROL_LOCKED;

#endif
