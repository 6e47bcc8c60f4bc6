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

static void snapshot_end(struct perfetto_export *x)
{
    pb_varint(&x->part, SNAPSHOT_PRIMARY, CLOCK_BOOTTIME_ID);
    pb_message(&x->packet, PACKET_CLOCK_SNAPSHOT, &x->part);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
    export_packet_end(x, x->out);
}

/* In front of all records, whichever process they are of: importers answer what the time was before
 * the first snapshot with the time of that snapshot. MONOTONIC is not in it: it may have stood since
 * then, for a while, with the machine. */
static void snapshot_of_boot(struct perfetto_export *x, uint64_t boot, uint64_t utc)
{
    if (boot <= 1 || utc <= boot)
        return;
    clock_put(x, CLOCK_BOOTTIME_ID, 1);
    clock_put(x, CLOCK_REALTIME_ID, utc - (boot - 1));
    snapshot_end(x);
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
    if (first)
        snapshot_of_boot(x, boot, utc);
    x->last_boot_ns = boot;
    x->last_monotonic_ns = end->monotonic_ns;
    x->last_utc_ns = utc;
    clock_put(x, CLOCK_BOOTTIME_ID, boot);
    clock_put(x, CLOCK_MONOTONIC_ID, end->monotonic_ns);
    clock_put(x, CLOCK_REALTIME_ID, utc);
    snapshot_end(x);
}

/* ---- tracks ---- */

void export_tracks_fini(struct perfetto_export *x)
{
    for (size_t i = 0; i < x->track_cap; i++) {
        free(x->track_at[i].name);
        span_lanes_fini(&x->track_at[i].rows);
    }
    free(x->track_at);
    free(x->tid_at);
}

static bool key_is_of_host(const struct export_track_key *key)
{
    return key->kind >= TRACK_OF_HOST;
}

uint32_t export_track_number(struct perfetto_export *x, const struct export_track_key *key,
                             const char *name)
{
    bool fresh;
    struct buf bytes = {0};
    buf_put_u8(&bytes, (uint8_t)key->kind);
    if (key_is_of_host(key))
        buf_put_text(&bytes, x->info->host, strlen(x->info->host));
    else
        buf_put(&bytes, x->info->key.process.bytes, sizeof x->info->key.process.bytes);
    buf_put_u64(&bytes, key->number);
    buf_put_u64(&bytes, key->more);
    buf_put(&bytes, name, strlen(name));
    int64_t at = intern_table_put(&x->tracks, bytes.data, bytes.len, &fresh);
    if (bytes.status != SKEIN_OK || at < 0 ||
        !array_grow_zero(x->track_at, (size_t)at + 1, &x->track_cap))
        x->status = SKEIN_NO_MEMORY;
    buf_fini(&bytes);
    return x->status == SKEIN_OK ? (uint32_t)at : 0;
}

/* A name that is not known tells nothing of a track that has one. */
bool export_track_is_fresh(struct perfetto_export *x, uint32_t track, const char *name)
{
    if (x->status != SKEIN_OK)
        return false;
    struct export_track *t = &x->track_at[track];
    if (t->name != NULL && (name[0] == '\0' || strcmp(t->name, name) == 0))
        return false;
    free(t->name);
    t->name = strdup(name);
    if (t->name == NULL)
        x->status = SKEIN_NO_MEMORY;
    return t->name != NULL;
}

void export_descriptor_end(struct perfetto_export *x)
{
    pb_message(&x->packet, PACKET_TRACK, &x->part);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
    export_packet_end(x, x->out);
}

void export_category_put(struct perfetto_export *x, struct buf *to, unsigned field,
                         const struct partition_event_type *type)
{
    struct buf name = {0};
    if (x->info->evidence)
        buf_printf(&name, "evidence");
    else if (type->group < 64)
        event_groups_put(&name, UINT64_C(1) << type->group);
    if (name.len == 0)
        buf_printf(&name, "%u", type->group);
    pb_message(to, field, &name);
    buf_fini(&name);
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
    x->process = export_track_number(x, &(struct export_track_key){.kind = TRACK_OF_PROCESS}, "");
    pid_claim(x);
    if (!export_track_is_fresh(x, x->process, info->service))
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
    export_descriptor_end(x);
}

/* A track that Perfetto does not know by pid and tid. It never becomes one with another of that name,
 * and takes another name. */
static void named_put(struct perfetto_export *x, uint32_t track, uint32_t parent)
{
    struct export_track *t = &x->track_at[track];
    pb_varint(&x->part, TRACK_UUID, export_uuid(track));
    pb_varint(&x->part, TRACK_PARENT, export_uuid(parent));
    export_text(&x->part, TRACK_NAME, t->name);
    pb_varint(&x->part, TRACK_SIBLING_MERGE, TRACK_SIBLING_MERGE_NONE);
    export_descriptor_end(x);
}

