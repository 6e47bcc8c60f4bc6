/* SPDX-License-Identifier: Apache-2.0
 *
 * The columns of a batch, and how records of a partition become rows of them without an event in
 * between. Included by trace_rows.c, trace_cursor.c and the files that take rows ahead (ahead_rows.h) alone.
 */
#ifndef TRACE_ROWS_H
#define TRACE_ROWS_H

#include "ahead_rows.h"
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

/* Which records of a partition become rows. */
struct row_run {
    struct trace_loaded *loaded;
    const uint32_t *type_numbers, *thread_numbers; /* in the trace */
    const uint8_t *type_shown, *thread_shown;      /* by number in the partition; 0: left out */
    uint32_t process, stack_base, kinds;
    uint8_t flags;
    uint64_t from_ns, to_ns; /* of the query; to_ns UINT64_MAX: no end */
    bool has_window;
    const uint64_t *least_ns; /* rows that took less are left out, as far as they are simple */
};

static inline bool row_run_shows(const struct row_run *run, uint8_t kind, size_t type)
{
    return (run->kinds >> kind & 1) != 0 && run->type_shown[type] != 0;
}

/* Rows in their order. `rows` has room for them. */
void rows_put_ahead(struct trace_rows *rows, const struct ahead_item *items, uint32_t count);

/* partition_run.c. Before the first event: leaves out what the query does not ask for. Arguments are
 * then 0 and "", and nothing is given of threads that are not shown. */
void partition_reader_project(struct partition_reader *r, const struct row_run *run, bool args,
                              const uint8_t *thread_shown);

/* Whether ranges were carried into the partition that are open still. */
bool partition_reader_carries(const struct partition_reader *r);

/* When the last record was made; 0: there is none yet. */
uint64_t partition_reader_passed(const struct partition_reader *r);

/* What comes next. 2: rows, which count as given; their `at` is when their records were made. 1: what
 * partition_reader_next gives, of a record that was made at *ns. 0: only what is in progress is left,
 * or nothing; a status below 0. Rows last until the next call with this reader; their texts as long
 * as it. */
int partition_reader_peek(struct partition_reader *r, uint64_t *ns, struct ahead_item **items,
                          size_t *count);

#endif
