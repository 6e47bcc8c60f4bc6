/* SPDX-License-Identifier: Apache-2.0
 *
 * A partition of a trace in memory. Part of trace_int.h, and included by it alone.
 */
#ifndef TRACE_LOAD_H
#define TRACE_LOAD_H

#include "buf.h"
#include "trace_rows.h"

struct trace_part;

struct trace_loaded {
    struct trace_part *part;
    struct buf bytes;
    struct partition_reader *reader;
    const struct partition_event_type *types;
    const struct partition_thread *threads;
    size_t type_count;
    uint32_t *type_numbers, *thread_numbers; /* in the trace */
    uint8_t *type_shown, *thread_shown;      /* by a cursor's query; NULL: no cursor's */
    struct row_run run;                      /* of that query */
    uint32_t stack_base;                     /* a stack's number in a batch: this and its id */
    bool in_batch;                           /* a row of the batch has texts of it */
    struct trace_loaded *next;               /* retired */
    /* the type that was asked for last and is none of the table's, as a range over a cut has */
    const struct partition_event_type *other;
    uint32_t other_number;
};

/* SKEIN_OK; SKEIN_NO_MEMORY; else another status and a sentence in `error`. */
int loaded_new(struct skein_trace *trace, struct trace_part *part, struct trace_loaded **out,
               char error[SKEIN_TRACE_ERROR_BYTES]);
void loaded_free(struct trace_loaded **loaded);
/* The number of an event's type. SKEIN_NO_MEMORY. */
int64_t loaded_type(struct skein_trace *trace, struct trace_loaded *loaded,
                    const struct partition_event_type *type);

#endif
