/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the import of Perfetto's traces: import_perfetto.c (packets), import_perfetto_clock.c,
 * import_perfetto_state.c (tracks, what sequences have interned), import_perfetto_lives.c (processes and
 * threads), import_perfetto_event.c (track events), import_perfetto_args.c (their arguments),
 * import_perfetto_sched.c (ftrace, samples). For these alone.
 */
#ifndef IMPORT_PERFETTO_INT_H
#define IMPORT_PERFETTO_INT_H

#include "import_many.h"
#include "import_map.h"
#include "import_perfetto.h"
#include "import_perfetto_lives.h"
#include "import_perfetto_state.h"
#include "import_stream.h"
#include "protobuf_get.h"

#define PF_MONOTONIC  3u
#define PF_BOOTTIME   6u
#define PF_OURS(uuid) ((uuid) >> 24 == UINT64_C(0x536b65696e)) /* docs/format.md, annex */
#define PF_EVIDENCE   "evidence: "        /* as our own export calls tracks of evidence */
#define PF_GLOBAL     (UINT64_C(1) << 63) /* process of what is of none */

struct pf_pair { /* the same instant on a clock, and on the trace's */
    uint64_t clock_ns, trace_ns;
};

struct pf_clock {
    uint32_t id;
    struct pf_pair *pairs; /* by clock_ns, once the first pass is over */
    size_t count, cap;
};

struct pf_cpu {
    uint32_t next;      /* task that has the CPU; 0: idle */
    uint32_t next_tid;  /* its thread, which a compact switch leaves out */
    uint64_t last_ns;   /* when its last piece of events ended; 0: there was none */
    uint64_t sample_ns; /* of its last sample */
};

struct pf_packet {
    struct pb_field event, interned, defaults, descriptor, ftrace, sample, snapshot, tree, thread,
        stats, kernel_stats;
    uint64_t time, sequence, flags;
    uint64_t time_ns; /* of the trace, where it is `timed` */
    uint32_t clock, machine;
    bool has_time, timed, dropped, other, compressed;
};

enum pf_pass { PF_PASS_TABLES, PF_PASS_LIVES, PF_PASS_EVENTS };

struct pf_import {
    const struct import_to *to;
    struct import_told *told;
    struct perfetto_told *perfetto;
    struct import_stream stream;
    struct import_many *many;
    enum pf_pass pass;
    struct intern_table texts;
    size_t interned_bytes; /* of all sequences */
    struct import_map sequence_at;
    struct pf_sequence *sequences;
    size_t sequence_count, sequence_cap;
    struct import_map track_at;
    struct pf_track *tracks;
    size_t track_count, track_cap;
    struct pf_lives lives;
    struct pf_clock clocks[64];
    size_t clock_count;
    struct import_map first_at; /* by sequence and clock, in `firsts` */
    struct pf_first *firsts;
    size_t first_count, first_cap;
    uint32_t trace_clock; /* 0: no snapshot yet */
    bool has_realtime;
    int64_t ahead_ns;
    struct pf_cpu *cpus;
    size_t cpu_cap;
    uint64_t first_ns, last_ns, packet_at; /* first_ns: of the last pass; 0: none yet */
    uint64_t lost_in_buffers,
        lost_of_kernel;          /* as its statistics say at the end; and of the kernel */
    uint64_t kernel_lost_before; /* what had been lost at its begin */
    bool has_machine;            /* a packet was of a machine: */
    uint32_t machine;
    bool any_waking, any_new; /* any_new: of the pass that notes, too */
    struct buf scratch;       /* texts of the arguments at hand: never grows while they are */
    struct import_value values[IMPORT_VALUES_MAX];
    unsigned count;
    int status;
};

/* ---- state ---- */

/* A text's number + 1; 0: it is empty, or there are too many. */
uint32_t pf_text_put(struct pf_import *i, const uint8_t *bytes, size_t n);
const char *pf_text(const struct pf_import *i, uint32_t text);
struct pf_sequence *pf_sequence_get(struct pf_import *i,
                                    uint32_t id); /* NULL: too many, no memory */
void pf_sequence_clear(struct pf_import *i, struct pf_sequence *s);
void pf_interned_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader data);
const struct pf_interned *pf_interned_find(const struct pf_sequence *s, uint32_t field,
                                           uint64_t iid);
/* The text that is interned under this number; "". */
const char *pf_interned_text(const struct pf_import *i, const struct pf_sequence *s, uint32_t field,
                             uint64_t iid);
uint32_t pf_callstack(struct pf_import *i, struct pf_sequence *s, uint64_t iid);
void pf_track_take(struct pf_import *i, struct pb_reader descriptor);
struct pf_track *pf_track_find(struct pf_import *i, uint64_t uuid); /* NULL */
/* What they say of processes and threads, in the pass that notes it. */
void pf_descriptor_note(struct pf_import *i, struct pf_sequence *s, const struct pf_packet *p);
void pf_tree_note(struct pf_import *i, struct pf_sequence *s, const struct pf_packet *p);

struct pf_place {
    uint64_t process, thread;
};
/* Where events of a track are then; a thread is made for one that is none. */
struct pf_place pf_track_place(struct pf_import *i, uint64_t uuid, uint64_t time_ns);

/* ---- clocks ---- */

void pf_snapshot_note(struct pf_import *i, uint32_t sequence, struct pb_reader snapshot);
void pf_clocks_sort(struct pf_import *i);
void pf_snapshot_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader snapshot);
/* On the trace's clock; false: nobody knows this clock. */
bool pf_time(struct pf_import *i, struct pf_sequence *s, uint32_t clock, uint64_t time,
             uint64_t *ns);

/* ---- losses by its statistics ---- */

void pf_stats_note(struct pf_import *i, struct pb_reader stats);
void pf_kernel_stats_note(struct pf_import *i, struct pb_reader stats);
void pf_lost_put(struct pf_import *i);

/* ---- events ---- */

void pf_numbers_take(struct pf_numbers *numbers, const struct pb_field *field, bool fixed);
/* One more value, in i->values; NULL: there is no room. */
struct import_value *pf_value_add(struct pf_import *i, const char *name, uint8_t type);
/* A text that lasts as long as the values. */
const char *pf_scratch(struct pf_import *i, const void *bytes, size_t n);
void pf_annotation_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader annotation);
void pf_event_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader event,
                   uint64_t time_ns);
void pf_ftrace_take(struct pf_import *i, struct pb_reader bundle);
void pf_sample_take(struct pf_import *i, struct pf_sequence *s, struct pb_reader sample,
                    uint64_t time_ns);

#endif
