/* SPDX-License-Identifier: Apache-2.0
 *
 * Sockets that listen; see outside_ports.h. The kernel's answer is read with bounds, as a packet of
 * a newer kernel may hold more than is known here.
 */
#include "outside_ports.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "array.h"
#include "netlink.h"
#include "skein/status.h"

#define ANSWER_BYTES 32768
#define WAIT_MS      200

static void socket_add(struct outside_sockets *sockets, const struct outside_socket *found)
{
    size_t at = 0;
    array_find(at, 0, sockets->count, sockets->items[at].inode < found->inode);
    if (at < sockets->count && sockets->items[at].inode == found->inode)
        return;
    if (sockets->count == OUTSIDE_SOCKETS_MAX) {
        sockets->left_out++;
        return;
    }
    memmove(&sockets->items[at + 1], &sockets->items[at],
            (sockets->count - at) * sizeof *sockets->items);
    sockets->items[at] = *found;
    sockets->count++;
}

static void row_take(const uint8_t *bytes, size_t n, const uint16_t *ports, size_t port_count,
                     struct outside_sockets *sockets)
{
    struct inet_diag_msg row;
    if (n < sizeof row)
        return;
    memcpy(&row, bytes, sizeof row);
    uint16_t port = ntohs(row.id.idiag_sport);
    for (size_t i = 0; i < port_count; i++)
        if (ports[i] == port && row.idiag_state == TCP_LISTEN && row.idiag_inode != 0) {
            struct outside_socket found = {row.idiag_inode, port, row.idiag_family, {0}};
            memcpy(found.address, row.id.idiag_src, row.idiag_family == AF_INET6 ? 16 : 4);
            socket_add(sockets, &found);
            return;
        }
}

int outside_answer_take(const uint8_t *bytes, size_t n, const uint16_t *ports, size_t port_count,
                        struct outside_sockets *sockets)
{
    struct netlink_message message;
    int status;
    for (size_t at = 0; (status = netlink_next(bytes, n, &at, &message)) > 0;)
        if (message.type == SOCK_DIAG_BY_FAMILY)
            row_take(message.body, message.len, ports, port_count, sockets);
    return status;
}

static bool question_send(int fd, uint8_t family)
{
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 ask;
    } question;
    memset(&question, 0, sizeof question);
    question.head.nlmsg_len = sizeof question;
    question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
    question.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
    question.ask.sdiag_family = family;
    question.ask.sdiag_protocol = IPPROTO_TCP;
    question.ask.idiag_states = 1u << TCP_LISTEN;
    return send(fd, &question, sizeof question, 0) == (ssize_t)sizeof question;
}

static int family_read(int fd, uint8_t family, const uint16_t *ports, size_t port_count,
                       struct outside_sockets *sockets)
{
    uint8_t answer[ANSWER_BYTES];
    int status = question_send(fd, family) ? SKEIN_AGAIN : SKEIN_IO;
    while (status == SKEIN_AGAIN) {
        ssize_t n = recv(fd, answer, sizeof answer, 0);
        status =
            n <= 0 ? SKEIN_IO : outside_answer_take(answer, (size_t)n, ports, port_count, sockets);
    }
    return status;
}

const char *outside_sockets_read(struct outside_sockets *sockets, const uint16_t *ports,
                                 size_t port_count)
{
    const struct timeval wait = {0, WAIT_MS * 1000};
    sockets->count = 0;
    sockets->left_out = 0;
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0)
        return "the kernel does not say who listens (sock_diag)";
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    int status = family_read(fd, AF_INET, ports, port_count, sockets);
    if (status == SKEIN_OK) /* a kernel without IPv6 refuses: then nobody listens there */
        status = family_read(fd, AF_INET6, ports, port_count, sockets) == SKEIN_CORRUPT
                     ? SKEIN_CORRUPT
                     : SKEIN_OK;
    close(fd);
    if (status == SKEIN_OK)
        return NULL;
    sockets->count = 0;
    return "the kernel does not say who listens (sock_diag)";
}

bool outside_sockets_equal(const struct outside_sockets *a, const struct outside_sockets *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = a->items[i].inode == b->items[i].inode && a->items[i].port == b->items[i].port;
    return same;
}

/* ---- a process's ---- */

