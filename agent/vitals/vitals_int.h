/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the recorder, shared by vitals*.c alone.
 */
#ifndef VITALS_INT_H
#define VITALS_INT_H

#include <pthread.h>
#include <sys/queue.h>

#include "host_look.h"
#include "process_look.h"
#include "thread_rows.h"
#include "top_scan.h"
#include "vitals.h"

#define FILES_SHARE 16                     /* of descriptors, for files that stay open */
#define LOOK_FILES  6                      /* of a process */
#define ROWS_EACH   64                     /* looks at processes in a second */
#define NEAR_NS     (VITALS_EVERY_NS / 10) /* a sample of the host so young is not repeated */

/* An attached process; in the list of changes until the recorder has seen it. */
struct vitals_item {
    TAILQ_ENTRY(vitals_item) link;
    struct process_look look;
    bool ends; /* a change: no more looks at it */
};
TAILQ_HEAD(vitals_items, vitals_item);

/* Somebody waits for a sample. Lies on their stack. */
struct vitals_wish {
    TAILQ_ENTRY(vitals_wish) link;
    uint32_t pid;
    uint64_t start_ticks;
    int status; /* SKEIN_AGAIN: not done yet */
};

struct vitals {
    struct vitals_settings settings;
    struct look_roots roots;
    struct vitals_store *store;
    struct thread_rows *threads;
    pthread_mutex_t mutex; /* of what follows; never held while a file is read */
    pthread_cond_t wake, done;
    struct vitals_items changes;
    TAILQ_HEAD(, vitals_wish) wishes;
    struct vitals_wish *served; /* the recorder has taken it out; NULL: none */
    bool ends;
    pthread_t thread;
    bool has_thread;
    /* the recorder's own */
    struct host_look *host;
    struct top_scan *top;
    struct vitals_items items;
    uint64_t kept, kept_max; /* processes whose files stay open */
    uint64_t host_ns;        /* of the last sample */
};

/* vitals_record.c: the recorder's thread, or who asks where there is none. */
void vitals_sample(struct vitals *vitals, uint64_t now_ns);
/* SKEIN_OK, SKEIN_NOT_FOUND. */
int vitals_look_at(struct vitals *vitals, uint32_t pid, uint64_t start_ticks, uint64_t now_ns);
void vitals_changes_take(struct vitals *vitals);

/* vitals_threads.c: what the threads of the asked process did in the time; *whole_ns: what is older
 * is not all there. SKEIN_OK, SKEIN_NO_MEMORY. */
int vitals_threads_put(struct vitals *vitals, const struct evidence_ask *ask, uint64_t from_ns,
                       uint64_t to_ns, struct evidence_out *out, uint64_t *whole_ns);

#endif
