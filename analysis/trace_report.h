/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace says first: findings in plain words, ranked, each by one rule of a table
 * (docs/analysis.md), with what they rest on. One pass over a cursor's batches; no I/O, no threads
 * of its own. One owner, one thread.
 *
 *     trace_report_new(&limits, &made);
 *     while (skein_cursor_next(cursor, &batch) > 0)
 *         trace_report_add(made, trace, cursor, &batch);
 *     trace_report_end(made, trace, cursor, &report);
 *
 * Memory: some numbers for each thread and each name on it, and the limits below; what a limit left
 * out is counted in `totals`. Texts of traces are hostile: they are cut to TRACE_REPORT_TEXT bytes,
 * and whoever shows one escapes what is not printable. What stands out around one moment, whoever
 * was inside of something then, is moment.h's.
 */
#ifndef TRACE_REPORT_H
#define TRACE_REPORT_H

#include "moment.h"
#include "skein/trace.h"

#define TRACE_REPORT_TEXT    160 /* bytes of a name that a finding takes over */
#define TRACE_REPORT_FRAMES  16
#define TRACE_REPORT_NUMBERS 8

struct trace_report_builder;

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

struct trace_report {
    uint64_t from_ns, to_ns;               /* the window: of all rows; 0, 0: there is none */
    const struct report_finding *findings; /* ranked */
    size_t finding_count;
    const struct report_gap *gaps;
    size_t gap_count;
    const struct report_loss *losses;
    size_t loss_count;
    const struct report_region *regions; /* by their time without the idle */
    size_t region_count;
    const struct report_thread *threads; /* by total_ns */
    size_t thread_count;
    const struct moment_list *moment; /* the end: who was inside of what; the longest waits */
    struct report_totals totals;
};

/* All-zero is the default. */
struct trace_report_limits {
    uint32_t findings;       /* at most; 0: 20 */
    uint32_t rows;           /* of each table; 0: 20 */
    uint32_t spans;          /* long regions that are kept to compare in time; 0: 65,536 */
    uint64_t from_ns, to_ns; /* the window that was asked for; 0: the trace's */
};

/* limits may be NULL. SKEIN_OK, SKEIN_NO_MEMORY. */
int trace_report_new(const struct trace_report_limits *limits, struct trace_report_builder **out);
void trace_report_free(struct trace_report_builder **builder);

/* The batch that the cursor gave last, with all columns; from a query in causal order, evidence
 * included (all-zero but for size and times). SKEIN_OK; SKEIN_INVALID: a column is missing;
 * SKEIN_NO_MEMORY. */
int trace_report_add(struct trace_report_builder *builder, const struct skein_trace *trace,
                     struct skein_cursor *cursor, const struct skein_batch *batch);

/* After the last batch, once. The report is the builder's; names in it may be the trace's: it lasts
 * as long as both. SKEIN_OK, SKEIN_NO_MEMORY. */
int trace_report_end(struct trace_report_builder *builder, const struct skein_trace *trace,
                     const struct skein_cursor *cursor, const struct trace_report **report);

/* "note", "warning", "problem". */
const char *report_severity_text(enum report_severity severity);

/* ---- the rules: one table for findings, docs and tests ---- */

struct report_rule {
    const char *name;
    const char *needs;     /* what must be recorded */
    const char *threshold; /* when it speaks */
    const char *wrong;     /* the one way in which it can be wrong */
    unsigned rank;         /* higher before lower, within a severity: causes before symptoms */
};
const struct report_rule *trace_report_rules(size_t *count);

#endif
