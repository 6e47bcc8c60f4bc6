/* SPDX-License-Identifier: Apache-2.0
 *
 * The pyramid of a lane: cells of 2^k ns, made of rows and of narrower cells. Owns no lane; pure but
 * for the memory of its lists. Entered by lanes.c and lanes_view.c.
 */
#include "array.h"
#include "lanes_int.h"

#include <stdlib.h>

/* A level has a quarter of the cells of the one below: all levels together are a third of the base, and a
 * view goes over four cells or a few more for each that it draws. */
#define LEVEL_SHARE 4

static double width_of(unsigned shift)
{
    return (double)(UINT64_C(1) << shift);
}

static uint64_t last_of(const struct cell *cell, enum lane_kind kind)
{
    return kind == LANE_COUNTER ? cell->first : (uint64_t)cell->first + cell->count - 1;
}

bool lane_is_points(enum lane_kind kind)
{
    return kind == LANE_COUNTER || kind == LANE_MARK || kind == LANE_SAMPLE;
}

static void same_join(struct cell *last, const struct cell *next, enum lane_kind kind)
{
    if (kind == LANE_COUNTER) {
        last->least = next->least < last->least ? next->least : last->least;
        last->most = next->most > last->most ? next->most : last->most;
        last->last = next->last;
        return;
    }
    last->busy += next->busy;
    if (next->longest > last->longest) {
        last->longest = next->longest;
        last->type = next->type;
    }
}

/* Whole cells of one row, or of rows that look the same. */
static bool continues(const struct cell *last, const struct cell *next, unsigned shift)
{
    double width = width_of(shift);
    return last->busy >= width && next->busy >= width && last->type == next->type &&
           last->longest <= next->longest && last->longest >= next->longest &&
           (uint64_t)last->first + last->count == next->first;
}

bool cell_join(struct cell *last, struct cell *next, enum lane_kind kind, unsigned shift)
{
    if (last_of(last, kind) == next->first) {
        same_join(last, next, kind);
        if (lane_is_points(kind) || next->count == 1)
            return true;
        next->first++; /* a row of no length stood where the next one begins */
        next->count--;
    }
    if (lane_is_points(kind) || !continues(last, next, shift))
        return false;
    last->count += next->count;
    return true;
}

bool cells_of_row(uint64_t begin, uint64_t end, const struct lane_row *row, enum lane_kind kind,
                  unsigned shift, cell_take take, void *context)
{
    struct cell cell = {.first = (uint32_t)(begin >> shift)};
    if (kind == LANE_COUNTER) {
        cell.last = (float)row->value;
        cell.least = cell.most = row->value;
        return take(context, &cell);
    }
    cell.count = 1;
    cell.longest = row->length;
    cell.type = row->type;
    cell.busy = lane_is_points(kind) ? 1.0 : (double)(end - begin);
    uint64_t last = end > begin ? (end - 1) >> shift : cell.first;
    if (lane_is_points(kind) || last == cell.first)
        return take(context, &cell);
    /* What lies before the first whole cell, the whole ones, what lies behind. */
    uint64_t whole = (begin >> shift) + ((begin & ((UINT64_C(1) << shift) - 1)) != 0);
    uint64_t behind = end >> shift;
    if (whole > cell.first) {
        cell.busy = (double)((whole << shift) - begin);
        if (!take(context, &cell))
            return false;
    }
    if (behind > whole) {
        cell.first = (uint32_t)whole;
        cell.count = (uint32_t)(behind - whole);
        cell.busy = width_of(shift);
        if (!take(context, &cell))
            return false;
    }
    cell.first = (uint32_t)behind;
    cell.count = 1;
    cell.busy = (double)(end - (behind << shift));
    return end == behind << shift || take(context, &cell);
}

/* Cells `first` to `last`, each as `cell` and not whole in what they become part of: one cell. */
static bool part_take(const struct cell *cell, uint64_t first, uint64_t last, unsigned by,
                      cell_take take, void *context)
{
    struct cell wide = *cell;
    if (last < first)
        return true;
    wide.first = (uint32_t)(first >> by);
    wide.count = 1;
    wide.busy = cell->busy * (double)(last - first + 1);
    return take(context, &wide);
}

