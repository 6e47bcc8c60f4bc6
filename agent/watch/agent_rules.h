/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules on this host: which condition is looked at for which process, when one fires, what the
 * collector is told. Owns the rule set, its copy on disk and the state of each (rule, process).
 * Loop thread only. Never asks the collector: a check that fails is acted on here.
 *
 *              passes            `failures` in a row: fires, unless cooldown_ms is not over
 *     unknown ---------> passing ---------> failing
 *        |                  ^----- passes -----'  ^
 *        '------------------- fails --------------'
 *
 * A service that has just started is not listening yet: before its check has passed once, failures
 * fire nothing until it is startup_grace_ms old.
 */
#ifndef AGENT_RULES_H
#define AGENT_RULES_H

#include "agent_capture.h"
#include "rule_program.h"
#include "rule_spec.h"

struct agent_rules;

struct agent_rules_settings {
    struct loop *loop;
    struct checks *checks;
    struct captures *captures;
    struct uplink *uplink;
    struct worker *worker;
    struct spool *spool; /* whose journal may know of firings that rules-state.json does not */
    struct host_page_owner *host_page;
    struct rule_program_bounds programs; /* read on the loop thread; may change between calls */
    const char *host;
    int folder; /* where rules.json and rules-state.json are kept */
    /* NULL: the system's own */
    const char *proc_folder, *cgroup_folder;
    uint64_t agent;
    uint64_t startup_grace_ms;
};

/* Loads what an earlier run kept; a file that cannot be read is reported and replaced by the next
 * push. SKEIN_OK, SKEIN_NO_MEMORY. */
int agent_rules_new(const struct agent_rules_settings *settings, struct agent_rules **out);
void agent_rules_free(struct agent_rules **rules);

/* Replaces the whole set; state of rules that did not change is kept. Rules that this agent does
 * not understand are left out: SKEIN_INVALID and the first of them in error, the others are active.
 * SKEIN_OK; SKEIN_NO_MEMORY (the set is then as before). */
int agent_rules_set(struct agent_rules *rules, uint64_t generation, const cJSON *array, char *error,
                    size_t error_bytes);

/* Makes a change to the set: what is removed by its name, and then put. SKEIN_OK; SKEIN_INVALID as
 * above; SKEIN_AGAIN, and words: the set is not of a generation from `base` on, and is as it was, as
 * with SKEIN_NO_MEMORY. */
int agent_rules_change(struct agent_rules *rules, uint64_t base, uint64_t generation,
                       const cJSON *put, const cJSON *removed, char *error, size_t error_bytes);

void agent_rules_attached(struct agent_rules *rules, struct process *process);
void agent_rules_gone(struct agent_rules *rules, const struct process *process);

/* The service has said how it is (process->heartbeat). */
void agent_rules_heartbeat(struct agent_rules *rules, const struct process *process);

/* The process has crashed, or has asked for a snapshot. Returns whether a rule of that kind is in
 * force for it and so replaces what the agent does without one. That rule has fired, or its
 * cooldown or its pattern held it back. by_exit: no signal ended it, but an exit status other than
 * 0; held: and that is no service's (rule_exit_counts), which the rule tells. */
bool agent_rules_crashed(struct agent_rules *rules, const struct process *process, bool by_exit,
                         bool held, const char *reason);
bool agent_rules_asked(struct agent_rules *rules, struct process *process, const char *reason);

/* Begins a capture of the agent's own, for a crash or a snapshot for which no rule is in force.
 * SKEIN_OK; SKEIN_AGAIN: held back by the cooldown, which is kept as a rule's is; SKEIN_REFUSED, and
 * why says it: a share of captures an hour is used up. */
int agent_rules_capture(struct agent_rules *rules, const struct capture_order *order,
                        struct process *process, uint64_t cooldown_ms, char why[CAPTURE_WHY_BYTES]);

/* Everything is to be reported anew: the collector may have forgotten it. */
void agent_rules_report(struct agent_rules *rules);

/* After exec_allow has changed: checks are made again, those under way when they are over. */
void agent_rules_reload(struct agent_rules *rules);

/* Labels of a process as selectors see them: service, host, pid, process, exe and its own. */
bool process_matches(const struct selector *selector, const struct process *process,
                     const char *host);

#endif
