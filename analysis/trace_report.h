/* SPDX-License-Identifier: Apache-2.0
 *
 * What a trace says first: findings in plain words, ranked, each by one rule of a table
 * (docs/analysis.md), with what they rest on. One pass over a cursor's batches, and a second one over
 * the time of the slowest tasks (task_path.h); no I/O but through the trace, no threads of its own. One
 * owner, one thread.
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
#include "task_path.h"
#include "trace_report_rows.h"

struct trace_report_builder;

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
    const struct task_list *tasks;    /* the slowest, and where their time went; NULL: not asked */
    const struct moment_list *moment; /* the end: who was inside of what; the longest waits */
    struct report_totals totals;
};

/* All-zero is the default. */
struct trace_report_limits {
    uint32_t findings;       /* at most; 0: 20 */
    uint32_t rows;           /* of each table; 0: 20 */
    uint32_t spans;          /* long regions that are kept to compare in time; 0: 65,536 */
    uint64_t from_ns, to_ns; /* the window that was asked for; 0: the trace's */
    bool no_tasks;           /* leave out paths: the trace is read once then, and not twice */
};

/* limits may be NULL. SKEIN_OK, SKEIN_NO_MEMORY. */
int trace_report_new(const struct trace_report_limits *limits, struct trace_report_builder **out);
void trace_report_free(struct trace_report_builder **builder);

/* The batch that the cursor gave last, with all columns; from a query in causal order, evidence
 * included (all-zero but for size and times). SKEIN_OK; SKEIN_INVALID: a column is missing;
 * SKEIN_NO_MEMORY. */
int trace_report_add(struct trace_report_builder *builder, const struct skein_trace *trace,
                     struct skein_cursor *cursor, const struct skein_batch *batch);

/* After the last batch, once; reads the time of the slowest tasks once more, by a cursor of its own.
 * The report is the builder's; names in it may be the trace's: it lasts as long as both. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int trace_report_end(struct trace_report_builder *builder, struct skein_trace *trace,
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
