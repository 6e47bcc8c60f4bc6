/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole agent but for its command line: makes the parts, joins them, and takes them apart in
 * the right order. docs/architecture.md#threads lists its threads; the loop's is agent_run's caller.
 */
#ifndef AGENT_H
#define AGENT_H

#include "agent_config.h"

struct agent;

/* Everything is made and serves once agent_run is called. `config` must outlive the agent.
 * SKEIN_OK; else a sentence in error and *out is NULL. */
int agent_new(struct agent_config *config, struct agent **out, char *error, size_t error_bytes);

/* Until agent_stop; then ends captures with what there is, and drains for config drain_ms. */
void agent_run(struct agent *agent);
void agent_stop(struct agent *agent); /* signal handlers too */

/* Loop thread: `fresh` has been loaded; its live parameters are taken over, and it is freed. Others
 * that differ are named in the log and wait for a restart. */
void agent_reload(struct agent *agent, struct agent_config *fresh);
struct loop *agent_loop(struct agent *agent);

/* Returns how many health checks still hang, whose threads the process's end will end. */
size_t agent_free(struct agent **agent);

#endif
