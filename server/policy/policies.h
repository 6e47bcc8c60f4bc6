/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling policies: their text, their push to every agent by generation, their budgets and state.
 * Agents take the samples by themselves. The collector, which sees the whole fleet, counts the
 * bytes. Guarded by the control lock (control.h).
 */
#ifndef POLICIES_H
#define POLICIES_H

#include "capture.h"
#include "events.h"
#include "fleet.h"
#include "named_set.h"

struct policies;

/* Loads the policies from the catalog. `events` may be NULL. SKEIN_OK, SKEIN_NO_MEMORY,
 * SKEIN_IO. */
int policies_new(struct fleet *fleet, struct catalog *catalog, struct events *events,
                 struct policies **out);
void policies_set_captures(struct policies *p, struct capture_engine *captures); /* before use */
void policies_free(struct policies **policies);

struct named_set *policies_set(struct policies *p); /* to put, list, push and save them */

/* ---- for the control thread ---- */

/* The agent came, or its lease is over: it will say anew whether it pauses. */
void policies_agent_changed(struct policies *p, struct fleet_agent *agent) CONTROL_LOCKED;
/* An agent has begun a sample. If its policy is gone, the sample is taken all the same: the agent
 * acted on what it was told. SKEIN_OK, SKEIN_AGAIN; SKEIN_REFUSED: the process' user has used up his
 * share of the day's bytes, error says so. */
int policies_on_fired(struct policies *p, struct fleet_agent *agent,
                      const struct report_fired *fired, char *error,
                      size_t error_bytes) CONTROL_LOCKED;
void policies_on_report(struct policies *p, struct fleet_agent *agent,
                        const struct report_policy *report) CONTROL_LOCKED;
/* Counts bytes stored of the process' sample. */
void policies_on_stored(struct policies *p, const char *name, const struct process_uid *process,
                        uint64_t bytes) CONTROL_LOCKED;
void policies_tick(struct policies *p, uint64_t now_ns) CONTROL_LOCKED;

/* ---- policy_check.c: pure ---- */

/* A checked copy of a policy in its full form, with defaults, without `state`. NULL, and "path:
 * what is wrong" in error. */
cJSON *policy_check(const char *name, const cJSON *json, char *error, size_t error_bytes);

#endif
