/* SPDX-License-Identifier: Apache-2.0
 *
 * A log-linear histogram of durations: sixteen levels of equal width to each power of two, so that
 * what it says of a duration is within 1/32 of it (below 16 ns it is exact). Two histograms merge into
 * that of both. Beside the levels it keeps a few examples: when, where, how long. Memory: 128 bytes a
 * power of two between the shortest and the longest. One owner, one thread; no I/O.
 */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include "buf.h"

#define HISTOGRAM_STEPS    16u  /* levels to a power of two */
#define HISTOGRAM_LEVELS   976u /* of 64 bits */
#define HISTOGRAM_EXAMPLES 8u
#define HISTOGRAM_ERROR    (1.0 / 32) /* of a quantile, relative */

struct histogram_example {
    uint64_t time_ns, dur_ns; /* dur_ns 0: there is none */
    uint32_t pid, tid;
};

/* All-zero is an empty one. */
struct histogram {
    uint64_t count, sum_ns, min_ns, max_ns; /* exact; the sum stops at UINT64_MAX */
    uint64_t *counts; /* of the levels of `octaves` octaves from `octave` on */
    uint32_t octave, octaves;
    /* The longest of the powers of two that leave the same rest when divided by 8: so the longest of
     * all, and one of each power of two below, as long as they are not more than 8. */
    struct histogram_example examples[HISTOGRAM_EXAMPLES];
};

void histogram_fini(struct histogram *h);

/* The level of a duration, and the shortest of a level and the one behind its longest (UINT64_MAX for
 * the last). */
unsigned histogram_level(uint64_t dur_ns);
uint64_t histogram_level_from(unsigned level);
uint64_t histogram_level_to(unsigned level);

/* One duration, and where it was. SKEIN_OK; SKEIN_NO_MEMORY: nothing is changed. */
int histogram_add(struct histogram *h, const struct histogram_example *example);

/* Adds all of `from`. The order in which histograms are merged does not matter. SKEIN_OK;
 * SKEIN_NO_MEMORY: nothing is changed. */
int histogram_merge(struct histogram *h, const struct histogram *from);

/* How many are of a level; 0 behind the last. */
uint64_t histogram_count(const struct histogram *h, unsigned level);

/* What a share of the durations took at most, from 0 to 1: the middle of the level in which the
 * duration with the number ceil(share * count) lies, yet never below the least; of the last duration
 * exactly the longest. 0: there are none. */
uint64_t histogram_quantile(const struct histogram *h, double share);

/* As bytes (docs/summary.md). _get: SKEIN_OK; SKEIN_CORRUPT; SKEIN_NO_MEMORY: *h is empty then. */
void histogram_bytes_put(const struct histogram *h, struct buf *out);
int histogram_bytes_get(struct cursor *from, struct histogram *h);

#endif
