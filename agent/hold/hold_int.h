/* SPDX-License-Identifier: Apache-2.0
 *
 * What agent and holder say to each other: packets over a socket beside the agent's.
 * Shared by ring_hold.c and hold_process.c alone. Both ends are the same user's.
 *
 *     agent                         holder
 *       TAKE       ───────────────▶          which of them it has
 *       ◀─────────  ITEM, with its descriptors, for each
 *       ◀─────────  END
 *       PUT, with descriptors ────▶          new, or in the place of the one of the same key
 *       DROP       ───────────────▶
 */
#ifndef HOLD_INT_H
#define HOLD_INT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "ring_hold.h"

#define HOLD_NAME    "holder.2.sock" /* of its version: an agent and a holder of two never meet */
#define HOLD_MAGIC   UINT32_C(0x646c6f68)
#define HOLD_VERSION 2

enum hold_kind { HOLD_TAKE = 1, HOLD_ITEM, HOLD_END, HOLD_PUT, HOLD_DROP };

struct hold_packet {
    uint32_t magic;
    uint16_t version, kind;
    struct hold_key key;
    uint64_t died_ns, runs_ns;
    uint32_t note_bytes, fds; /* how many came */
    uint8_t note[HOLD_NOTE_MAX];
};

/* The socket's place: the agent's state folder, and its name there. The whole path may be longer than a
 * socket's may be. */
struct hold_place {
    int folder; /* its descriptor */
    char name[72];
    dev_t device; /* of the socket that this holder has there, which may be another one's later */
    ino_t inode;
};

/* Of a packet with descriptors; `flags` of the system call. Below 0: errno says why. */
ssize_t hold_send(int socket, const struct hold_packet *packet, const int fds[HOLD_FDS], int flags);
/* Fills in fds, -1 where none came. 0: the other end is gone; below 0: none has come, or it is none
 * of ours, and its descriptors are closed. */
ssize_t hold_receive(int socket, struct hold_packet *packet, int fds[HOLD_FDS], int flags);

/* The holder, on its listening socket, which it takes out of the folder at its end; never returns. No
 * heap: it may be the child of a process with threads. */
_Noreturn void hold_process_run(int listener, const struct hold_place *place,
                                ring_hold_look_fn *look);

#endif
