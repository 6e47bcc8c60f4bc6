/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of skein/trace.h: trace_open.c (files, processes, partitions), trace_names.c (types,
 * threads and texts, numbered through the trace), trace_cursor.c (the merge of all processes),
 * trace_rows.c (a query, and its rows in columns), trace_load.c (a partition in memory), trace_gaps.c.
 * Included by these alone.
 */
#ifndef TRACE_INT_H
#define TRACE_INT_H

#include "intern_table.h"
#include "partition_reader.h"
#include "skein/trace.h"
#include "trace_file.h"

/* ---- names: trace_names.c ---- */

struct trace_names {
    struct intern_table texts; /* by bytes; text_at[number] has it with a NUL behind it */
    char **text_at;
    size_t text_cap;
    struct intern_table type_keys, thread_keys;
    struct skein_event_type **types, *spare_type;
    struct skein_thread **threads, *spare_thread;
    size_t type_cap, thread_cap;
    struct buf key;
};

void names_fini(struct trace_names *names);
/* The number of what is named; SKEIN_NO_MEMORY. A thread's name is the one given last. */
int64_t names_type(struct trace_names *names, const struct partition_event_type *type);
int64_t names_thread(struct trace_names *names, uint32_t process, bool evidence,
                     const struct partition_thread *thread);

/* ---- the trace: trace_open.c ---- */

/* A partition of a file. */
struct trace_part {
    struct skein_partition facts;
    const struct trace_entry *entry;
    struct trace_file *file;
    size_t at; /* in the file */
};

struct trace_input {
    struct trace_file *file;
    struct trace_memory *memory;     /* what its source reads; NULL: another one */
    struct trace_part *parts;        /* one for each entry of the file */
    struct skein_process *processes; /* those that this file was the first to name */
};

struct skein_trace {
    struct trace_input *inputs;
    size_t input_count, input_cap;
    struct intern_table process_ids, partition_keys;
    struct skein_process **processes;
    size_t process_count, process_cap;
    struct trace_part **parts; /* in the order of the header */
    size_t part_count, part_cap;
    struct trace_names names;
    size_t cursors;
    uint32_t stacks; /* that partitions have had so far: their numbers never meet in a batch */
};

/* Whether b was cut right after a (F-50): between them there is nothing but evidence. */
bool trace_part_follows(const struct skein_trace *trace, const struct trace_part *a,
                        const struct trace_part *b);

/* ---- a partition in memory: trace_load.c ---- */

struct trace_loaded {
    struct trace_part *part;
    struct buf bytes;
    struct partition_reader *reader;
    const struct partition_event_type *types;
    const struct partition_thread *threads;
    size_t type_count;
    uint32_t *type_numbers, *thread_numbers; /* in the trace */
    uint32_t stack_base;                     /* a stack's number in a batch: this and its id */
    bool in_batch;                           /* a row of the batch has texts of it */
    struct trace_loaded *next;               /* retired */
    /* the type that was asked for last and is none of the table's, as a range over a cut has */
    const struct partition_event_type *other;
    uint32_t other_number;
};

/* SKEIN_OK; SKEIN_NO_MEMORY; else another status and a sentence in `error`. */
int loaded_new(struct skein_trace *trace, struct trace_part *part, struct trace_loaded **out,
               char error[SKEIN_TRACE_ERROR_BYTES]);
void loaded_free(struct trace_loaded **loaded);
/* The number of an event's type. SKEIN_NO_MEMORY. */
int64_t loaded_type(struct skein_trace *trace, struct trace_loaded *loaded,
                    const struct partition_event_type *type);

/* ---- cursors: trace_cursor.c ---- */

/* A row of partitions whose records come one after the other: the cuts of a process, or one of its
 * evidence. */
struct trace_lane {
    size_t next, end; /* in the trace's partitions; next: to be read */
    size_t number;    /* of the one at hand */
    struct trace_loaded *now;
    struct trace_event event; /* to be given next */
    uint64_t ns;              /* when its record was made; never goes back */
    bool waits;               /* nothing is read yet; ns is that of its first record */
    bool opens;               /* what is in progress is given: no cut comes behind this one */
};

struct skein_cursor {
    struct skein_trace *trace;
    struct skein_query query;
    int status; /* below 0: for good */
    bool *process_wanted;
    uint32_t process; /* by_process: whose lanes are in the heap */
    struct trace_lane *lanes;
    size_t lane_count, lane_next; /* lane_next: of a later process */
    struct trace_lane **heap;     /* the earliest first */
    size_t heap_count;
    struct trace_loaded *retired; /* texts of the batch are theirs */
    size_t retired_bytes;
    uint64_t fixed_up, unordered; /* of partitions that are gone */
    struct skein_gap *gaps;
    char **what; /* of each */
    size_t gap_count, gap_cap, what_cap;
    struct trace_rows *rows;
};

/* trace_gaps.c. SKEIN_OK, SKEIN_NO_MEMORY. */
int gaps_known(struct skein_cursor *cursor); /* those that can be told before anything is read */
void gaps_free(struct skein_cursor *cursor);
/* Of the partition of this number, what is behind from_ns cannot be read. */
int gap_broken(struct skein_cursor *cursor, size_t number, uint64_t from_ns, const char *why);

/* ---- rows: trace_rows.c ---- */

int rows_new(struct skein_cursor *cursor);
void rows_free(struct trace_rows **rows);
void rows_clear(struct trace_rows *rows);
bool rows_full(const struct trace_rows *rows);
uint32_t rows_count(const struct trace_rows *rows);
/* Puts the event there if the query asks for it. SKEIN_OK, SKEIN_NO_MEMORY. */
int rows_put(struct skein_cursor *cursor, struct trace_loaded *loaded,
             const struct trace_event *event);
void rows_give(const struct skein_cursor *cursor, struct skein_batch *batch);

#endif
