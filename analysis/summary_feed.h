/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a summary's feed: which rows of the summary the trace's types, threads and processes
 * are, and the regions of each thread that may still be found to lie in another. Included by
 * analysis/summary_feed.c and summary_evidence.c alone.
 */
#ifndef SUMMARY_FEED_H
#define SUMMARY_FEED_H

#include "summary_int.h"
#include "wait_kind.h"

#define FEED_NESTED 64 /* regions of a thread whose parent may come */
#define FEED_ARGS   5
#define FEED_STACKS 512 /* of a batch that are remembered; a power of two */

struct feed_type {
    bool known;
    uint32_t text;
    uint8_t group;
    struct wait_kind kind;
    bool lock;              /* a lock's address is its first argument */
    int told;               /* by the agent: enum feed_told; 0: nothing known */
    int8_t args[FEED_ARGS]; /* where its arguments of interest are; -1: not there */
};

/* A region that has ended, or several in a row (then `end_ns` is behind `begin_ns + sum_ns`, or a
 * parent may begin in the midst). */
struct feed_region {
    uint64_t begin_ns, end_ns, sum_ns, idle_ns;
    uint32_t call, name; /* whose idle_ns it is; SUMMARY_NONE: none */
    bool several;
};

struct feed_thread {
    bool known;
    uint32_t process, thread; /* rows; thread SUMMARY_NONE: of the host or the whole process */
    struct feed_region *regions;
    size_t count;
};

struct feed_call { /* of a thread and a type */
    uint64_t key;  /* plus 1; 0: empty */
    uint32_t call, name;
};

struct summary_feed {
    struct summary *s;
    const struct skein_trace *trace;
    const struct skein_query *query;
    uint64_t from_ns, to_ns, generation;
    struct feed_type *types;
    struct feed_thread *threads;
    uint32_t *processes; /* rows + 1; 0: not there yet */
    size_t type_cap, thread_cap, process_cap;
    struct feed_call *calls;
    size_t call_count, call_slots;
    struct {
        uint32_t stack, text;
    } stacks[FEED_STACKS];
};

/* A row of a batch, looked up. */
struct feed_event {
    struct skein_cursor *cursor;
    const struct skein_batch *batch;
    uint32_t row;
    uint64_t begin_ns, dur_ns, end_ns;
    const struct feed_type *type; /* NULL: of none */
    const struct skein_arg *args;
    uint32_t process, thread; /* rows; thread may be SUMMARY_NONE */
};

static inline struct summary_process *feed_process(const struct summary_feed *f, uint32_t i)
{
    return (struct summary_process *)(void *)f->s->tables[SUMMARY_PROCESS].rows + i;
}
static inline struct summary_thread *feed_thread(const struct summary_feed *f, uint32_t i)
{
    return (struct summary_thread *)(void *)f->s->tables[SUMMARY_THREAD].rows + i;
}

/* summary_feed.c: the text's number. SKEIN_OK, SKEIN_NO_MEMORY. */
int feed_text_put(struct summary_feed *f, uint32_t *to, const char *text);

/* summary_regions.c, of rows that are not told by the agent: SKEIN_OK, SKEIN_NO_MEMORY. */
int feed_region_take(struct summary_feed *f, const struct feed_event *event);
int feed_open_take(struct summary_feed *f, const struct feed_event *event);
int feed_instant_take(struct summary_feed *f, const struct feed_event *event);
int feed_log_take(struct summary_feed *f, const struct feed_event *event); /* summary_shape.c */
/* No parent comes any more for what has ended so far. */
void feed_regions_settle(struct summary_feed *f, struct feed_thread *thread);
/* Adds a stack of an event to its row. SKEIN_OK, SKEIN_NO_MEMORY. */
int feed_stack_add(struct summary_feed *f, const struct feed_event *event, uint64_t ns);

/* summary_evidence.c: what the agent's event is, and where its arguments are; and takes one of these.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
void feed_told_find(struct feed_type *type, const struct skein_event_type *of);
int feed_told_take(struct summary_feed *f, const struct feed_event *event);
int feed_counter_take(struct summary_feed *f, const struct feed_event *event);

/* summary_shape.c: a log line without what differs between two of a kind: numbers and ids become
 * "#". Appends at most `most` bytes, then "…". */
void log_shape_put(struct buf *out, const char *text, size_t n, size_t most);

#endif
