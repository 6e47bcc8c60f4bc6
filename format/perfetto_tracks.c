/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets, clocks and track descriptors of the Perfetto exporter: what an importer must know before
 * the events. Entered through perfetto_export.c alone; describes each track once.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "event_groups.h"
#include "perfetto_export_int.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"

/* Whether these bytes are new in the table; a failure is remembered and counts as old. */
bool export_is_fresh(struct perfetto_export *x, struct intern_table *table, const void *bytes,
                     size_t n)
{
    bool fresh;
    if (intern_table_put(table, bytes, n, &fresh) < 0)
        x->status = SKEIN_NO_MEMORY;
    return fresh;
}

/* ---- packets ---- */

void export_packet_end(struct perfetto_export *x, struct buf *to)
{
    x->packets++;
    x->bytes += x->packet.len;
    pb_message(to, TRACE_PACKET, &x->packet);
}

int export_clock_take(struct perfetto_export *x)
{
    const struct clock_snapshot *end = &x->info->end;
    uint64_t utc = end->realtime_ns + (uint64_t)x->info->clock_offset_ns;
    x->boot_less_utc = end->boottime_ns - utc;
    if (x->first_host == NULL) {
        x->first_host = strdup(x->info->host);
        x->first_boot_less_utc = x->boot_less_utc;
    }
    if (x->first_host == NULL)
        return SKEIN_NO_MEMORY;
    x->foreign = strcmp(x->first_host, x->info->host) != 0;
    if (x->foreign)
        x->boot_less_utc = x->first_boot_less_utc;
    return SKEIN_OK;
}

uint64_t export_boot_ns(const struct perfetto_export *x, uint64_t time_ns)
{
    uint64_t boot = time_ns + x->boot_less_utc;
    return boot > INT64_MAX ? 0 : boot; /* before boot: only from a broken clock */
}

static void clock_put(struct perfetto_export *x, uint64_t id, uint64_t ns)
{
    pb_varint(&x->item, CLOCK_ID, id);
    pb_varint(&x->item, CLOCK_TIMESTAMP, ns);
    pb_message(&x->part, SNAPSHOT_CLOCKS, &x->item);
}

void export_snapshot(struct perfetto_export *x)
{
    const struct clock_snapshot *end = &x->info->end;
    uint64_t utc = end->realtime_ns + (uint64_t)x->info->clock_offset_ns;
    uint64_t boot = export_boot_ns(x, utc);
    bool first = x->last_boot_ns == 0;
    if (x->foreign || (!first && (boot <= x->last_boot_ns || utc <= x->last_utc_ns ||
                                  end->monotonic_ns <= x->last_monotonic_ns)))
        return;
    x->last_boot_ns = boot;
    x->last_monotonic_ns = end->monotonic_ns;
    x->last_utc_ns = utc;
    clock_put(x, CLOCK_BOOTTIME_ID, boot);
    clock_put(x, CLOCK_MONOTONIC_ID, end->monotonic_ns);
    clock_put(x, CLOCK_REALTIME_ID, utc);
    pb_varint(&x->part, SNAPSHOT_PRIMARY, CLOCK_BOOTTIME_ID);
    pb_message(&x->packet, PACKET_CLOCK_SNAPSHOT, &x->part);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
    export_packet_end(x, x->out);
}

/* ---- tracks ---- */

enum track_kind { TRACK_OF_PROCESS, TRACK_OF_THREAD, TRACK_OF_COUNTER, TRACK_OF_EVIDENCE };

/* The number of a track of the process: the same for what is the same, and for nothing else. */
static uint32_t track_number(struct perfetto_export *x, enum track_kind kind, uint64_t tid,
                             uint64_t incarnation, const char *name)
{
    bool fresh;
    buf_clear(&x->item);
    buf_put(&x->item, x->info->key.process.bytes, sizeof x->info->key.process.bytes);
    buf_put_u8(&x->item, (uint8_t)kind);
    buf_put_u64(&x->item, tid);
    buf_put_u64(&x->item, incarnation);
    buf_put(&x->item, name, strlen(name));
    int64_t at = intern_table_put(&x->tracks, x->item.data, x->item.len, &fresh);
    if (x->item.status != SKEIN_OK || at < 0 ||
        !array_grow_zero(x->sequences, (size_t)at + 1, &x->sequence_cap))
        x->status = SKEIN_NO_MEMORY;
    buf_clear(&x->item);
    return x->status == SKEIN_OK ? (uint32_t)at : 0;
}

/* Whether the track is still to be described. */
static bool track_is_fresh(struct perfetto_export *x, uint32_t track)
{
    return x->status == SKEIN_OK && export_is_fresh(x, &x->described, &track, sizeof track);
}

