/* SPDX-License-Identifier: Apache-2.0
 *
 * What a query asks for: which events become rows, and the columns of a batch. Owns the batch's
 * memory, and what the caller's filters said of each type and thread. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "trace_cursor_int.h"
#include "trace_int.h"
#include "trace_stack.h"

enum wanted { WANTED_UNASKED, WANTED_YES, WANTED_NO };

/* ---- life ---- */

void rows_free(struct trace_rows **rows)
{
    struct trace_rows *r = *rows;
    *rows = NULL;
    if (r == NULL)
        return;
    void *all[] = {r->kind,  r->flags,   r->process, r->thread,   r->type, r->depth,
                   r->stack, r->more,    r->time_ns, r->dur_ns,   r->args, r->mores,
                   r->types, r->threads, r->loaded,  r->stack_id, r};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

/* A column of the batch where the query asks for it. false: no memory. */
#define COLUMN(rows, asked, name, width)                                                           \
    (!(asked) ||                                                                                   \
     ((rows)->name = calloc((size_t)SKEIN_BATCH_ROWS * (width), sizeof *(rows)->name)) != NULL)

int rows_new(struct skein_cursor *cursor)
{
    uint32_t columns = cursor->query.columns;
    struct trace_rows *rows = cursor->rows = calloc(1, sizeof *rows);
    if (rows == NULL)
        return SKEIN_NO_MEMORY;
    rows->columns = columns;
    bool stack = (columns & SKEIN_COLUMN_STACK) != 0;
    bool room = COLUMN(rows, true, kind, 1) && COLUMN(rows, true, flags, 1) &&
                COLUMN(rows, true, process, 1) && COLUMN(rows, true, thread, 1) &&
                COLUMN(rows, true, more, 1) && COLUMN(rows, true, mores, 1) &&
                COLUMN(rows, columns & SKEIN_COLUMN_TIME, time_ns, 1) &&
                COLUMN(rows, columns & SKEIN_COLUMN_TIME, dur_ns, 1) &&
                COLUMN(rows, columns & SKEIN_COLUMN_TYPE, type, 1) &&
                COLUMN(rows, columns & SKEIN_COLUMN_DEPTH, depth, 1) &&
                COLUMN(rows, stack, stack, 1) && COLUMN(rows, stack, stack_id, 1) &&
                COLUMN(rows, stack, loaded, 1) &&
                COLUMN(rows, columns & SKEIN_COLUMN_ARGS, args, SKEIN_ARGS_MAX);
    return room ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void trace_rows_clear(struct trace_rows *rows)
{
    rows->count = rows->more_count = 0;
}

bool rows_full(const struct trace_rows *rows)
{
    return rows->count == SKEIN_BATCH_ROWS;
}

/* ---- which ---- */

/* Where what was said of this number stands, at first WANTED_UNASKED; NULL: no memory. */
static uint8_t *said_of(uint8_t **said, size_t *cap, uint32_t number)
{
    return array_grow_zero(*said, (size_t)number + 1, cap) ? &(*said)[number] : NULL;
}

/* 1, 0; SKEIN_NO_MEMORY. */
static int type_wanted(struct skein_cursor *cursor, uint32_t number)
{
    const struct skein_query *q = &cursor->query;
    if (number == SKEIN_NONE || q->type == NULL)
        return 1;
    uint8_t *said = said_of(&cursor->rows->types, &cursor->rows->type_cap, number);
    if (said == NULL)
        return SKEIN_NO_MEMORY;
    if (*said == WANTED_UNASKED)
        *said =
            q->type(q->context, skein_trace_type(cursor->trace, number)) ? WANTED_YES : WANTED_NO;
    return *said == WANTED_YES;
}

static int thread_wanted(struct skein_cursor *cursor, uint32_t number)
{
    const struct skein_query *q = &cursor->query;
    if (number == SKEIN_NONE || q->thread == NULL)
        return 1;
    uint8_t *said = said_of(&cursor->rows->threads, &cursor->rows->thread_cap, number);
    if (said == NULL)
        return SKEIN_NO_MEMORY;
    if (*said == WANTED_UNASKED)
        *said = q->thread(q->context, skein_trace_thread(cursor->trace, number)) ? WANTED_YES
                                                                                 : WANTED_NO;
    return *said == WANTED_YES;
}

/* By what the event says itself. */
static bool event_wanted(const struct skein_query *q, const struct trace_event *event)
{
    uint64_t end_ns =
        event->dur_ns < UINT64_MAX - event->time_ns ? event->time_ns + event->dur_ns : UINT64_MAX;
    return (q->kinds >> event->kind & 1) != 0 && end_ns >= q->from_ns &&
           (q->to_ns == 0 || event->time_ns <= q->to_ns) &&
           event_type_shown(event->type, q->groups);
}

/* ---- a row ---- */

static void arg_set(struct skein_arg *arg, uint8_t type, const struct partition_value *value)
{
    *arg = (struct skein_arg){.u64 = value->u64};
    if (type == SKEIN_T_STR) {
        arg->text = value->str.text != NULL ? value->str.text : "";
        arg->len = value->str.text != NULL ? value->str.len : 0;
        arg->cut = value->str.cut;
    } else if (type == SKEIN_T_SEQ) {
        arg->resource = value->seq.resource;
        arg->number = value->seq.number;
    }
}

void row_args_set(struct skein_arg *args, const struct partition_event_type *type,
                  const struct partition_value *values)
{
    for (unsigned k = 0; k < type->nargs; k++)
        arg_set(&args[k], type->args[k].type, &values[k]);
}

/* Losses and operations in progress have more to tell. */
static uint32_t more_set(struct trace_rows *rows, const struct trace_event *event)
{
    if (event->loss == NULL && !event->has_detail)
        return SKEIN_NONE;
    rows->mores[rows->more_count] =
        (struct skein_row_more){.loss_reason = event->loss != NULL ? event->loss->reason : 0,
                                .lost = event->loss != NULL ? event->loss->events : 0,
                                .detail = event->detail,
                                .has_detail = event->has_detail};
    return rows->more_count++;
}

static void row_set(struct trace_rows *rows, struct trace_loaded *loaded,
                    const struct trace_event *event, uint32_t thread, uint32_t type)
{
    uint32_t i = rows->count++;
    rows->kind[i] = event->kind;
    rows->flags[i] = (uint8_t)((event->fixed_up ? SKEIN_ROW_FIXED_UP : 0) |
                               (event->begin_clipped ? SKEIN_ROW_BEGIN_CLIPPED : 0) |
                               (event->end_clipped ? SKEIN_ROW_END_CLIPPED : 0) |
                               (loaded->part->facts.evidence ? SKEIN_ROW_EVIDENCE : 0));
    rows->process[i] = loaded->part->facts.process;
    rows->thread[i] = thread;
    rows->more[i] = more_set(rows, event);
    if (rows->time_ns != NULL) {
        rows->time_ns[i] = event->time_ns;
        rows->dur_ns[i] = event->dur_ns;
    }
    if (rows->type != NULL)
        rows->type[i] = type;
    if (rows->depth != NULL)
        rows->depth[i] = event->depth;
    if (rows->stack != NULL) {
        rows->stack[i] = event->stack != 0 ? loaded->stack_base + event->stack : 0;
        rows->stack_id[i] = event->stack;
        rows->loaded[i] = loaded;
    }
    if (rows->args != NULL && event->type != NULL)
        row_args_set(&rows->args[(size_t)i * SKEIN_ARGS_MAX], event->type, event->args);
    loaded->in_batch = true;
}

int rows_put(struct skein_cursor *cursor, struct trace_loaded *loaded,
             const struct trace_event *event)
{
    if (!event_wanted(&cursor->query, event))
        return SKEIN_OK;
    uint32_t thread = event->thread == NULL
                          ? SKEIN_NONE
                          : loaded->thread_numbers[event->thread - loaded->threads];
    int wanted = thread_wanted(cursor, thread);
    if (wanted <= 0)
        return wanted;
    int64_t type =
        event->type == NULL ? SKEIN_NONE : loaded_type(cursor->trace, loaded, event->type);
    if (type < 0)
        return SKEIN_NO_MEMORY;
    wanted = type_wanted(cursor, (uint32_t)type);
    if (wanted <= 0)
        return wanted;
    row_set(cursor->rows, loaded, event, thread, (uint32_t)type);
    return SKEIN_OK;
}

/* ---- many at once ---- */

static void run_init(struct skein_cursor *cursor, struct trace_loaded *loaded)
{
    const struct skein_query *q = &cursor->query;
    loaded->run = (struct row_run){.loaded = loaded,
                                   .type_numbers = loaded->type_numbers,
                                   .thread_numbers = loaded->thread_numbers,
                                   .type_shown = loaded->type_shown,
                                   .thread_shown = loaded->thread_shown,
                                   .process = loaded->part->facts.process,
                                   .stack_base = loaded->stack_base,
                                   .kinds = q->kinds,
                                   .flags = loaded->part->facts.evidence ? SKEIN_ROW_EVIDENCE : 0,
                                   .from_ns = q->from_ns,
                                   .to_ns = q->to_ns != 0 ? q->to_ns : UINT64_MAX,
                                   .has_window = q->from_ns != 0 || q->to_ns != 0,
                                   .least_ns = cursor->least_ns};
}

int rows_project(struct skein_cursor *cursor, struct trace_loaded *loaded)
{
    const struct partition_thread *threads;
    size_t thread_count = partition_reader_threads(loaded->reader, &threads);
    if (cursor->slow)
        return SKEIN_OK;
    loaded->type_shown = calloc(loaded->type_count + 1, 1);
    loaded->thread_shown = calloc(thread_count + 1, 1);
    if (loaded->type_shown == NULL || loaded->thread_shown == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < loaded->type_count; i++) {
        const struct partition_event_type *type = &loaded->types[i];
        if (type->klass == SKEIN_CLASS_STACK || !event_type_shown(type, cursor->query.groups))
            continue;
        int wanted = type_wanted(cursor, loaded->type_numbers[i]);
        if (wanted < 0)
            return wanted;
        loaded->type_shown[i] = (uint8_t)wanted;
    }
    for (size_t i = 0; i < thread_count; i++) {
        int wanted = thread_wanted(cursor, loaded->thread_numbers[i]);
        if (wanted < 0)
            return wanted;
        loaded->thread_shown[i] = (uint8_t)wanted;
    }
    partition_reader_project(loaded->reader, &loaded->run,
                             (cursor->query.columns & SKEIN_COLUMN_ARGS) != 0,
                             cursor->query.thread != NULL ? loaded->thread_shown : NULL);
    run_init(cursor, loaded);
    return SKEIN_OK;
}

/* The columns that not every query asks for. */
static void row_put_more(struct trace_rows *rows, uint32_t i, const struct ahead_row *row)
{
    const struct lane_ahead *of = row->of;
    if (rows->type != NULL)
        rows->type[i] = row->type;
    if (rows->depth != NULL)
        rows->depth[i] = row->depth;
    if (rows->stack != NULL) {
        rows->stack[i] = row->stack != 0 ? of->run->stack_base + row->stack : 0;
        rows->stack_id[i] = row->stack;
        rows->loaded[i] = of->run->loaded;
    }
    if (rows->args != NULL) {
        struct skein_arg *to = &rows->args[(size_t)i * SKEIN_ARGS_MAX];
        const struct skein_arg *from = &of->args[(size_t)(row - of->rows) * SKEIN_ARGS_MAX];
        for (unsigned k = 0; k < row->nargs; k++)
            to[k] = from[k];
    }
}

void rows_put_ahead(struct trace_rows *rows, const struct ahead_item *items, uint32_t count)
{
    uint32_t at = rows->count;
    bool more = rows->depth != NULL || rows->stack != NULL || rows->args != NULL;
    rows->count += count;
    memset(&rows->more[at], 0xff, count * sizeof *rows->more); /* SKEIN_NONE */
    for (uint32_t i = 0; i < count; i++, at++) {
        const struct ahead_row *row = items[i].row;
        rows->kind[at] = row->kind;
        rows->flags[at] = row->flags;
        rows->process[at] = row->process;
        rows->thread[at] = row->thread;
        if (rows->time_ns != NULL) {
            rows->time_ns[at] = row->time_ns;
            rows->dur_ns[at] = row->dur_ns;
        }
        if (more)
            row_put_more(rows, at, row);
        else if (rows->type != NULL)
            rows->type[at] = row->type;
    }
}

void rows_give(const struct skein_cursor *cursor, struct skein_batch *batch)
{
    const struct trace_rows *rows = cursor->rows;
    *batch = (struct skein_batch){.count = rows->count,
                                  .kind = rows->kind,
                                  .flags = rows->flags,
                                  .process = rows->process,
                                  .thread = rows->thread,
                                  .time_ns = rows->time_ns,
                                  .dur_ns = rows->dur_ns,
                                  .type = rows->type,
                                  .depth = rows->depth,
                                  .stack = rows->stack,
                                  .args = rows->args,
                                  .more = rows->more,
                                  .mores = rows->mores};
}

const struct trace_entry *trace_cursor_entry(const struct skein_cursor *cursor, uint32_t row)
{
    return cursor->rows->loaded[row]->part->entry;
}

/* ---- stacks ---- */

int skein_cursor_stack(struct skein_cursor *cursor, uint32_t row, struct skein_frame *frames,
                       size_t most, size_t *total, uint8_t *end)
{
    const struct trace_rows *rows = cursor->rows;
    struct trace_frames walk;
    struct trace_frame frame;
    *total = 0;
    if (rows->loaded == NULL || row >= rows->count ||
        !trace_frames_begin(&walk, rows->loaded[row]->reader, rows->stack_id[row]))
        return SKEIN_NOT_FOUND;
    for (; trace_frames_next(&walk, &frame); ++*total) {
        if (*total >= most)
            continue;
        frames[*total] =
            (struct skein_frame){.address = frame.has_address ? frame.address : 0,
                                 .looked_up = frame.looked_up,
                                 .offset = frame.offset,
                                 .function = frame.function,
                                 .file = frame.file,
                                 .module = frame.mapping != NULL ? frame.mapping->path : "",
                                 .line = frame.line,
                                 .inlined = frame.inlined};
    }
    if (end != NULL)
        *end = walk.stack.end;
    return partition_reader_status(rows->loaded[row]->reader) == SKEIN_NO_MEMORY ? SKEIN_NO_MEMORY
                                                                                 : SKEIN_OK;
}
