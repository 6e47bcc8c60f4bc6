/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a summary (summary.h), table by table: what each process, thread, name and so on came
 * to. Durations in ns. Texts are numbers of the summary's own (summary_text). Declarations only; what
 * becomes of each member in a merge, and its name in JSON, is in summary_fields.c.
 */
#ifndef SUMMARY_ROWS_H
#define SUMMARY_ROWS_H

#include "histogram.h"

#define SUMMARY_NONE     UINT32_MAX
#define SUMMARY_OTHERS   "(others)"
#define SUMMARY_INSTANTS 256u /* a name's number from there on is of instants: less it, the group */
#define SUMMARY_HOLDERS  6
#define SUMMARY_REASONS  5 /* of waits: net, io, lock, thread, sleep; group less 1 */

/* The head of each row. `of` is a row of processes (SUMMARY_NONE: of none), but of calls, where it is
 * one of threads. */
struct summary_row {
    uint32_t of, text;
    uint64_t number;            /* what it is depends on the table */
    uint64_t merged;            /* rows that are merged in this one; 0: it is one itself */
    uint64_t first_ns, last_ns; /* when its events ended */
};

/* The longest of its kind and whom it was for; dur_ns 0: there is none. */
struct summary_peak {
    uint64_t time_ns, dur_ns;
    uint32_t other, name; /* tid of who ran instead or woke (0: nobody knows), and a text */
};

struct summary_process { /* text: its id, 32 hex digits */
    struct summary_row row;
    uint32_t host, service, labels, exe;
    uint64_t pid, dead, signal, status; /* dead 1: known to have ended */
    uint64_t seen_ns;                   /* of the time asked for, so long is known of it */
    uint64_t events, regions, end_only, fixed_up;
    uint64_t wait_ns[SUMMARY_REASONS],
        idle_ns;                          /* of all threads; open ones too; idle: part of it */
    uint64_t sampled_ns, samples;         /* on a CPU */
    uint64_t window_ns, busy_ns, room_ns; /* cpu.window: its CPU time, all, what there is */
    uint64_t instants, counters, logs;    /* of events */
    uint64_t run_ns, runnable_ns, blocked_ns[4], runs, preempted; /* of its threads, as below */
};
struct summary_thread { /* of a process; number: tid */
    struct summary_row row;
    uint32_t name;
    uint64_t regions, wait_ns[SUMMARY_REASONS], idle_ns;
    uint64_t sampled_ns, samples;
    uint64_t run_ns, runnable_ns, blocked_ns[4], runs, preempted; /* S, D, T, other */
    struct summary_peak runnable, blocked;
    uint64_t clock_from_ns, clock_to_ns;         /* its CPU clock, least and most; 0, 0: unknown */
    uint64_t load_run_ns, load_wait_ns, load_ns; /* thread.load: on a CPU, ready; over so long */
    uint64_t instants, counters, logs;           /* its records that are no regions */
    /* thread.sched: since it began, the most that was told; where there are no records of switches */
    uint64_t since_run_ns, since_runnable_ns, since_runs, since_gave_way, since_preempted;
};
struct summary_name { /* of a process; number: group, + SUMMARY_INSTANTS: instants */
    struct summary_row row;
    uint64_t count, total_ns, self_ns, idle_ns; /* of those that ended; idle: of total */
    uint64_t unsure_ns;                         /* self_ns may be too large by so much */
    uint64_t open, open_ns;                     /* in progress at the end; not in the others */
    uint64_t clipped;                           /* of the count: longer than known */
    struct histogram lasted;                    /* regions */
    uint64_t open_idle_ns;                      /* of open_ns */
};
struct summary_call { /* the same, of a thread */
    struct summary_row row;
    uint64_t count, total_ns, self_ns, idle_ns, open, open_ns, most_ns, open_idle_ns;
};
struct summary_stack { /* text: event; number: text "innermost;…;outermost" */
    struct summary_row row;
    uint64_t count, total_ns; /* own time; of cpu.sample: on a CPU */
};
struct summary_holder {
    uint64_t tid, waits, wait_ns, dumped; /* dumped: waiters in thread dumps */
};
struct summary_lock { /* text: event; number: the lock's address */
    struct summary_row row;
    uint64_t count, total_ns, most_ns, open;
    struct summary_holder holders[SUMMARY_HOLDERS]; /* when waits began; most first; tid 0: end */
    struct summary_holder rest;                     /* all further ones; tid is their number */
};
struct summary_counter { /* of === SUMMARY_NONE: of a host, number: its text */
    struct summary_row row;
    uint32_t unit;
    uint64_t count;
    double least, most, last, sum, squares; /* squares: their sum */
};
struct summary_log { /* text: the message's shape; number: level */
    struct summary_row row;
    uint64_t count;
    uint32_t example;
};
struct summary_loss { /* number: reason, docs/format.md F-32 */
    struct summary_row row;
    uint64_t count, records, dur_ns, unknown; /* unknown: of the count, without a number */
};
struct summary_neighbour { /* of a host's CPUs; text: name; number: text of the host, + pid << 32 */
    struct summary_row row;
    uint64_t pid, cpu_ns, window_ns; /* in the window where it used most */
};
struct summary_gap { /* number: enum skein_gap_reason; text: the sentence */
    struct summary_row row;
    uint64_t count, bytes;
};

/* table, singular, plural */
#define SUMMARY_TABLE_LIST(X)                                                                      \
    X(PROCESS, process, processes)                                                                 \
    X(THREAD, thread, threads)                                                                     \
    X(NAME, name, names)                                                                           \
    X(CALL, call, calls)                                                                           \
    X(STACK, stack, stacks)                                                                        \
    X(LOCK, lock, locks)                                                                           \
    X(COUNTER, counter, counters)                                                                  \
    X(LOG, log, logs)                                                                              \
    X(LOSS, loss, losses)                                                                          \
    X(NEIGHBOUR, neighbour, neighbours)                                                            \
    X(GAP, gap, gaps)

#endif
