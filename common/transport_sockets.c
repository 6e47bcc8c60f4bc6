/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the place of listen() and accept4() in a daemon that links this object, because the
 * libraries that call them offer no setting: nanomsg listens with a backlog of 100, which a fleet
 * that comes back at once overruns, and never asks for keepalive, so a host that lost its power
 * keeps its connection for ever. Any thread; no state. Link it into executables alone, never into a
 * library.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BACKLOG = 4096, KEEPALIVE_IDLE_S = 60, KEEPALIVE_INTERVAL_S = 15, KEEPALIVE_PROBES = 4 };

int listen(int fd, int backlog)
{
    return (int)syscall(SYS_listen, fd, backlog > BACKLOG ? backlog : BACKLOG);
}

/* Failures do not matter: the descriptor may be a Unix socket, which needs none of this. */
static void keep_alive(int fd)
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

int accept4(int fd, struct sockaddr *address, socklen_t *address_bytes, int flags)
{
    int accepted = (int)syscall(SYS_accept4, fd, address, address_bytes, flags);
    if (accepted >= 0)
        keep_alive(accepted);
    return accepted;
}
