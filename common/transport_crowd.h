/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose the connections of the transport are, and who gives way when there is no room for one more:
 * whoever holds most. Holders are the users of this machine, as the kernel says, and for connections
 * from elsewhere their addresses. Any thread. transport_sockets.c's alone.
 */
#ifndef TRANSPORT_CROWD_H
#define TRANSPORT_CROWD_H

#include <stdbool.h>

/* A connection that was just accepted. `full`: there is no room for it. Returns whether it stays: where
 * it is full, some of the oldest of who holds most are then shut down, whose ends the library sees, and
 * it makes their room free. */
bool crowd_enter(int fd, bool full);

#endif
