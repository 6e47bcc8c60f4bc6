/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of task paths: what is gathered (task_path.c), walked (task_path_walk.c) and told
 * (task_path_tell.c). Included by these alone.
 */
#ifndef TASK_PATH_INT_H
#define TASK_PATH_INT_H

#include "intern_table.h"
#include "task_path.h"

#define TASK_NAMES_MAX 4096u  /* that are counted at once */
#define TASK_SPANS_MAX 65536u /* of the second pass */
#define TASK_DEPTH     4u     /* how far it is followed whom somebody waited for */
#define TASK_MADE_MAX  4096u  /* segments of a path before short ones become one */

#define PATH_ALL UINT32_MAX /* tid of the actor that is all threads of a process */

enum path_kind { PATH_REGION, PATH_READY, PATH_BLOCKED, PATH_LOST, PATH_DUMPED };

struct path_type { /* of a type of the trace */
    bool known, task, wait, lock;
    enum path_kind kind;
    bool sched, dump;
    int8_t trace_id, owner, other, text, more; /* arguments; -1: none */
};

struct path_span {
    enum path_kind kind;
    uint32_t actor, type; /* type SKEIN_NONE: of a loss */
    bool wait, lock;
    uint64_t from_ns, to_ns;
    uint64_t other;    /* lock: its holder; READY: who ran instead; BLOCKED: who woke; 0: none */
    uint64_t object;   /* lock: its address */
    uint32_t text;     /* READY, BLOCKED: name of the other; among `texts`; 0: none */
    char state;        /* BLOCKED */
    bool by_task;      /* BLOCKED: the other woke it itself, and no interrupt above it */
    uint64_t id[2];    /* trace id; 0, 0: none */
    uint64_t reach_ns; /* when sorted: the latest end of those of its run up to here */
};

/* Of the sorted spans: regions of a thread, what is beside them (READY, BLOCKED, LOST), dumps. */
enum path_run { RUN_REGIONS, RUN_BESIDE, RUN_DUMPS, PATH_RUNS };

struct path_actor { /* a thread, by process and tid */
    uint32_t process, tid;
    const char *name;
    struct {
        size_t first, count;
    } runs[PATH_RUNS];
};

struct path_task { /* one that may be among the slowest */
    uint32_t process, tid, type, thread;
    bool open, clipped;
    uint64_t from_ns, dur_ns, id[2];
};

struct path_name {
    const char *service, *name;
    uint64_t count, total_ns;
    struct path_task *slowest; /* the slowest first */
    size_t slowest_count;
};

/* Why a segment is what it is; told in words at the end. */
enum path_why {
    WHY_NOTHING,
    WHY_HOLDS,     /* it has the lock that `other` waits for */
    WHY_HELD,      /* the lock is held by `other`, of whom nothing more is known */
    WHY_WOKE,      /* it woke `other` when it had done this */
    WHY_CHILD,     /* it has the same trace id, while `other` waited */
    WHY_INSTEAD,   /* ready: somebody else had the CPU */
    WHY_WOKEN,     /* blocked, or in a wait: by whom it was woken */
    WHY_LOST,      /* records are lost */
    WHY_NO_RECORD, /* nothing is recorded of it then */
    WHY_ELSEWHERE, /* the span began while this thread was in something else */
    WHY_TOO_MUCH,  /* not looked at: too much */
    WHY_SEVERAL
};

struct path_segment {
    enum task_what what;
    enum path_why why;
    uint32_t actor;
    const char *name;
    unsigned depth;
    uint64_t from_ns, dur_ns, count, longest_ns;
    uint64_t unknown_ns;    /* of SEVERAL: that of what became part of it */
    uint64_t other, object; /* tid */
    uint32_t text;
    char state;
};

struct path_segments {
    struct path_segment *items;
    size_t count, cap;
    int status;
};

struct task_path {
    struct path_type *types;
    size_t type_cap;
    struct intern_table name_keys, actor_keys, texts;
    struct intern_table hosts, host_keys; /* names; number of the host and tid */
    uint32_t *host_actors;                /* by host_keys: the first actor of them */
    size_t host_actor_cap;
    struct path_name *names;
    size_t name_cap;
    struct path_actor *actors;
    size_t actor_cap;
    struct path_span *spans;
    size_t span_count, span_cap;
    uint64_t floor_ns, spans_left_out;
    const struct skein_trace *trace;
    struct task_name *out_names;
    struct task_list list;
    char **words;
    size_t word_count, word_cap;
};

static inline enum path_run path_run_of(const struct path_span *span)
{
    return span->kind == PATH_REGION   ? RUN_REGIONS
           : span->kind == PATH_DUMPED ? RUN_DUMPS
                                       : RUN_BESIDE;
}

/* task_path.c: the actor of a thread; -1: nothing is kept of it. */
int64_t path_actor_find(const struct task_path *p, uint32_t process, uint32_t tid);
/* The first actor of that tid on the host of process `like`, whatever process it is of; -1: there is
 * none. */
int64_t path_actor_of_host(const struct task_path *p, uint32_t like, uint32_t tid);
/* task_path_walk.c: the path of a task, whose spans are sorted. */
void path_walk(const struct task_path *p, const struct path_task *task, struct path_segments *out);
/* task_path_tell.c */
void path_segment_put(struct path_segments *out, const struct path_segment *segment);
void path_segments_thin(struct path_segments *out, size_t most);
int path_tell(struct task_path *p); /* all names and tasks: SKEIN_OK, SKEIN_NO_MEMORY */

#endif
