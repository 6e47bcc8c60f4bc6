/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the partition reader: partition_tables.c (opening: sections and tables),
 * partition_stacks_get.c (of these, stacks, mappings and symbols), partition_window.c (which blocks),
 * partition_blocks.c (blocks, batches, the records of one thread), partition_merge.c (order between
 * threads), partition_reader.c (ranges, and what callers see), partition_take.c and partition_run.c
 * (rows, many at once), partition_carry.c, partition_check.c. Included by these alone.
 */
#ifndef PARTITION_READER_INT_H
#define PARTITION_READER_INT_H

#include <stdarg.h>

#include "ahead_rows.h"
#include "partition_columns.h"
#include "partition_int.h"
#include "partition_reader.h"
#include "partition_stacks_int.h"

#define NO_LANE UINT32_MAX

struct arena_chunk {
    struct arena_chunk *next;
    size_t used, cap;
    uint8_t bytes[];
};

struct reader_string {
    const char *text;
    uint32_t len;
};

/* What the reader knows of a type beyond its description. */
struct reader_type {
    uint8_t columns;   /* that its arguments and duration take (F-26) */
    uint8_t sequences; /* sequence arguments among the first six */
    bool stack;        /* its records are the stacks of others (F-45) */
    uint64_t events;
};

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

struct partition_reader {
    const uint8_t *bytes;
    size_t n;
    struct partition_info info;
    struct tick_scale scale, host_scale; /* to the collector's time, and to the host's */
    struct partition_footer footer;
    const uint8_t *footer_section;
    struct arena_chunk *arena;
    uint64_t raw_bytes;
    size_t entered; /* types and columns that the lanes have room for */

    struct partition_event_type *types;
    struct reader_type *type_facts;
    size_t type_count;
    struct partition_thread *threads;
    size_t thread_count;
    struct reader_string *strings;
    size_t string_count, string_cap;
    struct partition_open *opens;
    size_t open_count;
    struct partition_loss *losses; /* by time */
    size_t loss_count;
    struct reader_stack *stacks;
    size_t stack_count;
    uint64_t *pcs;
    size_t pc_count, pc_cap;
    struct partition_mapping *mappings;
    size_t mapping_count;
    struct reader_symbol *symbols; /* by address */
    size_t symbol_count, symbol_cap;
    uint64_t line_count; /* of all symbols */
    struct reader_block *blocks;
    size_t block_count, block_cap;

    struct reader_batch *batches;
    size_t batch_count, batch_cap;
    struct lane *lanes; /* one for each thread */
    bool prepared;
    uint32_t *heap;
    size_t heap_count;
    struct sequence_entry *entries;
    size_t entry_count, entry_cap;
    struct sequence_resource *resources;
    size_t resource_count;

    bool no_args;                /* a projection: no values but durations and sequences */
    const uint8_t *thread_shown; /* 0: nothing is given of this thread; NULL: all are */
    bool skips;                  /* a block is left out: at the end no range is open */
    uint64_t passed;             /* ticks of the last record of what is left out */
    uint64_t now;                /* ticks of the last record given */
    const struct row_run *run;   /* of a projection */
    struct ahead_runs merged;    /* rows that were given last */
    uint32_t *gathered;          /* lanes whose rows they are; room for all */
    uint64_t *marks;             /* a bit for each lane; 0 but while they are sorted */
    uint64_t fixed_up, unordered, frames;
    bool frames_full; /* READER_RANGES_MAX were open at one time */
    size_t loss_at, open_lane, open_frame, open_at, open_range_at;

    struct section opened;   /* the packed section whose table is being read, */
    const uint8_t *unpacked; /* and its content; NULL: none */
    int status;
    struct partition_fault fault;
    char error[256]; /* the sentence of it */
};

/* Bytes are refused with this status, because they break the rule at `at`: in the partition, in an
 * unpacked block, or in what is unpacked of the section whose table is being read. Returns the
 * reader's status, which is that of the first failure. */
int reader_fail(struct partition_reader *r, int status, enum format_rule rule, const uint8_t *at,
                const char *format, ...) __attribute__((format(printf, 5, 6)));
int reader_no_memory(struct partition_reader *r, const char *what);
/* A fault that is known already. */
int reader_fault(struct partition_reader *r, int status, const struct partition_fault *fault);

/* Memory that lives as long as the reader; NULL when there is none. */
void *reader_alloc(struct partition_reader *r, size_t n);
char *reader_text(struct partition_reader *r, const char *text, size_t n);

/* partition_reader.c: before the first event, unpacks and lists what there is. */
int reader_ready(struct partition_reader *r);

/* partition_reader.c: opens a range on the lane, or counts it where too many are open. */
int frame_push(struct partition_reader *r, struct lane *lane, const struct reader_frame *frame);
/* Where it goes, not filled in; NULL: too many are open, or r->status says that there is no memory. */
struct reader_frame *frame_room(struct partition_reader *r, struct lane *lane);

/* partition_tables.c: head, tail, sections, tables, footer of r->bytes. */
int tables_open(struct partition_reader *r);
/* A NUL-terminated copy of the text at c; "" with a failed cursor. */
const char *reader_name_get(struct partition_reader *r, struct cursor *c);
/* The table of this rule and name is malformed where c stands, or there was no memory. */
int reader_table_fail(struct partition_reader *r, const struct cursor *c, enum format_rule rule,
                      const char *table);

/* partition_check.c: where in the footer a field lies, of a list its entry from 1 (0: its count);
 * for messages. */
enum footer_field {
    FOOTER_KEY,
    FOOTER_PID,
    FOOTER_TIMES,
    FOOTER_EVENTS,
    FOOTER_LOST,
    FOOTER_THREADS,
    FOOTER_NAMES,
    FOOTER_BLOCKS,
    FOOTER_TYPES,
    FOOTER_LOSSES,
    FOOTER_OPEN_RANGES,
    FOOTER_EVIDENCE
};
const uint8_t *footer_field(const struct partition_reader *r, enum footer_field field,
                            size_t entry);

/* partition_stacks_get.c: a section's payload each (section 8). */
int stacks_open(struct partition_reader *r, struct cursor *c);
int mappings_open(struct partition_reader *r, struct cursor *c);
int symbols_open(struct partition_reader *r, struct cursor *c);
void stacks_close(struct partition_reader *r);

/* partition_blocks.c */
int blocks_open(
    struct partition_reader *r); /* unpacks all blocks and lists the batches of each lane */
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

/* partition_blocks.c again: makes the batch the lane's current one, without its place in the order
 * of the thread. */
int batch_enter(struct partition_reader *r, struct lane *lane, const struct reader_batch *batch);

#endif
