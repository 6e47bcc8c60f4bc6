/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes of a trace: which row belongs to which lane, and the memory of all. Entered by whoever owns
 * the lanes.
 */
#include "lanes_int.h"

#include <stdlib.h>

#define TYPES_MOST (1u << 24)
/* A cell for so many rows: where finer ones are drawn, they are made of rows. */
#define CELL_ROWS   4u
#define CELLS_FEW   256u /* a lane's, which are not made coarser without need */
#define CELLS_LEAST 64u  /* and with need */
#define SHIFT_FIRST 6u   /* cells begin at 64 ns */

int lanes_new(const struct lanes_options *options, struct lanes **out)
{
    struct lanes *lanes;
    *out = NULL;
    if (options->to_ns < options->from_ns)
        return SKEIN_INVALID;
    lanes = calloc(1, sizeof *lanes);
    if (lanes == NULL)
        return SKEIN_NO_MEMORY;
    lanes->options = *options;
    lanes->span_ns = options->to_ns - options->from_ns;
    lanes->span_ns += lanes->span_ns < UINT64_MAX; /* both ends are inside */
    lanes->shift = SHIFT_FIRST;
    while (lanes->span_ns >> lanes->shift >= UINT32_MAX)
        lanes->shift++;
    *out = lanes;
    return SKEIN_OK;
}

void lanes_free(struct lanes **out)
{
    struct lanes *lanes = *out;
    *out = NULL;
    for (size_t i = 0; lanes != NULL && i < lanes->count; i++) {
        struct lane_own *own = lanes->lanes[i];
        lane_levels_drop(own);
        free(own->base.at);
        free(own->rows);
        free(own->waiting);
        free(own);
    }
    if (lanes != NULL) {
        free(lanes->lanes);
        free(lanes->slots);
        free(lanes->order);
        free(lanes->types);
    }
    free(lanes);
}

/* ---- memory ---- */

void lanes_release(struct lanes *lanes, size_t bytes)
{
    lanes->totals.bytes -= bytes;
}

void lane_rows_drop(struct lanes *lanes, struct lane_own *own)
{
    lanes_release(lanes, own->row_cap * sizeof *own->rows);
    free(own->rows);
    own->rows = NULL;
    own->row_count = own->row_cap = 0;
    lanes->totals.pyramids += own->lane.has_rows;
    own->lane.has_rows = false;
}

/* Cells count twice: what stands above them is at most as much. */
static size_t cell_bytes(size_t cells)
{
    return 2 * cells * sizeof(struct cell);
}

void lane_trim(struct lanes *lanes, struct lane_own *own)
{
    size_t cells = own->base.cap;
    struct lane_row *rows = own->row_count > 0 && own->row_count < own->row_cap
                                ? realloc(own->rows, own->row_count * sizeof *rows)
                                : NULL;
    cells_trim(&own->base);
    lanes_release(lanes, cell_bytes(cells) - cell_bytes(own->base.cap));
    if (rows == NULL)
        return;
    lanes_release(lanes, (own->row_cap - own->row_count) * sizeof *rows);
    own->rows = rows;
    own->row_cap = own->row_count;
}

/* Half as many cells, or less. False: it has as few as a lane gets, or there is no memory. */
static bool lane_coarsen(struct lanes *lanes, struct lane_own *own)
{
    size_t had = own->base.cap, want = own->base.count / 2;
    lane_levels_drop(own);
    while (own->base.count > want)
        if (!cells_coarsen(&own->base, 1, own->lane.kind))
            break;
    lanes->totals.bytes += cell_bytes(own->base.cap);
    lanes_release(lanes, cell_bytes(had));
    return own->base.cap < had;
}

/* Frees what can best be missed, of all lanes that have much of it. */
static bool reclaim(struct lanes *lanes)
{
    size_t rows = 0, cells = 0;
    bool freed = false;
    for (size_t i = 0; i < lanes->count; i++) {
        const struct lane_own *own = lanes->lanes[i];
        rows = own->row_cap > rows ? own->row_cap : rows;
        cells = own->base.cap > cells ? own->base.cap : cells;
    }
    for (size_t i = 0; i < lanes->count; i++) {
        struct lane_own *own = lanes->lanes[i];
        if (rows > 0 && own->row_cap > rows / 2) {
            lane_rows_drop(lanes, own);
            freed = true;
        } else if (rows == 0 && cells > CELLS_LEAST && own->base.cap > cells / 2) {
            freed |= lane_coarsen(lanes, own);
        }
    }
    return freed;
}

