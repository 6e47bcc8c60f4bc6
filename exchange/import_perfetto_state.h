/* SPDX-License-Identifier: Apache-2.0
 *
 * What a Perfetto trace keeps from packet to packet: the state of sequences, and tracks. For the import
 * of Perfetto's traces (import_perfetto_int.h) alone.
 */
#ifndef IMPORT_PERFETTO_STATE_H
#define IMPORT_PERFETTO_STATE_H

#include "intern_table.h"

#define PF_CLOCK_LOCAL  64u /* 64 to 127 are a sequence's own */
#define PF_CLOCKS_LOCAL 64u
#define PF_EXTRA_MAX    16u /* counters beside an event */

/* Numbers of a repeated field. */
struct pf_numbers {
    uint64_t of[PF_EXTRA_MAX];
    unsigned count, beyond; /* beyond: those that had no place */
};

struct pf_local_clock {
    bool known, incremental;
    uint64_t unit_ns, raw_ns, base_raw_ns, base_ns; /* raw_ns: of the last packet */
};

/* The first snapshot that a sequence has of a clock of its own: for packets in front of it. */
struct pf_first {
    uint32_t id;              /* of a clock of the whole trace, */
    uint64_t time_ns;         /* which showed this, */
    uint64_t raw_ns, unit_ns; /* when the sequence's own showed that */
    bool incremental;
};

struct pf_interned {
    uint32_t text;  /* of texts, + 1; 0: it is a message: */
    uint32_t stack; /* of import_many, where it is a callstack that was used */
    size_t at, n;   /* in the sequence's `bytes` */
};

struct pf_sequence {
    uint32_t id;
    bool valid;     /* its state is whole */
    uint32_t epoch; /* how often it was cleared */
    bool any;       /* it had an event */
    bool dropped;   /* packets are missing behind last_ns, and that is not told yet */
    bool has_reference;
    int64_t reference_ns; /* of times that are counted from event to event */
    uint64_t last_ns, default_track;
    uint32_t default_clock;
    struct pf_numbers extra, extra_double; /* tracks of the counters beside its events */
    uint32_t
        undated; /* the last of its notes that has no time yet, + 1 (import_perfetto_lives.h) */
    bool has_default_track, has_thread;
    uint32_t pid, tid;         /* of a thread descriptor in a packet of its own */
    uint64_t sample_weight_ns; /* of the defaults */
    struct intern_table keys;  /* (field, iid) */
    struct pf_interned *interned;
    size_t interned_cap;
    struct buf bytes;
    struct pf_local_clock *clocks; /* PF_CLOCKS_LOCAL; NULL: none */
};

enum pf_track_kind { PF_TRACK_NAMED, PF_TRACK_PROCESS, PF_TRACK_THREAD, PF_TRACK_COUNTER };

struct pf_track {
    uint64_t uuid, parent;
    uint8_t kind; /* enum pf_track_kind */
    bool incremental;
    uint32_t pid, tid;
    uint32_t name, unit, thread_name; /* of texts, + 1 */
    uint64_t multiplier;
    int64_t sum; /* of an incremental counter */
    uint32_t sum_sequence, sum_epoch;
};

#endif
