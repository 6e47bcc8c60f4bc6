/* SPDX-License-Identifier: Apache-2.0
 *
 * One CPU's ring of samples in the kernel's memory: written from its end to its beginning, round
 * and round, by the kernel, which never waits for a reader. The one module that knows
 * perf_event_open. One owner; calls for one ring do not overlap.
 *
 *   ring    | o o o o | free or oldest | newest ........ older ........ |
 *                                      ^ data_head, goes to the left
 *
 * A copy is read without stopping the ring: the head is read before and after. What lies a record
 * below the later head may have been overwritten meanwhile and is left out, so that a copy holds
 * whole records only, and nothing is lost for it.
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#define PERF_RING_BYTES_MIN ((size_t)256 << 10) /* two of the largest records are left out of it */
#define PERF_RING_BYTES_MAX ((size_t)1 << 30)

struct perf_ring {
    int fd; /* -1: none */
    unsigned cpu;
    void *map;
    size_t map_bytes, bytes; /* bytes: of records, a power of two */
    uint64_t opened_ns;      /* CLOCK_MONOTONIC: since when it samples */
    uint64_t ran_ns;         /* at the last perf_ring_ran */
};

/* Samples all that runs on a CPU, `hz` times in a second of it. 0; else an errno, and *out has fd
 * -1. `bytes`, a power of two: where the kernel grants no more memory it is halved down to
 * PERF_RING_BYTES_MIN. */
int perf_ring_open(unsigned cpu, unsigned hz, size_t bytes, struct perf_ring *out);
void perf_ring_close(struct perf_ring *ring);

/* Whether it has sampled any time since the call before: one whose CPU was taken away does not
 * begin anew when it comes back. */
bool perf_ring_ran(struct perf_ring *ring);

struct perf_copy {
    size_t bytes; /* newest first */
    bool turned;  /* it holds no more all since opened_ns */
};
/* Copies into ring->bytes bytes, aligned to 8. */
void perf_ring_copy(const struct perf_ring *ring, uint8_t *into, struct perf_copy *out);

/* The part of it that is arithmetic: what of a copy of `size` bytes holds, by the heads before and
 * after. Heads begin at 0 and go down. */
struct perf_copy perf_copy_judge(uint64_t before, uint64_t after, size_t size);

#endif
