/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of lanes: for lanes*.c alone.
 */
#ifndef LANES_INT_H
#define LANES_INT_H

#include "lanes.h"
#include "lanes_cells_int.h"
#include "region_nest.h"

#define LANE_LEVELS     24
#define LANE_SHIFT_MOST 63u

struct lane_own {
    struct lane lane;
    uint64_t end_ns; /* of the last row */
    struct lane_own *next_layer;
    /* Of LANE_WAITING: a thread's regions, until their depths are known. */
    struct region_row *waiting;
    size_t waiting_count, waiting_cap;
    bool waiting_mixed; /* they are not in order */
    struct lane_row *rows;
    size_t row_count, row_cap;
    struct cells base;
    struct cells levels[LANE_LEVELS]; /* above the base; each has a quarter of the one below */
    size_t level_count;
};

/* Builds the levels above the base. False: no memory; there are fewer. */
bool lane_levels_make(struct lane_own *own);
void lane_levels_drop(struct lane_own *own);

#define LANE_WAITING ((enum lane_kind)0) /* is never listed */

struct lane_key {
    uint32_t process, thread, number;
    enum lane_kind kind;
    bool evidence; /* no part of what tells lanes apart */
};

struct lanes_type {
    uint8_t asked, state, value;
};

struct lanes {
    struct lanes_options options;
    uint64_t span_ns; /* of the window */
    unsigned shift;   /* the finest that its cells may have */
    struct lane_own **lanes;
    size_t count, cap;
    uint32_t *slots; /* 1 + number of a first layer, by hash */
    size_t slot_cap, firsts;
    struct lane_own **order;
    size_t order_count;
    size_t waiting_bytes;
    bool settled;
    struct lanes_type *types;
    size_t type_cap;
    struct lanes_totals totals;
};

/* Takes so many bytes from the budget, and makes room for them: some lane may lose its rows then, or
 * have coarser cells. */
bool lanes_reserve(struct lanes *lanes, size_t bytes);
void lanes_release(struct lanes *lanes, size_t bytes);
void lane_rows_drop(struct lanes *lanes, struct lane_own *own);

/* Gives back the room that no row and no cell uses: arrays double when they grow. */
void lane_trim(struct lanes *lanes, struct lane_own *own);

/* A row of a lane, clipped to the window. SKEIN_OK, SKEIN_NO_MEMORY. */
int lane_row_add(struct lanes *lanes, struct lane_own *own, uint64_t begin, uint64_t end,
                 struct lane_row *row);

/* The lane of a key that is free from `begin` on. SKEIN_OK, SKEIN_FULL, SKEIN_NO_MEMORY. */
int lanes_lane_of(struct lanes *lanes, const struct lane_key *key, uint64_t begin,
                  struct lane_own **out);

/* A row from time to time + length, in ns since 1970, of the lane of a key, if it touches the window.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int lanes_row_put(struct lanes *lanes, const struct lane_key *key, uint64_t time, uint64_t length,
                  struct lane_row *row);

/* A region that waits until its depth is known, and what makes all that wait rows of their lanes.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int lanes_region_put(struct lanes *lanes, const struct lane_key *key,
                     const struct region_row *region);
int lanes_regions_place(struct lanes *lanes);

#endif
