/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the moment: what is gathered (moment.c) and judged (moment_list.c). Included by
 * these two, and by trace_report*.c, which judge what is gathered by other rules.
 */
#ifndef MOMENT_INT_H
#define MOMENT_INT_H

#include "intern_table.h"
#include "moment.h"

#define TOP         2                   /* longest of a name that a thread keeps */
#define LEVELS      64                  /* of the histogram: powers of two nanoseconds */
#define UNUSUAL     10                  /* times as long as what is usual */
#define UNUSUAL_NS  UINT64_C(10000000)  /* shorter ones are of no interest */
#define RARE_NS     UINT64_C(100000000) /* the same where there is little to compare with */
#define COMPARE_MIN 20                  /* others, before "usual" means anything */
#define RHYTHM_MIN  3                   /* waits of a thread, before they are its rhythm */

/* A name of events: what it says, and what kind of wait it is. */
struct label {
    char *text;
    uint8_t group;
    bool hidden; /* of a group that is not asked for: judged by, not listed */
    bool wait, for_anything, for_lock;
    bool own_time; /* the thread waits for its turn, or for time: no reply is awaited */
    bool rhythmic;
};

struct stat { /* of one name on one thread */
    size_t label;
    uint64_t count, total_ns;
    uint32_t levels[LEVELS];
    struct moment_span top[TOP]; /* the longest first */
};

struct process {
    char *service, *host;
    uint32_t pid;
    bool dead;
    uint64_t from_ns,
        to_ns;        /* of the times at which its records were made; from: UINT64_MAX, none */
    uint64_t open_ns; /* when the first began that is still open; UINT64_MAX: none is */
};

struct thread {
    size_t process;
    uint32_t tid;
    bool stands_in; /* it is no thread: SKEIN_STAND_IN */
    char *name;
    struct stat *stats;
    size_t stat_count;
    struct moment_span inside[MOMENT_INSIDE_MAX]; /* the earliest first */
    size_t inside_label[MOMENT_INSIDE_MAX];
    size_t inside_count;
};

struct moment {
    uint64_t groups;            /* that are listed; 0: all */
    uint64_t at_ns, open_to_ns; /* open_to: until when something is open */
    bool end;                   /* the moment is the record's end */
    struct intern_table label_keys, thread_keys, process_keys;
    struct label *labels;
    struct thread *threads;
    struct process *processes;
    size_t label_count, label_cap, thread_count, thread_cap, process_count, process_cap;
    struct moment_list list;
};

/* Whether a label's wait on a thread is idle (moment.h); and below what `rank` of the shortest of a
 * histogram took. */
bool moment_is_idle(const struct moment *f, const struct thread *t, const struct label *label,
                    const struct moment_span *span);
uint64_t moment_quantile(const uint32_t *levels, uint64_t rank);

#endif
