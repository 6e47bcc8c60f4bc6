/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of a batch, and how records of a partition become rows of them without an event in
 * between. Included by trace_rows.c, trace_cursor.c and partition_run.c alone.
 */
#ifndef TRACE_ROWS_H
#define TRACE_ROWS_H

#include "partition_reader.h"
#include "skein/trace.h"

struct trace_loaded;

/* SKEIN_BATCH_ROWS of each; NULL: not asked for. */
struct trace_rows {
    uint32_t columns, count, more_count;
    uint8_t *kind, *flags;
    uint32_t *process, *thread, *type, *depth, *stack, *more;
    uint64_t *time_ns, *dur_ns;
    struct skein_arg *args;
    struct skein_row_more *mores;
    struct trace_loaded **loaded; /* of each row; its stack's id there */
    uint32_t *stack_id;
    uint8_t *types, *threads; /* what the query's filters said, by number */
    size_t type_cap, thread_cap;
};

void row_args_set(struct skein_arg *args, const struct partition_event_type *type,
                  const struct partition_value *values);

/* How far records of a partition are given at once, and which of them become rows. */
struct row_run {
    struct trace_rows *rows;
    struct trace_loaded *loaded;
    const uint32_t *type_numbers, *thread_numbers; /* in the trace */
    const uint8_t *type_shown, *thread_shown;      /* by number in the partition; 0: left out */
    uint32_t process, stack_base, kinds;
    uint8_t flags;
    uint64_t from_ns, to_ns; /* of the query; to_ns UINT64_MAX: no end */
    uint64_t until_ns;       /* records made later are for another time; at it, only if `at_too` */
    bool at_too, has_window;
};

/* partition_run.c. Before the first event: leaves out what the query does not ask for. Arguments are
 * then 0 and "", and nothing is given of threads that are not shown. */
void partition_reader_project(struct partition_reader *r, bool args, const uint8_t *thread_shown);

/* When the last record was made of what was left out; 0: none. */
uint64_t partition_reader_passed(const struct partition_reader *r);

/* When the record that comes next was made. 1; 0: only what is in progress is left, or nothing; a
 * status below 0. */
int partition_reader_peek(struct partition_reader *r, uint64_t *ns);

/* Gives records as rows, as far as they are simple: ranges, spans, instants, counters and logs. Stops
 * in front of all else, which partition_reader_next gives, and where the batch is full. A failure
 * stops it, too, and is the next call's. false: nothing was given or left out. *ns as of
 * partition_reader_peek; UINT64_MAX: that gives none. */
bool partition_reader_run(struct partition_reader *r, const struct row_run *run, uint64_t *ns);

#endif
