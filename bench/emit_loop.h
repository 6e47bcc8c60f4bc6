/* SPDX-License-Identifier: Apache-2.0
 *
 * What the emit benchmark's parts share: how a loop is timed, and the peer's figures. For the
 * benches of emitting and bench_walk.c alone.
 */
#ifndef EMIT_LOOP_H
#define EMIT_LOOP_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define EMIT_ROUNDS 61    /* short runs, of which the median counts */
#define EMIT_LOOP   20000 /* events of one run */

static inline uint64_t emit_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline int emit_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static inline double emit_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, emit_compare);
    return values[count / 2];
}

/* The ns of an LTTng-UST event with two arguments, in snapshot mode, for 1 and 2 threads. `why`, on
 * failure, is a constant text. Returns 0, or -1 where the peer cannot be measured here. */
int emit_peer_measure(double ns[2], const char **why);

#endif
