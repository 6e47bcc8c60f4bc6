/* SPDX-License-Identifier: Apache-2.0
 *
 * What the Perfetto exporter keeps: of the whole trace, and of the partition at hand. Part of
 * perfetto_export_int.h, and included by it alone.
 */
#ifndef PERFETTO_STATE_INT_H
#define PERFETTO_STATE_INT_H

#include "intern_table.h"
#include "perfetto_export.h"
#include "span_lanes.h"

/* Descriptors, clocks and statistics go over a sequence of their own; each track that has events
 * has another. */
enum { SEQUENCE_TRACE = 1, SEQUENCE_FIRST_TRACK = 2 };

/* "Skein" before the track's number, so that traces of other tools can be put behind. */
#define TRACK_UUID_BASE UINT64_C(0x536b65696e000000)

/* A track, whatever partition names it, and the packet sequence of its own. */
struct export_track {
    uint32_t restarts; /* of the sequence's state, in all */
    uint32_t started;  /* number of the partition that it was last started in; 0: none */
    char *name;        /* as it was described; NULL: it was not */
    struct span_lanes rows;
};

/* Who is thread `tid` of a process to Perfetto, which knows one. By number in x->tids. */
struct export_tid {
    uint32_t track;
    uint64_t incarnation; /* whose events are on it, where `own` */
    bool own;             /* else evidence alone has told of it */
};

/* Operations in progress at the last cut of a process: written at the end, unless a later partition
 * tells how they went on. */
struct export_open {
    uint32_t process; /* track number */
    struct buf packets;
};

/* A thread had a CPU; of no length: it was woken for it. On the boot clock. */
struct export_run_on {
    uint64_t from_ns, to_ns;
    uint32_t tid, name;
    uint16_t cpu;
    uint8_t state; /* in which it left: the kernel's bits, 0: it would have run on */
};

/* What threads did on CPUs, of all processes; see perfetto_sched.c. */
struct export_sched {
    struct export_run_on *runs;
    size_t count, cap;
    uint32_t *last; /* by track number: its last run, + 1 */
    size_t last_cap;
    struct intern_table names;
    uint64_t left_out;
};

/* Samples of CPUs, of all processes; see perfetto_samples.c. */
struct export_sample;
struct export_samples {
    struct export_sample *list;
    size_t count, cap;
    struct intern_table told; /* (sequence, what), whose numbers are the iids */
    uint64_t left_out;
};

/* When a counter of a host was told: processes of one host tell the same. See perfetto_counters.c. */
struct export_told_range {
    uint64_t from_ns, to_ns;
};
struct export_host_counter {
    uint32_t partition; /* that `now` is of */
    struct export_told_range now, *before;
    size_t count, cap;
};

struct perfetto_export {
    uint64_t groups;            /* events of these alone; 0: all */
    struct intern_table tracks; /* what a track is of -> its number: that makes uuid and sequence */
    struct export_track *track_at; /* by number */
    size_t track_cap;
    struct export_host_counter *host_counters; /* by track number */
    size_t host_counter_cap;
    struct intern_table pids; /* pid -> its first process, by entry number */
    struct intern_table tids; /* (process, tid) -> tid_at */
    struct export_tid *tid_at;
    size_t tid_cap;
    uint32_t *pid_owner; /* track numbers */
    size_t pid_owner_cap;
    struct export_open *opens;
    size_t open_count, open_cap;
    uint64_t bytes, packets, lost;
    struct export_sched sched;
    struct export_samples samples;
    char *first_host; /* NULL before the first partition */
    uint64_t first_boot_less_utc;
    uint64_t last_boot_ns, last_monotonic_ns, last_utc_ns; /* of the last snapshot written */

    /* the partition at hand */
    struct partition_reader *reader; /* NULL: between two */
    const struct partition_info *info;
    const struct partition_event_type *types;
    size_t type_count;
    const struct partition_thread *thread_table;
    uint32_t partition;       /* counts them */
    uint32_t *threads;        /* track number of each */
    struct intern_table told; /* (track, restart) and what of it was interned */
    uint32_t process;         /* track number */
    bool foreign;             /* on another host than the first partition */
    uint64_t boot_less_utc;   /* modulo 2^64 */
    bool plain;               /* the pid belongs to another process: named tracks only */
    struct buf packet, event, part, item, interned;
    struct export_open *open;
    struct buf *out;
    int status;
};

#endif
