/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of a trace or of one of its processes, filled step by step so that a worker stays able to
 * answer, and what is to be drawn of them as columns. Owns the cursor of the walk. One thread.
 *
 * Arguments are unpacked for counters and logs alone: two walks, the second without regions, and only
 * where there are such types.
 */
#include <stdlib.h>
#include <string.h>

#include "lanes.h"
#include "trace_api_int.h"

#define SPANS                                                                                      \
    (1u << SKEIN_ROW_REGION | 1u << SKEIN_ROW_INSTANT | 1u << SKEIN_ROW_OPEN |                     \
     1u << SKEIN_ROW_LOSS | 1u << SKEIN_ROW_END_ONLY)
#define VALUES      (1u << SKEIN_ROW_COUNTER | 1u << SKEIN_ROW_LOG)
#define COLUMNS     (SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_DEPTH)
#define VIEW_PIXELS 16384u

struct api_lanes {
    struct api_trace *t;
    struct lanes *lanes;
    struct skein_cursor *cursor; /* NULL: the walk is over */
    struct skein_query query;
    uint32_t process; /* SKEIN_NONE: all */
    bool values;      /* the second walk */
    int status;       /* below 0: for good */
    struct buf gaps;  /* of both walks, as JSON */
};

static const struct skein_event_type *type_of(const void *context, uint32_t type)
{
    return skein_trace_type(context, type);
}

static bool process_shown(void *context, const struct skein_process *process)
{
    const struct api_lanes *l = context;
    return l->process == SKEIN_NONE || process == skein_trace_process(l->t->trace, l->process);
}

static bool has_values(void *context, const struct skein_event_type *type)
{
    (void)context;
    return type->klass == SKEIN_CLASS_COUNTER || type->klass == SKEIN_CLASS_LOG;
}

static bool any_values(const struct skein_trace *trace)
{
    for (uint32_t i = 0; i < skein_trace_type_count(trace); i++)
        if (has_values(NULL, skein_trace_type(trace, i)))
            return true;
    return false;
}

static int walk_begin(struct api_lanes *l, uint32_t kinds, uint32_t columns)
{
    l->query.kinds = kinds;
    l->query.columns = columns;
    return skein_cursor_new(l->t->trace, &l->query, &l->cursor);
}

struct api_lanes *api_lanes_new(struct api_trace *t, uint32_t process, double from, double to,
                                size_t most_bytes)
{
    struct api_lanes *l = calloc(1, sizeof *l);
    struct lanes_options options = {.from_ns = t->from_ns,
                                    .to_ns = t->to_ns,
                                    .most_bytes = most_bytes,
                                    .type = type_of,
                                    .context = t->trace};
    api_begin();
    if (l == NULL)
        return NULL;
    l->t = t;
    l->process = process;
    l->query = (struct skein_query){.size = sizeof l->query,
                                    .from_ns = api_time(t, from),
                                    .to_ns = api_time(t, to),
                                    .process = process_shown,
                                    .context = l};
    int status = lanes_new(&options, &l->lanes);
    if (status == SKEIN_OK)
        status = walk_begin(l, SPANS, COLUMNS);
    if (status != SKEIN_OK)
        api_lanes_free(l);
    return status == SKEIN_OK ? l : NULL;
}

void api_lanes_free(struct api_lanes *l)
{
    if (l == NULL)
        return;
    skein_cursor_free(&l->cursor);
    lanes_free(&l->lanes);
    buf_fini(&l->gaps);
    free(l);
}

/* Its losses are those of the first walk. */
static int values_add(struct lanes *lanes, struct skein_batch *batch)
{
    uint32_t kept = 0;
    for (; kept < batch->count && batch->kind[kept] != SKEIN_ROW_LOSS; kept++)
        ;
    if (kept == batch->count)
        return lanes_add(lanes, batch);
    int status = SKEIN_OK;
    for (uint32_t i = 0; i < batch->count && status == SKEIN_OK; i++) {
        struct skein_batch one = *batch;
        if (batch->kind[i] == SKEIN_ROW_LOSS)
            continue;
        one.count = 1;
        one.kind += i;
        one.flags += i;
        one.process += i;
        one.thread += i;
        one.time_ns += i;
        one.dur_ns += i;
        one.type += i;
        one.depth += one.depth != NULL ? i : 0;
        one.args = skein_batch_args(batch, i);
        one.more += i;
        status = lanes_add(lanes, &one);
    }
    return status;
}

