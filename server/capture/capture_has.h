/* SPDX-License-Identifier: Apache-2.0
 *
 * What captures have of what is stored, for downloads, and for what deletes. Any thread.
 */
#ifndef CAPTURE_HAS_H
#define CAPTURE_HAS_H

#include "capture.h"
#include "index_delete.h"

/* ---- what captures have; any thread ---- (capture_has.c) */

/* What the captures have (of `process`, if it is not NULL), each partition once: ready, to be read
 * only, and the caller's to unref. SKEIN_OK; SKEIN_NOT_FOUND (none of the captures is there) and
 * SKEIN_NO_MEMORY: NULL. */
int capture_ranges(struct capture_engine *e, const struct capture_id *ids, size_t count,
                   const struct process_uid *process, struct partition_ranges **out);
/* Tells of each target of the captures how far the times of its window may be from the true ones
 * (P-28); 0: nobody knows. A process has a target in each capture. fn runs under the control lock;
 * what it returns ends the walk, unless it is SKEIN_OK, and is returned. */
typedef int capture_error_fn(void *context, const struct process_uid *process, uint64_t error_ns);
int capture_clock_errors(struct capture_engine *e, const struct capture_id *ids, size_t count,
                         capture_error_fn *fn, void *context);
/* Removes from `entries` those that a capture has, and those that were sent for a capture that
 * runs; the rest keep their order. Returns how many are left, or a status; SKEIN_IO also while
 * state.db is damaged. May wait for the control lock. A report that lists one of the rest from now
 * on does not have it stored, until the caller has deleted them, or has failed to, and calls
 * capture_deleted; or asks about other entries. */
int64_t capture_unlisted(struct capture_engine *e, struct index_entry *entries, size_t count);
void capture_deleted(struct capture_engine *e);

/* ---- for retention; any thread ---- */

/* How many bytes of one service, or of all (NULL), deleting the capture frees. *now: partitions
 * that no other capture has. *later: these, and those that other captures have, too, but none that
 * is pinned or runs. SKEIN_OK or a status. */
int capture_frees(struct capture_engine *e, const struct capture_id *id, const char *service,
                  uint64_t *now, uint64_t *later);

/* As capture_delete, for a capture that has ended and is not pinned; publishes the event
 * retention.deleted with `why`. due_ns not 0: only if its time to be kept ends by then. Also
 * SKEIN_REFUSED: it is not so, or no longer. */
int capture_retire(struct capture_engine *e, const struct capture_id *id, uint64_t due_ns,
                   const char *why);
/* Whether partitions of deleted captures still wait to be deleted. */
bool capture_is_purging(struct capture_engine *e);

#endif
