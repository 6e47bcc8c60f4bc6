/* SPDX-License-Identifier: Apache-2.0
 *
 * The batch that the partition writer fills: room for rows, and what is known of it when it goes to
 * be packed. Owns struct batch_rows, and how deep threads are in ranges (docs/format.md F-28), which
 * decides when a batch is full. Entered by the writer's thread alone; never allocates for an event.
 */
#include "array.h"
#include "partition_writer_int.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROWS = 32 };

struct batch_rows *batch_rows_new(void)
{
    struct batch_rows *rows = malloc(sizeof *rows); /* much of it is never touched */
    if (rows != NULL) {
        rows->types = NULL;
        rows->type_count = 0;
        rows->types_made = rows->type_cap = 0;
    }
    return rows;
}

void batch_rows_free(struct batch_rows *rows)
{
    for (size_t i = 0; rows != NULL && i < rows->types_made; i++)
        free(rows->types[i].values);
    if (rows != NULL)
        free(rows->types);
    free(rows);
}

struct writer_depth *depth_at(struct partition_writer *w, uint32_t thread)
{
    while (w->depth_count <= thread) {
        if (!array_grow(w->depths, w->depth_count + 1, &w->depth_cap))
            return NULL;
        w->depths[w->depth_count++] = (struct writer_depth){0};
    }
    return &w->depths[thread];
}

/* ---- rows ---- */

/* The type takes the next code, with the memory that the code's type of a batch before had. */
static bool type_enter(struct partition_writer *w, uint32_t type)
{
    struct batch_rows *rows = w->rows;
    struct partition_fill_type *t = &w->fills[type];
    if (!array_grow(rows->types, rows->type_count + (size_t)1, &rows->type_cap))
        return false;
    struct rows_type *place = &rows->types[rows->type_count];
    if (rows->type_count == rows->types_made) {
        *place = (struct rows_type){0};
        rows->types_made++;
    }
    size_t words = (size_t)place->cap * place->columns;
    place->type = type;
    t->values = place->values;
    place->values = NULL;
    place->columns = 0;
    t->rows = 0;
    t->cap = t->columns > 0 ? (uint32_t)(words / t->columns) : UINT32_MAX;
    t->local = ++rows->type_count;
    w->batch.bytes_max += w->types[type].header_bytes;
    return true;
}

static bool rows_grow(struct partition_fill_type *t)
{
    uint32_t cap = t->cap < FIRST_ROWS ? FIRST_ROWS : t->cap * 2;
    uint64_t *values = malloc((size_t)cap * t->columns * sizeof *values);
    if (values == NULL)
        return false;
    for (unsigned c = 0; t->rows > 0 && c < t->columns; c++)
        memcpy(values + (size_t)c * cap, t->values + (size_t)c * t->cap, t->rows * sizeof *values);
    free(t->values);
    t->values = values;
    t->cap = cap;
    return true;
}

bool batch_rows_room(struct partition_writer *w, uint32_t type)
{
    struct partition_fill_type *t = &w->fills[type];
    if ((t->local != 0 || type_enter(w, type)) && (t->rows < t->cap || rows_grow(t)))
        return true;
    writer_fail(w, SKEIN_NO_MEMORY);
    return false;
}

bool partition_writer_fill(struct partition_writer *w, struct partition_fill *fill)
{
    const struct writer_batch *b = &w->batch;
    if (!b->active || b->events == 0 || w->status != SKEIN_OK || !batch_has_room(b, RECORD_BYTES))
        return false;
    *fill = (struct partition_fill){.types = w->fills,
                                    .codes = w->rows->codes,
                                    .times = w->rows->times,
                                    .events = b->events,
                                    .events_max = WRITER_BATCH_EVENTS,
                                    .bytes_left = BATCH_BYTES_MAX - b->bytes_max,
                                    .last = b->last,
                                    .since = b->since};
    return true;
}

