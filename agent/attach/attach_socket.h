/* SPDX-License-Identifier: Apache-2.0
 *
 * The path of the agent's Unix socket: one agent listens there. A lock beside it ("PATH.lock",
 * which stays) keeps two that start at once apart. A socket file that nobody listens at is left
 * from an earlier agent, and is removed. Any thread.
 */
#ifndef ATTACH_SOCKET_H
#define ATTACH_SOCKET_H

#include <stddef.h>
#include <sys/types.h>

#include "skein/status.h"

struct attach_socket {
    int fd, lock_fd; /* -1: none */
    dev_t device;
    ino_t inode; /* of the file at the path; 0: none of ours */
};

/* Listens at the path with these permissions; *out is to be closed in any case. SKEIN_OK;
 * SKEIN_BUSY (another agent has it), SKEIN_INVALID (the path), SKEIN_IO, each with a sentence in
 * error. */
int attach_socket_open(const char *path, mode_t mode, struct attach_socket *out, char *error,
                       size_t error_bytes);
/* Takes the file away, where it is still ours. */
void attach_socket_close(struct attach_socket *socket, const char *path);

#endif
