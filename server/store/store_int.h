/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct store. Included only by store_files.c, which opens and writes, store_scan.c
 * and store_verify.c, which read, and store_reserve.c, which sets room aside.
 */
#ifndef STORE_INT_H
#define STORE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "segment.h"

enum store_state { STORE_NONE, STORE_CLEAN, STORE_DIRTY };

struct segment_info {
    uint64_t number;
    uint64_t bytes; /* of the file; up to its durable end where it is not closed */
    bool closed;
};

struct store {
    char *path;
    int folder;
    uint64_t segment_bytes, min_free_bytes;
    _Atomic uint64_t reserved; /* bytes of the file `reserve` */

    /* belongs to the writer */
    enum store_state state;
    struct segment_writer writer;
    uint64_t last_number;              /* the highest number ever used here */
    uint64_t abandoned, abandoned_end; /* what the next segment's header will say */

    pthread_mutex_t lock; /* guards what follows */
    struct segment_info *segments;
    size_t count, room;
};

/* Finds the file `reserve`, at the start, before anything writes. */
void store_find_reserve(struct store *store);

/* The list's entry, or NULL; the caller holds `lock`. */
struct segment_info *store_segment_find(struct store *store, uint64_t number);

#endif
