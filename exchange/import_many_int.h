/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of import_many.h: import_many.c (who there is, and the window), import_many_emit.c
 * (records), import_many_sched.c (what threads did). For these alone.
 */
#ifndef IMPORT_MANY_INT_H
#define IMPORT_MANY_INT_H

#include "import_many.h"
#include "import_map.h"
#include "intern_table.h"
#include "sched_timeline.h"

struct many_item {
    uint8_t what; /* enum import_what */
    bool evidence;
    uint8_t reason;
    uint8_t count;   /* values */
    uint32_t thread; /* index */
    uint32_t shape;  /* of its name, category and the names of its values */
    uint32_t stack;
    uint32_t bytes; /* of the whole */
    uint64_t time_ns, dur_ns, pair;
    struct many_item *below; /* of what is open on its thread */
    uint64_t values[];       /* numbers; of texts the length, and bytes behind the last value */
};

struct many_slot {
    uint64_t time_ns, number; /* number: equal times go as they came */
    void *item;
};

/* A heap, the earliest first. */
struct many_window {
    struct many_slot *slots;
    size_t count, cap;
    uint64_t number;
    size_t bytes;
};

struct many_process {
    uint64_t key;
    uint32_t pid;
    uint32_t name, host;    /* of names, + 1 */
    struct import_out *out; /* NULL: no record yet */
    struct import_map stacks;
    struct import_map pc_frames; /* the frame that has an address: others with it are told apart */
};

struct many_thread {
    uint32_t process; /* index */
    uint32_t tid;
    uint64_t key, incarnation;
    uint32_t name; /* of names, + 1 */
    struct many_item *open;
    uint32_t depth;
    uint64_t left_open; /* begins in these that were left out, and whose ends come first */
};

struct many_stack {
    size_t at; /* in stack_frames */
    uint32_t count;
    bool cut;
};

/* Begins of a pair, the last one first. */
struct many_open {
    uint64_t pair;
    struct many_item *top;
};

struct import_many {
    struct import_to to;
    struct import_told *told;
    uint64_t seed;
    int64_t ahead_ns;
    bool any; /* something has left the window */
    size_t window_events;
    uint32_t host; /* of names, + 1 */
    int status;
    struct many_window window, raw; /* raw: records of the scheduler */
    struct import_map process_at;
    struct many_process *processes;
    size_t process_count, process_cap;
    struct intern_table thread_keys, names, shapes, frames, stack_keys;
    struct many_thread *threads;
    size_t thread_cap;
    struct many_stack *stacks;
    size_t stack_cap;
    uint32_t *stack_frames;
    size_t stack_frame_count, stack_frame_cap;
    struct import_map pairs; /* of a pair, the place in `open` */
    struct many_open *open;
    size_t open_count, open_cap;
    size_t open_bytes; /* of what is open, on threads and in `open` */
    struct sched_timeline *timeline;
    uint64_t sched_last_ns, last_ns, pending, with_records;
    struct buf key, more; /* scratch */
};

void many_fail(struct import_many *m, int status);
uint32_t many_thread_at(struct import_many *m, uint64_t process, uint64_t thread); /* SKEIN_NONE */
/* A frame as it is kept: whether it has an address, that, and its lines. Returns how many there are. */
uint32_t many_frame_get(const struct import_many *m, uint32_t frame, bool *has_pc, uint64_t *pc,
                        struct partition_line lines[PARTITION_LINES_MAX]);
const char *many_name(const struct import_many *m, uint32_t name);

bool many_window_put(struct many_window *w, uint64_t time_ns, void *item);
void *many_window_take(struct many_window *w);

/* The earliest item goes on its way, or is kept until its end comes. Takes it. */
void many_emit(struct import_many *m, struct many_item *item);
void many_opens_end(struct import_many *m);

/* Records from the raw window, until `left` are in it. */
void many_sched_run(struct import_many *m, size_t left);
void many_sched_end(struct import_many *m);

#endif
