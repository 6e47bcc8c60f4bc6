/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are either wholly there or not at all, also after a power cut: temporary file, fsync,
 * rename, fsync of the folder. Any thread; callers serialise writers of one name.
 */
#ifndef DURABLE_H
#define DURABLE_H

#include "buf.h"

#define DURABLE_TEMP_PREFIX "tmp-" /* what a killed writer leaves; durable_sweep removes it */

struct durable_part {
    const void *bytes;
    size_t len;
};

/* Makes the folder (and its parents, mode 0700) where it is missing and opens it. *fd is -1 on
 * failure. SKEIN_OK, SKEIN_IO, SKEIN_DENIED. */
int durable_folder(const char *path, int *fd);

/* Replaces folder/name by the parts put together. SKEIN_OK; SKEIN_FULL (no space, quota), SKEIN_IO:
 * the old content is then still there, unless only the folder's fsync failed. */
int durable_write(int folder, const char *name, const struct durable_part *parts, size_t count);

/* Appends a whole file to `out`. SKEIN_OK; SKEIN_NOT_FOUND; SKEIN_TOO_LARGE (above max_bytes);
 * SKEIN_IO; SKEIN_NO_MEMORY. */
int durable_read(int folder, const char *name, size_t max_bytes, struct buf *out);

/* Moves from/name to into/name, both folders made durable. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_IO. */
int durable_move(int from, int into, const char *name);

/* Removes what killed writers left in the folder; returns how many files, or SKEIN_IO. */
int durable_sweep(int folder);

#endif
