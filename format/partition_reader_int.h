/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the partition reader: partition_tables.c (opening: sections and tables),
 * partition_stacks_get.c (of these, stacks, mappings and symbols), partition_window.c (which blocks),
 * partition_blocks.c (blocks, batches), partition_lane.c (the records of one thread),
 * partition_merge.c (order between threads), partition_reader.c (ranges, and what callers see),
 * partition_take.c and partition_run.c (rows, many at once), partition_carry.c, partition_check.c.
 * Included by these alone. What they ask of each other is in partition_tables_int.h and
 * partition_blocks_int.h.
 */
#ifndef PARTITION_READER_INT_H
#define PARTITION_READER_INT_H

#include <stdarg.h>

#include "partition_lane_int.h"
#include "partition_stacks_int.h"

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

struct partition_reader {
    const uint8_t *bytes;
    size_t n;
    struct partition_info info;
    struct tick_scale scale, host_scale; /* to the collector's time, and to the host's */
    struct partition_footer footer;
    const uint8_t *footer_section;
    struct arena_chunk *arena;
    uint64_t raw_bytes;
    uint64_t memory_left;
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

/* Takes n bytes of what it may have; false: it has too little, and has failed with SKEIN_TOO_LARGE. */
bool reader_may(struct partition_reader *r, uint64_t n);
/* Memory that lives as long as the reader; NULL when there is none. */
void *reader_alloc(struct partition_reader *r, size_t n);
char *reader_text(struct partition_reader *r, const char *text, size_t n);

/* partition_reader.c: before the first event, unpacks and lists what there is. */
int reader_ready(struct partition_reader *r);

/* partition_reader.c: opens a range on the lane, or counts it where too many are open. */
int frame_push(struct partition_reader *r, struct lane *lane, const struct reader_frame *frame);
/* Where it goes, not filled in; NULL: too many are open, or r->status says that there is no memory. */
struct reader_frame *frame_room(struct partition_reader *r, struct lane *lane);

#endif
