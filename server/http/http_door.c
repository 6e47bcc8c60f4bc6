/* SPDX-License-Identifier: Apache-2.0
 *
 * Takes the place of recv() for the connections of the HTTP server, because libmicrohttpd parses
 * what it reads leniently and shows nobody the bytes: folded lines, spaces before a colon and bare
 * line ends are gone when its callbacks are called. Reads of all other descriptors go on as they
 * are. Owns the table of doors by descriptor: written by the thread that serves the connection,
 * read by any. http_mhd.c refuses a request that has not come through its door.
 */
#include "http_door.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/socket.h>

#define DOORS       (1 << 20)
#define READ_BYTES  (16u << 10) /* a TLS record */
#define DRAIN_READS 64          /* behind a cut, before the answer */

static _Atomic(struct http_door *) doors[DOORS];

bool http_door_open(struct http_door *door)
{
    if (door->fd < 0 || door->fd >= DOORS)
        return false;
    atomic_store_explicit(&doors[door->fd], door, memory_order_release);
    return true;
}

void http_door_close(struct http_door *door)
{
    atomic_store_explicit(&doors[door->fd], NULL, memory_order_release);
}

struct http_door *http_door_of(int fd)
{
    if (fd < 0 || fd >= DOORS)
        return NULL;
    return atomic_load_explicit(&doors[fd], memory_order_acquire);
}

/* Takes what has come behind a cut: a socket that is closed over unread bytes is reset, and the
 * client may never see the answer. */
static void door_drain(const struct http_door_source *source)
{
    uint8_t bytes[READ_BYTES];
    for (int i = 0; i < DRAIN_READS && source->read(source->context, bytes, sizeof bytes) > 0; i++)
        continue;
}

ssize_t http_door_read(struct http_door *door, const struct http_door_source *source, void *out,
                       size_t n, ssize_t again)
{
    struct http_framing *f = &door->framing;
    uint8_t bytes[READ_BYTES];
    size_t len = 0;
    for (;;) {
        size_t room = n - len, want = room > f->pending_len ? room - f->pending_len : 0;
        ssize_t got = want > 0 ? source->read(source->context, bytes,
                                              want < sizeof bytes ? want : sizeof bytes)
                               : 0;
        if (got <= 0 && f->pending_len == 0 && want > 0)
            return len > 0 ? (ssize_t)len : got;
        bool was_cut = f->cut;
        len += http_framing_feed(f, bytes, got > 0 ? (size_t)got : 0, (uint8_t *)out + len, room);
        if (f->cut && !was_cut)
            door_drain(source);
        if (got <= 0 || len == n || !source->more(source->context))
            break;
    }
    return len > 0 ? (ssize_t)len : again;
}

/* ---- plain connections ---- */

static ssize_t plain_read(void *context, void *out, size_t n)
{
    const struct http_door *door = context;
    return recvfrom(door->fd, out, n, MSG_DONTWAIT, NULL, NULL);
}

static bool no_more(void *context)
{
    (void)context;
    return false;
}

ssize_t recv(int fd, void *out, size_t n, int flags)
{
    struct http_door *door = http_door_of(fd);
    if (door == NULL || door->tls || n == 0)
        return recvfrom(fd, out, n, flags, NULL, NULL);
    struct http_door_source source = {plain_read, no_more, door};
    errno = 0;
    ssize_t got = http_door_read(door, &source, out, n, -1);
    if (got < 0 && errno == 0)
        errno = EAGAIN; /* all that came is held back */
    return got;
}
