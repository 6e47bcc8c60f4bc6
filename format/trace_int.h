/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of skein/trace.h: trace_open.c (files, processes, partitions), trace_names.c (types,
 * threads and texts, numbered through the trace), trace_load.c (a partition in memory), trace_merge.c
 * and trace_gather.c (all of them by time), trace_gaps.c, trace_cursor.c and trace_rows.c (a query).
 * Included by these alone.
 */
#ifndef TRACE_INT_H
#define TRACE_INT_H

#include "intern_table.h"
#include "partition_reader.h"
#include "skein/trace.h"
#include "trace_causes.h"
#include "trace_file.h"
#include "trace_load.h"
#include "trace_merge.h"
#include "trace_names.h"
#include "trace_rows.h"
#include "trace_twins.h"

/* ---- the trace: trace_open.c ---- */

/* What becomes of a partition whose key another one has, too: trace_twins.c. */
enum trace_fate {
    TRACE_GIVEN,
    TRACE_INSTEAD, /* given, in the place of `instead` */
    TRACE_COPY,    /* left out, and nothing is missing */
    TRACE_LEFT     /* left out, and what it alone has is missing */
};

/* A partition of a file. */
struct trace_part {
    struct skein_partition facts;
    const struct trace_entry *entry;
    struct trace_file *file;
    size_t at;        /* in the file */
    int64_t moved_ns; /* all its times are later by so much: trace_causes.h */
    enum trace_fate fate;
    uint32_t
        variant; /* 0: of the process that its key names; else another one that names itself so */
    uint32_t variants;          /* of the first one of a key: how many others there are */
    struct trace_part *instead; /* INSTEAD: of this one; LEFT: beside it */
    bool replaced;              /* its whole is given */
};

struct trace_input {
    struct trace_file *file;
    struct trace_memory *memory;     /* what its source reads; NULL: another one */
    struct trace_part *parts;        /* one for each entry of the file */
    struct skein_process *processes; /* those that this file was the first to name */
    struct skein_gap *torn;          /* made for the first cursor; NULL: not yet */
    size_t torn_count;
};

struct skein_trace {
    struct trace_input *inputs;
    size_t input_count, input_cap;
    struct intern_table process_ids, partition_keys, twin_keys;
    struct trace_part **key_parts, **twin_parts; /* by number in these: the one that is there */
    size_t key_cap, twin_cap;
    struct trace_twins twins;
    struct skein_process **processes;
    size_t process_count, process_cap;
    struct trace_part **parts; /* in the order of the header */
    size_t part_count, part_cap;
    struct trace_names names;
    size_t cursors;
    bool causes_known;
    uint64_t causes_fixed, causes_circle; /* children that began before their parents */
    uint32_t stacks; /* that partitions have had so far: their numbers never meet in a batch */
};

/* Whether b was cut right after a (F-50): between them there is nothing but evidence. */
bool trace_part_follows(const struct skein_trace *trace, const struct trace_part *a,
                        const struct trace_part *b);

/* trace_twins.c: the fate of each part of an input that is not in the trace yet. SKEIN_OK;
 * SKEIN_NO_MEMORY, and the trace knows none of them. */
int twins_judge(struct skein_trace *trace, struct trace_input *input);

/* ---- the walk: trace_merge.c ---- */

/* A row of partitions whose records come one after the other: the cuts of a process, or one of its
 * evidence. */
struct trace_lane {
    size_t next, end; /* in the trace's partitions; next: to be read */
    size_t number;    /* of the one at hand */
    struct trace_loaded *now;
    struct trace_event event; /* to be given next */
    uint64_t ns;              /* when its record was made; never goes back */
    bool waits;               /* nothing is read yet; ns is that of its first record */
    size_t skipped;           /* number + 1 of a cut that was left out behind the one at hand */
    bool carries;             /* a range may be open at the end of the one in front of `next` */
    bool peeked;              /* it has no event: the reader stands in front of it */
    struct ahead_item *items; /* rows that come next; NULL: none */
    size_t item_count;
    bool opens; /* what is in progress is given: no cut comes behind this one */
};

struct trace_merge {
    struct skein_trace *trace;
    struct trace_merge_ask ask;
    struct skein_cursor *cursor; /* whose rows records may become at once; NULL: none */
    bool given;                  /* the event of the heap's first lane, by trace_merge_next */
    uint32_t process;            /* by_process: whose lanes are in the heap */
    struct trace_lane *lanes;
    size_t lane_count, lane_next; /* lane_next: of a later process */
    struct trace_lane **heap;     /* the earliest first */
    size_t heap_count;
    struct trace_loaded *retired; /* texts of the batch are theirs */
    size_t retired_bytes;
    struct ahead_runs runs;       /* rows that come next in all lanes, */
    const struct ahead_item *out; /* or in one of them, */
    size_t out_at, out_count;     /* and how many of them were given */
    struct trace_lane **gathered; /* the lanes whose rows they are; room for all */
    size_t gathered_count;
    uint64_t fixed_up, unordered; /* of partitions that are gone */
    struct skein_gap *gaps;
    char **what; /* of each */
    size_t gap_count, gap_cap, what_cap;
};

static inline bool is_wanted_process(const struct trace_merge *merge, uint32_t process)
{
    return merge->ask.process_wanted == NULL || merge->ask.process_wanted[process];
}

/* The lane whose event comes next, NULL: none; and on to its next one. SKEIN_OK, SKEIN_NO_MEMORY. */
int merge_first(struct trace_merge *merge, struct trace_lane **lane);
int merge_advance(struct trace_merge *merge);
/* trace_gather.c. What comes next in a lane that was peeked at: rows, where it has some. merge_rows:
 * as many of them as there is room for; false: none are left. SKEIN_OK, SKEIN_NO_MEMORY. */
int merge_gather(struct trace_merge *merge);
bool merge_rows(struct trace_merge *merge, struct trace_rows *rows);
void lane_put(struct trace_merge *merge,
              struct trace_lane *lane); /* into the heap, and out of it */
struct trace_lane *lane_take_first(struct trace_merge *merge);
void merge_release(struct trace_merge *merge); /* the batch needs no texts any more */
uint64_t merge_fixed_up(const struct trace_merge *merge);
uint64_t merge_unordered(const struct trace_merge *merge);

/* trace_gaps.c. SKEIN_OK, SKEIN_NO_MEMORY. */
int gaps_known(struct trace_merge *merge); /* those that can be told before anything is read */
void gaps_free(struct trace_merge *merge);
void gaps_torn_free(struct trace_input *input);
/* Of the partition of this number, what is behind from_ns cannot be read. */
int gap_broken(struct trace_merge *merge, size_t number, uint64_t from_ns, const char *why);

#endif
