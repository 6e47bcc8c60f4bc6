/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel says when it delivers a signal, sends one, or runs out of memory: which of its
 * events are wanted, and what lies in their raw bytes. The layout is read from the texts of tracefs,
 * once; decoding is pure.
 */
#ifndef SIGNAL_RECORD_H
#define SIGNAL_RECORD_H

#include "perf_ring.h"
#include "sched_layout.h"

enum signal_record_kind {
    SIGNAL_ENDS,   /* delivered where the program has no handler, and the default is to end */
    SIGNAL_SENT,   /* one that ends, by whoever runs there: with its stack, but for SIGKILL */
    SIGNAL_MEMORY, /* the kernel has chosen a process to kill, as memory ran out */
    SIGNAL_RECORD_KINDS
};

struct signal_layout {
    struct {
        uint64_t id; /* 0: the kernel has no such event */
        struct sched_field signal, code, target;
    } kinds[SIGNAL_RECORD_KINDS];
};

/* From a tracefs (NULL: the kernel's). SKEIN_OK, also without SIGNAL_MEMORY; SKEIN_DENIED,
 * SKEIN_NOT_FOUND. */
int signal_layout_read(const char *tracefs, struct signal_layout *out);

/* What to watch: how many of PERF_WATCHES_MAX. */
size_t signal_layout_watches(const struct signal_layout *layout, struct perf_watch *watches);

struct signal_record {
    enum signal_record_kind kind;
    int32_t signal, code; /* of SIGNAL_MEMORY 0 */
    uint32_t target;      /* whom it goes to, a thread; of SIGNAL_ENDS 0: whoever runs */
    uint32_t current;     /* who ran, as the host numbers threads */
};

/* False: it is none of these, or too short. */
bool signal_record_get(const struct signal_layout *layout, const uint8_t *raw, size_t n,
                       struct signal_record *out);

#endif
