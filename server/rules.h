/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules: their text, their push to every agent by generation, their state. Checks run in the
 * agents; here are the counters that outlive agents and collector, and the cooldown of a rule for a
 * process, which holds across restarts of either. Guarded by the control lock; "locked": the caller
 * holds it.
 */
#ifndef RULES_H
#define RULES_H

#include "fleet.h"

struct rules;

/* Loads the rules from the catalog. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
int rules_new(struct fleet *fleet, struct catalog *catalog, struct rules **out);
void rules_free(struct rules **rules);

/* ---- for HTTP; any thread, not locked; JSON handed out is the caller's ---- */

/* Creates or replaces. `json` is the body. SKEIN_OK with the rule and its state in *out;
 * SKEIN_INVALID with "path: what is wrong" in error; SKEIN_TOO_LARGE (the set does not fit a
 * message); SKEIN_IO and others when it could not be saved. */
int rules_put(struct rules *r, const char *name, const cJSON *json, bool *created, cJSON **out,
              char *error, size_t error_bytes);
int rules_get(struct rules *r, const char *name, cJSON **out); /* SKEIN_OK, SKEIN_NOT_FOUND */
int rules_list(struct rules *r, cJSON **out);                  /* an array, by name */
/* SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_IO */
int rules_delete(struct rules *r, const char *name);

/* ---- for the control thread; locked ---- */

void rules_agent_joined(struct rules *r, struct fleet_agent *agent);
void rules_agent_heard(struct rules *r, struct fleet_agent *agent);
/* The agent has acknowledged a set; error as in fleet_hooks.command_done. It runs the rest of a set
 * of which it does not understand some, so its heartbeats tell whether it has the set. */
void rules_agent_done(struct rules *r, struct fleet_agent *agent, const char *error);
uint64_t rules_generation(struct rules *r);
void rules_on_report(struct rules *r, struct fleet_agent *agent, const struct control_rule *report);

/* Whether a firing at at_ns may begin a capture. SKEIN_OK: counted and the cooldown begun;
 * SKEIN_REFUSED with words in error: held back, counted. A rule that has been deleted meanwhile is
 * granted: the agent acted on what it was told. */
int rules_admit(struct rules *r, const char *name, const struct process_uid *process,
                uint64_t at_ns, const struct capture_id *capture, char *error, size_t error_bytes);

int rules_save(struct rules *r);
void rules_saved(struct rules *r);
void rules_tick(struct rules *r, uint64_t now_ns);

/* ---- rule_check.c: pure ---- */

/* A checked copy of a rule in its full form, defaults filled in, `state` left out. NULL with "path:
 * what is wrong" in error. */
cJSON *rule_check(const char *name, const cJSON *json, char *error, size_t error_bytes);
bool rule_name_valid(const char *name);

#endif
