/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading from a descriptor what it gives in pieces, and writing what it takes in pieces: a part of a
 * file; or a text to its end, as of a file of /proc, which has no size. No state; any thread.
 */
#ifndef TEXT_WHOLE_H
#define TEXT_WHOLE_H

#include <sys/types.h>

#include "buf.h"

/* n bytes of a file from `at` on, fewer where it ends before; -1, and errno: it cannot be read. */
ssize_t bytes_read_at(int fd, void *to, size_t n, uint64_t at);

/* Writes all n bytes. SKEIN_OK; SKEIN_IO, or a status of status_of_errno, with its errno: some may be
 * written. */
int whole_write(int fd, const void *bytes, size_t n);

/* Appends all that is left to be read, and a NUL behind it. SKEIN_OK; SKEIN_TOO_LARGE: there was
 * more than max_bytes, and some of it is not there; a status of status_of_errno; SKEIN_NO_MEMORY.
 * The caller frees `text`. */
int text_whole_read(int fd, size_t max_bytes, struct buf *text);

#endif
