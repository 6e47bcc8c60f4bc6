/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared memory that the agent hands out: sealed pages that producers can only read, and rings.
 * Makes, initialises, checks and maps; the caller owns what comes out. Any thread.
 */
#ifndef RING_MEMORY_H
#define RING_MEMORY_H

#include "ring_layout.h"
#include "skein/status.h"

#define SHARED_PAGE_BYTES 4096

/* A memfd of one page that begins with `bytes` bytes of `content`, mapped writable here and sealed
 * so that no other mapping of it can ever be. SKEIN_OK: the caller closes *fd and unmaps *mapping
 * (SHARED_PAGE_BYTES). SKEIN_IO; SKEIN_UNSUPPORTED: the kernel has no F_SEAL_FUTURE_WRITE. */
int shared_page_new(const char *name, const void *content, size_t bytes, int *fd, void **mapping);

/* What a new ring says about its process. */
struct ring_identity {
    uint32_t pid, clock, shift;
    uint64_t start_ticks;
    const char *service; /* cut to fit */
};

/* A new, initialised ring of this geometry, sealed against resizing. SKEIN_OK: the caller closes
 * *fd and unmaps *ring (geometry->total). SKEIN_NO_MEMORY; SKEIN_IO. */
int ring_memory_new(const struct ring_geometry *geometry, const struct ring_identity *identity,
                    int *fd, uint8_t **ring);

/* Bytes of memory behind a ring's descriptor: what was touched, not its size. Without a descriptor
 * (-1), its size. */
uint64_t ring_memory_used(int fd, uint64_t total);

/* Writes header and process record of an empty ring into zeroed memory; zero is right for all the
 * rest, and the first string epoch is the writer's to begin. */
void ring_memory_init(uint8_t *ring, const struct ring_geometry *geometry,
                      const struct ring_identity *identity);

/* Checks and maps a ring that a process brings from an agent before: seals, a size within
 * max_bytes, header against the geometry of that size, clock and shift against identity. Clears
 * pins that the agent before left. SKEIN_OK: *geometry and *ring are set, the caller unmaps, and
 * claimed says up to which small chunk and which big one they have been in use; the fd stays the
 * caller's either way. SKEIN_CORRUPT: not such a ring; SKEIN_TOO_LARGE; SKEIN_IO. */
int ring_memory_adopt(int fd, uint64_t max_bytes, const struct ring_identity *identity,
                      struct ring_geometry *geometry, uint8_t **ring, uint32_t claimed[2]);

#endif
