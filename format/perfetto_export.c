/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions to Perfetto packets, as mapped in docs/format.md's annex. Owns struct
 * perfetto_export and, for each thread of the partition at hand, what its packet sequence has been
 * told. One thread; never reads ahead, so that a trace of any length takes the memory of one
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
    intern_table_fini(&x->described);
    intern_table_fini(&x->told);
    export_sched_fini(x);
    for (size_t i = 0; i < x->open_count; i++)
        buf_fini(&x->opens[i].packets);
    free(x->opens);
    free(x->first_host);
    free(x->pid_owner);
    free(x->sequences);
    free(x->threads);
    buf_fini(&x->packet);
    buf_fini(&x->event);
    buf_fini(&x->part);
    buf_fini(&x->item);
    buf_fini(&x->interned);
    free(x);
}

/* ---- events ---- */

static bool type_is_listed(const struct perfetto_export *x, const struct partition_event_type *type)
{
    return type >= x->types && type < x->types + x->type_count;
}

/* Number of a name inside a sequence: 16 for each event type, the first for the event, two for each
 * argument. */
static uint64_t name_iid(const struct perfetto_export *x, const struct partition_event_type *type,
                         unsigned name)
{
    return (uint64_t)(type - x->types) * 16 + name + 1;
}

static void interned_put(struct perfetto_export *x, unsigned field, uint64_t iid, const char *name,
                         const char *suffix)
{
    pb_varint(&x->item, INTERNED_IID, iid);
    buf_printf(&x->part, "%s%s", name, suffix);
    export_text_made(&x->item, INTERNED_NAME, &x->part);
    pb_message(&x->interned, field, &x->item);
}

/* Where an event type is in its program's source: the members of a place. */
static void place_fill(struct perfetto_export *x, const struct partition_event_type *type)
{
    export_text(&x->item, PLACE_FILE, type->file);
    pb_varint(&x->item, PLACE_LINE, type->line);
}

/* Numbered like the type. */
static void place_intern(struct perfetto_export *x, const struct partition_event_type *type)
{
    pb_varint(&x->item, INTERNED_IID, name_iid(x, type, 0));
    place_fill(x, type);
    pb_message(&x->interned, INTERNED_PLACES, &x->item);
}

/* Spelt out in the event, where its sequence cannot be told. */
static void place_put(struct perfetto_export *x, const struct partition_event_type *type)
{
    if (type->file[0] == '\0')
        return;
    place_fill(x, type);
    pb_message(&x->event, EVENT_PLACE, &x->item);
}

/* Tells a track's sequence the names of an event type, once. */
static void names_intern(struct perfetto_export *x, const struct partition_event_type *type,
                         uint32_t track)
{
    uint64_t key[2] = {(uint64_t)track << 32 | x->sequences[track].restarts,
                       (uint64_t)(type - x->types)};
    if (!export_is_fresh(x, &x->told, key, sizeof key))
        return;
    if (type->file[0] != '\0')
        place_intern(x, type);
    interned_put(x, INTERNED_EVENT_NAMES, name_iid(x, type, 0), type->name, "");
    for (unsigned i = 0; i < type->nargs; i++) {
        bool pair = type->args[i].type == SKEIN_T_SEQ;
        interned_put(x, INTERNED_ANNOTATION_NAMES, name_iid(x, type, 1 + 2 * i), type->args[i].name,
                     pair ? ".resource" : "");
        if (pair)
            interned_put(x, INTERNED_ANNOTATION_NAMES, name_iid(x, type, 2 + 2 * i),
                         type->args[i].name, ".number");
    }
}

static void annotation_name(struct perfetto_export *x, const struct partition_event_type *type,
                            unsigned i, unsigned part)
{
    if (type_is_listed(x, type))
        pb_varint(&x->item, ANNOTATION_NAME_IID, name_iid(x, type, 1 + 2 * i + part));
    else
        export_text(&x->item, ANNOTATION_NAME, type->args[i].name);
}

