/* SPDX-License-Identifier: Apache-2.0
 *
 * The capture engine as rules, policies and the control thread drive it, and as ingest tells it of
 * what is stored. Locked but where said: the caller holds the control lock (control.h).
 */
#ifndef CAPTURE_CONTROL_H
#define CAPTURE_CONTROL_H

#include "capture.h"

/* ---- for rules; any thread ---- */

/* The capture that a request with this key began. SKEIN_OK; SKEIN_NOT_FOUND: it is new;
 * SKEIN_EXISTS, SKEIN_CLOSED as capture_create; SKEIN_IO. */
int capture_find_once(struct capture_engine *e, const struct capture_once *once,
                      struct capture_id *id) CONTROL_LOCKED;
/* control_save, with the key of the request that began the capture (NULL: none), both or neither.
 */
int capture_save_once(struct capture_engine *e, const struct capture_once *once,
                      const struct capture_id *id) CONTROL_LOCKED;

/* The capture without targets; NULL where there is none. The caller's. */
cJSON *capture_listing(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
/* Whether a capture of the incident is there. */
bool capture_incident_exists(struct capture_engine *e,
                             const struct capture_id *incident) CONTROL_LOCKED;
/* What is stored of the incident's captures now, in bytes (what several share counts in each);
 * *ended: none of them runs. false where there is none. */
bool capture_incident_stored(struct capture_engine *e, const struct capture_id *incident,
                             uint64_t *bytes, bool *ended) CONTROL_LOCKED;
/* capture_create; out may be NULL. */
int capture_create_locked(struct capture_engine *e, const struct capture_request *request,
                          struct capture_id *id, cJSON **out) CONTROL_LOCKED;
/* Adds matching processes that are not in the capture yet, with its window, and sends their
 * commands; a capture that has ended runs again. same_host: only those on hosts of its targets.
 * max_targets bounds all targets of the capture, 0: no bound. Returns how many were added;
 * SKEIN_NOT_FOUND, SKEIN_NO_MEMORY. */
int64_t capture_extend(struct capture_engine *e, const struct capture_id *id,
                       const struct selector *selector, bool same_host,
                       uint64_t max_targets) CONTROL_LOCKED;

/* ---- for the control thread ---- */

void capture_agent_joined(struct capture_engine *e, struct fleet_agent *agent) CONTROL_LOCKED;
/* An agent has named processes that it had not named before: those that match and lived in the
 * window of a capture that runs become targets of it; of one that has ended in the last seconds
 * too, and it runs again. */
void capture_processes_listed(struct capture_engine *e, struct fleet_agent *agent,
                              struct fleet_process *const *news, size_t count) CONTROL_LOCKED;
void capture_agent_lost(struct capture_engine *e, struct fleet_agent *agent) CONTROL_LOCKED;
void capture_command_done(struct capture_engine *e, struct fleet_agent *agent,
                          const struct capture_id *id, const char *error) CONTROL_LOCKED;
/* How the rule wants its captures; NULL: as one of no rule. */
struct capture_keep {
    uint64_t ttl_ms, deadline_ms; /* ttl_ms 0: no bound */
    bool pin;
    const struct capture_id *incident; /* that it joins; NULL: it is one of its own */
};
/* Whether the agent may say something of this process and capture: what it begins by itself, and
 * the processes that it adds to captures, are bounded an hour. Asked once a report; counts. Where
 * false, it is counted and logged, and nothing of the report is kept. */
#define CAPTURE_OWN_UNITS 16 /* a process that joins counts one, a capture begun so many */
bool capture_admits(struct capture_engine *e, struct fleet_agent *agent,
                    const struct capture_id *capture,
                    const struct process_uid *process) CONTROL_LOCKED;
/* An agent has begun a capture. SKEIN_OK, also for one known or deleted; SKEIN_AGAIN. */
int capture_on_fired(struct capture_engine *e, struct fleet_agent *agent,
                     const struct report_fired *fired,
                     const struct capture_keep *keep) CONTROL_LOCKED;
/* The same for a process's part of a sample. SKEIN_DENIED: the id is another capture's. */
struct capture_sample {
    const char *selector; /* the policy's; NULL where it is gone */
    uint64_t span_ms;     /* in which parts of it begin */
    uint64_t post_ms;     /* how long each part is, at most */
    uint64_t ttl_ms;
    bool pin;
};
int capture_on_sample(struct capture_engine *e, struct fleet_agent *agent,
                      const struct report_fired *fired,
                      const struct capture_sample *sample) CONTROL_LOCKED;
/* Whether `fired` for this id would be news: neither heard before nor deleted. A report may have
 * come first. */
bool capture_is_news(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
/* Refuses a capture that an agent has begun: nothing of it is kept, now or when it arrives. */
void capture_refuse(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
int capture_on_target(struct capture_engine *e, struct fleet_agent *agent,
                      const struct report_target *target, const cJSON *json) CONTROL_LOCKED;
void capture_tick(struct capture_engine *e, uint64_t now_ns) CONTROL_LOCKED;
int capture_save(struct capture_engine *e) CONTROL_LOCKED;
void capture_saved(struct capture_engine *e) CONTROL_LOCKED;
/* not locked: purges what came late for deleted captures */
void capture_unlocked(struct capture_engine *e);

/* The index's hook: what of the store was found damaged. Any thread; waits for nobody. */
void capture_on_damaged(struct capture_engine *e, const struct partition_row *row);
/* The ingest hook: notes what was stored; never blocks. Ingest thread. */
void capture_on_stored(struct capture_engine *e, const struct partition_row *rows, size_t count);
/* Whether a capture lists the partition, and which. Any thread, not locked; it waits for the lock.
 */
bool capture_wants(struct capture_engine *e, const struct partition_key *key,
                   struct capture_id *capture);

#endif
