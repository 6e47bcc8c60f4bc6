/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder of vitals: once a second how the host and each traced process is, for the last ten
 * minutes (vitals_store.h has the memory), and the source of evidence that writes what a capture's
 * window saw. Owns a thread and the store. What a sample may cost is bounded in CPU time: the host
 * comes every second, traced processes and the search for the top ten take turns of
 * VITALS_BUDGET_NS each, so that rows come further apart where there are many.
 */
#ifndef VITALS_H
#define VITALS_H

#include "evidence.h"

#define VITALS_EVERY_NS  UINT64_C(1000000000)
#define VITALS_BUDGET_NS UINT64_C(1500000)
#define VITALS_BEFORE_NS UINT64_C(10000000000) /* of the window is told, too */
#define VITALS_GROUP     64                    /* none: readers of some groups see it, too */

struct vitals;

struct vitals_settings {
    const char *proc, *cgroups; /* NULL: the system's own */
    bool host, processes, top;  /* what is recorded; see docs/evidence-vitals.md */
    bool still;                 /* no thread: only vitals_now takes samples. For tests */
    uint64_t budget_ns;         /* 0: VITALS_BUDGET_NS */
};

/* Begins to record. The strings must outlive it. SKEIN_OK, SKEIN_NO_MEMORY. */
int vitals_new(const struct vitals_settings *settings, struct vitals **out);
void vitals_free(struct vitals **vitals);

/* A process to be looked at from now on, or no more; what is known of it stays its ten minutes.
 * Never waits for a file. SKEIN_OK, SKEIN_NO_MEMORY. */
int vitals_attached(struct vitals *vitals, uint32_t pid, uint64_t start_ticks);
void vitals_gone(struct vitals *vitals, uint32_t pid, uint64_t start_ticks);

/* Has a sample taken now, of the host and of that process, whether it is attached or not, and waits
 * for it. SKEIN_OK; SKEIN_TIMEOUT (CLOCK_MONOTONIC); SKEIN_NOT_FOUND: there is no such process. Any
 * thread. */
int vitals_now(struct vitals *vitals, uint32_t pid, uint64_t start_ticks, uint64_t deadline_ns);

/* Source of kind "vitals": counters and states of [from - VITALS_BEFORE_NS, now]. */
evidence_collect_fn vitals_collect;

size_t vitals_bytes(struct vitals *vitals); /* of memory that the store takes now */

#endif
