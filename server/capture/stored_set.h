/* SPDX-License-Identifier: Apache-2.0
 *
 * Which partitions of one process are stored: a set of (epoch, sequence), kept as ranges. Its size
 * follows from what is stored, never from what a report claims. Not locked; belongs to its owner.
 */
#ifndef STORED_SET_H
#define STORED_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stored_range {
    uint64_t epoch, first, last;
};
struct stored_set {
    struct stored_range *ranges; /* sorted, apart from each other */
    size_t count, cap;
};

/* 1: it is new; 0: it was there; SKEIN_NO_MEMORY: nothing changed. */
int stored_set_add(struct stored_set *set, uint64_t epoch, uint64_t sequence);
/* Moves *first and *last to the first range between them that the set lacks; false: none. */
bool stored_set_missing(const struct stored_set *set, uint64_t epoch, uint64_t *first,
                        uint64_t *last);
/* Takes out what is of an earlier epoch; whether there was some. */
bool stored_set_drop_before(struct stored_set *set, uint64_t epoch);
void stored_set_fini(struct stored_set *set); /* empty again */

#endif
