/* SPDX-License-Identifier: Apache-2.0
 * Connections of simulated agents on one epoll. See fleet_link.h. */
#include "fleet_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bench_host.h"

#define EVENTS_AT_ONCE 512
#define READ_BYTES     (64u << 10)
#define MESSAGE_MAX    (UINT64_C(2) << 20)
#define REQUEST_BYTES  4

static const uint8_t hello_req[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
static const uint8_t hello_rep[8] = {0, 'S', 'P', 0, 0, 0x31, 0, 0};

void links_new(struct links *links)
{
    *links = (struct links){.epoll = epoll_create1(EPOLL_CLOEXEC)};
    bench_must(links->epoll >= 0, "no epoll");
}

void links_free(struct links *links)
{
    close(links->epoll);
    links->epoll = -1;
}

static void watch(struct links *links, struct link *link, int op)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = link};
    if (link->out_done < link->out.len || !link->ready)
        event.events |= EPOLLOUT;
    bench_must(epoll_ctl(links->epoll, op, link->fd, &event) == 0, "epoll_ctl");
}

void link_open(struct links *links, struct link *link, uint16_t port, void *owner, link_fn *fn)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int yes = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *link = (struct link){.owner = owner, .fn = fn, .serial = ++links->serial};
    link->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    bench_must(link->fd >= 0, "no descriptor for another agent");
    (void)setsockopt(link->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    int status = connect(link->fd, (struct sockaddr *)(void *)&address, sizeof address);
    bench_must(status == 0 || errno == EINPROGRESS, "connect");
    buf_put(&link->out, hello_req, sizeof hello_req);
    watch(links, link, EPOLL_CTL_ADD);
}

void link_close(struct links *links, struct link *link)
{
    (void)links;
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    buf_fini(&link->in);
    buf_fini(&link->out);
}

static bool flush(struct link *link)
{
    while (link->out_done < link->out.len) {
        ssize_t n = send(link->fd, link->out.data + link->out_done, link->out.len - link->out_done,
                         MSG_NOSIGNAL);
        if (n < 0)
            return errno == EAGAIN || errno == ENOTCONN;
        link->out_done += (size_t)n;
    }
    buf_clear(&link->out);
    link->out_done = 0;
    return true;
}

/* What the kernel takes at once is copied by it alone; the rest waits in `out`. */
void link_send(struct links *links, struct link *link, const void *message, size_t bytes)
{
    uint8_t head[8 + REQUEST_BYTES] = {0};
    uint64_t n = bytes + REQUEST_BYTES;
    size_t sent = 0;
    for (int i = 0; i < 8; i++)
        head[i] = (uint8_t)(n >> (56 - 8 * i));
    head[8] = 0x80; /* the last of a path of request ids; any id will do */
    bool idle = link->ready && link->out.len == 0;
    if (idle) {
        struct iovec parts[2] = {{head, sizeof head}, {(void *)(uintptr_t)message, bytes}};
        struct msghdr out = {.msg_iov = parts, .msg_iovlen = 2};
        ssize_t done = sendmsg(link->fd, &out, MSG_NOSIGNAL);
        if (done < 0 && errno != EAGAIN)
            return; /* epoll says so, too */
        sent = done > 0 ? (size_t)done : 0;
    }
    size_t of_head = sent < sizeof head ? sent : sizeof head;
    buf_put(&link->out, head + of_head, sizeof head - of_head);
    buf_put(&link->out, (const uint8_t *)message + (sent - of_head), bytes - (sent - of_head));
    bench_must(link->out.status == SKEIN_OK, "memory");
    if (idle && link->out.len > 0)
        watch(links, link, EPOLL_CTL_MOD);
}

/* Hands out the whole messages that are there. */
static bool deliver(struct link *link)
{
    uint64_t serial = link->serial;
    if (!link->ready && link->in.len >= sizeof hello_rep) {
        if (memcmp(link->in.data, hello_rep, sizeof hello_rep) != 0)
            return false;
        link->ready = true;
        link->in_done = sizeof hello_rep;
    }
    while (link->ready && link->in.len - link->in_done >= 8) {
        const uint8_t *at = link->in.data + link->in_done;
        uint64_t n = 0;
        for (int i = 0; i < 8; i++)
            n = n << 8 | at[i];
        if (n < REQUEST_BYTES || n > MESSAGE_MAX)
            return false;
        if (link->in.len - link->in_done - 8 < n)
            break;
        link->in_done += 8 + (size_t)n;
        link->fn(link->owner, link, at + 8 + REQUEST_BYTES, (size_t)n - REQUEST_BYTES);
        if (link->fd < 0 || link->serial != serial)
            return true;
    }
    if (link->in_done == link->in.len) {
        buf_fini(&link->in); /* thousands wait: none keeps memory */
        link->in_done = 0;
    }
    return true;
}

static bool receive(struct link *link)
{
    for (;;) {
        uint8_t *to = buf_reserve(&link->in, READ_BYTES);
        bench_must(to != NULL, "memory");
        ssize_t n = recv(link->fd, to, READ_BYTES, 0);
        if (n < 0)
            return errno == EAGAIN && deliver(link);
        if (n == 0)
            return false;
        link->in.len += (size_t)n;
        if ((size_t)n < READ_BYTES)
            return deliver(link);
    }
}

void links_poll(struct links *links, int timeout_ms, void (*broken)(struct link *link))
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int n = epoll_wait(links->epoll, events, EVENTS_AT_ONCE, timeout_ms);
    for (int i = 0; i < n; i++) {
        struct link *link = events[i].data.ptr;
        bool fine = link->fd >= 0, was_ready = link->ready;
        if (!fine)
            continue;
        if (events[i].events & (EPOLLERR | EPOLLHUP))
            fine = false;
        if (fine && events[i].events & EPOLLIN)
            fine = receive(link);
        if (fine && link->fd >= 0 && (events[i].events & EPOLLOUT || link->ready != was_ready)) {
            fine = flush(link);
            if (fine)
                watch(links, link, EPOLL_CTL_MOD);
        }
        if (!fine && link->fd >= 0) {
            link_close(links, link);
            links->refused++;
            broken(link);
        }
    }
}
