/* SPDX-License-Identifier: Apache-2.0
 *
 * Which agent a host's processes belong to. A process id begins with 8 bytes that stand for agent
 * and boot (ids.h). The first agent that has proven itself (seal.h) and names a process with new
 * bytes gets all processes with these bytes, for good. The catalog keeps that, so that another
 * agent cannot take them after a restart, nor while a spool comes months later. Any thread, with a
 * mutex of its own; never waits for the control lock.
 */
#ifndef CLAIMS_H
#define CLAIMS_H

#include "catalog.h"

struct claims;

#define CLAIMS_PER_AGENT 4096 /* boots; one more, and the agent's oldest is forgotten */

/* Loads what the catalog has; NULL: nothing is kept. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
int claims_new(struct catalog *catalog, struct claims **out);
void claims_free(struct claims **claims);

/* SKEIN_OK: the process belongs to this agent, maybe from now on; SKEIN_DENIED: to another;
 * SKEIN_NO_MEMORY. */
int claims_take(struct claims *c, const struct process_uid *process, uint64_t agent);
/* Whether the claim on a process is on disk: then what depends on it may be acknowledged. */
bool claims_are_kept(struct claims *c, const struct process_uid *process);

/* Under the control lock: whether there is something to save; writes it, inside the catalog's
 * transaction; it is committed. */
bool claims_dirty(struct claims *c);
void claims_save(struct claims *c);
void claims_saved(struct claims *c);

#endif
