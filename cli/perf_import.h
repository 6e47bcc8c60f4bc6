/* SPDX-License-Identifier: Apache-2.0
 *
 * Makes a trace of perf's scheduler records: the events that captures have (docs/evidence-sched.md),
 * a partition for each process, and one of the host with who used the CPUs. No I/O; one thread.
 */
#ifndef PERF_IMPORT_H
#define PERF_IMPORT_H

#include "buf.h"
#include "perf_data.h"

struct perf_imported {
    uint64_t processes, events, unseen, lost_records;
};

/* `otherwise_ahead_ns` is added to the file's times where it does not say itself how they lie to the
 * time of day. Appends the partitions to *trace. SKEIN_OK; SKEIN_NOT_FOUND: it holds no event;
 * SKEIN_NO_MEMORY, SKEIN_TOO_LARGE. */
int perf_import(const struct perf_data *data, int64_t otherwise_ahead_ns, struct buf *trace,
                struct perf_imported *imported);

#endif