/* Names it "NAME TID", with more in front. */
static void thread_named(struct perfetto_export *x, uint32_t track, const char *before,
                         const struct partition_thread *thread)
{
    struct buf name = {0};
    bool known = thread->name[0] != '\0' || x->track_at[track].name == NULL;
    buf_printf(&name, "%s%s%s%u", before, thread->name, thread->name[0] != '\0' ? " " : "",
               thread->tid);
    buf_put_u8(&name, 0);
    if (name.status != SKEIN_OK)
        x->status = name.status;
    else if (known && export_track_is_fresh(x, track, (const char *)name.data))
        named_put(x, track, x->process);
    buf_fini(&name);
}

static void thread_put(struct perfetto_export *x, uint32_t track,
                       const struct partition_thread *thread)
{
    if (!export_track_is_fresh(x, track, thread->name))
        return;
    pb_varint(&x->part, TRACK_UUID, export_uuid(track));
    pb_varint(&x->item, THREAD_PID, x->info->pid);
    pb_varint(&x->item, THREAD_TID, thread->tid);
    if (thread->name[0] != '\0')
        export_text(&x->item, THREAD_NAME, thread->name);
    pb_message(&x->part, TRACK_THREAD, &x->item);
    export_descriptor_end(x);
}

/* Who is thread `tid` of the process; NULL without memory. */
static struct export_tid *tid_get(struct perfetto_export *x, uint32_t tid)
{
    bool fresh;
    uint32_t key[2] = {x->process, tid};
    int64_t at = intern_table_put(&x->tids, key, sizeof key, &fresh);
    if (at < 0 || !array_grow_zero(x->tid_at, (size_t)at + 1, &x->tid_cap)) {
        x->status = SKEIN_NO_MEMORY;
        return NULL;
    }
    if (fresh)
        x->tid_at[at].track = export_track_number(
            x, &(struct export_track_key){.kind = TRACK_OF_THREAD, .number = tid}, "");
    return &x->tid_at[at];
}

/* Tids are used again: the first thread of a tid that has events of its own is Perfetto's thread, and
 * others are named tracks. */
static uint32_t own_track(struct perfetto_export *x, const struct partition_thread *thread)
{
    struct export_tid *t = x->plain ? NULL : tid_get(x, thread->tid);
    if (x->status != SKEIN_OK)
        return 0;
    if (t != NULL && (!t->own || t->incarnation == thread->incarnation)) {
        t->own = true;
        t->incarnation = thread->incarnation;
        thread_put(x, t->track, thread);
        return t->track;
    }
    /* an incarnation of 0 is as good as any, and no thread of Perfetto's has this key */
    uint32_t track = export_track_number(x,
                                         &(struct export_track_key){.kind = TRACK_OF_THREAD,
                                                                    .number = thread->tid,
                                                                    .more = thread->incarnation},
                                         "named");
    if (x->status == SKEIN_OK)
        thread_named(x, track, "", thread);
    return track;
}

/* Of evidence: its spans lie across those of the thread, so it has a track of its own. A thread that
 * nobody else tells of gets its name here. */
static uint32_t evidence_track(struct perfetto_export *x, const struct partition_thread *thread)
{
    uint32_t track = export_track_number(x,
                                         &(struct export_track_key){.kind = TRACK_OF_EVIDENCE,
                                                                    .number = thread->tid,
                                                                    .more = thread->incarnation},
                                         thread->tid == 0 ? thread->name : "");
    struct export_tid *t = x->plain || thread->tid == 0 ? NULL : tid_get(x, thread->tid);
    if (x->status != SKEIN_OK)
        return 0;
    if (t != NULL && !t->own)
        thread_put(x, t->track, thread);
    if (x->status == SKEIN_OK)
        thread_named(x, track, "evidence: ", thread);
    return track;
}

void export_thread_track(struct perfetto_export *x, size_t i)
{
    const struct partition_thread *thread = &x->thread_table[i];
    x->threads[i] = x->info->evidence ? evidence_track(x, thread) : own_track(x, thread);
}

uint32_t export_counter_owner(struct perfetto_export *x, const struct partition_thread *thread)
{
    struct export_tid *t =
        x->info->evidence && !x->plain && thread->tid != 0 ? tid_get(x, thread->tid) : NULL;
    return t != NULL ? t->track : export_track_of(x, thread);
}

uint32_t export_row_track(struct perfetto_export *x, uint32_t track, uint32_t row)
{
    struct buf name = {0};
    uint32_t below = export_track_number(
        x, &(struct export_track_key){.kind = TRACK_OF_ROW, .number = track, .more = row}, "");
    if (x->status != SKEIN_OK)
        return 0;
    buf_printf(&name, "%s: crossing %u", x->track_at[track].name, row);
    buf_put_u8(&name, 0);
    if (name.status != SKEIN_OK)
        x->status = name.status;
    else if (x->track_at[below].name == NULL &&
             export_track_is_fresh(x, below, (const char *)name.data))
        named_put(x, below, track);
    buf_fini(&name);
    return below;
}
