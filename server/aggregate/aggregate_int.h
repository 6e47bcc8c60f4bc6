/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct aggregate, for aggregate*.c and series*.c alone: aggregate.c has the thread and
 * what is to be done, aggregate_job.c does it.
 */
#ifndef AGGREGATE_INT_H
#define AGGREGATE_INT_H

#include "aggregate_db.h"
#include "catalog_capture.h"
#include "own_thread.h"

#define AGGREGATE_QUEUE 1024u

struct aggregate {
    struct aggregate_settings settings;
    struct capture_engine *captures;
    struct catalog *catalog;
    struct index *index;
    struct aggregate_db db;

    /* The worker's alone. */
    struct catalog_cursor walk; /* how far: captures that are older are still to be looked at */
    bool walking;
    uint64_t
        again_ns; /* monotonic; walk again from then on, for something failed; 0: nothing did */
    uint64_t upkeep_ns; /* monotonic; the next upkeep */

    struct own_thread thread;                 /* its lock guards what follows */
    struct capture_id queue[AGGREGATE_QUEUE]; /* a ring */
    size_t first, count;
    struct capture_id current; /* that is worked at; zero: none */
    bool overflowed;           /* there were more: walk */
};

/* Brings the capture up to date: sums it up, forgets it, or does nothing. SKEIN_OK (also: refused, for
 * good); SKEIN_CLOSED (stopping); else it failed and is to be tried again. *took_ns: its work. */
bool aggregate_is_stopping(void *aggregate); /* as analyst_job and trace_stream ask */
int aggregate_capture(struct aggregate *a, const struct capture_id *id, uint64_t *took_ns);

#endif