static void annotation_put(struct perfetto_export *x, const struct partition_event_type *type,
                           unsigned i, const struct partition_value *value)
{
    annotation_name(x, type, i, 0);
    switch (type->args[i].type) {
    case SKEIN_T_U64:
        pb_varint(&x->item, ANNOTATION_UINT, value->u64);
        break;
    case SKEIN_T_I64:
        pb_varint(&x->item, ANNOTATION_INT, (uint64_t)value->i64);
        break;
    case SKEIN_T_F64:
        pb_f64(&x->item, ANNOTATION_DOUBLE, value->f64);
        break;
    case SKEIN_T_BOOL:
        pb_varint(&x->item, ANNOTATION_BOOL, value->u64 != 0);
        break;
    case SKEIN_T_PTR:
        pb_varint(&x->item, ANNOTATION_POINTER, value->u64);
        break;
    case SKEIN_T_STR:
        export_text_put(&x->item, ANNOTATION_STRING, value->str.text, value->str.len);
        break;
    case SKEIN_T_SEQ:
        pb_varint(&x->item, ANNOTATION_POINTER, value->seq.resource);
        pb_message(&x->event, EVENT_ANNOTATIONS, &x->item);
        annotation_name(x, type, i, 1);
        pb_varint(&x->item, ANNOTATION_UINT, value->seq.number);
        break;
    default:
        pb_text(&x->item, ANNOTATION_STRING, "?");
    }
    pb_message(&x->event, EVENT_ANNOTATIONS, &x->item);
}

/* The track of an event: of its thread, or of the process where it has none. */
static uint32_t track_of(const struct perfetto_export *x, const struct partition_thread *thread)
{
    return thread == NULL ? x->process : x->threads[thread - x->thread_table];
}

/* Restarts a track's sequence: what it was told is forgotten, its track is the default (step 3 of
 * the annex). */
static void sequence_start(struct perfetto_export *x, uint32_t track, bool after_loss)
{
    x->sequences[track].started = x->partition;
    x->sequences[track].restarts++;
    if (after_loss)
        pb_varint(&x->packet, PACKET_PREVIOUS_DROPPED, 1);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
    pb_varint(&x->item, TRACK_EVENT_DEFAULTS_TRACK, export_uuid(track));
    pb_message(&x->part, DEFAULTS_TRACK_EVENT, &x->item);
    pb_varint(&x->part, DEFAULTS_CLOCK, CLOCK_BOOTTIME_ID);
    pb_message(&x->packet, PACKET_DEFAULTS, &x->part);
}

/* Begins a packet at this time on the track's sequence, which is started in this partition if need
 * be. */
static void packet_begin(struct perfetto_export *x, uint32_t track, uint64_t time_ns)
{
    if (x->sequences[track].started != x->partition) {
        sequence_start(x, track, false);
        export_packet_end(x, x->out);
    }
    pb_varint(&x->packet, PACKET_TIMESTAMP, export_boot_ns(x, time_ns));
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE);
}

static void event_name(struct perfetto_export *x, const struct trace_event *event, uint32_t track)
{
    const struct partition_event_type *type = event->type;
    bool log = event->kind == TRACE_LOG && type->nargs > 1 && type->args[1].type == SKEIN_T_STR;
    bool listed = type_is_listed(x, type);
    if (listed)
        names_intern(x, type, track);
    if (log)
        export_text_put(&x->event, EVENT_NAME, event->args[1].str.text, event->args[1].str.len);
    else if (listed)
        pb_varint(&x->event, EVENT_NAME_IID, name_iid(x, type, 0));
    else
        export_text(&x->event, EVENT_NAME, type->name);
    if (!listed)
        place_put(x, type);
    else if (type->file[0] != '\0')
        pb_varint(&x->event, EVENT_PLACE_IID, name_iid(x, type, 0));
    for (unsigned i = 0; i < type->nargs && !event->begin_clipped; i++)
        annotation_put(x, type, i, &event->args[i]);
}

/* One packet with a track event of this kind at this time; with names and arguments, unless it is
 * an end. A sample of the CPU is a packet of its own kind. */
static void event_put(struct perfetto_export *x, const struct trace_event *event, unsigned kind,
                      uint64_t time_ns, bool with_stack)
{
    uint32_t track = track_of(x, event->thread);
    packet_begin(x, track, time_ns);
    if (export_is_sample(x, event)) {
        export_sample_put(x, event, track);
        export_packet_end(x, x->out);
        return;
    }
    pb_varint(&x->event, EVENT_TYPE, kind);
    if (kind != EVENT_END)
        event_name(x, event, track);
    uint64_t stack = with_stack ? export_stack_intern(x, track, event->stack) : 0;
    if (stack != 0)
        pb_varint(&x->event, EVENT_CALLSTACK, stack);
    export_interned_flush(x);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, x->out);
}

