/* SPDX-License-Identifier: Apache-2.0
 *
 * One event: the row that fits best, with its arguments, its stack, what encloses it and what is
 * inside of it. Depths are told by times (region_nest.h), as in lanes. Three walks: over the regions
 * that touch its begin, for their depths; over all that touches it; then over its time. One thread.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "array.h"
#include "json.h"
#include "partition.h"
#include "region_nest.h"
#include "row_args.h"
#include "trace_api_int.h"

#define FRAMES_MAX     256
#define ENCLOSING_MAX  256
#define INSIDE_MAX     50
#define INSIDE_BATCHES 256   /* a million rows */
#define TOUCHING_MOST  65536 /* regions of a thread at one time */
#define ROOTS_MOST     65536 /* that are not known to lie in each other */

struct wanted {
    const struct api_trace *t;
    uint32_t process, tid, depth;
    double begin, length;
};

/* A region of the same thread. */
struct near_row {
    uint32_t type, depth;
    uint64_t time_ns, dur_ns;
};

#define DEPTH_MISSES 1e15 /* ns: any row of the depth that is meant comes before those of others */

struct near_list {
    struct near_row rows[ENCLOSING_MAX];
    size_t count, most;
    uint64_t left_out;
};

struct finding {
    struct wanted wanted;
    struct skein_cursor *cursor;
    double missed;       /* of the best row so far; below 0: there is none */
    struct buf best;     /* its members, as JSON */
    struct near_row row; /* the best itself */
    bool is_region;
    struct region_row *touching; /* with their depths; then what is inside, one behind the other */
    size_t touching_count, touching_cap;
    struct near_list around, inside;
    struct skein_frame frames[FRAMES_MAX];
};

static bool process_is(void *context, const struct skein_process *process)
{
    const struct wanted *w = context;
    return process == skein_trace_process(w->t->trace, w->process);
}

static bool thread_is(void *context, const struct skein_thread *thread)
{
    return thread->tid == ((const struct wanted *)context)->tid;
}

static bool is_region(uint8_t kind)
{
    return kind == SKEIN_ROW_REGION || kind == SKEIN_ROW_OPEN;
}

/* A region that lanes show: of a thread, and not told by the agent. */
static bool is_nested(const struct skein_batch *b, uint32_t i)
{
    return is_region(b->kind[i]) && b->thread[i] != SKEIN_NONE && b->type[i] != SKEIN_NONE &&
           (b->flags[i] & SKEIN_ROW_EVIDENCE) == 0;
}

static struct region_row region_of(const struct skein_batch *b, uint32_t i)
{
    uint64_t begin = b->time_ns[i], length = b->dur_ns[i];
    uint64_t end = length > UINT64_MAX - begin ? UINT64_MAX : begin + length;
    return (struct region_row){begin, end, b->type[i], b->depth[i]};
}

static bool region_put(struct finding *f, const struct region_row *region)
{
    if (!array_grow(f->touching, f->touching_count + 1, &f->touching_cap))
        return false;
    f->touching[f->touching_count++] = *region;
    return true;
}

static int batch_touching(struct finding *f, const struct skein_batch *b)
{
    for (uint32_t i = 0; i < b->count && f->touching_count < TOUCHING_MOST; i++) {
        struct region_row region = region_of(b, i);
        if (is_nested(b, i) && !region_put(f, &region))
            return SKEIN_NO_MEMORY;
    }
    return SKEIN_OK;
}

