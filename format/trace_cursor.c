/* SPDX-License-Identifier: Apache-2.0
 *
 * Cursors: a query over the walk of trace_merge.c, batch by batch. Owns the query, what its filter
 * said of processes, and the rows. One thread.
 */
#include <stdlib.h>

#include "trace_cursor_int.h"
#include "trace_int.h"

#define RETIRED_BYTES (1u << 20) /* of partitions that a batch keeps because of their texts */
#define KINDS         (((1u << (SKEIN_ROW_END_ONLY + 1)) - 1) & ~1u)
#define KINDS_DEFAULT (KINDS & ~(1u << SKEIN_ROW_BEGIN))

/* The rows are the reader's events. */
_Static_assert((int)SKEIN_ROW_BEGIN == (int)TRACE_BEGIN &&
                   (int)SKEIN_ROW_REGION == (int)TRACE_REGION &&
                   (int)SKEIN_ROW_INSTANT == (int)TRACE_INSTANT &&
                   (int)SKEIN_ROW_COUNTER == (int)TRACE_COUNTER &&
                   (int)SKEIN_ROW_LOG == (int)TRACE_LOG && (int)SKEIN_ROW_OPEN == (int)TRACE_OPEN &&
                   (int)SKEIN_ROW_LOSS == (int)TRACE_LOSS &&
                   (int)SKEIN_ROW_END_ONLY == (int)TRACE_END_ONLY,
               "kinds of rows are those of the partition reader");

/* ---- life ---- */

static bool query_is_sound(const struct skein_query *q)
{
    return q->size == sizeof *q && (q->columns & ~SKEIN_COLUMN_ALL) == 0 &&
           (q->kinds & ~KINDS) == 0 && (q->to_ns == 0 || q->from_ns <= q->to_ns);
}

static int cursor_fill(struct skein_cursor *cursor)
{
    const struct skein_trace *trace = cursor->trace;
    const struct skein_query *q = &cursor->query;
    cursor->process_wanted = calloc(trace->process_count + 1, sizeof *cursor->process_wanted);
    if (cursor->process_wanted == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < trace->process_count; i++)
        cursor->process_wanted[i] =
            q->process == NULL || q->process(q->context, trace->processes[i]);
    const struct trace_merge_ask ask = {.process_wanted = cursor->process_wanted,
                                        .no_evidence = q->no_evidence,
                                        .by_process = q->by_process};
    int status = trace_merge_new(cursor->trace, &ask, &cursor->merge);
    if (status == SKEIN_OK)
        cursor->merge->cursor = cursor->slow ? NULL : cursor;
    return status == SKEIN_OK ? rows_new(cursor) : status;
}

static int cursor_make(struct skein_trace *trace, const struct skein_query *query, bool slow,
                       const uint64_t *least_ns, struct skein_cursor **out)
{
    *out = NULL;
    if (!query_is_sound(query))
        return SKEIN_INVALID;
    struct skein_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL)
        return SKEIN_NO_MEMORY;
    cursor->trace = trace;
    cursor->query = *query;
    cursor->slow = slow;
    cursor->least_ns = least_ns;
    if (query->columns == 0)
        cursor->query.columns = SKEIN_COLUMN_ALL;
    if (query->kinds == 0)
        cursor->query.kinds = KINDS_DEFAULT;
    int status = cursor_fill(cursor);
    if (status != SKEIN_OK)
        skein_cursor_free(&cursor);
    *out = cursor;
    return status;
}

int skein_cursor_new(struct skein_trace *trace, const struct skein_query *query,
                     struct skein_cursor **out)
{
    return cursor_make(trace, query, false, NULL, out);
}

int trace_cursor_slow_new(struct skein_trace *trace, const struct skein_query *query,
                          struct skein_cursor **out)
{
    return cursor_make(trace, query, true, NULL, out);
}

int trace_cursor_least_new(struct skein_trace *trace, const struct skein_query *query,
                           const uint64_t *least_ns, struct skein_cursor **out)
{
    return cursor_make(trace, query, false, least_ns, out);
}

void skein_cursor_free(struct skein_cursor **cursor)
{
    struct skein_cursor *c = *cursor;
    *cursor = NULL;
    if (c == NULL)
        return;
    trace_merge_free(&c->merge);
    rows_free(&c->rows);
    free(c->process_wanted);
    free(c);
}

/* ---- rows ---- */

static int event_give(struct skein_cursor *cursor, struct trace_lane *lane)
{
    int status = rows_put(cursor, lane->now, &lane->event);
    return status == SKEIN_OK ? merge_advance(cursor->merge) : status;
}

static int batch_fill(struct skein_cursor *cursor)
{
    while (!rows_full(cursor->rows) && cursor->merge->retired_bytes < RETIRED_BYTES) {
        struct trace_lane *lane;
        if (merge_rows(cursor->merge, cursor->rows))
            continue;
        int status = merge_first(cursor->merge, &lane);
        if (status == SKEIN_OK && lane == NULL)
            break;
        if (status == SKEIN_OK && lane->items != NULL)
            status = merge_gather(cursor->merge);
        else if (status == SKEIN_OK && lane->peeked)
            status = merge_advance(cursor->merge);
        else if (status == SKEIN_OK)
            status = event_give(cursor, lane);
        if (status != SKEIN_OK)
            return status;
    }
    return SKEIN_OK;
}

int skein_cursor_next(struct skein_cursor *cursor, struct skein_batch *batch)
{
    *batch = (struct skein_batch){0};
    merge_release(cursor->merge);
    trace_rows_clear(cursor->rows);
    if (cursor->status == SKEIN_OK)
        cursor->status = batch_fill(cursor);
    if (cursor->status != SKEIN_OK)
        return cursor->status;
    rows_give(cursor, batch);
    return batch->count > 0;
}

/* ---- what was counted ---- */

size_t skein_cursor_gaps(const struct skein_cursor *cursor, const struct skein_gap **gaps)
{
    return trace_merge_gaps(cursor->merge, gaps);
}

uint64_t skein_cursor_fixed_up(const struct skein_cursor *cursor)
{
    return merge_fixed_up(cursor->merge) + cursor->trace->causes_fixed;
}

uint64_t skein_cursor_unordered(const struct skein_cursor *cursor)
{
    return merge_unordered(cursor->merge) + cursor->trace->causes_circle;
}

const char *skein_loss_text(uint8_t reason)
{
    return partition_loss_text(reason);
}
