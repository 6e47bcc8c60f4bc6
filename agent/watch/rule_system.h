/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions of rules on what the system shows: CPU, memory and pressure of a process or of the
 * host. Measuring reads small files of /proc and of the cgroup, without waiting; judging is pure.
 * One state belongs to one rule on one process, and to one thread.
 */
#ifndef RULE_SYSTEM_H
#define RULE_SYSTEM_H

#include "checks.h"
#include "rule_spec.h"

struct system_state {
    bool begun; /* total was read at at_ns */
    uint64_t total, at_ns;
    bool above;
    uint64_t above_since_ns;
    double least; /* measured since then */
};

struct system_source {
    const char *proc, *cgroup; /* "/proc", "/sys/fs/cgroup" */
    uint32_t pid;
    uint64_t start_ticks; /* of the process: another one may have its number now */
};

/* Measures in the unit of the limit: percent, or bytes. SKEIN_OK; SKEIN_AGAIN: a rate, begun with
 * this; SKEIN_NOT_FOUND and why, a sentence: it cannot be told here. */
int system_measure(const struct rule_spec *spec, const struct system_source *source,
                   uint64_t now_ns, struct system_state *state, double *measured, char *why,
                   size_t why_bytes);

/* Whether the limit has been passed for long enough; fills passed and reason. */
void system_judge(const struct rule_spec *spec, struct system_state *state, uint64_t now_ns,
                  double measured, struct check_result *result);

/* How often to look, ms. */
uint64_t system_every_ms(const struct rule_spec *spec);

#endif
