/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of threads, one after the other and in the order of all: partition_blocks.c,
 * partition_lane.c, partition_window.c, partition_merge.c and partition_take.c, for these and
 * partition_reader.c, partition_run.c, partition_carry.c and partition_check.c alone.
 */
#ifndef PARTITION_BLOCKS_INT_H
#define PARTITION_BLOCKS_INT_H

#include "partition_reader_int.h"

/* partition_blocks.c: unpacks all blocks and lists the batches of each lane. */
int blocks_open(struct partition_reader *r);

/* partition_lane.c */
int lane_advance(struct partition_reader *r, struct lane *lane); /* the next head; lane->ready */
int lane_args(struct partition_reader *r, struct lane *lane, uint64_t *dur_ticks,
              struct partition_value args[SKEIN_ARGS_MAX]);
const struct partition_event_type *lane_type(const struct partition_reader *r,
                                             const struct lane *lane);
/* The values of the next record of a lane's type; what is bad of them is noted in *fault. */
void lane_values(const struct partition_reader *r, struct lane *lane, const struct lane_type *place,
                 uint64_t *dur_ticks, struct partition_value args[SKEIN_ARGS_MAX],
                 struct value_fault *fault);
/* What is wrong with the column from which a value was taken: it stood at `at`. */
static inline struct value_fault value_fault_of(const struct column *column, const uint8_t *at)
{
    enum format_rule rule = column->failed ? F_26 : F_NONE;
    return (struct value_fault){column->encoding > COLUMN_RAW64 ? F_27 : rule, at};
}

/* partition_window.c: leaves out blocks that the projection's time does not need. */
void blocks_choose(struct partition_reader *r);

/* partition_merge.c */
int merge_open(struct partition_reader *r);
struct lane *merge_top(struct partition_reader *r); /* whose head comes next; NULL: none */
int merge_pop(struct partition_reader *r,
              struct lane *lane); /* its head has been given: advance it */
/* A lane goes on to its next head; it leaves the heap where there is none. */
int merge_go_on(struct partition_reader *r, struct lane *lane);
/* Takes the first lane out of the heap, and puts one there by its key. */
struct lane *merge_take(struct partition_reader *r);
void merge_put(struct partition_reader *r, struct lane *lane);

/* partition_take.c: the head, a simple record, and those behind it become rows, as far as there is
 * room and they are simple. */
bool lane_is_simple(const struct partition_reader *r, const struct lane *lane);
void lane_take(struct partition_reader *r, struct lane *lane, const struct row_run *run);

/* partition_lane.c again: makes the batch the lane's current one, without its place in the order
 * of the thread. */
int batch_enter(struct partition_reader *r, struct lane *lane, const struct reader_batch *batch);

#endif