/* Equal ones but for their depths lie together, so that they are found without looking at all. */
static int touching_order(const void *a, const void *b)
{
    const struct region_row *x = a, *y = b;
    if (x->begin_ns != y->begin_ns)
        return x->begin_ns < y->begin_ns ? -1 : 1;
    if (x->end_ns != y->end_ns)
        return x->end_ns < y->end_ns ? -1 : 1;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* Of those that are equal to `row` the deepest that is not deeper; NULL: there is none. */
static const struct region_row *touching_at(const struct finding *f, const struct region_row *row)
{
    size_t low = 0, high = f->touching_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (touching_order(&f->touching[middle], row) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    const struct region_row *one = low > 0 ? &f->touching[low - 1] : NULL;
    bool same = one != NULL && one->begin_ns == row->begin_ns && one->end_ns == row->end_ns &&
                one->type == row->type;
    return same ? one : NULL;
}

/* By times, where they are known; else as the reader has it. Of equal ones that which is meant, or the
 * deepest. */
static uint32_t depth_of(const struct finding *f, const struct skein_batch *b, uint32_t i)
{
    struct region_row row = region_of(b, i);
    const uint32_t told = row.depth;
    if (!is_nested(b, i))
        return told;
    row.depth = f->wanted.depth;
    const struct region_row *found = touching_at(f, &row);
    if (found != NULL && found->depth == f->wanted.depth)
        return found->depth;
    row.depth = UINT32_MAX;
    found = touching_at(f, &row);
    return found != NULL ? found->depth : told;
}

/* By how much a row from `begin`, so long, is not the one that is meant. Lengths come from lanes as
 * short floats. */
static double stretch_misses(const struct wanted *w, double begin, double length)
{
    double off = fabs(begin - w->begin), longer = fabs(length - w->length);
    if (off > 1)
        return (double)INFINITY;
    return off + (longer > w->length * 1e-6 ? longer : longer * 1e-6);
}

/* The same of a row, or of its part in the window, which is what lanes show; infinite: not at all. */
static double row_misses(const struct wanted *w, const struct skein_batch *b, uint32_t i,
                         uint32_t depth)
{
    double begin = api_since(w->t, b->time_ns[i]), length = (double)b->dur_ns[i];
    double last = api_since(w->t, w->t->to_ns);
    double from = begin > 0 ? begin : 0, to = begin + length < last ? begin + length : last;
    bool of_thread = b->thread[i] != SKEIN_NONE;
    if (of_thread != (w->tid != 0))
        return (double)INFINITY;
    double whole = stretch_misses(w, begin, length);
    double part = to >= from ? stretch_misses(w, from, to - from) : whole;
    double least = whole < part ? whole : part;
    /* Who made the link may not have known how deep it lies: then the length tells. */
    if (depth != w->depth)
        return least > 1 + w->length * 2e-6 ? (double)INFINITY : DEPTH_MISSES + least;
    return least;
}

/* ---- the event itself ---- */

static void wasm_number_put(struct buf *b, double v)
{
    if (isfinite(v))
        api_put_real(b, "value", v);
    else
        api_put_text(b, "value", isnan(v) ? "not a number" : v > 0 ? "infinite" : "-infinite");
}

static void wasm_value_put(struct buf *b, uint8_t type, const struct skein_arg *arg)
{
    switch (type) {
    case SKEIN_T_STR:
        api_key(b, "value");
        json_put_text(b, arg->text, arg->len);
        api_put_bool(b, "cut", arg->cut);
        return;
    case SKEIN_T_I64:
        api_key(b, "value");
        buf_printf(b, "\"%" PRId64 "\"", arg->i64);
        break;
    case SKEIN_T_F64:
        wasm_number_put(b, arg->f64);
        return;
    case SKEIN_T_BOOL:
        api_put_bool(b, "value", arg->u64 != 0);
        return;
    default:
        api_key(b, "value");
        buf_printf(b, "\"%" PRIu64 "\"", arg->u64);
        break;
    }
    api_put_bool(b, "whole", true); /* a whole number of 64 bits, as text */
}

static void wasm_args_put(struct buf *b, const struct row_args *args)
{
    api_open(b, "args", '[');
    for (unsigned i = 0; i < args->count; i++) {
        api_open(b, NULL, '{');
        api_put_text(b, "name", args->types[i].name);
        api_put_text(b, "unit", args->types[i].unit);
        api_put_u64(b, "type", args->types[i].type);
        wasm_value_put(b, args->types[i].type, &args->values[i]);
        api_close(b, '}');
    }
    api_close(b, ']');
}

static void wasm_frame_put(struct buf *b, const struct skein_frame *frame)
{
    api_open(b, NULL, '{');
    api_put_text(b, "function", frame->function);
    api_put_text(b, "file", frame->file);
    api_put_u64(b, "line", frame->line);
    api_put_text(b, "module", frame->module);
    api_key(b, "address");
    buf_printf(b, "\"0x%" PRIx64 "\"", frame->address);
    api_put_bool(b, "inlined", frame->inlined);
    api_close(b, '}');
}

static int wasm_stack_put(struct finding *f, uint32_t row)
{
    size_t total = 0;
    uint8_t end = 0;
    int status = skein_cursor_stack(f->cursor, row, f->frames, FRAMES_MAX, &total, &end);
    bool has = status == SKEIN_OK && total > 0;
    size_t shown = total < FRAMES_MAX ? total : FRAMES_MAX;
    if (status == SKEIN_NO_MEMORY)
        return status;
    api_open(&f->best, "frames", '[');
    for (size_t i = 0; has && i < shown; i++)
        wasm_frame_put(&f->best, &f->frames[i]);
    api_close(&f->best, ']');
    api_put_u64(&f->best, "frames_left_out", has ? total - shown : 0);
    api_put_text(&f->best, "stack_end", has ? partition_stack_end_text(end) : "");
    return SKEIN_OK;
}

static int best_put(struct finding *f, const struct skein_batch *b, uint32_t i, uint32_t depth)
{
    struct buf *out = &f->best;
    const struct skein_event_type *type = skein_trace_type(f->wanted.t->trace, b->type[i]);
    const struct skein_row_more *more = b->more[i] != SKEIN_NONE ? &b->mores[b->more[i]] : NULL;
    struct row_args args;
    buf_clear(out);
    f->row = (struct near_row){b->type[i], depth, b->time_ns[i], b->dur_ns[i]};
    f->is_region = is_region(b->kind[i]);
    buf_put_u8(out, '{');
    api_put_u64(out, "kind", b->kind[i]);
    api_put_u64(out, "flags", b->flags[i]);
    api_put_u64(out, "depth", depth);
    api_put_real(out, "begin", api_since(f->wanted.t, b->time_ns[i]));
    api_put_real(out, "length", (double)b->dur_ns[i]);
    if (b->type[i] != SKEIN_NONE)
        api_put_u64(out, "type", b->type[i]);
    if (b->thread[i] != SKEIN_NONE)
        api_put_u64(out, "thread", b->thread[i]);
    if (b->kind[i] == SKEIN_ROW_LOSS && more != NULL) {
        api_put_text(out, "loss_reason", skein_loss_text(more->loss_reason));
        api_put_u64(out, "lost", more->lost);
    }
    row_args_get(b, i, type, &args);
    wasm_args_put(out, &args);
    return wasm_stack_put(f, i);
}

/* ---- what is around it and inside ---- */

/* Keeps the longest, where there is no room for all. */
static void near_put(struct near_list *list, const struct region_row *region, uint32_t depth)
{
    struct near_row row = {region->type, depth, region->begin_ns,
                           region->end_ns - region->begin_ns};
    size_t least = 0;
    if (list->count < list->most) {
        list->rows[list->count++] = row;
        return;
    }
    list->left_out++;
    for (size_t k = 1; k < list->count; k++)
        if (list->rows[k].dur_ns < list->rows[least].dur_ns)
            least = k;
    if (list->rows[least].dur_ns < row.dur_ns)
        list->rows[least] = row;
}

static int depth_order(const void *a, const void *b)
{
    const struct near_row *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    return (x->time_ns > y->time_ns) - (x->time_ns < y->time_ns);
}

static void near_json(struct finding *f, const char *key, struct near_list *list)
{
    struct buf *b = &f->best;
    qsort(list->rows, list->count, sizeof *list->rows, depth_order);
    api_open(b, key, '[');
    for (size_t i = 0; i < list->count; i++) {
        const struct near_row *row = &list->rows[i];
        api_open(b, NULL, '{');
        api_put_u64(b, "type", row->type);
        api_put_u64(b, "depth", row->depth);
        api_put_real(b, "begin", api_since(f->wanted.t, row->time_ns));
        api_put_real(b, "length", (double)row->dur_ns);
        api_close(b, '}');
    }
    api_close(b, ']');
}

static int batch_find(struct finding *f, const struct skein_batch *b)
{
    int status = SKEIN_OK;
    for (uint32_t i = 0; i < b->count && status == SKEIN_OK; i++) {
        uint32_t depth = depth_of(f, b, i);
        double missed = row_misses(&f->wanted, b, i, depth);
        if (isfinite(missed) && (f->missed < 0 || missed < f->missed)) {
            f->missed = missed;
            status = best_put(f, b, i, depth);
        }
    }
    return status;
}

/* What holds the best: a region less deep; of an instant, all that has not ended. */
static void around_find(struct finding *f)
{
    const struct near_row *row = &f->row;
    uint64_t end_ns = row->time_ns + row->dur_ns;
    for (size_t i = 0; i < f->touching_count && f->wanted.tid != 0; i++) {
        const struct region_row *one = &f->touching[i];
        bool outer = f->is_region ? one->depth < row->depth : one->end_ns > row->time_ns;
        if (outer && one->begin_ns <= row->time_ns && one->end_ns >= end_ns)
            near_put(&f->around, one, one->depth);
    }
}

static bool row_holds(const struct region_row *a, const struct region_row *b)
{
    return a->begin_ns <= b->begin_ns && a->end_ns >= b->end_ns && a->end_ns > b->begin_ns;
}

static void roots_take(struct finding *f)
{
    for (size_t i = 0; i < f->touching_count; i++)
        near_put(&f->inside, &f->touching[i], f->row.depth + 1);
    f->touching_count = 0;
}

/* Regions come when they end: what lies in the new one is taken back. */
static int root_put(struct finding *f, const struct region_row *region)
{
    const struct region_row *roots = f->touching;
    while (f->touching_count > 0 && row_holds(region, &roots[f->touching_count - 1]))
        f->touching_count--;
    if (f->touching_count > 0 && row_holds(&roots[f->touching_count - 1], region))
        return SKEIN_OK; /* in progress both: the outer came first */
    if (f->touching_count == ROOTS_MOST)
        roots_take(f);
    return region_put(f, region) ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static int batch_inside(struct finding *f, const struct skein_batch *b)
{
    const struct near_row *row = &f->row;
    const struct region_row best = {row->time_ns, row->time_ns + row->dur_ns, row->type, 0};
    int status = SKEIN_OK;
    for (uint32_t i = 0; i < b->count && status == SKEIN_OK; i++) {
        const struct region_row region = region_of(b, i);
        bool same = region.begin_ns == best.begin_ns && region.end_ns == best.end_ns;
        if (is_nested(b, i) && !same && row_holds(&best, &region))
            status = root_put(f, &region);
    }
    return status;
}

/* ---- the walks ---- */

/* 1: there was more than that. */
static int walk(struct finding *f, uint64_t from_ns, uint64_t to_ns, uint32_t columns,
                unsigned batches, int (*take)(struct finding *f, const struct skein_batch *b))
{
    struct skein_query query = {.size = sizeof query,
                                .columns = columns,
                                .from_ns = from_ns,
                                .to_ns = to_ns,
                                .process = process_is,
                                .thread = thread_is,
                                .context = &f->wanted};
    struct skein_batch batch;
    int status = skein_cursor_new(f->wanted.t->trace, &query, &f->cursor);
    int next = status == SKEIN_OK;
    for (unsigned i = 0; i < batches && next == 1; i++) {
        next = skein_cursor_next(f->cursor, &batch);
        status = next == 1 ? take(f, &batch) : next;
        next = status == SKEIN_OK ? next : status;
    }
    skein_cursor_free(&f->cursor);
    return status < 0 ? status : next;
}

/* Those that fill all of it stand beside it by their times, and below it by their depths. */
static int inside_find(struct finding *f)
{
    const struct near_row *row = &f->row;
    const uint64_t end = row->time_ns + row->dur_ns;
    bool filled = false;
    if (!f->is_region || end < row->time_ns)
        return SKEIN_OK;
    for (size_t i = 0; i < f->touching_count && !filled; i++) {
        const struct region_row *one = &f->touching[i];
        filled =
            one->begin_ns == row->time_ns && one->end_ns == end && one->depth == row->depth + 1;
        if (filled)
            near_put(&f->inside, one, one->depth);
    }
    f->touching_count = 0;
    if (filled)
        return SKEIN_OK;
    int status =
        walk(f, row->time_ns, end, SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_DEPTH,
             INSIDE_BATCHES, batch_inside);
    roots_take(f);
    if (status >= 0)
        api_put_bool(&f->best, "inside_cut", status == 1);
    return status < 0 ? status : SKEIN_OK;
}

static int details_make(struct finding *f)
{
    uint64_t at = api_time(f->wanted.t, f->wanted.begin);
    int status = walk(f, at, at + 1, SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE | SKEIN_COLUMN_DEPTH,
                      UINT32_MAX, batch_touching);
    region_sort(f->touching, f->touching_count);
    region_nest(f->touching, f->touching_count);
    if (f->touching_count > 1)
        qsort(f->touching, f->touching_count, sizeof *f->touching, touching_order);
    if (status == SKEIN_OK)
        status = walk(f, at, at + 1, SKEIN_COLUMN_ALL, UINT32_MAX, batch_find);
    if (status == SKEIN_OK && f->missed < 0)
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK) {
        around_find(f);
        status = inside_find(f);
    }
    if (status != SKEIN_OK)
        return status;
    near_json(f, "enclosing", &f->around);
    near_json(f, "inside", &f->inside);
    api_put_u64(&f->best, "inside_left_out", f->inside.left_out);
    buf_put_u8(&f->best, '}');
    return f->best.status;
}

int api_details(struct api_trace *t, uint32_t process, uint32_t tid, double begin, double length,
                uint32_t depth)
{
    struct buf *b = api_begin();
    struct finding *f = calloc(1, sizeof *f);
    if (f == NULL)
        return SKEIN_NO_MEMORY;
    f->wanted = (struct wanted){t, process, tid, depth, begin, length};
    f->missed = -1;
    f->around.most = ENCLOSING_MAX;
    f->inside.most = INSIDE_MAX;
    int status = details_make(f);
    if (status == SKEIN_OK)
        buf_put(b, f->best.data, f->best.len);
    buf_fini(&f->best);
    free(f->touching);
    free(f);
    return api_end(status);
}
