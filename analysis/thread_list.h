/* SPDX-License-Identifier: Apache-2.0
 *
 * The thread dumps of a trace: what each thread did at the moment of a dump, what it waited for and
 * who held that. Takes events one by one; threads with equal stacks are one group, and threads that
 * wait for each other in a circle one deadlock. What other evidence of the same capture knows of them
 * stands beside. No I/O. One owner, one thread.
 */
#ifndef THREAD_LIST_H
#define THREAD_LIST_H

#include "beside.h"

struct thread_list;

struct thread_item {
    uint32_t tid;
    const char *name, *state, *wchan, *call; /* call: "futex(0x…, …)"; "": in none */
    uint64_t at_ns, cpu_ns, voluntary, involuntary;
    const char *waits_for; /* mutex, thread, or a lock of its runtime's; "": not known */
    uint64_t object;
    uint32_t holder;                /* 0: not known, as of a runtime's locks */
    uint32_t stack;                 /* 0: none; equal stacks of a dump have equal numbers */
    const char *descriptor;         /* that the call is about, when the capture ended; "": none */
    const struct beside_wait *wait; /* for a CPU, at that moment; NULL: none is known */
    bool tracer;                    /* Skein's own visitor */
};

struct thread_frame {
    uint64_t pc;
    const char *function, *file; /* "": not known */
    uint32_t line;
    const char *module; /* path of the file that is mapped there, or "" */
    bool inlined;       /* into the next one, which has the same pc */
    bool tracer;        /* of Skein's own library */
};

/* Threads that do the same; the first one stands for all. */
struct thread_group {
    size_t first, count; /* in `threads` */
    struct thread_frame *frames;
    size_t frame_count;
    bool tracer; /* all its threads are */
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
    struct thread_group *groups; /* who waits for a holder, holders, who runs, all others, Skein */
    size_t group_count;
    struct thread_circle *circles;
    size_t circle_count;
    struct beside_cpu cpu; /* who used the CPUs around it */
    const struct beside_peer *peers;
    size_t peer_count;
    size_t tracers; /* of the threads */
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
