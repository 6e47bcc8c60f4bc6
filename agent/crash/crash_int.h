/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the room; included by its files and its tests.
 */
#ifndef CRASH_INT_H
#define CRASH_INT_H

#include <pthread.h>
#include <sys/queue.h>

#include "crash.h"
#include "last_words.h"
#include "perf_host.h"
#include "process_maps.h"
#include "shares.h"
#include "signal_record.h"
#include "worker.h"

#define CRASH_SIGNALS_MAX 8  /* of one process; threads may fault at once */
#define CRASH_DEAD_MAX    64 /* whose deaths are remembered; who has most of them loses one */

/* A signal that was about to end the process, or was sent by it to itself. */
struct crash_signal {
    struct perf_sample sample; /* its stack is that below */
    uint8_t *stack;            /* malloc, or NULL */
    struct signal_record record;
};

/* Who has sent the signal that ended it. */
struct crash_sender {
    uint32_t pid, tid; /* 0: nobody is known */
    int32_t signal, code;
    uint64_t at_ns;
    char name[32]; /* of the process; "" */
};

struct crash_death {
    struct crash_signal signals[CRASH_SIGNALS_MAX]; /* the earliest first */
    size_t count, left_out;
    struct crash_sender sender;
    uint64_t memory_ns; /* the kernel has killed it, as memory ran out; 0: not */
    struct perf_reach reach;
};

/* Standard error of a process: where it led, and once it is dead, what was read. */
struct crash_words {
    struct words_place place;
    struct words_mark mark;
    uint64_t next_ns; /* when to look again */
    bool wanted;      /* it died badly, and they may be kept */
    bool read;        /* `words` is filled in, and nothing changes any more */
    struct words words;
};

/* A process, and where its code lies. */
struct crash_entry {
    TAILQ_ENTRY(crash_entry) link;
    struct process_uid uid;
    uint32_t pid, user;
    struct share_key whose;               /* in whose turn its death is read */
    uint64_t start_clock_ticks, start_ns; /* start_ns: realtime */
    struct process_maps maps;             /* the last that were read */
    bool has_maps;
    /* code that was mapped then; of which program that was; when to look again */
    uint64_t code_kib, start_stack, next_ns;
    uint64_t born_ns, gone_ns; /* when it attached; when it was seen to be gone */
    bool gone, read;           /* read: `death` is filled in, and nothing changes any more */
    unsigned users;            /* collections and readings under way; it stays that long */
    struct crash_death death;
    struct crash_words words;
};

TAILQ_HEAD(crash_list, crash_entry);

struct crash {
    struct crash_settings settings; /* constant, and the next two */
    struct signal_layout layout;
    struct perf_host *host;               /* a mutex of its own */
    struct worker *worker, *words_worker; /* words_worker: one whose files may hang it */
    char why[EVIDENCE_WHY_BYTES];         /* nothing is watched, and why; ""; constant */
    unsigned looks;                       /* the loop's */
    bool is_private, no_words;            /* atomic */
    pthread_mutex_t mutex;                /* of all below */
    pthread_cond_t read;                  /* some entry's `read`, or words' */
    struct crash_list entries;
    size_t dead;
    bool busy;                      /* the worker looks at maps */
    bool words_busy;                /* its worker looks at standard errors */
    size_t words_jobs;              /* that were posted and have not ended */
    struct share_tally words_reads; /* those that read the dead, by user */
};

/* crash_maps.c, on the worker: reads where the code of processes lies whose time has come. */
void crash_maps_look(void *crash);

/* crash_words.c, on the loop: the first look, which must not come too late; looks later on, and the
 * reading of the dead (with the mutex). */
void crash_words_first(struct crash_entry *entry);
void crash_words_post(struct crash *crash);
void crash_words_gone(struct crash *crash, struct crash_entry *entry);
/* On the evidence thread: adds what a process wrote last, and says so. NULL: nothing is known. */
void crash_words_write(const struct crash *crash, const struct evidence_ask *ask,
                       const struct crash_entry *entry, struct evidence_out *out,
                       struct evidence_note *note);

/* crash.c, with the mutex. NULL: it is not known. */
struct crash_entry *crash_entry_find(struct crash *crash, const struct process_uid *uid);

/* crash_write.c, on the evidence thread: the events of a death. */
void crash_write(const struct crash *crash, const struct evidence_ask *ask,
                 const struct process_maps *maps, const struct crash_death *death,
                 struct evidence_out *out, struct evidence_note *note);

#endif
