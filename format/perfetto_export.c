/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions to Perfetto packets, as mapped in docs/format.md's annex. Owns struct
 * perfetto_export and, for each thread of the partition at hand, what its packet sequence has been
 * told (perfetto_events.c). One thread; never reads ahead, so that a trace of any length takes the memory of one
 * partition.
 */
#include "perfetto_export_int.h"

#include <stdlib.h>

#include "array.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"

int perfetto_export_new(uint64_t groups, struct perfetto_export **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->groups = groups;
    return SKEIN_OK;
}

void perfetto_export_free(struct perfetto_export **exporter)
{
    struct perfetto_export *x = *exporter;
    *exporter = NULL;
    if (x == NULL)
        return;
    intern_table_fini(&x->tracks);
    intern_table_fini(&x->pids);
    intern_table_fini(&x->tids);
    intern_table_fini(&x->told);
    export_sched_fini(x);
    export_samples_fini(x);
    export_counters_fini(x);
    export_tracks_fini(x);
    for (size_t i = 0; i < x->open_count; i++)
        buf_fini(&x->opens[i].packets);
    free(x->opens);
    free(x->first_host);
    free(x->pid_owner);
    free(x->threads);
    buf_fini(&x->packet);
    buf_fini(&x->event);
    buf_fini(&x->part);
    buf_fini(&x->item);
    buf_fini(&x->interned);
    free(x);
}

/* ---- the whole ---- */

static struct export_open *open_find(struct perfetto_export *x)
{
    for (size_t i = 0; i < x->open_count; i++)
        if (x->opens[i].process == x->process)
            return &x->opens[i];
    if (!array_grow(x->opens, x->open_count + 1, &x->open_cap))
        return NULL;
    x->opens[x->open_count] = (struct export_open){.process = x->process};
    return &x->opens[x->open_count++];
}

static int partition_begin(struct perfetto_export *x, struct partition_reader *reader,
                           struct buf *out)
{
    x->out = out;
    x->info = partition_reader_info(reader);
    x->type_count = partition_reader_types(reader, &x->types);
    size_t threads = partition_reader_threads(reader, &x->thread_table);
    intern_table_fini(&x->told);
    free(x->threads);
    x->threads = calloc(threads + 1, sizeof *x->threads);
    if (x->threads == NULL || export_clock_take(x) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    x->partition++;
    export_snapshot(x);
    export_process(x);
    for (size_t i = 0; i < threads && x->status == SKEIN_OK; i++)
        export_thread_track(x, i);
    x->open = open_find(x);
    if (x->open == NULL)
        return SKEIN_NO_MEMORY;
    buf_clear(&x->open->packets);
    return x->status;
}

/* The first failure of any buffer; a buffer forgets its own when it is emptied, the ones it went
 * into do not. */
static int export_status(const struct perfetto_export *x)
{
    if (x->status != SKEIN_OK)
        return x->status;
    bool failed =
        x->out->status != SKEIN_OK || (x->open != NULL && x->open->packets.status != SKEIN_OK);
    return failed ? SKEIN_NO_MEMORY : SKEIN_OK;
}

int perfetto_export_some(struct perfetto_export *x, struct partition_reader *reader, size_t bytes,
                         struct buf *out)
{
    if (x->status != SKEIN_OK)
        return x->status;
    size_t before = out->len;
    if (x->reader != reader)
        x->status = partition_begin(x, reader, out);
    x->reader = reader;
    x->out = out;
    int got = 1;
    while (x->status == SKEIN_OK && got > 0 && out->len - before < bytes) {
        struct trace_event event;
        got = partition_reader_next(reader, &event);
        if (got > 0 && event_type_shown(event.type, x->groups))
            export_event(x, &event);
        x->status = export_status(x);
    }
    if (x->status != SKEIN_OK || got <= 0)
        x->reader = NULL;
    return x->status != SKEIN_OK ? x->status : got;
}

int perfetto_export_finish(struct perfetto_export *x, struct buf *out)
{
    if (x->status != SKEIN_OK)
        return x->status;
    x->out = out;
    for (size_t i = 0; i < x->open_count; i++)
        buf_put(out, x->opens[i].packets.data, x->opens[i].packets.len);
    export_samples_end(x);
    if (export_sched_end(x) != SKEIN_OK)
        return x->status;
    pb_varint(&x->item, BUFFER_BYTES_WRITTEN, x->bytes);
    pb_varint(&x->item, BUFFER_CHUNKS_WRITTEN, x->packets);
    pb_varint(&x->item, BUFFER_PACKET_LOSS, x->lost);
    pb_message(&x->part, STATS_BUFFER, &x->item);
    pb_message(&x->packet, PACKET_STATS, &x->part);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_TRACE);
    export_packet_end(x, out);
    x->status = export_status(x);
    return x->status;
}
