/* SPDX-License-Identifier: Apache-2.0
 *
 * Who uses most of the host: looks at all processes, round after round, a part of a round at a
 * time. Remembers of each its numbers of the round before, 48 bytes, at most TOP_PROCESSES_MAX. One
 * thread.
 */
#ifndef TOP_SCAN_H
#define TOP_SCAN_H

#include "vitals_store.h"

#define TOP_PROCESSES_MAX 65536

struct top_scan;
int top_scan_new(struct top_scan **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void top_scan_free(struct top_scan **scan);

/* Goes on with the round, or begins one, and stops when it is over, or when that took budget_ns of
 * this thread's CPU time (0: as long as it takes). Returns whether *top was filled: a round is over,
 * and there was one before. */
bool top_scan_step(struct top_scan *scan, const char *proc, uint64_t now_ns, uint64_t budget_ns,
                   struct top_row *top);

/* A bound on CPU time of the calling thread. */
struct cpu_budget {
    uint64_t end_ns; /* 0: none */
};
struct cpu_budget cpu_budget_of(uint64_t ns);
bool cpu_budget_is_over(const struct cpu_budget *budget);

#endif
