/* SPDX-License-Identifier: Apache-2.0
 *
 * The visitor: the helper thread "skein", a guest in the program that owns nothing of it. What the
 * program's threads and the visitor share, and the visitor's one function. Included by
 * attach_client.c and visitor.c only.
 *
 *            raw_thread()               agent's WELCOME
 *   absent --------------> connecting ------------------> attached --+
 *      ^                     |     ^   agent gone            |       | a request: sends it
 *      |  leave, bye         |     +-------------------------+<------+
 *      +---------------------+-------------------------------+
 */
#ifndef VISITOR_H
#define VISITOR_H

#include <stdbool.h>

#include "attach_proto.h"

struct visit_settings {
    char service[128], labels[512], socket_path[108];
    uint64_t ring_bytes;
    uint8_t mode, is_service;
};

enum visit_order {
    VISIT_STAY = 0,
    VISIT_LEAVE = 1, /* the program wants to be alone for a while */
    VISIT_BYE = 2    /* recording ends */
};

/* One packet from a thread of the program, on its way through the visitor.
 *
 *   FREE -> FILLING -> READY -> SENDING -> DONE -> FREE     (the asker waits; withdraws from READY)
 *                                       -> FREE             (nobody waits)
 */
enum visit_request_state {
    REQUEST_FREE = 0,
    REQUEST_FILLING,
    REQUEST_READY,
    REQUEST_SENDING,
    REQUEST_DONE
};
#define VISIT_REQUESTS 8

struct visit_request {
    uint32_t state;  /* atomic; also a futex for the asker */
    uint32_t ticket; /* lower ones go first */
    bool awaited;
    int32_t result; /* in DONE */
    uint32_t bytes;
    union {
        struct attach_head head;
        struct attach_snapshot snapshot;
        struct attach_health health;
    } packet;
};

struct visit {
    /* the visitor's thread: 0, none. The kernel sets it, and clears it when the thread no longer
     * runs code of the program. */
    uint32_t tid;
    uint32_t bell;       /* futex: counts up whenever the visitor should look around */
    uint32_t order;      /* enum visit_order */
    uint32_t tried;      /* futex: counts up with each attempt to attach */
    uint32_t connected;  /* an agent takes requests now */
    uint32_t takes;      /* ATTACH_TAKES_... of that agent */
    uint32_t impossible; /* the kernel gives no descriptor table of one's own: never again */
    uint32_t tickets;
    uint64_t come_ns;               /* not to attach before; coarse monotonic clock; atomic */
    struct visit_request *requests; /* VISIT_REQUESTS */
    struct visit_settings settings;
};

/* The thread's body; `context` is the struct visit. Returns the status to end with. */
uint32_t visitor_run(void *context);

/* Orders and rings. Any thread; signal-safe. */
void visitor_order(struct visit *visit, enum visit_order order);
void visitor_ring(struct visit *visit);

#endif
