/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the kernel that are read again and again: open once, read from their beginning each
 * time. One thread.
 */
#ifndef KEPT_FILE_H
#define KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Reads from the beginning on what there is and has room, and ends it with a NUL; its length. 0 also
 * where it cannot be read, or fd is -1. */
size_t text_fill(int fd, char *text, size_t bytes);

/* "folder/name", opened to be read; -1: it is not there, or the path is too long. */
int kept_open(const char *folder, const char *name);

/* The text from the beginning on, NUL-terminated; what has no room is cut behind a whole line. False where there is none: the
 * file is not open, or what it tells of is gone. */
bool kept_read(int fd, char *text, size_t bytes);

/* kept_open, kept_read and fd_close. */
bool once_read(const char *folder, const char *name, char *text, size_t bytes);

#endif
