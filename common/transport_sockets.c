/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the place of listen() and accept4() in a daemon that links this object, because the
 * libraries that call them offer no setting: nanomsg listens with a backlog of 100, which a fleet
 * that comes back at once overruns, and never asks for keepalive, so a host that lost its power
 * keeps its connection for ever. Nor has it a bound on its connections: strangers could hold every
 * descriptor of the process, and its files and its HTTP server would have none. When there are as many
 * as may be, who holds most gives way to the others (transport_crowd.h). Any thread. Link it into
 * executables alone, never into a library.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "transport.h"
#include "transport_crowd.h"

enum { BACKLOG = 4096, KEEPALIVE_IDLE_S = 60, KEEPALIVE_INTERVAL_S = 15, KEEPALIVE_PROBES = 4 };
enum { SPARE_PART = 8 }; /* of the descriptors, one in so many is not for the transport */

int listen(int fd, int backlog)
{
    return (int)syscall(SYS_listen, fd, backlog > BACKLOG ? backlog : BACKLOG);
}

/* Failures do not matter: the descriptor may be a Unix socket, which needs none of this. */
static void socket_keep_alive(int fd)
{
    const int on = 1, idle = KEEPALIVE_IDLE_S, interval = KEEPALIVE_INTERVAL_S,
              probes = KEEPALIVE_PROBES;
    int saved_errno = errno;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    errno = saved_errno;
}

/* Descriptors are given out from the lowest, so a high one tells that few are left. */
static bool is_spare(int fd)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
           (rlim_t)fd >= limit.rlim_cur - limit.rlim_cur / SPARE_PART;
}

/* nanomsg alone does not ask who connects; it goes on to the next one after ECONNABORTED. */
int accept4(int fd, struct sockaddr *address, socklen_t *address_bytes, int flags)
{
    int accepted = (int)syscall(SYS_accept4, fd, address, address_bytes, flags);
    if (accepted >= 0 && address == NULL && !crowd_enter(accepted, is_spare(accepted))) {
        close(accepted);
        transport_note_refused();
        errno = ECONNABORTED;
        return -1;
    }
    if (accepted >= 0)
        socket_keep_alive(accepted);
    return accepted;
}
