/* SPDX-License-Identifier: Apache-2.0
 *
 * Rings of the table's processes: attach_ring.c makes them, attach_backing.c gives them memory.
 * Included by attach_int.h alone. Loop thread only.
 */
#ifndef ATTACH_RING_H
#define ATTACH_RING_H

#include <sys/queue.h>

#include "cgroup_place.h"
#include "process.h"
#include "ring_memory.h"
#include "shares.h"

struct attach;
struct member;
struct hello_packet;

/* ---- attach_ring.c ---- */

/* Takes the ring that came with the packet: SKEIN_OK, SKEIN_FULL (its user's share is used up), or as
 * ring_memory_adopt, which says what `claimed` is. Or makes a new one by what p wishes and there is room for: SKEIN_FULL,
 * SKEIN_NO_MEMORY, SKEIN_IO. */
int ring_adopt(const struct attach *attach, struct hello_packet *packet, struct process *p,
               uint32_t claimed[2]);
struct ring_identity ring_identity_of(const struct attach *attach, const struct process *p);
int ring_make(struct attach *attach, const struct hello_packet *packet, const struct member *former,
              struct process *p);

/* ---- attach_backing.c ---- */

/* Which rings are looked at, and when. */
struct ring_looks {
    struct loop_timer *timer;  /* runs while there is a ring */
    uint64_t pace_ms;          /* between the last look and the next */
    uint64_t at_ns, all_ns;    /* monotonic: of the last one, and of the last at all rings */
    uint64_t room_ns, stat_ns; /* when `room` was read, and what rings take; 0: never */
    struct memory_room room;   /* what the agent may use */
    uint64_t room_taken;       /* by rings, since then */
    uint64_t used;             /* memory of all rings */
    struct share_tally users;  /* the same, by user */
    TAILQ_HEAD(quick_list, member) quick; /* those that are looked at often */
};

void backing_init(struct attach *attach);
void backing_end(struct attach *attach);

/* Gives the ring its first memory, once there is a page to tell of it. backing_begin: SKEIN_OK,
 * SKEIN_NO_MEMORY; backing_adopt gives what there is. */
int backing_begin(struct attach *attach, struct process *p);
void backing_adopt(struct attach *attach, struct process *p, const uint32_t claimed[2]);
/* A member with a ring has come: looks soon, and often at first. It leaves the table. */
void backing_watch(struct member *m);
void backing_leave(struct member *m);

bool backing_has_ring(const struct process *p);
/* Whether a ring of the user's may bring so much memory with it. */
bool backing_has_share(const struct attach *attach, uint32_t user, uint64_t bytes);
/* Reads how much memory there is, unless it was read just now. */
void backing_room_look(struct attach *attach);
/* Finds the limit of the process's cgroup. */
void backing_limit_look(const struct attach *attach, struct process *p);
/* What rings of processes that have ended take; gives up the next of them, false: there is none. */
uint64_t backing_kept_bytes(const struct attach *attach);
bool backing_kept_release(const struct attach *attach);

#endif
