/* SPDX-License-Identifier: Apache-2.0
 *
 * See span_lanes.h. Knows of each row which time is taken: outermost regions alone, as what lies in one
 * of them is in nobody's way.
 */
#include "span_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein/status.h"

#define NUDGES_MAX 16 /* regions in each other that begin at once, and are drawn so */

/* [from, to), and where its begin was written: a few ns earlier, where it is around another one that
 * begins at once. From free_ns on, nothing that lies in it is in the way of one that ends with it. */
struct span_lane_item {
    uint64_t from_ns, to_ns, shown_ns, free_ns;
};

void span_lanes_fini(struct span_lanes *lanes)
{
    for (size_t i = 0; i < lanes->count; i++)
        free(lanes->rows[i].items);
    free(lanes->rows);
    free(lanes->open);
    *lanes = (struct span_lanes){0};
}

static bool row_reach(struct span_lanes *lanes, size_t row)
{
    if (row < lanes->count)
        return true;
    if (!array_grow(lanes->rows, row + 1, &lanes->cap))
        return false;
    lanes->rows[lanes->count++] = (struct span_lane){0};
    return true;
}

/* How many items begin before this time. */
static size_t items_before(const struct span_lane *row, uint64_t ns)
{
    size_t at;
    array_find(at, 0, row->count, row->items[at].from_ns < ns);
    return at;
}

/* Where a region fits in: behind `first` items, around those up to `last`. */
struct span_lane_place {
    size_t first, last;
    struct span_lane_item *around; /* it is in this one, and nothing is taken anew; NULL: in none */
    struct span_lane_item item;
};

/* What comes later ends no earlier: so it is in one that is there already, where both end at once. */
static struct span_lane_item *item_around(const struct span_lane *row,
                                          const struct span_lane_place *place)
{
    size_t at = place->first;
    if (at == row->count || row->items[at].from_ns != place->item.from_ns) {
        if (at == 0)
            return NULL;
        at--;
    }
    struct span_lane_item *item = &row->items[at];
    return item->to_ns >= place->item.to_ns && item->to_ns > place->item.from_ns ? item : NULL;
}

/* Makes the begin 1 ns earlier than that of an item in it which begins at once. */
static bool place_nudge(const struct span_lane *row, struct span_lane_place *place,
                        uint64_t floor_ns)
{
    struct span_lane_item *item = &place->item;
    const struct span_lane_item *inner = &row->items[place->first];
    bool same =
        place->first < place->last && inner->from_ns == item->from_ns && inner->to_ns < item->to_ns;
    if (!same)
        return true;
    uint64_t before = place->first > 0 ? row->items[place->first - 1].to_ns : 0;
    floor_ns = before > floor_ns ? before : floor_ns;
    if (inner->shown_ns <= floor_ns || item->from_ns - inner->shown_ns >= NUDGES_MAX)
        return false;
    item->shown_ns = inner->shown_ns - 1;
    return true;
}

/* floor_ns: nothing may begin earlier here. */
static bool place_find(const struct span_lane *row, uint64_t floor_ns,
                       struct span_lane_place *place)
{
    struct span_lane_item *item = &place->item;
    if (item->from_ns < floor_ns && floor_ns - item->from_ns <= SPAN_LANES_SLACK_NS &&
        floor_ns <= item->to_ns)
        item->from_ns = floor_ns;
    item->shown_ns = item->from_ns;
    if (row->items == NULL) /* nothing was ever put on it */
        return item->from_ns >= floor_ns;
    place->first = items_before(row, item->from_ns);
    const struct span_lane_item *before = place->first > 0 ? &row->items[place->first - 1] : NULL;
    if (before != NULL && before->to_ns > item->from_ns && before->to_ns < item->to_ns &&
        before->to_ns - item->from_ns <= SPAN_LANES_SLACK_NS)
        item->from_ns = before->to_ns;
    item->shown_ns = item->from_ns;
    place->last = items_before(row, item->to_ns);
    place->around = item_around(row, place);
    if (item->from_ns < floor_ns)
        return false;
    if (place->around != NULL)
        return item->from_ns >= place->around->free_ns;
    if (before != NULL && before->to_ns > item->from_ns)
        return false;
    if (place->last > place->first && row->items[place->last - 1].to_ns > item->to_ns) {
        if (row->items[place->last - 1].to_ns - item->to_ns > SPAN_LANES_SLACK_NS)
            return false;
        item->to_ns = row->items[place->last - 1].to_ns;
    }
    return place_nudge(row, place, floor_ns);
}

