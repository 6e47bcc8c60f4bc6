/* SPDX-License-Identifier: Apache-2.0
 *
 * Who else ran: samples added up by process, and those with the most. Bounded: processes beyond
 * NEIGHBOURS_MAX are added up together. One owner.
 */
#ifndef NEIGHBOURS_H
#define NEIGHBOURS_H

#include <stddef.h>
#include <stdint.h>

#define NEIGHBOURS_MAX   4096u /* a power of two */
#define NEIGHBOURS_SHOWN 10u

struct neighbour {
    uint32_t pid; /* 0: nobody; the idle task has no samples */
    uint64_t samples, ns;
};

struct neighbours {
    struct neighbour slots[NEIGHBOURS_MAX]; /* by pid, from pid % NEIGHBOURS_MAX on */
    size_t count;
    struct neighbour rest; /* of processes without a slot; pid 0 */
};

int neighbours_new(struct neighbours **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void neighbours_free(struct neighbours **neighbours);

void neighbours_note(struct neighbours *neighbours, uint32_t pid, uint64_t ns);

/* Those with the most CPU time, most first, and in *rest all others together, with *rest_count of
 * them known by pid. Returns how many. */
size_t neighbours_top(const struct neighbours *neighbours, struct neighbour top[NEIGHBOURS_SHOWN],
                      struct neighbour *rest, size_t *rest_count);

#endif
