/* SPDX-License-Identifier: Apache-2.0
 *
 * What is asked of a process that reads traces: for the room analyst, which takes it, and for
 * analyst_wire.h, which writes it. No state.
 */
#ifndef ANALYST_JOB_H
#define ANALYST_JOB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/trace.h"

#define ANALYST_ERROR_BYTES 512
#define ANALYST_TRACES      64

enum analyst_kind {
    ANALYST_REPORT,  /* JSON of analysis/trace_report_json.h */
    ANALYST_SUMMARY, /* bytes of analysis/summary.h (summary_bytes_get) */
    ANALYST_SQL      /* {"columns":[{"name","type"}],"rows":[[…]],"more":bool,"gaps":[…]} */
};

struct analyst_job {
    enum analyst_kind kind;
    const struct skein_trace_source *traces; /* read by the calling thread alone */
    size_t trace_count;                      /* at most ANALYST_TRACES */
    uint64_t from_ns, to_ns;                 /* as in struct skein_query; not ANALYST_SQL */
    const uint8_t *process;     /* 16 bytes: of that process alone; NULL: all; not SQL */
    const uint8_t *not_process; /* 16 bytes: of all others; NULL; ANALYST_SUMMARY */
    uint64_t groups;            /* as in struct skein_query; not ANALYST_SQL */
    uint32_t rows;       /* REPORT: findings, and of each table; SUMMARY: of each table; SQL: of the
                          result, 0: all that fit. 0: the library's default */
    const char *sql;     /* ANALYST_SQL: one statement */
    size_t answer_bytes; /* at most */
    uint64_t deadline_ns;        /* CLOCK_MONOTONIC */
    bool (*stop)(void *context); /* asked some times a second: nobody waits any more. NULL: never */
    void *context;
};

#endif