static const struct outside_socket *socket_find(const struct outside_sockets *sockets,
                                                uint64_t inode)
{
    size_t at = 0;
    array_find(at, 0, sockets->count, sockets->items[at].inode < inode);
    return at < sockets->count && sockets->items[at].inode == inode ? &sockets->items[at] : NULL;
}

static const struct outside_socket *entry_socket(int folder, const char *name,
                                                 const struct outside_sockets *sockets)
{
    static const char before[] = "socket:[";
    char link[64], *end;
    ssize_t n = readlinkat(folder, name, link, sizeof link - 1);
    if (n <= 0)
        return NULL;
    link[n] = '\0';
    if (strncmp(link, before, sizeof before - 1) != 0)
        return NULL;
    uint64_t inode = strtoull(link + sizeof before - 1, &end, 10);
    return strcmp(end, "]") == 0 ? socket_find(sockets, inode) : NULL;
}

size_t outside_ports_of(uint32_t pid, const struct outside_sockets *sockets, uint16_t *ports,
                        size_t ports_max)
{
    char path[48];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *folder = sockets->count > 0 ? opendir(path) : NULL;
    if (folder == NULL)
        return 0;
    const struct dirent *entry;
    for (unsigned looks = 0;
         looks < OUTSIDE_FDS_MAX && count < ports_max && (entry = readdir(folder)) != NULL;
         looks++) {
        const struct outside_socket *found = entry_socket(dirfd(folder), entry->d_name, sockets);
        if (found != NULL)
            ports[count++] = found->port;
    }
    closedir(folder);
    return count;
}

/* ---- one address's ---- */

_Static_assert(OUTSIDE_FDS_MAX == 4096, "outside_listens_alone says so");

/* Whether the socket may take a connection to the address. One of IPv6 that listens on all may take
 * those of IPv4 as well; whether it was told not to, nobody asks. */
static bool may_take(const struct outside_socket *s, const struct outside_loopback *at)
{
    static const uint8_t any[16], mapped[12] = {[10] = 0xff, [11] = 0xff};
    size_t bytes = at->family == AF_INET6 ? 16 : 4;
    if (s->family == at->family)
        return memcmp(s->address, at->address, bytes) == 0 || memcmp(s->address, any, bytes) == 0;
    return s->family == AF_INET6 && at->family == AF_INET &&
           (memcmp(s->address, any, sizeof any) == 0 ||
            (memcmp(s->address, mapped, sizeof mapped) == 0 &&
             (memcmp(s->address + 12, at->address, 4) == 0 ||
              memcmp(s->address + 12, any, 4) == 0)));
}

/* Which of them the process holds, by its first OUTSIDE_FDS_MAX descriptors (*cut: it has more).
 * False: they may not be read. */
static bool holds_mark(uint32_t pid, const struct outside_sockets *sockets, bool *held, bool *cut)
{
    char path[48];
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return false;
    const struct dirent *entry = NULL;
    unsigned looks = 0;
    while (looks++ < OUTSIDE_FDS_MAX && (entry = readdir(folder)) != NULL) {
        const struct outside_socket *found = entry_socket(dirfd(folder), entry->d_name, sockets);
        if (found != NULL)
            held[found - sockets->items] = true;
    }
    closedir(folder);
    *cut = entry != NULL;
    return true;
}

const char *outside_listens_alone(uint32_t pid, const struct outside_loopback *at)
{
    struct outside_sockets *sockets = calloc(1, sizeof *sockets);
    bool held[OUTSIDE_SOCKETS_MAX] = {false};
    bool own = false, others = false, cut = false;
    if (sockets == NULL)
        return "no memory to see who listens there";
    const char *why = outside_sockets_read(sockets, &at->port, 1);
    if (why == NULL && !holds_mark(pid, sockets, held, &cut))
        why = "its descriptors may not be read, to see whether it is it who listens there";
    for (size_t i = 0; i < sockets->count; i++) {
        bool takes = may_take(&sockets->items[i], at);
        own = own || (takes && held[i]);
        others = others || (takes && !held[i]);
    }
    others = others || sockets->left_out > 0;
    free(sockets);
    if (why != NULL)
        return why;
    if (!own)
        return cut ? "none of the process's first 4096 descriptors listens there"
                   : "the process does not listen there";
    return others ? "others listen there, too" : NULL;
}
