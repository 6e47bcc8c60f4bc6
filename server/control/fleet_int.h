/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the fleet; for fleet*.c alone. What the control lock guards says so.
 */
#ifndef FLEET_INT_H
#define FLEET_INT_H

#include <pthread.h>

#include "claims.h"
#include "fleet.h"
#include "idmap.h"
#include "wire.h"

struct fleet_command {
    struct fleet_command *next; /* next one to the same agent */
    struct fleet_agent *agent;
    size_t due_at; /* its place in the heap */
    uint64_t number, wait_ms;
    uint64_t due_ns, last_ns; /* monotonic: when it is sent (again); when no longer, 0: always */
    struct capture_id capture;
    enum fleet_set set; /* FLEET_SETS: it is about a capture */
    bool asks;          /* it asks for a list, and is about no capture */
    uint64_t rests_on;  /* the save (control_next_save) without which it must not go out */
    struct buf body;
};

/* A message on its way out. All wait for the round's save; where that fails, promises are dropped
 * and the others go. */
struct fleet_out {
    struct fleet_out *next;
    bool promise; /* it says that something is durable */
    bool at_once; /* it promises nothing, and dates our clock: its way is to be short (V-20) */
    struct transport_peer peer;
    struct buf bytes;
};

struct fleet {
    struct fleet_settings settings;
    char address[256];
    struct catalog *catalog;
    struct fleet_hooks hooks;
    struct transport *transport;
    struct gate *gate;
    struct claims *claims;
    int wake_fd;
    pthread_t thread;
    bool thread_started, stopping;
    /* guards `owners` alone: ingest asks, and does not wait for the control lock */
    pthread_mutex_t owners_lock;
    struct idmap owners; /* process to agent id, as the pointer's value */

    struct control *control;
    struct idmap agents CONTROL_GUARDED, processes CONTROL_GUARDED;
    /* a heap of all commands, the next one due first */
    struct fleet_command **due CONTROL_GUARDED;
    size_t due_count CONTROL_GUARDED, due_cap CONTROL_GUARDED;
    uint64_t next_number CONTROL_GUARDED;
    struct fleet_out *answers CONTROL_GUARDED, **answers_tail CONTROL_GUARDED;
    enum save_state losses_save CONTROL_GUARDED; /* what a ring has lost */
    bool claims_saving CONTROL_GUARDED;          /* the save that is under way has claims */
    /* processes, or that some are forgotten; soon */
    enum save_state rows_save CONTROL_GUARDED;
    /* their rows must go; the first so many are being saved */
    struct process_uid *forgotten CONTROL_GUARDED;
    size_t forgotten_count CONTROL_GUARDED, forgotten_cap CONTROL_GUARDED;
    size_t forgotten_taken CONTROL_GUARDED;
    struct fleet_agent *dirty_agents CONTROL_GUARDED; /* to be saved, by next_dirty */
    /* the sum of its agents'; 0: a save need not look for one */
    unsigned forgetting CONTROL_GUARDED;
    uint64_t next_second_ns CONTROL_GUARDED; /* monotonic: when leases are looked at again */
    uint64_t clock
        CONTROL_GUARDED; /* the setting of our clock that the times of processes follow */
};

/* fleet_session.c */
void fleet_on_hello(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                    const struct transport_peer *peer) CONTROL_LOCKED;
void fleet_on_heartbeat(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                        const struct transport_peer *peer) CONTROL_LOCKED;
void fleet_on_report(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                     const struct transport_peer *peer) CONTROL_LOCKED;
void fleet_check_leases(struct fleet *f) CONTROL_LOCKED;
int fleet_load_agents(struct fleet *f) CONTROL_LOCKED;
void fleet_save_agents(struct fleet *f) CONTROL_LOCKED;
void fleet_saved_agents(struct fleet *f, bool ok) CONTROL_LOCKED;
void fleet_free_tables(struct fleet *f) CONTROL_LOCKED;
/* Frees it, with its processes; its row is gone by then. */
void fleet_agent_remove(struct fleet *f, struct fleet_agent *agent) CONTROL_LOCKED;

/* fleet_strangers.c: before the table of agents is full. */
void fleet_forget_strangers(struct fleet *f) CONTROL_LOCKED;

/* fleet_processes.c */
uint64_t fleet_time_moved(uint64_t ns, int64_t shift_ns); /* 0, which is none, stays 0 */
/* Whether a peer may report this process: one that has proven who it is, only its own; a plain one,
 * any. SKEIN_OK; SKEIN_DENIED: the process is another agent's. */
int fleet_claim_from(struct fleet *f, const struct transport_peer *peer,
                     const struct process_uid *process);
int fleet_on_processes(struct fleet *f, struct fleet_agent *agent,
                       const struct transport_peer *peer, const struct report_processes *list,
                       char *error, size_t error_bytes) CONTROL_LOCKED;
/* Forgets some processes that have been gone for this long; agent 0: of any agent. */
size_t fleet_forget_gone(struct fleet *f, uint64_t agent, uint64_t longer_than_ns) CONTROL_LOCKED;
void fleet_forget_processes(struct fleet *f,
                            struct fleet_agent *agent) CONTROL_LOCKED; /* all of its */
/* What rings have lost outlives their processes and this collector. */
void fleet_save_losses(struct fleet *f) CONTROL_LOCKED;
void fleet_saved_losses(struct fleet *f, bool ok) CONTROL_LOCKED;

/* Adds a process of the agent to all tables, with nothing but its id. NULL: no memory. */
struct fleet_process *fleet_process_add(struct fleet *f, struct fleet_agent *agent,
                                        const struct process_uid *uid) CONTROL_LOCKED;

/* fleet_kept.c */
/* Its row is to be written, or to go. */
void fleet_process_changed(struct fleet *f, struct fleet_process *p) CONTROL_LOCKED;
void fleet_process_forgotten(struct fleet *f, const struct fleet_process *p) CONTROL_LOCKED;
int fleet_load_processes(struct fleet *f) CONTROL_LOCKED; /* after the agents */
void fleet_save_processes(struct fleet *f) CONTROL_LOCKED;
void fleet_saved_processes(struct fleet *f, bool ok) CONTROL_LOCKED;

/* fleet_command.c */
void fleet_on_ack(struct fleet *f, const struct wire_frame *frame, const cJSON *json,
                  const struct transport_peer *peer) CONTROL_LOCKED;
/* About a capture; NULL: all. */
void fleet_drop_agent_commands(struct fleet *f, struct fleet_agent *agent,
                               const struct capture_id *capture) CONTROL_LOCKED;
/* Moves due commands to a list of messages; drops those whose deadline is over. */
void fleet_due_commands(struct fleet *f, struct fleet_out ***tail) CONTROL_LOCKED;
uint64_t fleet_next_due_ns(const struct fleet *f) CONTROL_LOCKED; /* monotonic; UINT64_MAX: none */

/* fleet.c: queues an answer; takes what is in body. */
void fleet_answer(struct fleet *f, const struct transport_peer *peer, uint8_t type, uint64_t id,
                  struct buf *body) CONTROL_LOCKED;
void fleet_answer_error(struct fleet *f, const struct transport_peer *peer, uint8_t type,
                        uint64_t id, const char *error) CONTROL_LOCKED;

#endif
