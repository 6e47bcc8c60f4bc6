/* SPDX-License-Identifier: Apache-2.0
 *
 * What differs between two summaries: which regions, waits, stacks, counters and log lines changed from
 * `before` to `after`, by how much, and how unlikely that is by chance (docs/diff.md). Services are
 * compared by name, all of their processes together. No I/O. One owner, one thread.
 */
#ifndef DIFF_H
#define DIFF_H

#include "summary.h"

#define DIFF_VERSION 2    /* 2: a host's counters name the host, and no service */
#define DIFF_Q       0.05 /* a change is sure where its q is at most this */
#define DIFF_LARGE   0.02 /* seconds of each second: told also where nothing is sure */

/* kind, word */
#define DIFF_KIND_LIST(X)                                                                          \
    X(REGION, "region")                                                                            \
    X(WAIT, "wait") /* a region of the groups net, io, lock, thread, sleep */                      \
    X(INSTANT, "instant")                                                                          \
    X(STACK, "stack")                                                                              \
    X(CPU, "cpu")     /* of a service, by samples */                                               \
    X(SCHED, "sched") /* ready, and without a CPU */                                               \
    X(COUNTER, "counter")                                                                          \
    X(LOG, "log")
enum diff_kind {
#define X(kind, word) DIFF_##kind,
    DIFF_KIND_LIST(X)
#undef X
};

struct diff_side {
    uint64_t count;
    double seen_s;                   /* seconds that the service was seen */
    double rate;                     /* a second */
    double busy;                     /* seconds of each second; own time, what is idle left out */
    uint64_t p50_ns, p99_ns, max_ns; /* of regions */
    double mean, most;               /* of counters */
};

struct diff_change {
    enum diff_kind kind;
    const char *service, *host, *name, *stack, *unit; /* "": none; of a host's counter no service */
    int group, level; /* of a region or instant; of log lines; -1: of none */
    bool twin;        /* another row has its name: words tell the two apart */
    struct diff_side before, after;
    double longer;            /* how likely one of after lasts longer than one of before */
    double q_count, q_lasted; /* false discovery rates of number and length, or mean; 1: no test */
    bool sure;
    double size; /* by which it is ranked */
    char *words;
};

/* What it comes to, word. */
#define DIFF_OUTCOME_LIST(X)                                                                       \
    X(CHANGED, "changed")           /* there are changes, sure ones or not */                      \
    X(SAME, "same")                 /* enough was compared, and nothing has changed */             \
    X(FEW, "few")                   /* too few events on both sides for anything to be sure */     \
    X(INCOMPARABLE, "incomparable") /* no service, and no host's counter, is on both sides */
enum diff_outcome {
#define X(outcome, word) DIFF_##outcome,
    DIFF_OUTCOME_LIST(X)
#undef X
};

struct diff_list {
    struct diff_change
        *changes; /* the largest first, those that are not sure by half of their size */
    size_t count;
    size_t compared, tests; /* rows, and tests among which q are rates */
    enum diff_outcome outcome;
    char *outcome_words; /* a sentence */
    char **notes;        /* what is to be known beside: sentences */
    size_t note_count;
    uint64_t from_ns[2], to_ns[2];
    size_t processes[2];
};

struct diff;

/* Compares; `one` takes all processes of a side as one, whatever their services are. *list is the
 * diff's, and its texts. SKEIN_OK, SKEIN_NO_MEMORY. */
int diff_new(const struct summary *before, const struct summary *after, bool one, struct diff **out,
             const struct diff_list **list);
void diff_free(struct diff **diff);

const char *diff_kind_text(enum diff_kind kind);
const char *diff_outcome_text(enum diff_outcome outcome);
/* As one JSON object (docs/diff.md). choice: which sides, and why (diff_baseline.h); NULL: no member
 * tells. */
struct diff_choice;
void diff_json(const struct diff_list *list, const struct diff_choice *choice, struct buf *out);

#endif