static bool run_widen(const struct cell *cell, uint64_t first, uint64_t last, unsigned by,
                      cell_take take, void *context)
{
    uint64_t whole = (first + (UINT64_C(1) << by) - 1) >> by, behind = (last + 1) >> by;
    if (behind <= whole) { /* none is whole: one cell, or two that touch */
        uint64_t middle = whole << by;
        if (first >> by == last >> by)
            return part_take(cell, first, last, by, take, context);
        return part_take(cell, first, middle - 1, by, take, context) &&
               part_take(cell, middle, last, by, take, context);
    }
    struct cell wide = *cell;
    wide.first = (uint32_t)whole;
    wide.count = (uint32_t)(behind - whole);
    wide.busy = cell->busy * width_of(by);
    return (first == whole << by || part_take(cell, first, (whole << by) - 1, by, take, context)) &&
           take(context, &wide) && part_take(cell, behind << by, last, by, take, context);
}

bool cells_widen(const struct cells *cells, unsigned by, uint32_t from, uint32_t to,
                 enum lane_kind kind, cell_take take, void *context)
{
    uint64_t first = (uint64_t)from << by, last = (((uint64_t)to + 1) << by) - 1;
    size_t at;
    array_find(at, 0, cells->count, last_of(&cells->at[at], kind) < first);
    for (; at < cells->count && cells->at[at].first <= last; at++) {
        struct cell cell = cells->at[at];
        if (kind == LANE_COUNTER || cell.count == 1) {
            cell.first = (uint32_t)((uint64_t)cell.first >> by);
            if (!take(context, &cell))
                return false;
            continue;
        }
        uint64_t begin = cell.first > first ? cell.first : first, end = last_of(&cell, kind);
        if (!run_widen(&cell, begin, end < last ? end : last, by, take, context))
            return false;
    }
    return true;
}

bool cells_put(struct cells *cells, const struct cell *cell, enum lane_kind kind)
{
    struct cell next = *cell;
    if (!array_grow(cells->at, cells->count + 1, &cells->cap))
        return false;
    if (cells->count == 0 || !cell_join(&cells->at[cells->count - 1], &next, kind, cells->shift))
        cells->at[cells->count++] = next;
    return true;
}

void cells_trim(struct cells *cells)
{
    struct cell *at = cells->count > 0 && cells->count < cells->cap
                          ? realloc(cells->at, cells->count * sizeof *at)
                          : NULL;
    if (at == NULL)
        return;
    cells->at = at;
    cells->cap = cells->count;
}

struct widening {
    struct cells wide;
    enum lane_kind kind;
};

static bool wide_take(void *context, const struct cell *cell)
{
    struct widening *w = context;
    return cells_put(&w->wide, cell, w->kind);
}

static bool widened(const struct cells *cells, unsigned by, enum lane_kind kind, struct cells *out)
{
    struct widening w = {.wide = {.shift = cells->shift + by}, .kind = kind};
    if (!cells_widen(cells, by, 0, UINT32_MAX >> by, kind, wide_take, &w)) {
        free(w.wide.at);
        *out = (struct cells){0};
        return false;
    }
    *out = w.wide;
    return true;
}

bool cells_coarsen(struct cells *cells, unsigned by, enum lane_kind kind)
{
    struct cells wide;
    if (cells->shift + by > LANE_SHIFT_MOST || !widened(cells, by, kind, &wide))
        return false;
    free(cells->at);
    *cells = wide;
    return true;
}

void lane_levels_drop(struct lane_own *own)
{
    for (size_t i = 0; i < own->level_count; i++)
        free(own->levels[i].at);
    own->level_count = 0;
}

/* The next level: as wide as it takes to have a quarter of the cells. *level has none where none does. */
static bool level_make(const struct cells *below, enum lane_kind kind, struct cells *level)
{
    bool made = widened(below, 1, kind, level);
    while (made && level->count > below->count / LEVEL_SHARE && level->shift < LANE_SHIFT_MOST)
        made = cells_coarsen(level, 1, kind);
    if (!made || level->count > below->count / LEVEL_SHARE) {
        free(level->at);
        *level = (struct cells){0};
    }
    cells_trim(level);
    return made;
}

bool lane_levels_make(struct lane_own *own)
{
    const struct cells *below = &own->base;
    if (own->level_count > 0)
        return true;
    while (below->count > LEVEL_SHARE && own->level_count < LANE_LEVELS &&
           below->shift < LANE_SHIFT_MOST) {
        struct cells *level = &own->levels[own->level_count];
        if (!level_make(below, own->lane.kind, level))
            return false;
        if (level->count == 0)
            return true;
        own->level_count++;
        below = level;
    }
    return true;
}
