/* SPDX-License-Identifier: Apache-2.0
 *
 * What the partition reader keeps of blocks, of batches, and of a thread whose records are being read:
 * its lane. Included through partition_reader_int.h alone.
 */
#ifndef PARTITION_LANE_INT_H
#define PARTITION_LANE_INT_H

#include "ahead_rows.h"
#include "partition_columns.h"
#include "partition_int.h"
#include "partition_reader.h"

struct reader_block {
    struct section section;
    uint8_t *raw;          /* NULL until the first event is asked for */
    uint32_t hole;         /* F-41: blocks are left out at so many places in front of it */
    bool skipped;          /* left out: the query's time does not need it */
    uint64_t since, until; /* F-42: how far what its records tell reaches beyond it */
};

/* A batch: its header, checked, and where its columns lie. */
struct reader_batch {
    uint32_t thread, flags, events, opens, types;
    uint32_t block;
    uint32_t next; /* batch of the same thread, or NO_BATCH */
    uint64_t generation, sequence, last_sequence, base, last;
    const uint8_t *lists, *lists_end; /* open ranges and types in the header */
    const uint8_t *codes, *times, *columns;
    uint32_t codes_len, times_len;
};
#define NO_BATCH UINT32_MAX
#define NO_BLOCK UINT32_MAX

/* A range that is open. */
struct reader_frame {
    const struct partition_event_type *type;
    uint64_t recorded; /* ticks as stored, by which a listed range is recognised (F-28) */
    uint64_t ticks;    /* as given, perhaps raised */
    uint32_t block;    /* that tells of its begin, or NO_BLOCK */
    bool clipped;
    uint32_t stack; /* of its begin */
    struct partition_value args[SKEIN_ARGS_MAX];
};

/* A type of the lane's current batch. */
struct lane_type {
    uint32_t type;
    uint32_t left;
    uint32_t column; /* its first in lane->columns */
    uint8_t klass;
    bool simple;  /* neither a stack nor one with sequences */
    bool shown;   /* its rows are asked for, but for their threads and time */
    uint8_t kind; /* of its rows */
};

enum lane_head { LANE_RECORD, LANE_CLIP, LANE_LISTED };

/* What is wrong with a record's values: the first of it. */
struct value_fault {
    enum format_rule rule;
    const uint8_t *at;
};

/* One thread's records, in order, one at a time: the head. Where rows are taken ahead, there may be
 * none: then all records up to `ticks` were taken. */
struct lane {
    uint32_t first_batch, last_batch, next_batch; /* next to enter */
    const struct reader_batch *batch;
    uint32_t events_left;
    struct column codes, times;
    struct lane_type *types;
    size_t type_cap;
    struct column *columns;
    size_t column_cap;
    uint64_t *values; /* ahead, of each column; NULL: none */

    uint8_t head; /* enum lane_head */
    uint32_t code;
    uint64_t raw_ticks,
        ticks;  /* of the last record as stored; of the head, never below the one before */
    bool ready; /* there is a head */
    struct value_fault fault; /* of the head: its values were taken already, and are bad */
    struct lane_ahead ahead;
    uint32_t raised;                             /* of records behind the last row that was taken */
    struct partition_value args[SKEIN_ARGS_MAX]; /* of a head with sequence arguments */
    uint64_t dur;
    bool has_stacks;   /* a type of the batch is that of stacks */
    uint32_t stack_id; /* of the head */

    struct cursor listed; /* open ranges still to be looked at on entering a batch */
    uint32_t listed_left, clip_to;
    struct reader_frame listed_frame;

    struct reader_frame *stack;
    size_t depth, stack_cap;
    uint64_t deeper; /* open ranges that were not kept */
    uint64_t last_sequence;
    bool has_sequence;
    uint32_t last_hole; /* of the block of its batch before */
    bool over_hole;     /* blocks were left out in front of its batch */

    bool blocked;
    uint64_t key; /* its place in the heap: ticks of what it gives next */
    uint32_t heap_at, waits_next;
    size_t waits_at; /* in the entries, while blocked */
};

/* A (resource, number) of the partition, sorted; who waits for its turn. */
struct sequence_entry {
    uint64_t resource, number;
    uint32_t waiting; /* lane + 1 */
};
struct sequence_resource {
    uint64_t resource;
    size_t at, end; /* in the entries: the next to come, and behind the last */
};

#endif
