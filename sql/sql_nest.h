/* SPDX-License-Identifier: Apache-2.0
 *
 * Where rows of a trace stand on their threads: their ids, the region around them, and how much of a
 * region's time was its own. For sql/ alone. One scan, one thread; its rows go in one by one, in the
 * cursor's order.
 *
 * An id is the number of the thread × SQL_ID_STEP + the place on it, from 1. A region has its place
 * where it begins, so that what lies in it can name it, though its row comes when it ends:
 *
 *       begin a   instant   begin b   region b   region a       rows, in their order
 *          1         2         3         3           1          places
 */
#ifndef SQL_NEST_H
#define SQL_NEST_H

#include "skein/trace.h"

#define SQL_ID_STEP INT64_C(10000000000)
/* Finished regions side by side in an open one that are kept apart; of older ones the sum is kept. A
 * span that reaches back over these does not see them. */
#define SQL_NEST_APART 65536

struct sql_stretch {
    uint64_t from_ns, to_ns;
};
struct sql_level {            /* what has ended at a depth, since the region around it began */
    struct sql_stretch *list; /* each begins and ends behind the one in front */
    size_t count, cap;
    uint64_t folded_ns;
};
struct sql_range {
    uint64_t place; /* 0: not known */
    uint64_t from_ns;
};
struct sql_place {
    uint64_t places;
    struct sql_range *open; /* ranges, outermost first */
    size_t depth, open_cap;
    struct sql_level *levels;
    size_t level_count, level_cap;
};
struct sql_nest {
    struct sql_place *threads, *processes; /* processes: of rows without a thread */
    size_t thread_cap, process_cap;
};

/* All-zero is valid. */
void sql_nest_fini(struct sql_nest *nest);

/* Takes a row in; the batch has times, types and depths. klass: of the row's type, 0 without one.
 * *parent is the innermost range that was open and had begun when it began; 0 where there is none.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int sql_nest_add(struct sql_nest *nest, const struct skein_batch *batch, uint32_t row,
                 uint8_t klass, int64_t *id, int64_t *parent);

/* Takes a finished region in, after sql_nest_add. *self_ns: its length without the time of regions that
 * lie in it from begin to end, but not of one that crosses it, with what lies in that.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int sql_nest_self(struct sql_nest *nest, const struct skein_batch *batch, uint32_t row,
                  uint8_t klass, uint64_t *self_ns);

/* Whether the row of this id may still come, after what was added. */
bool sql_nest_is_ahead(const struct sql_nest *nest, int64_t id);

#endif
