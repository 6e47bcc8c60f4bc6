/* SPDX-License-Identifier: Apache-2.0
 *
 * Which user of this machine has the other end of a TCP connection, as the kernel says (sock_diag).
 * No state; any thread; some 10 us.
 */
#ifndef SOCKET_OWNER_H
#define SOCKET_OWNER_H

#include <stdint.h>

#include "skein/status.h"

/* The kernel's word for users that our user namespace has not. */
#define SOCKET_OWNER_UNKNOWN 65534u

/* fd: the connected socket of this process. SKEIN_OK with the user; SKEIN_NOT_FOUND: no program of
 * this network namespace holds the other end any more, or its user has no number here;
 * SKEIN_UNSUPPORTED: the kernel does not tell. */
int socket_owner_of(int fd, uint32_t *uid);

#endif
