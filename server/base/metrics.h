/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters, gauges and histograms of the collector; metrics_table.h has a row for each. Any thread;
 * relaxed atomics; values since start.
 */
#ifndef METRICS_H
#define METRICS_H

#include <stdint.h>

#include "buf.h"
#include "metrics_table.h"

/* Upper bounds, in microseconds; a last bucket has no bound. */
#define METRICS_BOUNDS_US                                                                          \
    500, 1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, \
        10000000, 30000000, 60000000, 300000000
#define METRICS_BUCKETS 18

struct metrics_histogram {
    uint64_t buckets[METRICS_BUCKETS], sum_us;
};

struct metrics {
#define X(kind, name, help) uint64_t name;
    METRICS_LIST(X)
#undef X
#define X(name, count, help) uint64_t name[count];
    METRICS_FAMILY_LIST(X)
#undef X
#define X(name, help) struct metrics_histogram name;
    METRICS_HISTOGRAM_LIST(X)
#undef X
};

extern struct metrics metrics;

#define metrics_add(name, n)                                                                       \
    ((void)__atomic_fetch_add(&metrics.name, (uint64_t)(n), __ATOMIC_RELAXED))
#define metrics_set(name, n) __atomic_store_n(&metrics.name, (uint64_t)(n), __ATOMIC_RELAXED)

/* at: below the family's count */
#define metrics_add_at(name, at, n)    metrics_add(name[at], n)
#define metrics_observe(name, took_ns) metrics_histogram_add(&metrics.name, took_ns)
void metrics_histogram_add(struct metrics_histogram *histogram, uint64_t took_ns);

/* Appends the Prometheus text exposition, version 0.0.4. */
void metrics_print(struct buf *out);

#endif
