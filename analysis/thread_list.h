/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread dumps of a trace: what each thread did at the moment of a dump, what it waited for and
 * who held that. Takes events one by one; threads with equal stacks are one group, and threads that
 * wait for each other in a circle one deadlock. No I/O. One owner, one thread.
 */
#ifndef THREAD_LIST_H
#define THREAD_LIST_H

#include "partition_reader.h"

struct thread_list;

struct thread_item {
    uint32_t tid;
    const char *name, *state, *wchan, *call; /* call: "futex(0x…, …)"; "": in none */
    uint64_t at_ns, cpu_ns, voluntary, involuntary;
    const char *waits_for; /* mutex, thread; "": not known */
    uint64_t object;
    uint32_t holder;
    uint32_t stack; /* 0: none; equal stacks of a dump have equal numbers */
};

struct thread_frame {
    uint64_t pc;
    const char *function, *file; /* "": not known */
    uint32_t line;
    const char *module; /* path of the file that is mapped there, or "" */
    bool inlined;       /* into the next one, which has the same pc */
};

/* Threads that do the same; the first one stands for all. */
struct thread_group {
    size_t first, count; /* in `threads` */
    struct thread_frame *frames;
    size_t frame_count;
    uint8_t end; /* of the walk: enum partition_stack_end */
};

/* Threads that wait for one another: each for the next, the last for the first. */
struct thread_circle {
    uint32_t *tids;
    size_t count;
};

struct thread_dump_view {
    struct process_uid process;
    uint32_t pid;
    const char *service, *host, *title; /* title: "" where the dump has none */
    uint64_t at_ns;
    uint64_t stopped, stop_ns, left_out; /* threads that were stopped for it, and how long */
    struct thread_item *threads;         /* by group */
    size_t thread_count;
    struct thread_group *groups; /* who waits for a holder, who runs, then all others */
    size_t group_count;
    struct thread_circle *circles;
    size_t circle_count;
};

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int thread_list_new(struct thread_list **out);
void thread_list_free(struct thread_list **list);

/* An event of the reader's partition; those of a partition come in one row. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int thread_list_add(struct thread_list *list, struct partition_reader *reader,
                    const struct trace_event *event);

/* After the last event: the dumps, in the order in which they came. SKEIN_OK, SKEIN_NO_MEMORY. */
int thread_list_end(struct thread_list *list, const struct thread_dump_view **dumps, size_t *count);

#endif
