/* SPDX-License-Identifier: Apache-2.0
 *
 * What a report's findings and the rows of its tables are. Included by trace_report.h.
 */
#ifndef TRACE_REPORT_ROWS_H
#define TRACE_REPORT_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/trace.h"

#define TRACE_REPORT_TEXT    160 /* bytes of a name that a finding takes over */
#define TRACE_REPORT_FRAMES  16
#define TRACE_REPORT_NUMBERS 8

enum report_severity {
    REPORT_NOTE = 1, /* good to know: no cause of anything by itself */
    REPORT_WARNING,  /* unusual, and it costs somebody time; or something cannot be known */
    REPORT_PROBLEM   /* it stopped or held up work */
};

/* A number by which a rule decided, for machines. */
struct report_number {
    const char *name; /* "threads", "longest_ns": stable */
    double value;
};

/* Who: what is not known, or is several, is SKEIN_NONE, 0 or "". */
struct report_subject {
    uint32_t process, thread; /* numbers of the trace */
    uint32_t pid, tid;
    const char *service, *host, *thread_name;
};

struct report_finding {
    const char *rule; /* its name: stable, "lock_convoy" */
    enum report_severity severity;
    double score;         /* by which it is ranked; higher first */
    const char *sentence; /* in plain words, without an end of line */
    struct report_subject subject;
    const char *region;                      /* name of the region or wait; "" */
    const char *frames[TRACE_REPORT_FRAMES]; /* function, or module+0xoffset; innermost first */
    size_t frame_count, frames_left_out;
    uint64_t from_ns, to_ns; /* 0, 0: of no time */
    struct report_number numbers[TRACE_REPORT_NUMBERS];
    size_t number_count;
};

/* Why something cannot be known, as the trace itself tells it. */
struct report_gap {
    enum skein_gap_reason reason;
    uint32_t process; /* SKEIN_NONE */
    uint64_t from_ns, to_ns, bytes;
    bool evidence; /* what the agent saw beside the record is not there; the record may be whole */
    const char *what;
};

struct report_loss { /* of one reason in one process, added up */
    uint8_t reason;
    uint32_t process;                         /* SKEIN_NONE */
    uint64_t places, records, from_ns, to_ns; /* records 0: nobody knows */
};

/* ---- tables ---- */

struct report_region { /* of one name in one service, all its threads, as its summary has them */
    const char *service, *name; /* "(others)": of `merged` names that had no room */
    uint8_t group;
    bool wait; /* for something, not work */
    uint64_t merged;
    uint64_t count, total_ns, self_ns, most_ns; /* of those that ended */
    uint64_t median_ns, p99_ns;                 /* within 1/32 */
    uint64_t idle_ns;                           /* of total_ns: waits for whatever comes */
    uint64_t open, open_ns, open_idle_ns;       /* still in progress; not in the others */
};

struct report_thread {
    struct report_subject subject;
    uint64_t count;             /* regions that ended */
    uint64_t total_ns, most_ns; /* in regions that are not idle, each moment once; the longest */
    const char *most_name;
};

struct report_totals {
    uint64_t rows; /* that the cursor gave: records, evidence, open regions and losses */
    uint64_t
        records; /* of the program, that ended in the window: regions, instants, counters, logs */
    uint64_t evidence_rows, regions, instants, counters, logs, open; /* regions: that ended */
    uint32_t processes, threads, partitions;
    uint32_t idle_threads;        /* of them: not in the table, as they only waited */
    uint64_t fixed_up, unordered; /* times raised; records that waited in a circle */
    uint64_t findings_outside;    /* of another time than was asked for: left out */
    /* Left out because a limit was reached: */
    uint64_t spans_left_out, counters_left_out, findings_left_out, regions_left_out,
        threads_left_out;
};

#endif
