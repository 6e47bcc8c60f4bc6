/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is attached, in the state folder, so that the next run of the agent can say of those that
 * ended meanwhile that they have. Loop thread only; the worker writes, so that the loop never waits
 * for a disk. Not synced: what a power cut takes has ended with the host.
 */
#ifndef ROSTER_FILE_H
#define ROSTER_FILE_H

#include "roster.h"
#include "worker.h"

struct roster_file;

/* The folder and the worker must outlive it, and the worker be freed before it. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int roster_file_new(int folder, struct worker *worker, struct roster_file **out);
void roster_file_free(struct roster_file **file);

/* Somebody came or went: the next save is one. */
void roster_file_changed(struct roster_file *file);
/* Has the file replaced by those from first on, and those of the roster that may come back. What
 * fails is logged, and tried again by the next save. */
void roster_file_save(struct roster_file *file, const char *boot_id, const struct process *first,
                      struct roster *roster);

/* Notes in the roster who was attached to the run before. How many of them run, and may come back.
 * A file of another boot notes nobody, one that is damaged those before the damage. */
size_t roster_file_recall(int folder, uint64_t agent, const char *boot_id, struct roster *roster);
/* The same, from the file's bytes. */
size_t roster_file_read(const void *bytes, size_t n, uint64_t agent, const char *boot_id,
                        struct roster *roster);

#endif
