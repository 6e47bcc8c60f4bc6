/* SPDX-License-Identifier: Apache-2.0
 *
 * One question to the kernel by the two addresses of a connection; see socket_owner.h. What the kernel
 * answers of is the client's socket: its local address is our peer's.
 */
#include "socket_owner.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "netlink.h"
#include "skein/status.h"

/* Fills in the address and port of one end, as sock_diag has them. */
static bool end_put(const struct sockaddr_storage *end, __be32 address[4], __be16 *port)
{
    if (end->ss_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, end, sizeof v4);
        memcpy(address, &v4.sin_addr, sizeof v4.sin_addr);
        *port = v4.sin_port;
        return true;
    }
    if (end->ss_family != AF_INET6)
        return false;
    struct sockaddr_in6 v6;
    memcpy(&v6, end, sizeof v6);
    memcpy(address, &v6.sin6_addr, sizeof v6.sin6_addr);
    *port = v6.sin6_port;
    return true;
}

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 inet;
};

static bool question_make(int fd, struct question *q)
{
    struct sockaddr_storage own = {0}, peer = {0};
    socklen_t own_bytes = sizeof own, peer_bytes = sizeof peer;
    memset(q, 0, sizeof *q);
    if (getsockname(fd, (struct sockaddr *)&own, &own_bytes) != 0 ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) != 0 ||
        own.ss_family != peer.ss_family)
        return false;
    q->head.nlmsg_len = sizeof *q;
    q->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    q->head.nlmsg_flags = NLM_F_REQUEST;
    q->inet.sdiag_family = (uint8_t)own.ss_family;
    q->inet.sdiag_protocol = IPPROTO_TCP;
    q->inet.idiag_states = UINT32_MAX;
    q->inet.id.idiag_cookie[0] = q->inet.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
    return end_put(&peer, q->inet.id.idiag_src, &q->inet.id.idiag_sport) &&
           end_put(&own, q->inet.id.idiag_dst, &q->inet.id.idiag_dport);
}

/* A socket that its program has closed goes on for a while without a file (inode 0), and the kernel
 * then calls it root's; one that asks to connect anew from the same port is another program's, and
 * one that listens there is no end of this connection. */
static bool is_held(const struct inet_diag_msg *m, const struct question *q)
{
    return m->idiag_inode != 0 && m->idiag_state != TCP_SYN_SENT && m->idiag_state != TCP_LISTEN &&
           m->idiag_state != TCP_TIME_WAIT && m->id.idiag_sport == q->inet.id.idiag_sport &&
           m->id.idiag_dport == q->inet.id.idiag_dport;
}

static int answer_take(const uint8_t *bytes, size_t n, const struct question *q, uint32_t *uid)
{
    struct netlink_message message;
    struct inet_diag_msg m;
    struct nlmsghdr head;
    struct nlmsgerr refused;
    size_t at = 0;
    if (n >= sizeof head + sizeof refused) {
        memcpy(&head, bytes, sizeof head);
        memcpy(&refused, bytes + sizeof head, sizeof refused);
        if (head.nlmsg_type == NLMSG_ERROR)
            return refused.error == -ENOENT ? SKEIN_NOT_FOUND : SKEIN_UNSUPPORTED;
    }
    if (netlink_next(bytes, n, &at, &message) != 1 || message.len < sizeof m)
        return SKEIN_UNSUPPORTED;
    memcpy(&m, message.body, sizeof m);
    if (!is_held(&m, q) || m.idiag_uid == SOCKET_OWNER_UNKNOWN)
        return SKEIN_NOT_FOUND;
    *uid = m.idiag_uid;
    return SKEIN_OK;
}

int socket_owner_of(int fd, uint32_t *uid)
{
    struct question q;
    uint8_t answer[4096];
    if (!question_make(fd, &q))
        return SKEIN_NOT_FOUND;
    int kernel = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (kernel < 0)
        return SKEIN_UNSUPPORTED;
    ssize_t got = send(kernel, &q, sizeof q, 0) == (ssize_t)sizeof q
                      ? recv(kernel, answer, sizeof answer, MSG_DONTWAIT)
                      : -1; /* the answer is there when send returns */
    close(kernel);
    return got > 0 ? answer_take(answer, (size_t)got, &q, uid) : SKEIN_UNSUPPORTED;
}
