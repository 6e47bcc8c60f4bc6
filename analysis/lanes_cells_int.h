/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a lane and the cells that are made of them: for lanes*.c alone.
 */
#ifndef LANES_CELLS_INT_H
#define LANES_CELLS_INT_H

#include "lanes.h"

/* A row. Lengths are short floats: they are drawn; sums are made before they are rounded. */
struct lane_row {
    double begin; /* ns since the window's begin */
    union {
        struct {
            float length; /* of a mark: its severity; of a sample: 0 */
            uint32_t type;
        };
        double value; /* of a counter */
    };
};

/* Cells `first` to `first + count - 1` of 2^shift ns, which are all alike: more than one only where
 * one row covers each whole. */
struct cell {
    uint32_t first;
    union {
        uint32_t count;
        float last; /* of a counter, whose cells are one each */
    };
    union {
        struct {
            double busy; /* ns of each cell; of marks and samples: how many */
            float longest;
            uint32_t type;
        };
        struct {
            double least, most;
        };
    };
};

struct cells { /* in order, each cell at most once */
    struct cell *at;
    size_t count, cap;
    unsigned shift;
};

/* Rows without a length: they are counted, and their values are kept. */
bool lane_is_points(enum lane_kind kind);

/* Is given cells in order; false ends it. */
typedef bool (*cell_take)(void *context, const struct cell *cell);

/* Joins cells to the one before them, where they are the same or continue it. False: what *next is
 * then stands for itself. */
bool cell_join(struct cell *last, struct cell *next, enum lane_kind kind, unsigned shift);

/* A row from begin to end (ns) as cells of 2^shift ns. */
bool cells_of_row(uint64_t begin, uint64_t end, const struct lane_row *row, enum lane_kind kind,
                  unsigned shift, cell_take take, void *context);

/* The same cells, from `from` to `to` (both cells of 2^(shift + by), included), each 2^by times as
 * wide. */
bool cells_widen(const struct cells *cells, unsigned by, uint32_t from, uint32_t to,
                 enum lane_kind kind, cell_take take, void *context);

/* Appends a cell, or joins it to the last. False: no memory, and nothing has changed. */
bool cells_put(struct cells *cells, const struct cell *cell, enum lane_kind kind);

/* Gives back the room that no cell uses. */
void cells_trim(struct cells *cells);

/* Makes cells 2^by times as wide. False: no memory, or wider than cells get; nothing has changed. */
bool cells_coarsen(struct cells *cells, unsigned by, enum lane_kind kind);

#endif
