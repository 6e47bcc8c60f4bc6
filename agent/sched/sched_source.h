/* SPDX-License-Identifier: Apache-2.0
 *
 * The evidence `sched` (agent/evidence/evidence.h): what the threads of a captured process were
 * doing by the scheduler's account, and who used the CPUs of the host meanwhile. Where the kernel's
 * records are refused, sums of each thread instead. Main thread: new, free; evidence thread:
 * collect.
 */
#ifndef SCHED_SOURCE_H
#define SCHED_SOURCE_H

#include "evidence.h"

struct sched_source;

struct sched_settings {
    uint64_t buffer_kib; /* of records, for each CPU; 0: nothing is recorded */
    const char *tracefs; /* NULL: where it is usually */
};

/* Begins to record; where that is refused, says so once in the log. SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_source_new(const struct sched_settings *settings, struct sched_source **out);
void sched_source_free(struct sched_source **source);

/* "": it records; else why not. */
const char *sched_source_refused(const struct sched_source *source);

evidence_collect_fn sched_source_collect; /* source: a struct sched_source */

#endif