static void descriptor_end(struct perfetto_export *x)
{
    pb_message(&x->packet, PACKET_TRACK, &x->part);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
    export_packet_end(x, x->out);
}

/* Perfetto knows processes by pid. The first to come with one keeps it; another host's becomes a
 * plain named track. */
static void pid_claim(struct perfetto_export *x)
{
    bool fresh;
    uint32_t pid = x->info->pid;
    int64_t at = intern_table_put(&x->pids, &pid, sizeof pid, &fresh);
    if (at < 0 || !array_grow(x->pid_owner, (size_t)at + 1, &x->pid_owner_cap)) {
        x->status = SKEIN_NO_MEMORY;
        return;
    }
    if (fresh)
        x->pid_owner[at] = x->process;
    x->plain = x->pid_owner[at] != x->process;
}

/* Nobody is to take what is shown for all that there is. */
static void groups_put(const struct perfetto_export *x, struct buf *to, const char *before)
{
    if (x->groups == 0)
        return;
    buf_printf(to, "%sgroups=", before);
    event_groups_put(to, x->groups);
}

void export_process(struct perfetto_export *x)
{
    const struct partition_info *info = x->info;
    x->process = track_number(x, TRACK_OF_PROCESS, 0, 0, "");
    pid_claim(x);
    if (!track_is_fresh(x, x->process))
        return;
    pb_varint(&x->part, TRACK_UUID, export_uuid(x->process));
    if (x->plain) {
        buf_printf(&x->item, "%s on %s [%u]", info->service, info->host, info->pid);
        groups_put(x, &x->item, ", ");
        export_text_made(&x->part, TRACK_NAME, &x->item);
    } else {
        pb_varint(&x->item, PROCESS_PID, info->pid);
        export_text(&x->item, PROCESS_CMDLINE, info->exe);
        export_text(&x->item, PROCESS_NAME, info->service);
        pb_varint(&x->item, PROCESS_START_NS, export_boot_ns(x, info->process_start_ns));
        if (info->labels[0] != 0)
            export_text(&x->item, PROCESS_LABELS, info->labels);
        if (info->host[0] != 0) {
            buf_printf(&x->interned, "host=%s", info->host);
            export_text_made(&x->item, PROCESS_LABELS, &x->interned);
        }
        if (x->groups != 0) {
            groups_put(x, &x->interned, "");
            export_text_made(&x->item, PROCESS_LABELS, &x->interned);
        }
        pb_message(&x->part, TRACK_PROCESS, &x->item);
    }
    descriptor_end(x);
}

void export_thread_track(struct perfetto_export *x, size_t i)
{
    const struct partition_thread *thread = &x->thread_table[i];
    uint32_t tid_key[2] = {x->process, thread->tid};
    bool evidence = x->info->evidence; /* its spans lie across those of the thread */
    uint32_t track = track_number(x, evidence ? TRACK_OF_EVIDENCE : TRACK_OF_THREAD, thread->tid,
                                  thread->incarnation, thread->name);
    x->threads[i] = track;
    if (!track_is_fresh(x, track))
        return;
    pb_varint(&x->part, TRACK_UUID, export_uuid(track));
    if (!evidence && !x->plain && export_is_fresh(x, &x->tids, tid_key, sizeof tid_key)) {
        pb_varint(&x->item, THREAD_PID, x->info->pid);
        pb_varint(&x->item, THREAD_TID, thread->tid);
        export_text(&x->item, THREAD_NAME, thread->name);
        pb_message(&x->part, TRACK_THREAD, &x->item);
    } else {
        pb_varint(&x->part, TRACK_PARENT, export_uuid(x->process));
        buf_printf(&x->item, "%s%s %u", evidence ? "evidence: " : "", thread->name, thread->tid);
        export_text_made(&x->part, TRACK_NAME, &x->item);
    }
    descriptor_end(x);
}

uint32_t export_counter_track(struct perfetto_export *x, const struct partition_event_type *type)
{
    uint32_t track = track_number(x, TRACK_OF_COUNTER, 0, 0, type->name);
    if (!track_is_fresh(x, track))
        return track;
    pb_varint(&x->part, TRACK_UUID, export_uuid(track));
    pb_varint(&x->part, TRACK_PARENT, export_uuid(x->process));
    export_text(&x->part, TRACK_NAME, type->name);
    if (type->nargs > 0)
        export_text(&x->item, COUNTER_UNIT_NAME, type->args[0].unit);
    pb_message(&x->part, TRACK_COUNTER, &x->item);
    descriptor_end(x);
    return track;
}
