/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of perf_data.c and perf_records.c. For these two alone.
 */
#ifndef PERF_DATA_INT_H
#define PERF_DATA_INT_H

#include "buf.h"
#include "perf_data.h"

#define PERF_ATTRS_MAX 256

/* An event that was recorded: what its samples hold. */
struct perf_attr {
    uint64_t sample_type;
    bool sched, id_all; /* a tracepoint whose layout is known; all records end with an id */
    uint64_t ids_offset, ids_count;
};

struct perf_reader {
    const uint8_t *bytes;
    size_t n;
    struct perf_attr attrs[PERF_ATTRS_MAX];
    size_t attr_count;
    struct sched_layout layout;
    uint64_t data_offset, data_bytes;
    size_t event_cap, thread_cap, life_cap, gap_cap;
    uint64_t *cpu_last_ns; /* of the last sample of each CPU */
    size_t cpu_count, cpu_cap;
    struct perf_data *out;
    char *error;
    size_t error_bytes;
};

int perf_fail(struct perf_reader *r, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* perf_records.c: all records of the data section, as they come. */
int perf_records_read(struct perf_reader *r);

#endif
