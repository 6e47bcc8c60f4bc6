/* SPDX-License-Identifier: Apache-2.0
 *
 * Pages that were read, kept so that several captures may tell of the same past: what is read from
 * the kernel is no longer there. As many bytes of each CPU as the kernel has at most; the oldest
 * go first. Evidence thread alone.
 */
#ifndef SCHED_KEEP_H
#define SCHED_KEEP_H

#include "sched_page.h"

struct kept_page {
    uint8_t *bytes;
    size_t n;
    uint64_t first_ns, last_ns;        /* of its records */
    bool gap;                          /* records between gap_from_ns and first_ns are missing */
    uint64_t gap_from_ns, gap_records; /* 0: nobody knows how many */
};

struct kept_cpu {
    struct kept_page *pages; /* from `head`, the oldest */
    size_t head, count, cap;
    size_t bytes;
    uint64_t until_ns; /* of the last record taken; at first, when the recording began */
    uint64_t broken;   /* pages that could not be read */
};

struct sched_keep {
    struct page_shape shape;
    size_t cpu_bytes; /* at most, of each CPU */
    struct kept_cpu *cpus;
    uint32_t count;
};

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_keep_init(struct sched_keep *keep, const struct page_shape *shape, uint32_t cpus,
                    size_t cpu_bytes, uint64_t since_ns);
void sched_keep_fini(struct sched_keep *keep);

/* Copies a page of a CPU, which comes after all before. One that is damaged becomes a gap.
 * SKEIN_OK, SKEIN_NO_MEMORY: then it is missing, and the next one has the gap. */
int sched_keep_page(struct sched_keep *keep, uint32_t cpu, const uint8_t *page, size_t n);

#endif
