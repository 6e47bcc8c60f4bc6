/* SPDX-License-Identifier: Apache-2.0
 *
 * Many connections of simulated agents in one process. nanomsg allows 512 sockets a process, so
 * these speak its wire themselves (an SP handshake of 8 bytes, then 8 bytes of length, 4 of request
 * id, and the message), all on one epoll. Failures end the bench. One thread.
 */
#ifndef FLEET_LINK_H
#define FLEET_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

struct link;

/* A whole message without its request id; `link` may be closed in it. */
typedef void link_fn(void *owner, struct link *link, const uint8_t *message, size_t n);

struct link {
    int fd;          /* -1: closed */
    bool ready;      /* both ends have shaken hands */
    uint64_t serial; /* of this opening, so that an event of an earlier one is told apart */
    void *owner;
    link_fn *fn;
    struct buf in, out;
    size_t in_done, out_done;
};

struct links {
    int epoll;
    uint64_t serial, refused; /* refused: connections that broke and were opened again */
    uint16_t port;
};

void links_new(struct links *links);
void links_free(struct links *links); /* its links are closed */
/* Connects to 127.0.0.1; what is sent before it is ready waits. */
void link_open(struct links *links, struct link *link, uint16_t port, void *owner, link_fn *fn);
void link_close(struct links *links, struct link *link);
void link_send(struct links *links, struct link *link, const void *message, size_t bytes);
/* Waits at most timeout_ms, then reads and writes what can be. `broken` is called for a link whose
 * peer is gone; it is closed then. */
void links_poll(struct links *links, int timeout_ms, void (*broken)(struct link *link));

#endif
