/* SPDX-License-Identifier: Apache-2.0
 *
 * Sampling policies on this host: takes record_ms of every matching process once in every_ms
 * (sampling.h), as captures of kind sample. Owns the set of policies and a timer for each (policy,
 * process). Loop thread only. Goes on by itself while the collector is away: what it takes waits in
 * the spool.
 *
 * A policy with a limit on the agent's CPU takes nothing while the agent has used more than that in
 * the last look, and the collector is told.
 *
 * The highest samples_hz of policies that are in force and match a process here holds for the host.
 * What a set says counts at once. Where the last matching process ends, the rate stays for a minute:
 * each change begins the kernel's rings of samples anew, and short processes come and go.
 */
#ifndef AGENT_POLICY_H
#define AGENT_POLICY_H

#include <cjson/cJSON.h>

#include "agent_capture.h"

struct agent_policies;

struct agent_policies_settings {
    struct loop *loop;
    struct captures *captures;
    struct uplink *uplink;
    struct worker *worker;
    const char *host;
    int folder; /* where policies.json is kept */
    uint64_t agent;
    /* Told how often the policies in force want the CPUs of this host sampled, whenever that
     * changes; 0: they do not say. NULL: nobody is. */
    void (*samples_hz)(void *context, uint64_t hz);
    void *context;
};

/* Loads what an earlier run kept. SKEIN_OK, SKEIN_NO_MEMORY. */
int agent_policies_new(const struct agent_policies_settings *settings, struct agent_policies **out);
void agent_policies_free(struct agent_policies **policies);

/* Replaces the whole set. Policies that this agent does not understand are left out: SKEIN_INVALID
 * and the first of them in error, the others are active. SKEIN_OK; SKEIN_NO_MEMORY (the set is then
 * as before). */
int agent_policies_set(struct agent_policies *policies, uint64_t generation, const cJSON *array,
                       char *error, size_t error_bytes);

void agent_policies_attached(struct agent_policies *policies, struct process *process);
void agent_policies_gone(struct agent_policies *policies, const struct process *process);

/* Everything is to be reported anew: the collector may have forgotten it. */
void agent_policies_report(struct agent_policies *policies);

#endif