static void counter_put(struct perfetto_export *x, const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    uint64_t uuid = export_uuid(export_counter_track(x, type));
    packet_begin(x, track_of(x, event->thread), event->time_ns);
    pb_varint(&x->event, EVENT_TYPE, EVENT_IS_COUNTER);
    pb_varint(&x->event, EVENT_TRACK, uuid);
    const struct partition_value *value = &event->args[0];
    if (type->nargs > 0 && type->args[0].type == SKEIN_T_F64)
        pb_f64(&x->event, EVENT_COUNTER_F64, value->f64);
    else if (type->nargs > 0 && type->args[0].type == SKEIN_T_U64 && value->u64 > INT64_MAX)
        pb_f64(&x->event, EVENT_COUNTER_F64, (double)value->u64);
    else
        pb_varint(&x->event, EVENT_COUNTER, type->nargs > 0 ? value->u64 : 0);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, x->out);
}

static void text_annotation(struct perfetto_export *x, const char *name, const char *text)
{
    export_text(&x->item, ANNOTATION_NAME, name);
    export_text(&x->item, ANNOTATION_STRING, text);
    pb_message(&x->event, EVENT_ANNOTATIONS, &x->item);
}

static void number_annotation(struct perfetto_export *x, const char *name, unsigned field,
                              uint64_t v)
{
    export_text(&x->item, ANNOTATION_NAME, name);
    pb_varint(&x->item, field, v);
    pb_message(&x->event, EVENT_ANNOTATIONS, &x->item);
}

/* The sequence says that packets are missing and starts anew, and people see an instant at that
 * place. */
static void loss_put(struct perfetto_export *x, const struct trace_event *event)
{
    x->lost += event->loss->events;
    pb_varint(&x->packet, PACKET_TIMESTAMP, export_boot_ns(x, event->time_ns));
    sequence_start(x, track_of(x, event->thread), true);
    pb_varint(&x->event, EVENT_TYPE, EVENT_INSTANT);
    pb_text(&x->event, EVENT_NAME, "records lost");
    text_annotation(x, "reason", partition_loss_text(event->loss->reason));
    number_annotation(x, "events", ANNOTATION_UINT, event->loss->events);
    number_annotation(x, "for_ns", ANNOTATION_UINT, event->dur_ns);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, x->out);
}

/* Kept aside with its names spelt out, because it may be written long after its sequence's state is
 * gone. */
static void operation_keep(struct perfetto_export *x, const struct trace_event *event)
{
    uint32_t track = track_of(x, event->thread);
    pb_varint(&x->packet, PACKET_TIMESTAMP, export_boot_ns(x, event->time_ns));
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->event, EVENT_TYPE, EVENT_BEGIN);
    pb_varint(&x->event, EVENT_TRACK, export_uuid(track));
    export_text(&x->event, EVENT_NAME, event->type->name);
    number_annotation(x, event->type->nargs > 0 ? event->type->args[0].name : "detail",
                      ANNOTATION_INT, (uint64_t)event->detail);
    place_put(x, event->type);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, &x->open->packets);
}

static void event_export(struct perfetto_export *x, const struct trace_event *event)
{
    if (event->kind == TRACE_LOSS && event->loss != NULL)
        loss_put(x, event);
    if (event->type == NULL) /* a loss; or an end without a begin, which shows nothing */
        return;
    if (x->info->evidence && strcmp(event->type->name, PARTITION_BULK_EVENT) == 0)
        return;
    bool range = event->type->klass == SKEIN_CLASS_RANGE_BEGIN;
    if (x->info->evidence)
        export_sched_note(x, event, track_of(x, event->thread));
    switch (event->kind) {
    case TRACE_BEGIN:
        event_put(x, event, EVENT_BEGIN, event->time_ns, true);
        break;
    case TRACE_REGION:
        if (!range)
            event_put(x, event, EVENT_BEGIN, event->time_ns, true);
        event_put(x, event, EVENT_END, event->time_ns + event->dur_ns, range);
        break;
    case TRACE_INSTANT:
    case TRACE_LOG:
        event_put(x, event, EVENT_INSTANT, event->time_ns, true);
        break;
    case TRACE_COUNTER:
        counter_put(x, event);
        break;
    case TRACE_OPEN: /* a range has begun on its track already and just has no end */
        if (event->has_detail)
            operation_keep(x, event);
        break;
    default:
        break;
    }
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
            event_export(x, &event);
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
