/* SPDX-License-Identifier: Apache-2.0
 *
 * Scheduler records of a file that perf wrote (perf.data, as `perf sched record --clockid
 * CLOCK_MONOTONIC` leaves it). Every byte is hostile. No I/O; one owner, one thread.
 *
 *   header ─▶ attributes: what each event id is, and what lies in its samples
 *          ─▶ data: samples, and which thread is of which process
 *          ─▶ features: tracing data (layouts of records), host name, clocks
 */
#ifndef PERF_DATA_H
#define PERF_DATA_H

#include "sched_layout.h"

/* From then on, the thread is of this process. */
struct perf_thread {
    uint32_t tid, pid;
    uint64_t from_ns;
};

/* From then on, the pid is another process: it is new, or runs another program. */
struct perf_life {
    uint32_t pid;
    uint64_t from_ns;
};

struct perf_gap {
    uint32_t cpu;
    uint64_t from_ns, to_ns, records;
};

struct perf_data {
    struct sched_event *events; /* by time */
    size_t count;
    struct perf_thread *threads; /* by tid and time */
    size_t thread_count;
    struct perf_life *lives; /* by pid and time */
    size_t life_count;
    struct perf_gap *gaps; /* by time */
    size_t gap_count;
    uint64_t others; /* samples of events that are not read */
    char host[256];
    uint64_t seed;             /* of import_process_uid: a number of all its bytes */
    bool has_realtime;         /* the file says how its clock lies to the time of day: */
    int64_t realtime_ahead_ns; /* this, less CLOCK_MONOTONIC */
};

/* SKEIN_OK; SKEIN_UNSUPPORTED, SKEIN_CORRUPT or SKEIN_TRUNCATED with a sentence in error;
 * SKEIN_NO_MEMORY. On failure *out is zero. */
int perf_data_read(const uint8_t *bytes, size_t n, struct perf_data *out, char *error,
                   size_t error_bytes);
void perf_data_fini(struct perf_data *data);

/* The process of a thread at a time, or of the first time that the file says it; the tid itself where it
 * never does. */
uint32_t perf_data_process(const struct perf_data *data, uint32_t tid, uint64_t at_ns);

/* Which of the processes that have this pid it was then, from 0. */
uint32_t perf_data_life(const struct perf_data *data, uint32_t pid, uint64_t at_ns);

#endif