/* At the end of a walk. 1: another one has begun. */
static int walk_end(struct api_lanes *l)
{
    const struct skein_gap *gaps;
    size_t count = skein_cursor_gaps(l->cursor, &gaps);
    int status = SKEIN_OK;
    if (!l->values) {
        status = lanes_add_gaps(l->lanes, gaps, count);
        api_put_gaps(&l->gaps, l->t, gaps, count);
    }
    skein_cursor_free(&l->cursor);
    if (status != SKEIN_OK)
        return status;
    if (l->gaps.status != SKEIN_OK)
        return l->gaps.status;
    if (l->values || !any_values(l->t->trace))
        return lanes_settle(l->lanes);
    l->values = true;
    l->query.type = has_values;
    status = walk_begin(l, VALUES, COLUMNS | SKEIN_COLUMN_ARGS);
    return status == SKEIN_OK ? 1 : status;
}

int api_lanes_step(struct api_lanes *l, uint32_t batches)
{
    struct skein_batch batch;
    int status = l->status < 0 ? l->status : l->cursor != NULL;
    api_begin();
    for (uint32_t i = 0; i < batches && status == 1; i++) {
        status = skein_cursor_next(l->cursor, &batch);
        if (status == 1) {
            int added = l->values ? values_add(l->lanes, &batch) : lanes_add(l->lanes, &batch);
            status = added == SKEIN_OK ? 1 : added;
        } else if (status == 0) {
            status = walk_end(l);
        }
    }
    if (status < 0) {
        skein_cursor_free(&l->cursor);
        l->status = status;
    }
    return status;
}

double api_lanes_rows(const struct api_lanes *l)
{
    struct lanes_totals totals;
    lanes_totals(l->lanes, &totals);
    return (double)totals.rows;
}

/* ---- the list ---- */

static void wasm_lane_put(struct buf *b, const struct lane *lane)
{
    api_open(b, NULL, '{');
    api_put_u64(b, "process", lane->process);
    if (lane->thread != SKEIN_NONE)
        api_put_u64(b, "thread", lane->thread);
    api_put_u64(b, "kind", lane->kind);
    api_put_u64(b, "number", lane->number);
    api_put_u64(b, "layer", lane->layer);
    api_put_bool(b, "evidence", lane->evidence);
    api_put_u64(b, "rows", lane->rows);
    api_put_bool(b, "has_rows", lane->has_rows);
    api_put_real(b, "cell", (double)lane->cell_ns);
    api_put_real(b, "busy", (double)lane->busy_ns);
    api_put_real(b, "longest", lane->longest_ns);
    api_put_real(b, "least", lane->least);
    api_put_real(b, "most", lane->most);
    api_put_real(b, "from", (double)lane->from_ns);
    api_put_real(b, "to", (double)lane->to_ns);
    api_close(b, '}');
}

static void wasm_totals_put(struct buf *b, const struct lanes_totals *totals)
{
    api_open(b, "totals", '{');
    api_put_u64(b, "rows", totals->rows);
    api_put_u64(b, "outside", totals->outside);
    api_put_u64(b, "left_out", totals->left_out);
    api_put_u64(b, "crowded", totals->crowded);
    api_put_u64(b, "no_number", totals->no_number);
    api_put_u64(b, "evidence", totals->evidence);
    api_put_u64(b, "ends", totals->ends);
    api_put_u64(b, "pyramids", totals->pyramids);
    api_put_u64(b, "bytes", totals->bytes);
    api_close(b, '}');
}

