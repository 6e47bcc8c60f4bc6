/* SPDX-License-Identifier: Apache-2.0
 *
 * Asks the kernel for sockets; see socket_list.h. A thread of another network namespace opens the
 * netlink socket there, where that is not the agent's own.
 */
#include "socket_list.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "netlink.h"
#include "skein/status.h"

#define ANSWER_BYTES (32u << 10) /* the kernel sends no longer ones */

const char *socket_state_text(enum socket_kind kind, uint8_t state)
{
    static const char *const names[] = {"unknown",    "established", "syn_sent",  "syn_received",
                                        "fin_wait_1", "fin_wait_2",  "time_wait", "closed",
                                        "close_wait", "last_ack",    "listen",    "closing"};
    if (kind != SOCKET_TCP && state == TCP_CLOSE)
        return "unconnected";
    return state < sizeof names / sizeof *names ? names[state] : names[0];
}

/* ---- the answer ---- */

static struct socket_row *row_find(struct socket_row *rows, size_t count, uint64_t inode)
{
    size_t at = 0;
    array_find(at, 0, count, rows[at].inode < inode);
    return at < count && rows[at].inode == inode ? &rows[at] : NULL;
}

static void address_put(uint8_t family, const void *address, uint16_t port,
                        char out[SOCKET_TEXT_BYTES])
{
    char text[INET6_ADDRSTRLEN] = "?";
    (void)inet_ntop(family, address, text, sizeof text);
    snprintf(out, SOCKET_TEXT_BYTES, family == AF_INET6 ? "[%s]:%u" : "%s:%u", text, ntohs(port));
}

static void inet_take(const uint8_t *bytes, size_t n, enum socket_kind kind,
                      struct socket_row *rows, size_t count)
{
    struct inet_diag_msg m;
    if (n < sizeof m)
        return;
    memcpy(&m, bytes, sizeof m);
    struct socket_row *row = row_find(rows, count, m.idiag_inode);
    if (row == NULL || (m.idiag_family != AF_INET && m.idiag_family != AF_INET6))
        return;
    row->kind = kind;
    row->state = m.idiag_state;
    row->receive_queue = m.idiag_rqueue;
    row->send_queue = m.idiag_wqueue;
    address_put(m.idiag_family, m.id.idiag_src, m.id.idiag_sport, row->local);
    row->peer[0] = '\0';
    if (m.id.idiag_dport != 0)
        address_put(m.idiag_family, m.id.idiag_dst, m.id.idiag_dport, row->peer);
}

/* A path, or behind a NUL an abstract name, which may hold anything. */
static void unix_name_put(const uint8_t *bytes, size_t n, char out[SOCKET_TEXT_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < n && used + 1 < SOCKET_TEXT_BYTES; i++) {
        if (bytes[i] == '\0' && i > 0 && bytes[0] != '\0')
            break;
        out[used++] = bytes[i] == '\0' ? '@' : (char)bytes[i];
    }
    out[used] = '\0';
}

static void unix_take(const uint8_t *bytes, size_t n, struct socket_row *rows, size_t count)
{
    struct unix_diag_msg m;
    if (n < sizeof m)
        return;
    memcpy(&m, bytes, sizeof m);
    struct socket_row *row = row_find(rows, count, m.udiag_ino);
    if (row == NULL)
        return;
    row->kind = SOCKET_UNIX;
    row->state = m.udiag_state;
    row->local[0] = row->peer[0] = '\0';
    for (size_t at = NLMSG_ALIGN(sizeof m); at < n && n - at >= sizeof(struct nlattr);) {
        struct nlattr attribute;
        struct unix_diag_rqlen queue;
        uint32_t peer;
        memcpy(&attribute, bytes + at, sizeof attribute);
        if (attribute.nla_len < sizeof attribute || attribute.nla_len > n - at)
            return;
        const uint8_t *value = bytes + at + sizeof attribute;
        size_t len = attribute.nla_len - sizeof attribute;
        if (attribute.nla_type == UNIX_DIAG_NAME) {
            unix_name_put(value, len, row->local);
        } else if (attribute.nla_type == UNIX_DIAG_PEER && len >= sizeof peer) {
            memcpy(&peer, value, sizeof peer);
            snprintf(row->peer, sizeof row->peer, "socket:[%u]", peer);
        } else if (attribute.nla_type == UNIX_DIAG_RQLEN && len >= sizeof queue) {
            memcpy(&queue, value, sizeof queue);
            row->receive_queue = queue.udiag_rqueue;
            row->send_queue = queue.udiag_wqueue;
        }
        at += NLMSG_ALIGN(attribute.nla_len);
    }
}

