/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace that bench_pack writes and bench_read reads: requests of a service, the same at each run.
 * Included by programs of bench/. One thread; pure functions of their arguments.
 */
#ifndef BENCH_TRACE_H
#define BENCH_TRACE_H

#include "buf.h"
#include "partition_writer.h"

/* A record, small, so that it is not the bench that waits for memory. */
enum bench_row_type {
    BENCH_REQUEST, /* begin of a range (key, size) */
    BENCH_READ,    /* span (fd, bytes) */
    BENCH_STATE,   /* instant (id, state) */
    BENCH_END,     /* of the range */
    BENCH_TYPES = BENCH_END
};
struct bench_row {
    uint64_t ticks;
    uint32_t a;
    uint16_t b;
    uint8_t dur;
    uint8_t type; /* enum bench_row_type */
};

#define BENCH_SEED     88172645463325252u
#define BENCH_TICK_NS  64
#define BENCH_EPOCH_NS UINT64_C(1795254000000000000)

/* Makes n rows of a thread, a multiple of 4, from *ticks on: a request with a read and a state
 * inside, again and again. `first` is the number of the first. *state starts at BENCH_SEED. */
void bench_rows_make(struct bench_row *rows, size_t n, size_t first, uint64_t *ticks,
                     uint64_t *state);

/* Their types. With texts the request has a path in place of its key. */
void bench_types_put(struct partition_writer *w, bool texts, uint32_t ids[BENCH_TYPES]);
/* The rows into the writer's batch. */
void bench_rows_write(struct partition_writer *w, const uint32_t ids[BENCH_TYPES], bool texts,
                      const struct bench_row *rows, size_t n);

#define BENCH_TRACE_RECORDS 4 /* of which a request is made, a begin and an end among them: */
#define BENCH_TRACE_ROWS    3

/* Writes a trace of at least so many records, with texts: two processes of four threads, cut after cut,
 * a whole number of them. Returns how many records it has. The threads' tids are 0 to 3 in one process,
 * 4 to 7 in the other. */
uint64_t bench_trace_make(const char *path, uint64_t events);

#endif
