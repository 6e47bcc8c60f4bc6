/* SPDX-License-Identifier: Apache-2.0
 *
 * What stands out in a trace around one moment: the threads that were inside of something then, the
 * longest waits, and what took far longer than it usually does. Takes events one by one, in the
 * memory of a few numbers for each thread and name; no I/O. One owner, one thread.
 *
 * Idle waits stand out of nothing and are left out everywhere. A wait is idle where its thread is
 * at no work (inside of no region and no event loop's batch) and one of these holds:
 *   - it is a wait for whatever comes: poll, select, epoll_wait, accept, sigwait, wait_child;
 *   - it lasts as long as is known of its process, and is none for a lock;
 *   - it is a condition, a semaphore, a sleep or a read, and as long as this thread's usually are,
 *     or nothing but such waits is known of the thread.
 */
#ifndef MOMENT_H
#define MOMENT_H

#include "partition_reader.h"

#define MOMENT_INSIDE_MAX 6 /* regions around the moment that are kept of a thread: the innermost */

struct moment;

/* A region or wait. */
struct moment_span {
    const char *name;
    uint64_t time_ns, dur_ns;
    bool open;      /* it had no end yet at the cut */
    bool clipped;   /* it began earlier, or ended later, than is known */
    bool at_work;   /* inside of a region, or of a batch of an event loop */
    uint32_t stack; /* of the event as it was added: whoever adds may number stacks anew */
};

struct moment_thread {
    uint32_t tid, pid;
    const char *name, *service, *host;
};

struct moment_inside { /* outermost first */
    struct moment_thread thread;
    struct moment_span spans[MOMENT_INSIDE_MAX];
    size_t count;
};

struct moment_idle {
    const char *name;
    uint64_t threads;
};

struct moment_wait {
    struct moment_thread thread;
    struct moment_span span;
};

/* A region or wait that took far longer than the others of its name in its service. */
struct moment_unusual {
    struct moment_thread thread;
    struct moment_span span; /* the longest */
    uint64_t more;           /* others at least half as long */
    uint64_t usual_count;    /* all the rest; 0: it is the only one */
    uint64_t usual_ns;       /* 99 % of the rest took less */
};

struct moment_death {
    uint32_t pid;
    const char *service, *host;
    int32_t signal, status;
};

/* Texts are the moment' and live as long. */
struct moment_list {
    struct moment_inside *inside; /* the longest first */
    size_t inside_count;
    struct moment_idle *idle; /* at the moment, by what they waited in */
    size_t idle_count;
    struct moment_wait *waits; /* the longest first */
    size_t wait_count;
    struct moment_unusual *unusual; /* the longest first */
    size_t unusual_count;
    struct moment_death *deaths;
    size_t death_count;
    uint64_t threads;        /* that have events */
    uint64_t from_ns, to_ns; /* of all events; 0, 0: there are none */
    uint64_t at_ns;          /* the moment */
};

/* groups: what is listed is of these event groups alone (0: all); what it is judged by is all.
 * at_ns: the moment; with `end` it is the end of the record, which is later where something is
 * still open behind the last event. SKEIN_OK, SKEIN_NO_MEMORY. */
int moment_new(uint64_t groups, uint64_t at_ns, bool end, struct moment **out);
void moment_free(struct moment **moment);

/* An event of a partition. Processes come one after the other, partitions of each in their order;
 * `last`: no later partition of this process comes. SKEIN_OK, SKEIN_NO_MEMORY. */
int moment_add(struct moment *f, const struct partition_info *info, const struct trace_event *event,
               bool last);

/* ---- the same by numbers, for who has resolved names already; in any order of processes ----
 *
 * Numbers are from 0, equal things have equal ones; below 0: SKEIN_NO_MEMORY. */

int64_t moment_process_put(struct moment *f, const uint8_t id[16], uint32_t pid,
                           const char *service, const char *host);
int64_t moment_thread_put(struct moment *f, size_t process, uint32_t tid, uint64_t incarnation,
                          const char *name);
int64_t moment_label_put(struct moment *f, const char *name, uint8_t group, bool shown);
/* Once of a process. SKEIN_OK, SKEIN_NO_MEMORY. */
int moment_death_put(struct moment *f, size_t process, int32_t signal, int32_t status);
/* Something of the process was from then to then; `open`: it goes on. */
void moment_time_put(struct moment *f, size_t process, uint64_t from_ns, uint64_t until_ns,
                     bool open);
/* A region or wait of a thread; `work`: waits in it are at work. span's name is the label's.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int moment_span_put(struct moment *f, size_t thread, size_t label, const struct moment_span *span,
                    bool work);
/* Whether a span of that length would be among those that are kept with their stacks. */
bool moment_would_keep(const struct moment *f, size_t thread, size_t label, uint64_t dur_ns);

/* After the last event: at most `most` waits and as many unusual ones. The list is f's. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int moment_end(struct moment *f, size_t most, const struct moment_list **list);

#endif
