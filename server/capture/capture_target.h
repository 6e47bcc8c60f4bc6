/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture's targets in memory: making, finding and freeing them. For capture*.c alone; under the
 * control lock.
 */
#ifndef CAPTURE_TARGET_H
#define CAPTURE_TARGET_H

#include "capture_int.h"
#include "process_labels.h"

struct capture_target *capture_target_find(struct capture *c, const struct process_uid *process);
/* The first target of the agent; the others follow by next_of_agent. */
struct capture_target *capture_targets_at(struct capture *c, uint64_t agent);
/* Makes a target; p may be NULL: the fleet does not know the process. NULL: no memory. */
/* What is stored of it, also what others share. */
uint64_t capture_stored_bytes(const struct capture *c);
struct capture_target *capture_target_add(struct capture *c, const struct process_uid *uid,
                                          const struct fleet_process *p,
                                          const struct fleet_agent *agent);
/* Puts t in its place by process. SKEIN_OK: the capture owns it; SKEIN_EXISTS: the process has a
 * target already; SKEIN_NO_MEMORY. */
int capture_target_insert(struct capture *c, struct capture_target *t);
void capture_target_describe(struct capture_target *t, const struct fleet_process *p);
struct process_labels capture_target_labels(const struct capture_target *t);
/* Whether `within` (NULL: everything) shows the target. */
bool capture_target_seen(const struct capture_target *t, const struct selector *within);
void capture_target_free(struct capture_target *t);
/* A capture in memory. NULL: no memory. */
struct capture *capture_new(struct capture_engine *e, const struct capture_id *id) CONTROL_LOCKED;
void capture_free(struct capture *c);
/* Removes it from memory and frees it; its rows stay. */
void capture_discard(struct capture_engine *e, struct capture *c) CONTROL_LOCKED;

#endif
