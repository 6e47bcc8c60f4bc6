/* SPDX-License-Identifier: Apache-2.0
 *
 * Whose the connections of the transport are, and who gives way when there is no room for one more, or
 * there are enough (transport_enough): the holder of most. Holders are the users of this machine, as the
 * kernel says, and for connections from elsewhere their addresses. Any thread. For transport_sockets.c
 * alone.
 */
#ifndef TRANSPORT_CROWD_H
#define TRANSPORT_CROWD_H

#include <stdbool.h>

/* A connection that was just accepted. `full`: there is no room for it. Returns whether it stays: where
 * it is full, or there are enough, some of the oldest of who holds most are then shut down, whose ends
 * the library sees, and it makes their room free. Where there are only enough, and nobody holds much
 * more than its holder, it stays all the same but for ordinary users of this machine: root, our own
 * user and hosts elsewhere gain nothing by a crowd. */
bool crowd_enter(int fd, bool full);

#endif
