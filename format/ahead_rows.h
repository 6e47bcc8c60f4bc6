/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows that are made of records before their turn has come: each thread's in a tight loop, then those
 * of all threads, and of all processes, merged many at once. Included by partition_take.c,
 * partition_run.c, ahead_merge.c, trace_gather.c, trace_rows.c and the headers of their insides alone.
 */
#ifndef AHEAD_ROWS_H
#define AHEAD_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "skein/trace.h"

/* Of a thread at a time, at most. */
#define AHEAD_ROWS 256

struct row_run;

/* A row, but for what its query leaves out. */
struct ahead_row {
    uint64_t ticks;   /* its thread's place among all threads */
    uint64_t made_ns; /* when its record was made */
    uint64_t time_ns, dur_ns;
    const struct lane_ahead *of;
    uint32_t process, thread, type;     /* of the trace */
    uint32_t depth, stack;              /* stack: of the partition */
    uint8_t kind, flags, nargs, raised; /* raised: of its record and those left out before it */
};

/* Rows of a thread that were taken, in its order. */
struct lane_ahead {
    const struct row_run *run;
    struct ahead_row *rows;
    struct skein_arg *args;  /* SKEIN_ARGS_MAX of each row; NULL: not asked for */
    uint32_t cap, at, count; /* rows[at] is the next to be given */
};

/* A row and its place in the order. */
struct ahead_item {
    uint64_t at;
    const struct ahead_row *row;
};

/* Runs of items to be made one: each is in order, and of items of the same place those of the run in
 * front come first. */
struct ahead_runs {
    struct ahead_item *items, *spare; /* room for `cap` of each */
    size_t cap, spare_cap;
    uint32_t *ends; /* of each run */
    size_t count, ends_cap;
};

void ahead_runs_fini(struct ahead_runs *runs);
/* Forgets the runs, and makes room for so many with so many items. false: no memory. */
bool ahead_runs_begin(struct ahead_runs *runs, size_t count, size_t items);
/* Leaves one run. */
void ahead_runs_merge(struct ahead_runs *runs);

#endif
