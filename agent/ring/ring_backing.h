/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a ring has memory. A page of shared memory is charged to the cgroup of
 * whoever touches it first: so the agent makes the pages, and tells the process how far it may go.
 * Owns nothing. Loop thread, but for ring_backing_load, which any thread may call.
 *
 *   front: header, slots, losses   table halves       small chunks       big chunks
 *   |##########################|   |###......|  2 x   |######........|   |##..............|
 *    always                         table     halves   small    all       big          all
 */
#ifndef RING_BACKING_H
#define RING_BACKING_H

#include <stdbool.h>

#include "ring_layout.h"
#include "skein/status.h"

/* From the first on: chunks of each kind, bytes of each table half. */
struct ring_backing {
    uint32_t small, big;
    uint64_t table;
};

/* Why a ring is smaller than was wished, and has less memory than its writer could use. */
enum ring_bound {
    RING_BOUND_NONE,
    RING_BOUND_CGROUP,
    RING_BOUND_TOTAL,
    RING_BOUND_MEMORY,
    RING_BOUND_USER
};

struct ring_choice {
    uint64_t wished_bytes; /* by the process, or else by the agent's configuration */
    uint64_t limit_bytes;  /* of memory that the process's cgroup may use; 0: none is known */
    enum ring_bound size;  /* what made the ring smaller than that */
    enum ring_bound held;  /* what keeps its memory from growing now, or has made it shrink */
};

/* A sentence for people; "": it is as large as was wished, and grows as it is used. */
void ring_choice_text(const struct ring_choice *choice, char *text, size_t bytes);

/* All of it; what a new ring has at first, more where there is plenty of memory: a small one, and one
 * that fills once, has all. */
struct ring_backing ring_backing_whole(const struct ring_geometry *geometry);
struct ring_backing ring_backing_start(const struct ring_geometry *geometry, bool plenty);

/* What of a ring that is taken over is in use, as it says itself: so many chunks, and bytes of a table
 * half. No more than what `used`, the memory that it has by the kernel's word, and the memory of a new
 * ring can hold: else what a new ring has. */
struct ring_backing ring_backing_taken(const struct ring_geometry *geometry,
                                       const uint32_t claimed[2], uint64_t table, uint64_t used);

/* Bytes of memory, counted without the rounding to pages. */
uint64_t ring_backing_bytes(const struct ring_geometry *geometry,
                            const struct ring_backing *backing);

/* What the writer is to find from now on: twice of what it has claimed ever, and four times of what it
 * has claimed since the last look, or what it would claim in 200 ms; at most step_bytes more than it
 * has. The numbers come from the ring, and may be anything. */
struct ring_use {
    uint64_t small, big, table;  /* claimed so far; bytes of the current half */
    uint64_t small_new, big_new; /* since the look before, */
    uint64_t since_ms;           /* which was so long ago */
};
struct ring_backing ring_backing_wish(const struct ring_geometry *geometry,
                                      const struct ring_backing *have, const struct ring_use *use,
                                      uint64_t step_bytes);
/* Whether the writer has taken more than an eighth of what was left since then, so that the next look
 * is to come soon. False where there is no more to be had. */
bool ring_backing_hurries(const struct ring_geometry *geometry, const struct ring_backing *have,
                          const struct ring_use *use);

/* Makes the pages of `want`, which is nowhere less than `have` (NULL: nothing is there yet), paid by
 * the calling process. SKEIN_OK; SKEIN_NO_MEMORY: not all of them could be had. */
int ring_backing_make(int fd, const struct ring_geometry *geometry, const struct ring_backing *have,
                      const struct ring_backing *want);

/* BACK: tells the process; reads what it was told. */
void ring_backing_store(struct process_page *page, const struct ring_backing *backing);
void ring_backing_load(const struct ring_geometry *geometry, const struct process_page *page,
                       struct ring_backing *out);

/* R-36, after the process was told of fewer big chunks, to - 1 the last of them: takes the chunks
 * from `from` up to `to` out of use, and gives their memory back. One that is being written, or
 * read, keeps it. Returns the bytes given back. */
uint64_t ring_backing_return(int fd, uint8_t *ring, const struct ring_geometry *geometry,
                             uint32_t from, uint32_t to);
/* Lets them be claimed again, before the process is told of them; their pages have been made. */
void ring_backing_release(uint8_t *ring, const struct ring_geometry *geometry, uint32_t from,
                          uint32_t to);

#endif
