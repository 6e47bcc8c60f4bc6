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
#ifndef FINDINGS_H
#define FINDINGS_H

#include "partition_reader.h"

#define FINDINGS_INSIDE_MAX                                                                        \
    6 /* regions around the moment that are kept of a thread: the innermost */

struct findings;

/* A region or wait. */
struct finding_span {
    const char *name;
    uint64_t time_ns, dur_ns;
    bool open;      /* it had no end yet at the cut */
    bool clipped;   /* it began earlier, or ended later, than is known */
    bool at_work;   /* inside of a region, or of a batch of an event loop */
    uint32_t stack; /* of the event as it was added: whoever adds may number stacks anew */
};

struct finding_thread {
    uint32_t tid, pid;
    const char *name, *service, *host;
};

struct finding_inside { /* outermost first */
    struct finding_thread thread;
    struct finding_span spans[FINDINGS_INSIDE_MAX];
    size_t count;
};

struct finding_idle {
    const char *name;
    uint64_t threads;
};

struct finding_wait {
    struct finding_thread thread;
    struct finding_span span;
};

/* A region or wait that took far longer than the others of its name in its service. */
struct finding_unusual {
    struct finding_thread thread;
    struct finding_span span; /* the longest */
    uint64_t more;            /* others at least half as long */
    uint64_t usual_count;     /* all the rest; 0: it is the only one */
    uint64_t usual_ns;        /* 99 % of the rest took less */
};

struct finding_death {
    uint32_t pid;
    const char *service, *host;
    int32_t signal, status;
};

/* Texts are the findings' and live as long. */
struct findings_list {
    struct finding_inside *inside; /* the longest first */
    size_t inside_count;
    struct finding_idle *idle; /* at the moment, by what they waited in */
    size_t idle_count;
    struct finding_wait *waits; /* the longest first */
    size_t wait_count;
    struct finding_unusual *unusual; /* the longest first */
    size_t unusual_count;
    struct finding_death *deaths;
    size_t death_count;
    uint64_t threads;        /* that have events */
    uint64_t from_ns, to_ns; /* of all events; 0, 0: there are none */
    uint64_t at_ns;          /* the moment */
};

/* groups: what is listed is of these event groups alone (0: all); what it is judged by is all.
 * at_ns: the moment; with `end` it is the end of the record, which is later where something is
 * still open behind the last event. SKEIN_OK, SKEIN_NO_MEMORY. */
int findings_new(uint64_t groups, uint64_t at_ns, bool end, struct findings **out);
void findings_free(struct findings **findings);

/* An event of a partition. Processes come one after the other, partitions of each in their order;
 * `last`: no later partition of this process comes. SKEIN_OK, SKEIN_NO_MEMORY. */
int findings_add(struct findings *f, const struct partition_info *info,
                 const struct trace_event *event, bool last);

/* After the last event: at most `most` waits and as many unusual ones. The list is f's. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int findings_end(struct findings *f, size_t most, const struct findings_list **list);

#endif
