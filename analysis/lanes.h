/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace as lanes, to be drawn: regions by thread and depth, what the scheduler did with each thread,
 * counters, marks (instants and logs), samples of the CPU, and what is lost. Takes batches of a
 * cursor; answers "what is to be drawn between here and there on so many pixels" at any zoom, in a
 * time that depends on the pixels and not on the trace. The report's picture and a console's timeline
 * are drawn by it.
 *
 * A lane has rows and above them a pyramid of cells of 2^k ns. A cell keeps the longest row that
 * touches it and the share of it that is busy, so a row of 1 ns is seen at every zoom:
 *
 *   rows     ▇ ▇▇  ▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇▇      ▇
 *   2^10 ns  │▇ ▇▇│ ▇▇▇│▇▇▇▇│▇▇▇▇│▇▇  │    │▇   │   share and longest of each; equal full ones are one
 *   2^12 ns  │▇ ▇▇  ▇▇▇▇▇▇▇▇▇│▇▇      ▇   │
 *
 * A region's depth is told by the times of its thread's regions (region_nest.h), however they were
 * recorded; what the reader says is the least. Regions wait for it until lanes_settle, or until an
 * eighth of the memory is full of them: then the earlier ones get their lanes.
 *
 * Rows of a lane follow one another. One that begins before the last has ended stands in a lane of the
 * next layer: a counter's, a state's; and a region that came after those inside of it had been given
 * their lanes. In the last of LANES_LAYERS it is drawn from that end on, and counted as crowded.
 *
 * Memory is at most what the caller gives, and for a moment one lane's pyramid again. When it is full,
 * the lanes with most rows lose their rows and keep the pyramid; then pyramids become coarser; then no
 * new lane is taken. The totals say so.
 * No I/O, no threads, no clock; builds for WebAssembly. One owner, one thread.
 */
#ifndef LANES_H
#define LANES_H

#include "skein/trace.h"

#define LANES_LAYERS 8u
#define LANES_DEEP   256u /* deeper regions are counted alone */

struct lanes;

enum lane_kind {
    LANE_STATE = 1, /* number: enum lane_state; by thread. The scheduler's evidence */
    LANE_REGION,    /* number: depth; by thread. An item's type: the event type */
    LANE_MARK,      /* number 0; by thread. Instants and logs: length 0 */
    LANE_COUNTER,   /* number: the event type; by thread or process */
    LANE_LOSS,      /* number 0; by thread or process. An item's type: see LANES_GAP */
    LANE_SAMPLE     /* number 0; by thread. What ran on a CPU, as the agent saw it: length 0 */
};

enum lane_state { LANE_RUNNING = 1, LANE_RUNNABLE, LANE_BLOCKED };

/* The type of an item of a LANE_LOSS: a reason of F-32 where records of a thread are lost; a gap's, from
 * LANES_GAP on (enum skein_gap_reason); records of the scheduler. */
#define LANES_GAP        256u
#define LANES_SCHED_LOST 512u

struct lanes_options {
    uint64_t from_ns, to_ns; /* the window, both ends included; rows are clipped to it */
    size_t most_bytes;       /* 0: no bound */
    /* What an event type of the batches is; asked once for each number. NULL: nothing is known of it */
    const struct skein_event_type *(*type)(const void *context, uint32_t type);
    const void *context;
};

struct lane {
    uint32_t process, thread; /* thread SKEIN_NONE: of the process */
    enum lane_kind kind;
    uint32_t number, layer;
    bool evidence;           /* its first row was told by the agent */
    uint64_t rows;           /* that it was given */
    bool has_rows;           /* they are still there: zoom has no end. Else cells are the finest */
    uint64_t cell_ns;        /* the finest cell */
    uint64_t busy_ns;        /* rows together, clipped to the window */
    double longest_ns;       /* of the window */
    double least, most;      /* of a counter */
    uint64_t from_ns, to_ns; /* of its rows, since the window's begin */
};

/* What was taken, and what is not there. */
struct lanes_totals {
    uint64_t rows;
    uint64_t outside;   /* of the window */
    uint64_t left_out;  /* rows without a lane: deeper than LANES_DEEP, or no memory was left */
    uint64_t crowded;   /* drawn only where no earlier one is */
    uint64_t no_number; /* counters whose value is none */
    uint64_t evidence;  /* told by the agent, and nothing that lanes show */
    uint64_t ends;      /* whose begin is lost */
    uint64_t pyramids;  /* lanes that have lost their rows */
    size_t bytes;       /* used */
};

/* SKEIN_OK, SKEIN_INVALID (the window is empty), SKEIN_NO_MEMORY. Options are copied. */
int lanes_new(const struct lanes_options *options, struct lanes **out);
void lanes_free(struct lanes **lanes);

/* The name of samples of the CPU, which the agent tells of (docs/evidence.md). */
#define LANES_SAMPLE "cpu.sample"

/* Rows of a batch, as a cursor gives them: time, type and depth must be there, args for counters and
 * levels of logs. What evidence tells is taken where it is scheduling, a sample or a counter.
 * SKEIN_OK, SKEIN_NO_MEMORY: some rows of the batch are not there; it can be freed. */
int lanes_add(struct lanes *lanes, const struct skein_batch *batch);

/* Gaps of a cursor, once, after its last batch. One without bounds is not drawn: left_out counts it. */
int lanes_add_gaps(struct lanes *lanes, const struct skein_gap *gaps, size_t count);

/* After the last row, or whenever something is to be drawn: orders the lanes and builds what makes
 * views fast. Rows may follow; then it is called again. SKEIN_OK, SKEIN_NO_MEMORY. */
int lanes_settle(struct lanes *lanes);

/* Lanes by process, thread, kind, number; of these the last layer first: regions come when they end, so
 * one that encloses others stands in a later layer, and is to be drawn above them. Only after
 * lanes_settle. */
size_t lanes_count(const struct lanes *lanes);
const struct lane *lanes_at(const struct lanes *lanes, size_t i);
void lanes_totals(const struct lanes *lanes, struct lanes_totals *totals);

/* Something to be drawn. Times are ns since the window's begin. */
struct lanes_item {
    double from_ns, to_ns;
    double longest_ns;        /* of rows that touch it; the part inside of the window */
    double share;             /* busy, 0 to 1; of marks and samples: how many there are */
    uint32_t type;            /* of the longest; of marks: of the most severe */
    uint32_t severity;        /* of marks: 1 + level of a log, 0: an instant */
    double least, most, last; /* of a counter */
    bool row;                 /* it is one row, and no cell */
};

/* What to draw of lane i between two times (ns since the window's begin) on so many pixels: its rows,
 * where they are no more than pixels, or cells of 2^k ns no more than pixels, runs of equal ones as
 * one. Fills at most `pixels` of `items`, in time order; those of cells may reach beyond from and to
 * by less than a cell. Returns how many. Only after lanes_settle. */
size_t lanes_view(const struct lanes *lanes, size_t i, uint64_t from_ns, uint64_t to_ns,
                  size_t pixels, struct lanes_item *items);

#endif
