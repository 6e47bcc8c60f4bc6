/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the time of the slowest tasks went, across threads (docs/analysis.md): a task is a region that
 * is no wait; of each of the heaviest names the slowest are kept, and of these a path: what its thread
 * did, and, where it waited, what the one did that it waited for, as far as that is recorded. The
 * segments of a path follow each other without a hole and add up to the task's length exactly; what
 * cannot be known is a segment that says so.
 *
 * Two passes: task_path_add takes all batches of a cursor and finds the tasks; task_path_end reads the
 * time of these once more, by a cursor of its own. Memory: the names of tasks, 65,536 regions of the
 * second pass (the longest; how many were left out is told), and the result. No I/O but through the
 * trace. One owner, one thread.
 */
#ifndef TASK_PATH_H
#define TASK_PATH_H

#include "skein/trace.h"

#define TASK_NAMES    5u  /* the heaviest */
#define TASK_SLOWEST  3u  /* of each name */
#define TASK_SEGMENTS 16u /* of a path, at most: shorter ones next to each other become one */

enum task_what {
    TASK_WORK = 1, /* in a region, on a CPU as far as is known */
    TASK_WAIT,     /* in a recorded wait, of which no more is known than `why` */
    TASK_READY,    /* ready, and without a CPU */
    TASK_BLOCKED,  /* blocked by the scheduler's records, and in no recorded wait */
    TASK_UNKNOWN,  /* nothing is recorded, or records are lost */
    TASK_SEVERAL   /* `count` short ones; name: of the longest of them */
};

struct task_segment {
    enum task_what what;
    uint32_t process, tid; /* whose time it is: the task's thread, or whom it waited for */
    const char *thread;    /* its name; "" */
    const char *name;      /* of the region or wait; "" */
    const char *why;       /* in words; "" where there is nothing to add */
    unsigned depth;        /* 0: the task's own thread; 1: whom that waited for; … */
    uint64_t from_ns, dur_ns, count;
};

struct task {
    uint32_t process, tid;
    const char *thread;
    char trace_id[33];  /* "" */
    bool open, clipped; /* it has not ended; it began before what is known */
    uint64_t from_ns, dur_ns;
    uint64_t unknown_ns; /* of it nothing is known, also where that became part of TASK_SEVERAL */
    const struct task_segment *segments;
    size_t segment_count;
};

struct task_name {
    const char *service, *name;
    uint64_t count, total_ns; /* of those that ended */
    const struct task *tasks; /* the slowest, the slowest first */
    size_t task_count;
};

struct task_list {
    const struct task_name *names; /* by total_ns */
    size_t name_count;
    uint64_t names_left_out;             /* that are not among the heaviest */
    uint64_t regions_left_out;           /* of names that had no room to be counted */
    uint64_t spans_left_out, shorter_ns; /* regions that are not in paths: all were shorter */
};

struct task_path;

int task_path_new(struct task_path **out); /* SKEIN_OK, SKEIN_NO_MEMORY */
void task_path_free(struct task_path **path);

/* A batch with all columns, of a query in causal order. SKEIN_OK, SKEIN_NO_MEMORY. */
int task_path_add(struct task_path *path, const struct skein_trace *trace,
                  const struct skein_batch *batch);

/* After the last batch, once. The list is the path's; names in it may be the trace's. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int task_path_end(struct task_path *path, struct skein_trace *trace, const struct task_list **list);

/* "work", "wait", … */
const char *task_what_text(enum task_what what);

#endif