int api_lanes_list(struct api_lanes *l)
{
    struct buf *b = api_begin();
    struct lanes_totals totals;
    int status = lanes_settle(l->lanes);
    api_open(b, NULL, '{');
    api_open(b, "lanes", '[');
    for (size_t i = 0; status == SKEIN_OK && i < lanes_count(l->lanes); i++)
        wasm_lane_put(b, lanes_at(l->lanes, i));
    api_close(b, ']');
    lanes_totals(l->lanes, &totals);
    wasm_totals_put(b, &totals);
    api_key(b, NULL);
    if (l->gaps.len > 0)
        buf_put(b, l->gaps.data, l->gaps.len);
    else
        buf_printf(b, "\"gaps\":[]");
    api_close(b, '}');
    return api_end(status);
}

/* ---- views ---- */

struct view_columns {
    uint32_t *first;
    double *from, *to;
    float *longest, *share, *least, *most, *last;
    uint32_t *type;
    uint8_t *severity, *row;
};

/* Where the columns of `count` items stand in the answer. */
static bool columns_place(struct buf *b, uint32_t lanes, size_t count, struct view_columns *c)
{
    size_t head = ((size_t)lanes + 2) / 2 * 8; /* lanes + 1 numbers, padded */
    size_t bytes = head + count * (2 * sizeof(double) + 5 * sizeof(float) + 4 + 2);
    uint8_t *at = buf_reserve(b, bytes);
    if (at == NULL)
        return false;
    b->len = bytes;
    memset(at, 0, head);
    c->first = (uint32_t *)(void *)at;
    c->from = (double *)(void *)(at + head);
    c->to = c->from + count;
    c->longest = (float *)(void *)(c->to + count);
    c->share = c->longest + count;
    c->least = c->share + count;
    c->most = c->least + count;
    c->last = c->most + count;
    c->type = (uint32_t *)(void *)(c->last + count);
    c->severity = (uint8_t *)(c->type + count);
    c->row = c->severity + count;
    return true;
}

static void column_put(const struct view_columns *c, size_t at, const struct lanes_item *item)
{
    c->from[at] = item->from_ns;
    c->to[at] = item->to_ns;
    c->longest[at] = (float)item->longest_ns;
    c->share[at] = (float)item->share;
    c->least[at] = (float)item->least;
    c->most[at] = (float)item->most;
    c->last[at] = (float)item->last;
    c->type[at] = item->type;
    c->severity[at] = (uint8_t)item->severity;
    c->row[at] = item->row;
}

int api_lanes_view(const struct api_lanes *l, const uint32_t *lanes, uint32_t count, double from,
                   double to, uint32_t pixels)
{
    struct buf *b = api_begin(), items = {0};
    struct view_columns columns = {0};
    size_t have = 0, there = lanes_count(l->lanes);
    size_t *ends = malloc(((size_t)count + 1) * sizeof *ends);
    uint64_t from_ns = from > 0 ? (uint64_t)from : 0;
    uint64_t to_ns = to < 1.8e19 ? (uint64_t)to : UINT64_MAX;
    int status = ends == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    pixels = !(to > from) || to <= 0 ? 0 : pixels < VIEW_PIXELS ? pixels : VIEW_PIXELS;
    for (uint32_t i = 0; i < count && status == SKEIN_OK; i++) {
        struct lanes_item *at = (void *)buf_reserve(&items, pixels * sizeof *at);
        if (at != NULL && lanes[i] < there)
            have += lanes_view(l->lanes, lanes[i], from_ns, to_ns, pixels, at);
        items.len = have * sizeof *at;
        ends[i] = have;
        status = items.status;
    }
    if (status == SKEIN_OK && !columns_place(b, count, have, &columns))
        status = SKEIN_NO_MEMORY;
    for (uint32_t i = 0; i < count && status == SKEIN_OK; i++)
        columns.first[i + 1] = (uint32_t)ends[i];
    for (size_t i = 0; i < have && status == SKEIN_OK; i++)
        column_put(&columns, i, (const struct lanes_item *)(const void *)items.data + i);
    buf_fini(&items);
    free(ends);
    return api_end(status == SKEIN_OK ? (int)have : status);
}
