/* SPDX-License-Identifier: Apache-2.0
 *
 * Has a process of its own, the holder, keep descriptors over the agent's death: of rings, whose
 * memory would go with the last one, and of processes, whose end nobody would see. The holder ends
 * by itself when no agent has come for HOLD_ALONE_MS. Loop thread, and main before it runs.
 *
 *     agent 1  ──── killed                        agent 2 ─── takes rings, and when who ended
 *     holder   ──────|──|──|──|──|────────────────────────────────────────────────▶
 *     process  ───────────────────── killed: seen by the holder
 *
 * While no agent is here it looks, at each |, whether a process still runs the program that had the
 * ring: so it is known of one that ended whether it can have called exec before.
 *
 * Where no holder can be had, the agent does without: it knows then what its files say.
 */
#ifndef RING_HOLD_H
#define RING_HOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#define HOLD_ALONE_MS 7000
#define HOLD_FDS      2 /* the ring, the process (a pidfd) */
#define HOLD_NOTE_MAX 1200
#define HOLD_MAX      2048 /* items; of more, the agent does without */

/* A process, and its nth ring: exec gives it another. */
struct hold_key {
    uint8_t process[16];
    uint64_t ring; /* the memory's inode */
};

struct hold_item {
    struct hold_key key;
    int fds[HOLD_FDS];
    uint64_t died_ns; /* CLOCK_MONOTONIC; 0: it runs, as far as the holder has seen */
    uint64_t
        runs_ns; /* CLOCK_MONOTONIC: it ran the ring's program at this time; 0: nobody looked */
    const uint8_t *note; /* the agent's own words */
    size_t note_bytes;
};

struct ring_hold;

enum ring_hold_look {
    RING_HOLD_RUNS, /* the program that had the ring */
    RING_HOLD_ENDS, /* no program any more: nobody writes behind that */
    RING_HOLD_ELSE, /* another program, or nobody knows */
};
/* What a process does, by its note. Called in the holder, which has no heap. */
typedef enum ring_hold_look ring_hold_look_fn(const uint8_t *note, size_t note_bytes);

/* Connects to the holder whose socket is in the agent's state folder, or starts one, which will ask
 * `look`. Not beside the agent's own socket: containers see that one, and who is root in one of them
 * would be given all rings. SKEIN_OK; SKEIN_IO, SKEIN_NO_MEMORY. */
int ring_hold_open(const char *folder, ring_hold_look_fn *look, struct ring_hold **out);
/* What the holder keeps on is the next agent's. */
void ring_hold_close(struct ring_hold **hold);

/* Hands over all that the holder has; fn owns the item's descriptors. Before the first put. */
typedef void ring_hold_fn(void *context, const struct hold_item *item);
void ring_hold_take(struct ring_hold *hold, ring_hold_fn *fn, void *context);

/* Puts an item, or replaces the one of its key; the descriptors stay the caller's. An agent without
 * a holder (NULL), or whose holder is gone or behind, does without. */
void ring_hold_put(struct ring_hold *hold, const struct hold_item *item);
/* Not lost where it is behind: told as soon as it hears again, at the next put or drop, or here. */
void ring_hold_drop(struct ring_hold *hold, const struct hold_key *key);
/* False: there is still something that it is to drop. */
bool ring_hold_settle(struct ring_hold *hold);

#endif
