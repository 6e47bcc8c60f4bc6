/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads did, from what the scheduler recorded: stretches of running, waiting for a CPU, and
 * being blocked, with who woke them and who ran in their place; and how much CPU everybody had.
 *
 *              switched in                 switched out, and would run on
 *   RUNNABLE ───────────────▶ RUNNING ─────────────────────────────────────▶ RUNNABLE
 *      ▲                         │ switched out, and waits
 *      └──────── woken ──────── BLOCKED
 *
 * Before the first record of a thread its state follows from that record; where records were lost
 * (sched_timeline_gap) nothing is known of anybody. Takes records in the order of time. No I/O; one
 * owner, one thread.
 */
#ifndef SCHED_TIMELINE_H
#define SCHED_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "sched_event.h"

enum sched_span_kind { SCHED_SPAN_RUN, SCHED_SPAN_RUNNABLE, SCHED_SPAN_BLOCKED };

/* Why a thread waits for a CPU: it was woken, it was taken off (or gave way), it is new. */
enum sched_why { SCHED_WHY_UNKNOWN, SCHED_WHY_WOKEN, SCHED_WHY_PREEMPTED, SCHED_WHY_NEW };

#define SCHED_CUT_BEGIN 1u /* it had begun before begin_ns, nobody knows when */
#define SCHED_CUT_END   2u /* it went on after end_ns */
/* The kernel has not recorded the switch at one of its ends, which is guessed: an idle CPU takes a
 * thread as soon as it is woken, another one is left as late as can be. */
#define SCHED_CUT_UNSEEN 4u

struct sched_waker {
    bool known;
    uint32_t tid, cpu;
    uint8_t context; /* enum sched_context: an interrupt above `tid` may have woken */
    char comm[SCHED_COMM_BYTES];
};

struct sched_span {
    uint8_t kind; /* enum sched_span_kind */
    uint8_t cut;  /* SCHED_CUT_… */
    uint8_t why;  /* RUNNABLE: enum sched_why */
    char state;   /* BLOCKED: S, D, T, t, P, I as ps shows them; '?' not known */
    uint32_t tid;
    uint32_t cpu;              /* RUN: on it; RUNNABLE: for it */
    uint64_t begin_ns, end_ns; /* begin < end */
    char comm[SCHED_COMM_BYTES];
    struct sched_waker waker; /* BLOCKED: who ended it; not known where it is cut */
    /* RUNNABLE: who had the CPU longest meanwhile, at least so long; tid 0: nobody */
    uint32_t instead;
    uint64_t instead_ns;
    char instead_comm[SCHED_COMM_BYTES];
};

typedef void sched_span_fn(void *context, const struct sched_span *span);

/* CPU time of a thread in the window; tid 0: idle CPUs. */
struct sched_use {
    uint32_t tid;
    uint64_t ns, runs;
    bool watched; /* of the process that is asked for, also where it has ended since */
    char comm[SCHED_COMM_BYTES];
};

struct sched_timeline_ask {
    uint64_t known_ns;       /* records are whole from here on */
    uint64_t from_ns, to_ns; /* spans that overlap this window are given; uses are inside of it */
    bool all;                /* all threads; else those watched, and threads that they make */
    sched_span_fn *span;     /* of each thread in the order of time */
    void *context;
};

struct sched_timeline;

/* SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_timeline_new(const struct sched_timeline_ask *ask, struct sched_timeline **out);
void sched_timeline_free(struct sched_timeline **timeline);

/* A thread is wanted from from_ns on, before which somebody else may have had its tid. `state` is
 * what /proc says of it (0: nobody asked) and `cpu` where it was last: they hold for a thread that
 * has no record. SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_timeline_watch(struct sched_timeline *t, uint32_t tid, uint64_t from_ns, char state,
                         uint32_t cpu, const char *comm);

/* Hot. SKEIN_OK, SKEIN_NO_MEMORY. */
int sched_timeline_event(struct sched_timeline *t, const struct sched_event *event);

/* Records between the two times are missing: what went on until from_ns is given, cut. */
void sched_timeline_gap(struct sched_timeline *t, uint64_t from_ns, uint64_t to_ns);

/* No more records: what goes on is given, cut at at_ns. */
void sched_timeline_end(struct sched_timeline *t, uint64_t at_ns);

/* In no order; the timeline's. NULL: no memory, now or before. */
size_t sched_timeline_uses(struct sched_timeline *t, const struct sched_use **uses);

/* Switches that must have been, and were not recorded. */
uint64_t sched_timeline_unseen(const struct sched_timeline *t);

#endif
