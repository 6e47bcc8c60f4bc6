/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of the Perfetto exporter: their names, arguments, places, and the track on which each lies.
 * Entered through perfetto_export.c alone; one thread.
 */
#include <string.h>

#include "checksum.h"
#include "perfetto_export_int.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"

#define TRACE_ID_LETTERS 32

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

/* A category has the number of its type. */
static void category_intern(struct perfetto_export *x, const struct partition_event_type *type)
{
    pb_varint(&x->item, INTERNED_IID, name_iid(x, type, 0));
    export_category_put(x, &x->item, INTERNED_NAME, type);
    pb_message(&x->interned, INTERNED_CATEGORIES, &x->item);
}

/* Tells a track's sequence the names of an event type, once. */
static void names_intern(struct perfetto_export *x, const struct partition_event_type *type,
                         uint32_t track)
{
    uint64_t key[2] = {(uint64_t)track << 32 | x->track_at[track].restarts,
                       (uint64_t)(type - x->types)};
    if (!export_is_fresh(x, &x->told, key, sizeof key))
        return;
    if (type->file[0] != '\0')
        place_intern(x, type);
    category_intern(x, type);
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

/* ---- what belongs together ---- */

static void flow_put(struct perfetto_export *x, struct buf *key)
{
    if (key->status != SKEIN_OK)
        x->status = key->status;
    else
        pb_fixed64(&x->event, EVENT_FLOWS, checksum64(key->data, key->len));
}

/* 32 hex digits that are not all zero (F-35), in lower case. */
static bool trace_id_put(struct buf *key, const struct partition_value *value)
{
    bool zero = true;
    if (value->str.len != TRACE_ID_LETTERS)
        return false;
    for (size_t i = 0; i < TRACE_ID_LETTERS; i++) {
        char c = value->str.text[i];
        c = (char)(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')))
            return false;
        zero = zero && c == '0';
        buf_put_u8(key, (uint8_t)c);
    }
    return !zero;
}

/* Arrows go from each event of a trace, or of a resource of the process, to the next one. */
static void flows_put(struct perfetto_export *x, const struct trace_event *event)
{
    struct buf key = {0};
    for (unsigned i = 0; i < event->type->nargs; i++) {
        const struct partition_arg *arg = &event->type->args[i];
        buf_clear(&key);
        if (arg->type == SKEIN_T_SEQ) {
            buf_put(&key, x->info->key.process.bytes, sizeof x->info->key.process.bytes);
            buf_put_u64(&key, event->args[i].seq.resource);
            flow_put(x, &key);
        } else if (arg->type == SKEIN_T_STR && strcmp(arg->name, "trace_id") == 0 &&
                   trace_id_put(&key, &event->args[i])) {
            flow_put(x, &key);
        }
    }
    buf_fini(&key);
}

/* ---- packets ---- */

uint32_t export_track_of(const struct perfetto_export *x, const struct partition_thread *thread)
{
    return thread == NULL ? x->process : x->threads[thread - x->thread_table];
}

/* Restarts a track's sequence: what it was told is forgotten, its track is the default (step 3 of
 * the annex). */
static void sequence_start(struct perfetto_export *x, uint32_t track, bool after_loss)
{
    x->track_at[track].started = x->partition;
    x->track_at[track].restarts++;
    if (after_loss)
        pb_varint(&x->packet, PACKET_PREVIOUS_DROPPED, 1);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_CLEARED);
    pb_varint(&x->item, TRACK_EVENT_DEFAULTS_TRACK, export_uuid(track));
    pb_message(&x->part, DEFAULTS_TRACK_EVENT, &x->item);
    pb_varint(&x->part, DEFAULTS_CLOCK, CLOCK_BOOTTIME_ID);
    pb_message(&x->packet, PACKET_DEFAULTS, &x->part);
}

void export_packet_begin(struct perfetto_export *x, uint32_t track, uint64_t boot_ns)
{
    if (x->track_at[track].started != x->partition) {
        sequence_start(x, track, false);
        export_packet_end(x, x->out);
    }
    pb_varint(&x->packet, PACKET_TIMESTAMP, boot_ns);
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
    if (listed)
        pb_varint(&x->event, EVENT_CATEGORY_IIDS, name_iid(x, type, 0));
    else
        export_category_put(x, &x->event, EVENT_CATEGORIES, type);
    if (!listed)
        place_put(x, type);
    else if (type->file[0] != '\0')
        pb_varint(&x->event, EVENT_PLACE_IID, name_iid(x, type, 0));
    if (event->begin_clipped)
        return;
    for (unsigned i = 0; i < type->nargs; i++)
        annotation_put(x, type, i, &event->args[i]);
    if (!x->info->evidence)
        flows_put(x, event);
}

/* What a packet of an event says beside the event. */
struct export_slice {
    unsigned kind;
    uint64_t boot_ns;
    uint64_t uuid; /* of its track; 0: the thread's */
    bool with_stack, with_weight;
};

/* One packet with a track event; with names and arguments, unless it is an end. The weight of a stack
 * is for how long the thread was there. */
static void slice_put(struct perfetto_export *x, const struct trace_event *event,
                      const struct export_slice *slice)
{
    uint32_t track = export_track_of(x, event->thread);
    export_packet_begin(x, track, slice->boot_ns);
    pb_varint(&x->event, EVENT_TYPE, slice->kind);
    if (slice->uuid != 0)
        pb_varint(&x->event, EVENT_TRACK, slice->uuid);
    if (slice->kind != EVENT_END)
        event_name(x, event, track);
    uint64_t stack = slice->with_stack ? export_stack_intern(x, track, event->stack) : 0;
    if (stack != 0)
        pb_varint(&x->event, EVENT_CALLSTACK, stack);
    if (stack != 0 && slice->with_weight)
        pb_f64(&x->event, EVENT_CALLSTACK_WEIGHT, (double)event->dur_ns);
    export_interned_flush(x);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, x->out);
}

