/* SPDX-License-Identifier: Apache-2.0
 *
 * The listener, and the connections that have not said HELLO: one that says it is answered by
 * hello_answer, one that says WATCH by watch_answer, the others are closed. Loop thread only.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attach_int.h"
#include "descriptor.h"

#define HALF_OPEN_MAX   64
#define HALF_OPEN_MS    5000
#define ACCEPTS_A_ROUND 64

/* Takes the descriptor out of the loop and frees h; the caller has the descriptor now. */
static int half_open_end(struct half_open *h)
{
    struct attach *attach = h->attach;
    int fd = h->fd;
    loop_timer_cancel(attach->loop, &h->deadline);
    loop_fd_remove(attach->loop, fd);
    struct half_open **at = &attach->half_open;
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    attach->half_open_count--;
    free(h);
    return fd;
}

static void half_open_late(void *context)
{
    struct half_open *h = context;
    h->attach->counters.attach_silent++;
    close(half_open_end(h));
}

static void half_open_event(void *context, uint32_t events);

static void half_open_new(struct attach *attach, int fd)
{
    /* The oldest silent one goes, not the newest: an honest peer speaks at once, so a crowd of
     * silent ones cannot keep it out. */
    if (attach->half_open_count >= HALF_OPEN_MAX) {
        attach->counters.attach_silent++;
        close(half_open_end(attach->half_open));
    }
    struct half_open *h = calloc(1, sizeof *h);
    if (h == NULL) {
        attach->counters.attach_refused++;
        close(fd);
        return;
    }
    h->attach = attach;
    h->fd = fd;
    struct half_open **at = &attach->half_open;
    while (*at != NULL)
        at = &(*at)->next;
    *at = h;
    attach->half_open_count++;
    h->deadline = loop_timer_add(attach->loop, HALF_OPEN_MS, 0, half_open_late, h);
    if (h->deadline == NULL ||
        loop_fd_add(attach->loop, fd, EPOLLIN | EPOLLRDHUP, half_open_event, h) != SKEIN_OK) {
        attach->counters.attach_refused++;
        close(half_open_end(h));
    }
}

/* Acts on what hello_receive returned, but for SKEIN_AGAIN. Takes the socket. */
static void connection_answer(struct attach *attach, int socket, int status,
                              struct hello_packet *packet)
{
    if (status == SKEIN_OK) {
        if (packet->is_watch)
            watch_answer(attach, socket, packet);
        else
            hello_answer(attach, socket, packet);
        return;
    }
    if (status == SKEIN_CLOSED)
        attach->counters.attach_silent++;
    else
        attach->counters.attach_malformed++;
    close(socket);
}

static void half_open_event(void *context, uint32_t events)
{
    (void)events;
    struct half_open *h = context;
    struct attach *attach = h->attach;
    struct hello_packet packet;
    int status = hello_receive(h->fd, &packet);
    if (status != SKEIN_AGAIN)
        connection_answer(attach, half_open_end(h), status, &packet);
}

/* Reads at once: an honest peer has mostly said HELLO by now, the more so if we are slow. */
static void connection_new(struct attach *attach, int fd)
{
    struct hello_packet packet;
    int status = hello_receive(fd, &packet);
    if (status == SKEIN_AGAIN)
        half_open_new(attach, fd);
    else
        connection_answer(attach, fd, status, &packet);
}
/* Without a descriptor for it, the connection would stay pending and wake us for ever. */
static void connection_turn_away(struct attach *attach)
{
    fd_close(&attach->spare_fd);
    int fd = accept4(attach->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    fd_close(&fd);
    attach->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    attach->counters.attach_refused++;
}

void listener_event(void *context, uint32_t events)
{
    (void)events;
    struct attach *attach = context;
    for (int i = 0; i < ACCEPTS_A_ROUND; i++) {
        int fd = accept4(attach->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            connection_new(attach, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            connection_turn_away(attach);
            return;
        } else if (errno != EINTR && errno != ECONNABORTED) {
            return;
        }
    }
}

void connections_free(struct attach *attach)
{
    struct half_open *h, *next;
    for (h = attach->half_open; h != NULL; h = next) {
        next = h->next;
        close(half_open_end(h));
    }
}