int socket_answer_take(const uint8_t *bytes, size_t n, enum socket_kind kind,
                       struct socket_row *rows, size_t count)
{
    struct netlink_message message;
    int status;
    for (size_t at = 0; (status = netlink_next(bytes, n, &at, &message)) > 0;) {
        if (message.type == SOCK_DIAG_BY_FAMILY && kind == SOCKET_UNIX)
            unix_take(message.body, message.len, rows, count);
        else if (message.type == SOCK_DIAG_BY_FAMILY)
            inet_take(message.body, message.len, kind, rows, count);
    }
    return status;
}

/* ---- the question ---- */

static int netlink_open(void)
{
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
}

struct there {
    int space, fd;
};

static void *there_open(void *context)
{
    struct there *there = context;
    there->fd = setns(there->space, CLONE_NEWNET) == 0 ? netlink_open() : -1;
    return NULL;
}

static bool is_own_space(int space)
{
    struct stat own, other;
    return stat("/proc/self/ns/net", &own) == 0 && fstat(space, &other) == 0 &&
           own.st_ino == other.st_ino && own.st_dev == other.st_dev;
}

/* A netlink socket in the process's network namespace; -1 with why. */
static int netlink_of(uint32_t pid, const char **why)
{
    char path[48];
    pthread_t thread;
    struct there there = {.fd = -1};
    snprintf(path, sizeof path, "/proc/%u/ns/net", pid);
    there.space = open(path, O_RDONLY | O_CLOEXEC);
    if (there.space < 0) {
        *why = "the network namespace cannot be looked at";
        return -1;
    }
    if (is_own_space(there.space)) {
        there.fd = netlink_open();
        *why = "the kernel gives no netlink socket";
    } else {
        *why = "another network namespace: CAP_SYS_ADMIN is needed";
        if (pthread_create(&thread, NULL, there_open, &there) == 0)
            pthread_join(thread, NULL);
    }
    close(there.space);
    return there.fd;
}

static bool question_send(int fd, enum socket_kind kind, uint8_t family)
{
    struct {
        struct nlmsghdr head;
        union {
            struct inet_diag_req_v2 inet;
            struct unix_diag_req local;
        };
    } question;
    memset(&question, 0, sizeof question);
    question.head.nlmsg_len = sizeof question;
    question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    if (kind == SOCKET_UNIX) {
        question.local.sdiag_family = family;
        question.local.udiag_states = UINT32_MAX;
        question.local.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER | UDIAG_SHOW_RQLEN;
    } else {
        question.inet.sdiag_family = family;
        question.inet.sdiag_protocol = kind == SOCKET_TCP ? IPPROTO_TCP : IPPROTO_UDP;
        question.inet.idiag_states = ~(UINT32_C(1) << TCP_TIME_WAIT); /* nobody's any more */
    }
    return send(fd, &question, sizeof question, 0) == (ssize_t)sizeof question;
}

/* SKEIN_OK, SKEIN_TIMEOUT, or what socket_answer_take says. */
static int question_ask(int fd, enum socket_kind kind, uint8_t family, struct socket_row *rows,
                        size_t count, uint64_t deadline_ns)
{
    uint8_t answer[ANSWER_BYTES];
    int status = question_send(fd, kind, family) ? SKEIN_AGAIN : SKEIN_IO;
    while (status == SKEIN_AGAIN) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= deadline_ns)
            return SKEIN_TIMEOUT;
        uint64_t left_us = (deadline_ns - now_ns) / 1000 + 1;
        const struct timeval left = {.tv_sec = (time_t)(left_us / 1000000),
                                     .tv_usec = (suseconds_t)(left_us % 1000000)};
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &left, sizeof left);
        ssize_t n = recv(fd, answer, sizeof answer, 0);
        status = n > 0 ? socket_answer_take(answer, (size_t)n, kind, rows, count) : SKEIN_TIMEOUT;
    }
    return status;
}

const char *socket_list_fill(uint32_t pid, struct socket_row *rows, size_t count,
                             uint64_t deadline_ns)
{
    static const struct {
        enum socket_kind kind;
        uint8_t family;
    } questions[] = {{SOCKET_UNIX, AF_UNIX},
                     {SOCKET_TCP, AF_INET},
                     {SOCKET_TCP, AF_INET6},
                     {SOCKET_UDP, AF_INET},
                     {SOCKET_UDP, AF_INET6}};
    const char *why = NULL;
    if (count == 0)
        return NULL;
    int fd = netlink_of(pid, &why);
    if (fd < 0)
        return why;
    why = NULL;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        int status =
            question_ask(fd, questions[i].kind, questions[i].family, rows, count, deadline_ns);
        if (status == SKEIN_TIMEOUT) { /* what is still to come would answer the next */
            why = "the kernel's list of sockets was not over in time";
            break;
        }
        if (status != SKEIN_OK)
            why = "the kernel does not tell of some sockets (sock_diag)";
    }
    close(fd);
    return why;
}