void partition_writer_filled(struct partition_writer *w, const struct partition_fill *fill)
{
    struct writer_batch *b = &w->batch;
    if (fill->events == b->events)
        return;
    b->events = fill->events;
    b->bytes_max = BATCH_BYTES_MAX - fill->bytes_left;
    b->last = fill->last;
    b->since = fill->since;
    b->fresh = false;
    b->bare = true;
}

/* ---- a full batch ---- */

static bool types_hand_over(struct partition_writer *w)
{
    struct batch_rows *rows = w->rows;
    bool begins = false;
    rows->sequences = 0;
    for (uint32_t i = 0; i < rows->type_count; i++) {
        struct rows_type *place = &rows->types[i];
        struct writer_type *t = &w->types[place->type];
        struct partition_fill_type *fill = &w->fills[place->type];
        place->rows = fill->rows;
        place->cap = fill->cap;
        place->columns = fill->columns;
        memcpy(place->column_types, t->column_types, sizeof place->column_types);
        place->begins = t->klass == SKEIN_CLASS_RANGE_BEGIN;
        place->values = fill->values;
        begins = begins || place->begins;
        fill->values = NULL;
        fill->local = 0;
        t->events += fill->rows;
        rows->sequences += (uint64_t)t->sequences * fill->rows;
    }
    return begins;
}

/* Finds the records that end what is open already, and those whose ranges stay open: a stack. */
static void ranges_pair(struct batch_rows *rows)
{
    int8_t step[WRITER_BATCH_EVENTS + 2];
    uint32_t depth = 0, ends = 0;
    step[0] = -1;
    for (uint32_t i = 0; i < rows->type_count; i++)
        step[i + 1] = rows->types[i].begins;
    for (uint32_t i = 0; i < rows->events; i++) {
        rows->begins[depth] = (uint16_t)i;
        depth = (uint32_t)((int32_t)depth + step[rows->codes[i]]);
        if (__builtin_expect(depth == UINT32_MAX, 0)) {
            rows->ends[ends++] = (uint16_t)i;
            depth = 0;
        }
    }
    rows->begin_count = depth;
    rows->end_count = ends;
}

/* F-28: what the thread has open behind the batch. */
static void ranges_count(struct partition_writer *w, struct writer_depth *d, bool begins)
{
    const struct writer_batch *b = &w->batch;
    struct batch_rows *rows = w->rows;
    if (b->opens > 0 || !d->has_sequence || b->sequence - d->last_sequence > 1)
        d->open = b->opens;
    d->has_sequence = true;
    d->last_sequence = b->last_sequence;
    rows->begin_count = rows->end_count = 0;
    if (!begins && d->open == 0)
        return;
    ranges_pair(rows);
    d->open -= d->open < rows->end_count ? d->open : rows->end_count;
    d->open += rows->begin_count;
}

void batch_flush(struct partition_writer *w)
{
    struct writer_batch *b = &w->batch;
    if (b->active && (b->events > 0 || b->opens > 0) && w->status == SKEIN_OK) {
        struct batch_rows *rows = w->rows;
        if (b->events == 0)
            b->base = b->last = rows->opens_listed[b->opens - 1].since_ticks;
        rows->thread = b->thread;
        rows->late = b->late;
        rows->generation = b->generation;
        rows->sequence = b->sequence;
        rows->last_sequence = b->last_sequence;
        rows->base = b->base;
        rows->last = b->last;
        rows->since = b->since;
        rows->events = b->events;
        rows->opens = b->opens;
        bool begins = types_hand_over(w);
        struct writer_depth *d = depth_at(w, b->thread);
        if (d == NULL) {
            writer_fail(w, SKEIN_NO_MEMORY);
        } else {
            ranges_count(w, d, begins);
            batch_pack(&w->pack, rows);
            writer_fail(w, w->pack.status);
        }
    }
    w->rows->type_count = 0;
    *b = (struct writer_batch){0};
}
