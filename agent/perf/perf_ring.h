/* SPDX-License-Identifier: Apache-2.0
 *
 * One CPU's ring of samples, or of some of its kernel's events, in the kernel's memory: written from
 * its end to its beginning, round and round, by the kernel, which never waits for a reader. The one
 * module that knows perf_event_open. One owner; calls for one ring do not overlap.
 *
 *   ring    | o o o o | free or oldest | newest ........ older ........ |
 *                                      ^ data_head, goes to the left
 *
 * It is read without stopping the ring, from its newest record on: bytes are copied, and the head
 * is read once more. What lies a record below the later head may have been overwritten meanwhile
 * and is not given, so that nothing torn comes out, and nothing is lost for it.
 */
#ifndef PERF_RING_H
#define PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

#define PERF_RING_BYTES_MIN ((size_t)256 << 10) /* two of the largest records are left out of it */
#define PERF_RING_BYTES_MAX ((size_t)1 << 30)

/* An event of the kernel's (tracepoint) that is noted each time. */
struct perf_watch {
    uint64_t id;        /* as tracefs has it in the event's file `id` */
    const char *filter; /* in the kernel's words (ftrace.rst); NULL: none */
    bool user;          /* with the program's registers, and PERF_WATCH_STACK_BYTES of its stack */
};
#define PERF_WATCHES_MAX       4u
#define PERF_WATCH_STACK_BYTES 32768u

struct perf_ring {
    int fd;                         /* -1: none */
    int more[PERF_WATCHES_MAX - 1]; /* of further events that write to it */
    size_t more_count;
    unsigned cpu, hz; /* hz 0: it has watches */
    void *map;
    size_t map_bytes, bytes; /* bytes: of records, a power of two */
    uint64_t opened_ns;      /* CLOCK_MONOTONIC: since when it samples */
    uint64_t ran_ns;         /* at the last perf_ring_ran */
};

/* Samples all that runs on a CPU, `hz` times in a second of it. 0; else an errno, and *out has fd
 * -1. `bytes`, a power of two: where the kernel grants no more memory it is halved down to
 * PERF_RING_BYTES_MIN. */
int perf_ring_open(unsigned cpu, unsigned hz, size_t bytes, struct perf_ring *out);
/* The same for `count` events, at least one: records of them have raw bytes. */
int perf_ring_watch(unsigned cpu, const struct perf_watch *watches, size_t count, size_t bytes,
                    struct perf_ring *out);
void perf_ring_close(struct perf_ring *ring);

/* Whether it has sampled any time since the call before: one whose CPU was taken away does not
 * begin anew when it comes back. */
bool perf_ring_ran(struct perf_ring *ring);

/* Of a reading that began at the head `before`: how far it can be read when the head is `after`.
 * Heads begin at 0 and go down. */
struct perf_hold {
    size_t bytes; /* newest first */
    bool turned;  /* what lies behind them was written, too, but is overwritten */
};
struct perf_hold perf_hold_judge(uint64_t before, uint64_t after, size_t ring_bytes);

/* A reading, from the newest record of the time it began. */
struct perf_reading {
    const struct perf_ring *ring;
    uint64_t before;       /* the head then */
    struct perf_hold hold; /* at the last look */
};
void perf_reading_begin(const struct perf_ring *ring, struct perf_reading *out);
/* Copies n bytes that lie `at` bytes behind the newest one's begin. False: they do not hold. */
bool perf_reading_get(struct perf_reading *reading, size_t at, void *into, size_t n);

#endif
