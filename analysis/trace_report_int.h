/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a report: what is gathered (trace_report.c, trace_report_evidence.c) and judged
 * (trace_report_end.c, trace_report_*_rules.c). Included by these alone.
 */
#ifndef TRACE_REPORT_INT_H
#define TRACE_REPORT_INT_H

#include "beside.h"
#include "moment_int.h"
#include "sched_sums.h"
#include "summary.h"
#include "trace_report.h"
#include "trace_report_evidence.h"
#include "vitals_table.h"

#define REPORT_BUCKETS      32 /* of the window, in which things are counted */
#define REPORT_SILENCES     6  /* longest that a thread and a process keep */
#define REPORT_COUNTERS_MAX 4096

#define MS(n) ((uint64_t)(n)*1000000u)

struct report_type { /* of a type of the trace */
    bool known;      /* it was looked up */
    int64_t label;   /* of the moment's */
    int8_t result;   /* argument that says how it ended; -1: none */
    int8_t owner;    /* argument: the thread that held the lock; -1: none */
    bool calls;      /* a call that fails for a reason: its errors count */
    bool lock;       /* arg. 0 is a lock of memory */
};

struct report_silence { /* of a thread or process: nothing was recorded */
    uint64_t from_ns, to_ns;
    bool waits; /* of a thread: its record that ends it was a wait for whatever comes, or a lock */
};

struct report_series { /* of a name in a process, over the window */
    uint64_t count[REPORT_BUCKETS], errors[REPORT_BUCKETS], total_ns[REPORT_BUCKETS];
    int64_t error; /* the last one */
};

struct report_process {
    int64_t moment; /* its number there; -1: not yet */
    struct beside *beside;
    struct report_series **series; /* by label */
    size_t series_cap;
    uint64_t first_ns, last_ns;
    uint64_t exhausted; /* calls that found no descriptor left */
    uint64_t exhausted_ns;
    struct report_silence silences[REPORT_SILENCES]; /* the longest first */
    uint32_t silence_levels[LEVELS];
    uint64_t silence_count;
};

struct report_actor { /* a thread of the trace */
    int64_t moment;   /* its number there; -1: not yet */
    bool stands_in;   /* it is no thread (SKEIN_STAND_IN): no finding is about it */
    uint64_t first_ns, last_ns;
    uint32_t rows;
    const struct vitals_row *wait; /* how long it was ready without a CPU, by vitals; or NULL */
    struct report_silence silences[REPORT_SILENCES];
};

struct report_span { /* a long one */
    uint32_t thread, type, stack;
    bool open;
    uint64_t from_ns, to_ns;
    uint64_t object; /* argument 0 */
    int64_t result, owner;
};

struct report_counter {
    uint32_t thread, type, process;
    uint64_t count, falls, from_ns, to_ns;
    double first, last, least, most, before;
    double sum[REPORT_BUCKETS];
    uint64_t counts[REPORT_BUCKETS];
};

struct trace_report_builder {
    struct trace_report_limits limits;
    const struct skein_trace *trace;
    struct moment *moment;
    struct sched_sums *sched;
    struct vitals_table *vitals;
    const struct vitals_list *vitals_list;
    struct skein_query query; /* of the feed */
    struct summary *summary, *services;
    struct summary_feed *feed;
    struct task_path *tasks; /* NULL: not asked */
    uint64_t from_ns, to_ns; /* by footers, or as asked for: of the buckets */
    struct report_type *types;
    size_t type_cap;
    struct report_process *processes;
    size_t process_count, process_cap;
    struct report_actor *actors;
    size_t actor_count, actor_cap;
    struct report_span *spans;
    size_t span_count, span_cap;
    uint64_t span_floor_ns; /* shorter ones are not kept any more */
    struct intern_table counter_keys, stacks;
    struct report_counter *counters;
    size_t counter_cap;
    struct report_waiter *waiters;
    size_t waiter_count, waiter_cap;
    struct report_crash *crashes;
    size_t crash_count, crash_cap;
    struct report_state *states;
    size_t state_count, state_cap;
    struct report_title *titles;
    size_t title_count, title_cap;
    struct report_loss *losses;
    size_t loss_count, loss_cap;
    struct report_gap *gaps;
    size_t gap_count;
    struct report_finding *findings;
    size_t finding_count, finding_cap;
    char **texts; /* of findings */
    size_t text_count, text_cap;
    int status;
    struct trace_report report;
};

/* ---- trace_report_tables.c: SKEIN_OK, SKEIN_NO_MEMORY ---- */

int report_tables_new(struct trace_report_builder *b);
void report_tables_free(struct trace_report_builder *b);
int report_tables_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                       const struct skein_batch *batch);
int report_tables_make(struct trace_report_builder *b, struct skein_trace *trace,
                       const struct skein_cursor *cursor);

/* ---- trace_report.c ---- */

size_t report_bucket(const struct trace_report_builder *b, uint64_t at_ns);
/* The number of a row's stack among those that are kept, from 1; 0: none. */
uint32_t report_stack_keep(struct trace_report_builder *b, struct skein_cursor *cursor,
                           const struct skein_batch *batch, uint32_t row);

#endif
