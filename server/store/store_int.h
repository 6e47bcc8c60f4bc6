/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct store. Included by store_files.c, which opens and writes, store_scan.c,
 * which reads, and store_reserve.c, which sets room aside; by nobody else.
 */
#ifndef STORE_INT_H
#define STORE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "segment.h"

enum store_state { STORE_NONE, STORE_CLEAN, STORE_DIRTY };

struct segment_info {
    uint64_t number;
    uint64_t bytes; /* of the file; where it is not closed, its durable end */
    bool closed;
};

struct store {
    char *path;
    int folder;
    uint64_t segment_bytes, min_free_bytes;
    _Atomic uint64_t reserved; /* bytes of the file `reserve` */

    /* the writer's alone */
    enum store_state state;
    struct segment_writer writer;
    uint64_t last_number;              /* of any segment ever begun here */
    uint64_t abandoned, abandoned_end; /* for the next segment's header */

    pthread_mutex_t lock; /* guards what follows */
    struct segment_info *segments;
    size_t count, room;
};

/* At the start, before anything writes. */
void store_find_reserve(struct store *store);

/* The list's entry, or NULL; the caller holds `lock`. */
struct segment_info *store_segment_find(struct store *store, uint64_t number);

#endif