static void items_fold(struct span_lane *row)
{
    const size_t half = row->count / 2;
    row->items[0].to_ns = row->items[0].free_ns = row->items[half - 1].to_ns;
    row->count -= half - 1;
    memmove(row->items + 1, row->items + half, (row->count - 1) * sizeof *row->items);
}

/* Puts the item in the place of those that lie in it. */
static bool place_take(struct span_lane *row, struct span_lane_place *place)
{
    size_t first = place->first, behind = row->count - place->last;
    struct span_lane_item *item = &place->item;
    if (place->around != NULL) {
        bool last = item->to_ns == place->around->to_ns;
        place->around->free_ns = last ? item->from_ns : item->to_ns;
        return true;
    }
    item->free_ns = place->last > first ? row->items[place->last - 1].to_ns : item->from_ns;
    if (!array_grow(row->items, row->count + 1, &row->cap))
        return false;
    memmove(row->items + first + 1, row->items + place->last, behind * sizeof *row->items);
    row->items[first] = *item;
    row->count = first + 1 + behind;
    if (row->count > SPAN_LANES_APART)
        items_fold(row);
    return true;
}

/* ---- ranges ---- */

int span_lanes_open(struct span_lanes *lanes, uint64_t *at_ns)
{
    if (!row_reach(lanes, 0) || !array_grow(lanes->open, lanes->open_count + 1, &lanes->open_cap))
        return SKEIN_NO_MEMORY;
    const struct span_lane *row = &lanes->rows[0];
    if (row->count > 0 && row->items[row->count - 1].to_ns > *at_ns)
        *at_ns = row->items[row->count - 1].to_ns;
    if (lanes->open_count > 0 && lanes->open[lanes->open_count - 1] > *at_ns)
        *at_ns = lanes->open[lanes->open_count - 1];
    lanes->open[lanes->open_count++] = *at_ns;
    return SKEIN_OK;
}

int span_lanes_close(struct span_lanes *lanes, uint64_t *at_ns)
{
    if (lanes->open_count == 0)
        return SKEIN_OK;
    struct span_lane *row = &lanes->rows[0];
    uint64_t from_ns = lanes->open[--lanes->open_count];
    uint64_t last_ns = row->count > 0 ? row->items[row->count - 1].to_ns : 0;
    if (last_ns < from_ns)
        last_ns = from_ns;
    if (*at_ns < last_ns)
        *at_ns = last_ns;
    struct span_lane_place place = {.first = items_before(row, from_ns),
                                    .last = row->count,
                                    .item = {from_ns, *at_ns, from_ns, from_ns}};
    return from_ns == *at_ns || place_take(row, &place) ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* ---- regions ---- */

static uint64_t floor_of(const struct span_lanes *lanes, size_t row)
{
    return row == 0 && lanes->open_count > 0 ? lanes->open[lanes->open_count - 1] : 0;
}

int64_t span_lanes_put(struct span_lanes *lanes, uint64_t *from_ns, uint64_t *to_ns)
{
    for (size_t i = 0;; i++) {
        if (!row_reach(lanes, i))
            return SKEIN_NO_MEMORY;
        struct span_lane_place place = {.item = {*from_ns, *to_ns, *from_ns, *from_ns}};
        if (*from_ns >= *to_ns && *from_ns >= floor_of(lanes, i))
            return (int64_t)i; /* without a length it is in nobody's way */
        if (!place_find(&lanes->rows[i], floor_of(lanes, i), &place))
            continue;
        *from_ns = place.item.shown_ns;
        *to_ns = place.item.to_ns;
        return place_take(&lanes->rows[i], &place) ? (int64_t)i : SKEIN_NO_MEMORY;
    }
}

size_t span_lanes_find(const struct span_lanes *lanes, uint64_t from_ns)
{
    size_t i = 0;
    for (; i < lanes->count; i++) {
        const struct span_lane *row = &lanes->rows[i];
        size_t first = items_before(row, from_ns);
        bool clear = first == 0 || row->items[first - 1].to_ns <= from_ns;
        /* one that begins at once was written before it, and would be around it */
        bool same = first < row->count && row->items[first].from_ns == from_ns;
        if (clear && !same && from_ns >= floor_of(lanes, i))
            return i;
    }
    return i;
}
