/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the Perfetto exporter: perfetto_export.c (events) and perfetto_tracks.c (packets
 * and track descriptors). Included by these two alone.
 */
#ifndef PERFETTO_EXPORT_INT_H
#define PERFETTO_EXPORT_INT_H

#include "intern_table.h"
#include "perfetto_export.h"

enum { SEQUENCE_PROCESS = 1, SEQUENCE_FIRST_THREAD = 2 };

/* A thread of the partition at hand. */
struct export_thread {
    uint64_t uuid;
    uint32_t sequence, restarts;
    bool started;
};

/* Operations in progress at the last cut of a process: written at the end, unless a later partition
 * tells how they went on. */
struct export_open {
    uint64_t process;
    struct buf packets;
};

struct perfetto_export {
    struct intern_table tracks; /* uuids that have been described */
    struct intern_table pids;   /* pid -> its first process, by entry number */
    struct intern_table tids;   /* (process, tid) that has a thread track */
    uint64_t *pid_owner;
    size_t pid_owner_cap;
    struct export_open *opens;
    size_t open_count, open_cap;
    uint64_t bytes, packets, lost;
    char *first_host; /* NULL before the first partition */
    uint64_t first_boot_less_utc;

    /* the partition at hand */
    const struct partition_reader *reader; /* NULL: between two */
    const struct partition_info *info;
    const struct partition_event_type *types;
    size_t type_count;
    const struct partition_thread *thread_table;
    struct export_thread *threads;
    struct intern_table told; /* (sequence, restart, type) whose names are interned */
    uint64_t process;         /* uuid */
    uint32_t process_restarts;
    bool process_started;
    bool foreign;           /* on another host than the first partition */
    uint64_t boot_less_utc; /* modulo 2^64 */
    bool plain;             /* the pid belongs to another process: named tracks only */
    struct buf packet, event, part, item, interned;
    struct export_open *open;
    struct buf *out;
    int status;
};

/* Whether these bytes are new in the table; a failure is remembered and counts as old. */
bool export_is_fresh(struct perfetto_export *x, struct intern_table *table, const void *bytes,
                     size_t n);

/* x->packet is whole: appends it to `to`. */
void export_packet_end(struct perfetto_export *x, struct buf *to);

/* Notes how the partition at hand maps UTC to BOOTTIME: by its own end snapshot on the first host
 * of the trace, and on others by that host's, which is what makes them one timeline. SKEIN_OK,
 * SKEIN_NO_MEMORY. */
int export_clock_take(struct perfetto_export *x);

/* UTC to the BOOTTIME domain of the first host. */
uint64_t export_boot_ns(const struct perfetto_export *x, uint64_t time_ns);

/* Packets of the partition at hand: its clocks; its process; its thread i; a counter (its track is
 * returned). */
void export_snapshot(struct perfetto_export *x);
void export_process(struct perfetto_export *x);
void export_thread_track(struct perfetto_export *x, size_t i);
uint64_t export_counter_track(struct perfetto_export *x, const struct partition_event_type *type);

#endif
