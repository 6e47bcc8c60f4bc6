/* SPDX-License-Identifier: Apache-2.0
 *
 * What is to be drawn of a lane between two times on so many pixels: rows, or cells of the level that
 * fits. Pure: reads lanes that are settled, and allocates nothing.
 */
#include "array.h"
#include "lanes_int.h"

struct view {
    const struct lane_own *own;
    struct lanes_item *items;
    size_t count, most;
    struct cell open; /* to which the next may still be joined */
    bool has_open;
    unsigned shift;
};

/* ---- rows ---- */

static double row_end(const struct lane_own *own, size_t i)
{
    bool spans = !lane_is_points(own->lane.kind);
    const struct lane_row *row = &own->rows[i];
    double end = row->begin + (spans ? (double)row->length : 0);
    /* Its length is rounded; the next row knows better. */
    if (spans && i + 1 < own->row_count && end > own->rows[i + 1].begin)
        end = own->rows[i + 1].begin;
    return end;
}

/* Rows that touch what is from `from` up to `to`: from *low up to *high. */
static void rows_find(const struct lane_own *own, uint64_t from, uint64_t to, size_t *low,
                      size_t *high)
{
    size_t at = 0;
    array_find(at, 0, own->row_count, own->rows[at].begin < (double)from);
    *low = at > 0 && row_end(own, at - 1) > (double)from ? at - 1 : at;
    array_find(at, at, own->row_count, own->rows[at].begin < (double)to);
    *high = at;
}

static struct lanes_item row_item(const struct lane_own *own, size_t i)
{
    const struct lane_row *row = &own->rows[i];
    struct lanes_item item = {
        .from_ns = row->begin, .to_ns = row_end(own, i), .share = 1, .row = true};
    if (own->lane.kind == LANE_COUNTER) {
        item.least = item.most = item.last = row->value;
        return item;
    }
    item.type = row->type;
    if (lane_is_points(own->lane.kind))
        item.severity = (uint32_t)row->length;
    else
        item.longest_ns = row->length;
    return item;
}

/* ---- cells ---- */

static void view_emit(struct view *view)
{
    const struct cell *cell = &view->open;
    enum lane_kind kind = view->own->lane.kind;
    double width = (double)(UINT64_C(1) << view->shift);
    uint32_t cells = kind == LANE_COUNTER ? 1 : cell->count;
    struct lanes_item item = {.from_ns = cell->first * width,
                              .to_ns = ((double)cell->first + cells) * width};
    if (!view->has_open || view->count == view->most)
        return;
    if (kind == LANE_COUNTER) {
        item.least = cell->least;
        item.most = cell->most;
        item.last = cell->last;
        item.share = 1;
    } else if (lane_is_points(kind)) {
        item.share = cell->busy;
        item.severity = (uint32_t)cell->longest;
        item.type = cell->type;
    } else {
        item.share = cell->busy < width ? cell->busy / width : 1;
        item.longest_ns = cell->longest;
        item.type = cell->type;
    }
    view->items[view->count++] = item;
}

static bool view_take(void *context, const struct cell *cell)
{
    struct view *view = context;
    struct cell next = *cell;
    if (view->has_open && cell_join(&view->open, &next, view->own->lane.kind, view->shift))
        return true;
    view_emit(view);
    view->open = next;
    view->has_open = true;
    return true;
}

static void view_cells(struct view *view, uint32_t from, uint32_t to)
{
    const struct cells *cells = &view->own->base;
    for (size_t i = 0; i < view->own->level_count; i++)
        if (view->own->levels[i].shift <= view->shift)
            cells = &view->own->levels[i];
    cells_widen(cells, view->shift - cells->shift, from, to, view->own->lane.kind, view_take, view);
    view_emit(view);
}

/* Narrower cells than the finest: of the rows themselves. */
static void view_rows(struct view *view, uint64_t from, uint64_t to)
{
    const struct lane_own *own = view->own;
    size_t low, high;
    rows_find(own, from, to, &low, &high);
    for (size_t i = low; i < high; i++) {
        uint64_t begin = (uint64_t)own->rows[i].begin, end = (uint64_t)row_end(own, i);
        begin = begin < from ? from : begin;
        end = end > to ? to : end;
        cells_of_row(begin, end < begin ? begin : end, &own->rows[i], own->lane.kind, view->shift,
                     view_take, view);
    }
    view_emit(view);
}

size_t lanes_view(const struct lanes *lanes, size_t i, uint64_t from_ns, uint64_t to_ns,
                  size_t pixels, struct lanes_item *items)
{
    const struct lane_own *own = lanes->order[i];
    struct view view = {.own = own, .items = items, .most = pixels, .shift = lanes->shift};
    size_t low = 0, high = 0;
    to_ns = to_ns < lanes->span_ns ? to_ns : lanes->span_ns;
    if (from_ns >= to_ns || pixels == 0)
        return 0;
    if (own->lane.has_rows) {
        rows_find(own, from_ns, to_ns, &low, &high);
        for (size_t k = low; k < high && high - low <= pixels; k++)
            items[k - low] = row_item(own, k);
        if (high - low <= pixels)
            return high - low;
    }
    while (view.shift < LANE_SHIFT_MOST &&
           ((to_ns - 1) >> view.shift) - (from_ns >> view.shift) >= pixels)
        view.shift++;
    if (view.shift < own->base.shift && own->lane.has_rows) {
        uint64_t mask = (UINT64_C(1) << view.shift) - 1, end = (to_ns - 1) | mask;
        view_rows(&view, from_ns & ~mask, end < lanes->span_ns ? end + 1 : lanes->span_ns);
        return view.count;
    }
    view.shift = view.shift < own->base.shift ? own->base.shift : view.shift;
    view_cells(&view, (uint32_t)(from_ns >> view.shift), (uint32_t)((to_ns - 1) >> view.shift));
    return view.count;
}
