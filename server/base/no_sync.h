/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that holds a lock which others want soon says so; one that is about to wait for a disk
 * (a commit, a sync) checks that it holds none. In every build.
 */
#ifndef NO_SYNC_H
#define NO_SYNC_H

#include <stdbool.h>

/* From now on this thread must not wait for a disk; or it may again. Counts. */
void no_sync(bool begin);
/* Aborts where it must not; the log line says who asked. */
#define no_sync_check() no_sync_check_at(__FILE_NAME__, __LINE__)
void no_sync_check_at(const char *file, int line);

#endif