static void instant_put(struct perfetto_export *x, const struct trace_event *event)
{
    slice_put(x, event,
              &(struct export_slice){.kind = EVENT_INSTANT,
                                     .boot_ns = export_boot_ns(x, event->time_ns),
                                     .with_stack = true});
}

static struct span_lanes *rows_of(struct perfetto_export *x, const struct trace_event *event)
{
    return &x->track_at[export_track_of(x, event->thread)].rows;
}

static void range_begin(struct perfetto_export *x, const struct trace_event *event)
{
    uint64_t at = export_boot_ns(x, event->time_ns);
    if (span_lanes_open(rows_of(x, event), &at) != SKEIN_OK)
        x->status = SKEIN_NO_MEMORY;
    else
        slice_put(x, event,
                  &(struct export_slice){.kind = EVENT_BEGIN, .boot_ns = at, .with_stack = true});
}

static void range_end(struct perfetto_export *x, const struct trace_event *event)
{
    uint64_t at = export_boot_ns(x, event->time_ns + event->dur_ns);
    if (span_lanes_close(rows_of(x, event), &at) != SKEIN_OK)
        x->status = SKEIN_NO_MEMORY;
    else
        slice_put(x, event,
                  &(struct export_slice){
                      .kind = EVENT_END, .boot_ns = at, .with_stack = true, .with_weight = true});
}

/* Importers take an end for that of the newest region of a track. So one that crosses others is on a
 * track below. */
static void span_put(struct perfetto_export *x, const struct trace_event *event)
{
    uint64_t from = export_boot_ns(x, event->time_ns);
    uint64_t to = export_boot_ns(x, event->time_ns + event->dur_ns), uuid = 0;
    to = to > from ? to : from;
    int64_t row = span_lanes_put(rows_of(x, event), &from, &to);
    if (row < 0)
        x->status = (int)row;
    else if (row > 0)
        uuid = export_uuid(export_row_track(x, export_track_of(x, event->thread), (uint32_t)row));
    if (x->status != SKEIN_OK)
        return;
    slice_put(x, event,
              &(struct export_slice){.kind = EVENT_BEGIN,
                                     .boot_ns = from,
                                     .uuid = uuid,
                                     .with_stack = true,
                                     .with_weight = true});
    slice_put(x, event, &(struct export_slice){.kind = EVENT_END, .boot_ns = to, .uuid = uuid});
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
    sequence_start(x, export_track_of(x, event->thread), true);
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
    uint32_t track = export_track_of(x, event->thread), on = track;
    uint64_t at = export_boot_ns(x, event->time_ns);
    size_t row = span_lanes_find(rows_of(x, event), at);
    if (row > 0)
        on = export_row_track(x, track, (uint32_t)row);
    pb_varint(&x->packet, PACKET_TIMESTAMP, at);
    pb_varint(&x->packet, PACKET_SEQUENCE, SEQUENCE_FIRST_TRACK + track);
    pb_varint(&x->event, EVENT_TYPE, EVENT_BEGIN);
    pb_varint(&x->event, EVENT_TRACK, export_uuid(on));
    export_text(&x->event, EVENT_NAME, event->type->name);
    export_category_put(x, &x->event, EVENT_CATEGORIES, event->type);
    number_annotation(x, event->type->nargs > 0 ? event->type->args[0].name : "detail",
                      ANNOTATION_INT, (uint64_t)event->detail);
    place_put(x, event->type);
    pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
    export_packet_end(x, &x->open->packets);
}

void export_event(struct perfetto_export *x, const struct trace_event *event)
{
    if (event->kind == TRACE_LOSS && event->loss != NULL)
        loss_put(x, event);
    if (event->type == NULL) /* a loss; or an end without a begin, which shows nothing */
        return;
    if (x->info->evidence && strcmp(event->type->name, PARTITION_BULK_EVENT) == 0)
        return;
    if (x->info->evidence)
        export_sched_note(x, event, export_track_of(x, event->thread));
    switch (event->kind) {
    case TRACE_BEGIN:
        range_begin(x, event);
        break;
    case TRACE_REGION:
        if (event->type->klass == SKEIN_CLASS_RANGE_BEGIN)
            range_end(x, event);
        else
            span_put(x, event);
        break;
    case TRACE_INSTANT:
        if (!export_sample_note(x, event))
            instant_put(x, event);
        break;
    case TRACE_LOG:
        instant_put(x, event);
        break;
    case TRACE_COUNTER:
        export_counter(x, event);
        break;
    case TRACE_OPEN: /* a range has begun on its track already and just has no end */
        if (event->has_detail)
            operation_keep(x, event);
        break;
    default:
        break;
    }
}
