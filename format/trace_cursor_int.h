/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of cursors (trace_cursor.c) and of their rows (trace_rows.c). Included by trace_*.c that
 * include trace_int.h alone.
 */
#ifndef TRACE_CURSOR_INT_H
#define TRACE_CURSOR_INT_H

#include "trace_int.h"

/* ---- cursors: trace_cursor.c, and their rows: trace_rows.c ---- */

struct skein_cursor {
    struct skein_trace *trace;
    struct skein_query query;
    int status; /* below 0: for good */
    bool *process_wanted;
    bool slow;                /* event by event, for tests: the same rows */
    const uint64_t *least_ns; /* of trace_cursor_least_new */
    struct trace_merge *merge;
    struct trace_rows *rows;
};

int rows_new(struct skein_cursor *cursor);
void rows_free(struct trace_rows **rows);
void trace_rows_clear(struct trace_rows *rows);
bool rows_full(const struct trace_rows *rows);
/* Prepares a partition for the query. SKEIN_OK, SKEIN_NO_MEMORY. */
int rows_project(struct skein_cursor *cursor, struct trace_loaded *loaded);
/* Puts the event there if the query asks for it. SKEIN_OK, SKEIN_NO_MEMORY. */
int rows_put(struct skein_cursor *cursor, struct trace_loaded *loaded,
             const struct trace_event *event);
void rows_give(const struct skein_cursor *cursor, struct skein_batch *batch);

#endif
