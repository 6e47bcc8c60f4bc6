/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the Perfetto exporter: perfetto_export.c (events), perfetto_tracks.c (packets
 * and track descriptors), perfetto_stacks.c and perfetto_sched.c. Included by these alone.
 */
#ifndef PERFETTO_EXPORT_INT_H
#define PERFETTO_EXPORT_INT_H

#include "intern_table.h"
#include "perfetto_export.h"

/* Descriptors, clocks and statistics go over a sequence of their own; each track that has events
 * has another. */
enum { SEQUENCE_TRACE = 1, SEQUENCE_FIRST_TRACK = 2 };

/* "Skein" before the track's number, so that traces of other tools can be put behind. */
#define TRACK_UUID_BASE UINT64_C(0x536b65696e000000)

/* What the packet sequence of a track was told: one for each track, whatever partition names it. */
struct export_sequence {
    uint32_t restarts; /* of its state, in all */
    uint32_t started;  /* number of the partition that it was last started in; 0: none */
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

struct perfetto_export {
    uint64_t groups;            /* events of these alone; 0: all */
    struct intern_table tracks; /* what a track is of -> its number: that makes uuid and sequence */
    struct export_sequence *sequences; /* by track number */
    size_t sequence_cap;
    struct intern_table pids;      /* pid -> its first process, by entry number */
    struct intern_table tids;      /* (process, tid) that has a thread track */
    struct intern_table described; /* track numbers */
    uint32_t *pid_owner;           /* track numbers */
    size_t pid_owner_cap;
    struct export_open *opens;
    size_t open_count, open_cap;
    uint64_t bytes, packets, lost;
    struct export_sched sched;
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

static inline uint64_t export_uuid(uint32_t track)
{
    return TRACK_UUID_BASE + track + 1;
}

/* Packets of the partition at hand: its clocks, where they go on from the last snapshot (importers
 * refuse clocks that go back, and processes are exported one after the other); its process; its
 * thread i; a counter (its track is returned). */
void export_snapshot(struct perfetto_export *x);
void export_process(struct perfetto_export *x);
void export_thread_track(struct perfetto_export *x, size_t i);
uint32_t export_counter_track(struct perfetto_export *x, const struct partition_event_type *type);

/* The iid of a stack on the track's sequence, whose frames go to x->interned where it was not told
 * yet; 0: none. */
uint64_t export_stack_intern(struct perfetto_export *x, uint32_t track, uint32_t id);
/* Puts what was interned into the packet, in front of what uses it. */
void export_interned_flush(struct perfetto_export *x);
/* Whether the event is a sample of the CPU that Perfetto can attribute; puts it into the packet. */
bool export_is_sample(const struct perfetto_export *x, const struct trace_event *event);
void export_sample_put(struct perfetto_export *x, const struct trace_event *event, uint32_t track);

/* Fields that are texts: what is no UTF-8 in them becomes U+FFFD. The last one takes a buffer in, and
 * empties it. */
void export_text_put(struct buf *b, unsigned field, const char *text, size_t n);
void export_text(struct buf *b, unsigned field, const char *text);
void export_text_made(struct buf *b, unsigned field, struct buf *text);

/* Notes a span of the scheduler; any other event is none. All go out at the end, as switches. */
void export_sched_note(struct perfetto_export *x, const struct trace_event *event, uint32_t track);
int export_sched_end(struct perfetto_export *x);
void export_sched_fini(struct perfetto_export *x);

#endif
