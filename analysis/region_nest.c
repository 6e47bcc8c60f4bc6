/* SPDX-License-Identifier: Apache-2.0
 *
 * See region_nest.h. Rows are looked at from the last end to the first, so that what holds a row has
 * its depth before the row: no tree is made, and one begin is kept for each depth.
 */
#include "region_nest.h"

#include <stdlib.h>

/* What takes no time and lies at another's end stands behind it, and not in it. */
static int region_order(const struct region_row *a, const struct region_row *b)
{
    bool a_lasts = a->end_ns > a->begin_ns, b_lasts = b->end_ns > b->begin_ns;
    if (a->end_ns != b->end_ns)
        return a->end_ns < b->end_ns ? -1 : 1;
    if (a_lasts != b_lasts)
        return a_lasts ? -1 : 1;
    if (a->begin_ns != b->begin_ns)
        return a->begin_ns > b->begin_ns ? -1 : 1;
    return (a->depth < b->depth) - (a->depth > b->depth);
}

bool region_follows(const struct region_row *a, const struct region_row *b)
{
    return region_order(a, b) <= 0;
}

static int sort_order(const void *a, const void *b)
{
    return region_order(a, b);
}

void region_sort(struct region_row *rows, size_t count)
{
    if (count > 1)
        qsort(rows, count, sizeof *rows, sort_order);
}

/* The last row at each depth; rows of a depth do not overlap, so that no other can hold what comes. */
struct levels {
    uint64_t begin_ns[REGION_DEEP];
    bool lasts[REGION_DEEP];
    size_t count; /* depths that have had a row */
};

static bool region_holds(const struct levels *levels, size_t depth, const struct region_row *row)
{
    uint64_t begin_ns = levels->begin_ns[depth];
    return levels->lasts[depth] && begin_ns <= row->begin_ns && begin_ns < row->end_ns;
}

static uint32_t depth_of(const struct levels *levels, const struct region_row *row)
{
    size_t depth = levels->count;
    while (depth > 0 && !region_holds(levels, depth - 1, row))
        depth--;
    depth = row->depth > depth ? row->depth : depth;
    while (depth < levels->count && levels->begin_ns[depth] < row->end_ns)
        depth++;
    return (uint32_t)depth;
}

void region_nest(struct region_row *rows, size_t count)
{
    struct levels levels = {.count = 0};
    for (size_t i = count; i > 0; i--) {
        struct region_row *row = &rows[i - 1];
        row->depth = depth_of(&levels, row);
        if (row->depth >= REGION_DEEP)
            continue;
        for (; levels.count <= row->depth; levels.count++) {
            levels.begin_ns[levels.count] = UINT64_MAX; /* free, and holds nothing */
            levels.lasts[levels.count] = false;
        }
        levels.begin_ns[row->depth] = row->begin_ns;
        levels.lasts[row->depth] = row->end_ns > row->begin_ns;
    }
}
