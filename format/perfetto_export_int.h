/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the Perfetto exporter: perfetto_export.c, perfetto_events.c, perfetto_tracks.c
 * (packets and track descriptors), perfetto_counters.c, perfetto_stacks.c, perfetto_samples.c and
 * perfetto_sched.c. Included by these alone.
 */
#ifndef PERFETTO_EXPORT_INT_H
#define PERFETTO_EXPORT_INT_H

#include "perfetto_state_int.h"

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

/* ---- perfetto_tracks.c ---- */

/* Packets of the partition at hand: its clocks, where they go on from the last snapshot (importers
 * refuse clocks that go back, and processes are exported one after the other); its process; its
 * thread i. */
void export_snapshot(struct perfetto_export *x);
void export_process(struct perfetto_export *x);
void export_tracks_fini(struct perfetto_export *x);
void export_thread_track(struct perfetto_export *x, size_t i);
/* The track that a counter of the thread is below: evidence tells of one by its tid. */
uint32_t export_counter_owner(struct perfetto_export *x, const struct partition_thread *thread);
/* The number of the track below a thread's, or a process's, for regions that cross others there. */
uint32_t export_row_track(struct perfetto_export *x, uint32_t track, uint32_t row);

/* What a track is of, beside its name. All-zero: a process. */
struct export_track_key {
    enum {
        TRACK_OF_PROCESS,
        TRACK_OF_THREAD,
        TRACK_OF_COUNTER,
        TRACK_OF_EVIDENCE,
        TRACK_OF_ROW,
        TRACK_OF_HOST,
        TRACK_OF_HOST_COUNTER,
        TRACK_OF_SAMPLES
    } kind;
    uint64_t number, more;
};
/* The number of a track of the process, or of its host: the same for what is the same, and for nothing
 * else. */
uint32_t export_track_number(struct perfetto_export *x, const struct export_track_key *key,
                             const char *name);
/* Whether the track is still to be described, or has another name than it had. */
bool export_track_is_fresh(struct perfetto_export *x, uint32_t track, const char *name);
/* x->part is the descriptor. */
void export_descriptor_end(struct perfetto_export *x);
/* "net"; "evidence" of what is. */
void export_category_put(struct perfetto_export *x, struct buf *to, unsigned field,
                         const struct partition_event_type *type);

/* ---- perfetto_events.c ---- */

void export_event(struct perfetto_export *x, const struct trace_event *event);

/* Begins a packet on the track's sequence, which is started in this partition if need be. */
void export_packet_begin(struct perfetto_export *x, uint32_t track, uint64_t boot_ns);
/* The track of an event: of its thread, or of the process where it has none. */
uint32_t export_track_of(const struct perfetto_export *x, const struct partition_thread *thread);

/* ---- perfetto_counters.c ---- */

void export_counter(struct perfetto_export *x, const struct trace_event *event);
void export_counters_fini(struct perfetto_export *x);

/* ---- perfetto_stacks.c ---- */

/* The iid of a stack on the track's sequence, whose frames go to x->interned where it was not told
 * yet; 0: none. */
uint64_t export_stack_intern(struct perfetto_export *x, uint32_t track, uint32_t id);
/* Puts what was interned into the packet, in front of what uses it. */
void export_interned_flush(struct perfetto_export *x);

/* ---- perfetto_samples.c ---- */

/* Notes a sample of the CPU that Perfetto can attribute; false: it is none. All go out at the end. */
bool export_sample_note(struct perfetto_export *x, const struct trace_event *event);
void export_samples_end(struct perfetto_export *x);
void export_samples_fini(struct perfetto_export *x);

/* ---- perfetto_text.c ---- */

/* Fields that are texts: what is no UTF-8 in them becomes U+FFFD. The last one takes a buffer in, and
 * empties it. */
void export_text_put(struct buf *b, unsigned field, const char *text, size_t n);
void export_text(struct buf *b, unsigned field, const char *text);
void export_text_made(struct buf *b, unsigned field, struct buf *text);

/* ---- perfetto_sched.c ---- */

/* Notes a span of the scheduler; any other event is none. All go out at the end, as switches. */
void export_sched_note(struct perfetto_export *x, const struct trace_event *event, uint32_t track);
int export_sched_end(struct perfetto_export *x);
/* An instant on the first track, which is a process. */
void export_left_out_put(struct perfetto_export *x, const char *what, uint64_t boot_ns,
                         uint64_t count);
void export_sched_fini(struct perfetto_export *x);

#endif