bool lanes_reserve(struct lanes *lanes, size_t bytes)
{
    size_t most = lanes->options.most_bytes;
    while (most > 0 && (lanes->totals.bytes > most || bytes > most - lanes->totals.bytes))
        if (!reclaim(lanes))
            return false;
    lanes->totals.bytes += bytes;
    return true;
}

/* ---- a row of a lane ---- */

/* Room for one more row, unless the lane has lost them. */
static int row_room(struct lanes *lanes, struct lane_own *own)
{
    size_t had = own->row_cap, more = had > 0 ? had : 8;
    if (!own->lane.has_rows || own->row_count < had)
        return SKEIN_OK;
    if (!lanes_reserve(lanes, more * sizeof *own->rows)) {
        lane_rows_drop(lanes, own);
        return SKEIN_OK;
    }
    if (!own->lane.has_rows) { /* it was this one that had to give */
        lanes_release(lanes, more * sizeof *own->rows);
        return SKEIN_OK;
    }
    struct lane_row *rows = realloc(own->rows, (had + more) * sizeof *rows);
    if (rows == NULL) {
        lanes_release(lanes, more * sizeof *rows);
        return SKEIN_NO_MEMORY;
    }
    own->rows = rows;
    own->row_cap = had + more;
    return SKEIN_OK;
}

/* Room for what one row can add to the cells. */
static int cell_room(struct lanes *lanes, struct lane_own *own)
{
    for (;;) {
        uint64_t share = own->lane.rows / CELL_ROWS, few = share > CELLS_FEW ? share : CELLS_FEW;
        size_t had = own->base.cap, more = had > 0 ? had : 8;
        if (own->base.count + 3 > few && own->base.shift < LANE_SHIFT_MOST) {
            if (!cells_coarsen(&own->base, 1, own->lane.kind))
                return SKEIN_NO_MEMORY;
            lanes->totals.bytes += cell_bytes(own->base.cap);
            lanes_release(lanes, cell_bytes(had));
            continue;
        }
        if (own->base.count + 3 <= had)
            return SKEIN_OK;
        if (!lanes_reserve(lanes, cell_bytes(more))) {
            bool gave = own->base.count + 3 <= own->base.cap; /* not enough, and it was this one */
            if (!gave && (own->base.count <= CELLS_LEAST || !lane_coarsen(lanes, own)))
                return SKEIN_FULL;
            continue;
        }
        if (own->base.cap == had) {
            struct cell *at = realloc(own->base.at, (had + more) * sizeof *at);
            if (at != NULL) {
                own->base.at = at;
                own->base.cap = had + more;
                continue;
            }
            lanes_release(lanes, cell_bytes(more));
            return SKEIN_NO_MEMORY;
        }
        lanes_release(lanes, cell_bytes(more)); /* others gave, and so did this one */
    }
}

static bool base_take(void *context, const struct cell *cell)
{
    struct lane_own *own = context;
    return cells_put(&own->base, cell, own->lane.kind);
}

static void known_add(struct lane_own *own, uint64_t begin, uint64_t end,
                      const struct lane_row *row)
{
    struct lane *lane = &own->lane;
    if (lane->kind == LANE_COUNTER) {
        lane->least = lane->rows == 0 || row->value < lane->least ? row->value : lane->least;
        lane->most = lane->rows == 0 || row->value > lane->most ? row->value : lane->most;
    } else {
        double length = (double)(end - begin);
        lane->longest_ns = length > lane->longest_ns ? length : lane->longest_ns;
        lane->busy_ns += end - begin;
    }
    lane->from_ns = lane->rows == 0 ? begin : lane->from_ns;
    lane->to_ns = own->end_ns;
    lane->rows++;
}

int lane_row_add(struct lanes *lanes, struct lane_own *own, uint64_t begin, uint64_t end,
                 struct lane_row *row)
{
    if (begin < own->end_ns) {
        begin = own->end_ns;
        end = end < begin ? begin : end;
        lanes->totals.crowded++;
    }
    lane_levels_drop(own);
    int status = row_room(lanes, own);
    if (status == SKEIN_OK)
        status = cell_room(lanes, own);
    if (status == SKEIN_FULL) {
        lanes->totals.left_out++;
        return SKEIN_OK;
    }
    if (status != SKEIN_OK)
        return status;
    own->end_ns = end;
    row->begin = (double)begin;
    if (!lane_is_points(own->lane.kind))
        row->length = (float)(end - begin);
    if (!cells_of_row(begin, end, row, own->lane.kind, own->base.shift, base_take, own))
        return SKEIN_NO_MEMORY;
    if (own->lane.has_rows)
        own->rows[own->row_count++] = *row;
    known_add(own, begin, end, row);
    return SKEIN_OK;
}
