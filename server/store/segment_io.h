/* SPDX-License-Identifier: Apache-2.0
 *
 * The operating system below the segment store: every call that touches a segment file or its
 * folder, and nothing else. The store's durability rests on this contract:
 *
 *  - segment_io_write returns SKEIN_OK only when all bytes were taken; after a failure any part of
 *    them may be in the file.
 *  - segment_io_sync returns SKEIN_OK only when all that was written to the file before survives a
 *    power failure. After a failure nothing is known about what was written since the last success,
 *    and a later success does not change that: the caller never trusts that file's end again.
 *  - segment_io_sync_folder does the same for names: creations and removals in the folder.
 *
 * Fault tests put themselves in front of these calls with the linker's --wrap. Any thread; blocks.
 * Returns SKEIN_OK, SKEIN_IO, SKEIN_FULL (no space or quota) unless a prototype says more.
 */
#ifndef SEGMENT_IO_H
#define SEGMENT_IO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "skein/status.h"

/* Opens the folder and locks it against every other opener; creates it (durably, one level) where
 * it is absent. Also SKEIN_BUSY: somebody has the lock. segment_io_close gives the lock up. */
int segment_io_open_folder(const char *path, int *folder);

/* Calls fn with each name in the folder, in no order, until fn returns not 0; returns that
 * value. */
typedef int segment_io_name_fn(void *context, const char *name);
int segment_io_list(const char *path, segment_io_name_fn *fn, void *context);

int segment_io_create(int folder, const char *name, int *fd);           /* also SKEIN_EXISTS */
int segment_io_open(int folder, const char *name, bool write, int *fd); /* also SKEIN_NOT_FOUND */
void segment_io_close(int *fd);                                         /* sets it to -1 */
int segment_io_size(int fd, uint64_t *bytes);
int segment_io_write(int fd, const struct iovec *parts, int count, uint64_t offset);
int segment_io_read(int fd, void *out, size_t n, uint64_t offset); /* also SKEIN_TRUNCATED */
int segment_io_sync(int fd);
int segment_io_truncate(int fd, uint64_t bytes);
int segment_io_remove(int folder, const char *name); /* also SKEIN_NOT_FOUND */
int segment_io_sync_folder(int folder);
int segment_io_free_bytes(int folder, uint64_t *bytes);

#endif
