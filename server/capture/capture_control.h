/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture engine as rules, policies and the control thread drive it, and as ingest tells it of
 * what is stored. The caller holds the control lock (control.h), unless a comment says otherwise.
 */
#ifndef CAPTURE_CONTROL_H
#define CAPTURE_CONTROL_H

#include "capture.h"

/* ---- for rules; any thread ---- */

/* Finds the capture that a request with this key began. SKEIN_OK; SKEIN_NOT_FOUND: the key is new;
 * SKEIN_EXISTS, SKEIN_CLOSED as capture_create; SKEIN_IO. */
int capture_find_once(struct capture_engine *e, const struct capture_once *once,
                      struct capture_id *id) CONTROL_LOCKED;
/* control_save, with the key of the request that began the capture (NULL: none), both or neither. */
int capture_save_once(struct capture_engine *e, const struct capture_once *once,
                      const struct capture_id *id) CONTROL_LOCKED;

/* The capture as JSON without targets, for the caller to free; NULL: there is none. */
cJSON *capture_listing(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
/* Whether a capture of the incident is there. */
bool capture_incident_exists(struct capture_engine *e,
                             const struct capture_id *incident) CONTROL_LOCKED;
/* How many bytes of the incident's captures are stored now; a partition counts once for each
 * capture that has it. *ended: none of them runs. False: there is none. */
bool capture_incident_stored(struct capture_engine *e, const struct capture_id *incident,
                             uint64_t *bytes, bool *ended) CONTROL_LOCKED;
/* capture_create; out may be NULL. */
int capture_create_locked(struct capture_engine *e, const struct capture_request *request,
                          struct capture_id *id, cJSON **out) CONTROL_LOCKED;
/* Adds matching processes that are not in the capture yet, with its window, and sends their
 * commands. A capture that has ended runs again. same_host: only processes on hosts of its targets.
 * max_targets: bound for all targets of the capture; 0: none. Returns how many were added;
 * SKEIN_NOT_FOUND, SKEIN_NO_MEMORY. */
int64_t capture_extend(struct capture_engine *e, const struct capture_id *id,
                       const struct selector *selector, bool same_host,
                       uint64_t max_targets) CONTROL_LOCKED;

/* ---- for the control thread ---- */

void capture_agent_joined(struct capture_engine *e, struct fleet_agent *agent) CONTROL_LOCKED;
/* Tells that an agent has named new processes. Those that match a running capture and lived in its
 * window become its targets; also of a capture that ended seconds ago, which then runs again. */
void capture_processes_listed(struct capture_engine *e, struct fleet_agent *agent,
                              struct fleet_process *const *news, size_t count) CONTROL_LOCKED;
void capture_agent_lost(struct capture_engine *e, struct fleet_agent *agent) CONTROL_LOCKED;
void capture_command_done(struct capture_engine *e, struct fleet_agent *agent,
                          const struct capture_id *id, const char *error) CONTROL_LOCKED;
/* How the rule wants its captures kept; NULL: as one without a rule. */
struct capture_keep {
    uint64_t ttl_ms, deadline_ms; /* ttl_ms 0: no bound */
    bool pin;
    const struct capture_id *incident; /* the one that it joins; NULL: its own */
    struct evidence_wish wish;         /* that it asks for by name, also of its neighbours */
};
/* Whether the agent may report this process for this capture. Captures that an agent begins by
 * itself, and processes that it adds to captures, are bounded an hour, and shared out among its
 * users, their programs and causes. `fired` where the report is one, else NULL. Call it once a
 * report: it counts. False: it is counted and logged, error says whose share is used up, and
 * nothing of the report is kept. */
#define CAPTURE_OWN_UNITS 16 /* units of a capture that is begun; a process that joins is one */
bool capture_admits(struct capture_engine *e, struct fleet_agent *agent,
                    const struct capture_id *id, const struct process_uid *process,
                    const struct report_fired *fired, char *error,
                    size_t error_bytes) CONTROL_LOCKED;
/* Takes in a capture that an agent has begun. SKEIN_OK, also if it is known or deleted;
 * SKEIN_AGAIN. */
int capture_on_fired(struct capture_engine *e, struct fleet_agent *agent,
                     const struct report_fired *fired,
                     const struct capture_keep *keep) CONTROL_LOCKED;
/* The same for one process's part of a sample. SKEIN_DENIED: the id is another capture's. */
struct capture_sample {
    const char *selector; /* the policy's; NULL where it is gone */
    uint64_t span_ms;     /* the span in which parts of it begin */
    uint64_t post_ms;     /* how long a part is at most */
    uint64_t ttl_ms;
    uint64_t groups; /* that it is read for; 0: all */
    bool pin;
};
int capture_on_sample(struct capture_engine *e, struct fleet_agent *agent,
                      const struct report_fired *fired,
                      const struct capture_sample *sample) CONTROL_LOCKED;
/* Whether `fired` for this id is news: not heard before, not deleted, not refused to this agent. A report of a target may have
 * come first. */
bool capture_is_news(struct capture_engine *e, const struct fleet_agent *agent,
                     const struct capture_id *id) CONTROL_LOCKED;
/* Whether the process is one of the capture's. */
bool capture_has_target(struct capture_engine *e, const struct capture_id *id,
                        const struct process_uid *process) CONTROL_LOCKED;
/* Refuses a capture that the agent has begun: nothing of it is kept, now or when it arrives from this
 * agent. A capture that has anything of others, or was begun in another way, stays as it is. */
void capture_refuse(struct capture_engine *e, struct fleet_agent *agent,
                    const struct capture_id *id) CONTROL_LOCKED;
int capture_on_target(struct capture_engine *e, struct fleet_agent *agent,
                      const struct report_target *target, const cJSON *json) CONTROL_LOCKED;
void capture_tick(struct capture_engine *e, uint64_t now_ns) CONTROL_LOCKED; /* monotonic */
void capture_save(struct capture_engine *e) CONTROL_LOCKED;
void capture_saved(struct capture_engine *e, bool ok) CONTROL_LOCKED;
/* Not locked. Deletes partitions that came late for deleted captures. */
void capture_unlocked(struct capture_engine *e);

/* The index's hook: notes a damaged partition. Any thread; never waits. */
void capture_on_damaged(struct capture_engine *e, const struct partition_row *row);
/* The ingest hook: notes what was stored; never blocks. Ingest thread. */
void capture_on_stored(struct capture_engine *e, const struct partition_row *rows, size_t count);
/* Whether a capture lists the partition: 1, and which; 0; or a status: nobody can say; SKEIN_IO also
 * while state.db is damaged and none is found. Any thread, not locked: takes the lock. */
int capture_wants(struct capture_engine *e, const struct partition_key *key,
                  struct capture_id *capture);

#endif
