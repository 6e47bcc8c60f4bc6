/* SPDX-License-Identifier: Apache-2.0
 *
 * Who is attached, in the state folder, so that the next run of the agent can say of those that
 * ended meanwhile that they have. Loop thread only. Not synced: what a power cut takes has ended
 * with the host.
 */
#ifndef ROSTER_FILE_H
#define ROSTER_FILE_H

#include "roster.h"

/* Replaces the file by those from first on, and those of the roster that may come back. SKEIN_OK,
 * or a status: the next run may know less. */
int roster_file_save(int folder, const char *boot_id, const struct process *first,
                     struct roster *roster);

/* Notes in the roster who was attached to the run before. How many of them run, and may come back.
 */
size_t roster_file_recall(int folder, uint64_t agent, const char *boot_id, struct roster *roster);

#endif
