/* SPDX-License-Identifier: Apache-2.0
 *
 * Counters of the Perfetto exporter: a track for each number of each counter, and which thread,
 * process or host it is of. Entered through perfetto_export.c alone; one thread.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "perfetto_export_int.h"
#include "perfetto_fields.h"
#include "protobuf_put.h"

#define HOST_THREAD "host" /* of evidence, with tid 0 */

/* Times of one sample differ by this at most, in partitions that read their clocks apart. */
#define SAME_SAMPLE_NS UINT64_C(1000000)

static bool event_is_of_host(const struct perfetto_export *x, const struct trace_event *event)
{
    return x->info->evidence && event->thread != NULL && event->thread->tid == 0 &&
           strcmp(event->thread->name, HOST_THREAD) == 0;
}

/* ---- what another process of the host has told ---- */

static bool range_has(const struct export_told_range *range, uint64_t ns)
{
    return ns + SAME_SAMPLE_NS >= range->from_ns && ns <= range->to_ns + SAME_SAMPLE_NS;
}

/* The range of another partition is done: it becomes one with what it touches. */
static bool range_keep(struct export_host_counter *c)
{
    for (size_t i = 0; i < c->count; i++) {
        struct export_told_range *before = &c->before[i];
        if (!range_has(before, c->now.from_ns) && !range_has(&c->now, before->from_ns))
            continue;
        if (c->now.from_ns < before->from_ns)
            before->from_ns = c->now.from_ns;
        if (c->now.to_ns > before->to_ns)
            before->to_ns = c->now.to_ns;
        return true;
    }
    if (!array_grow(c->before, c->count + 1, &c->cap))
        return false;
    c->before[c->count++] = c->now;
    return true;
}

/* Whether this sample of a host's counter is in the file; else it is noted. */
static bool sample_is_told(struct perfetto_export *x, uint32_t track, uint64_t boot_ns)
{
    if (!array_grow_zero(x->host_counters, (size_t)track + 1, &x->host_counter_cap)) {
        x->status = SKEIN_NO_MEMORY;
        return true;
    }
    struct export_host_counter *c = &x->host_counters[track];
    if (c->partition != x->partition) {
        if (c->partition != 0 && !range_keep(c)) {
            x->status = SKEIN_NO_MEMORY;
            return true;
        }
        c->partition = x->partition;
        c->now = (struct export_told_range){UINT64_MAX, 0};
    }
    for (size_t i = 0; i < c->count; i++)
        if (range_has(&c->before[i], boot_ns))
            return true;
    if (boot_ns < c->now.from_ns)
        c->now.from_ns = boot_ns;
    if (boot_ns > c->now.to_ns)
        c->now.to_ns = boot_ns;
    return false;
}

void export_counters_fini(struct perfetto_export *x)
{
    for (size_t i = 0; i < x->host_counter_cap; i++)
        free(x->host_counters[i].before);
    free(x->host_counters);
}

/* ---- tracks ---- */

static uint32_t host_track(struct perfetto_export *x)
{
    uint32_t track = export_track_number(x, &(struct export_track_key){.kind = TRACK_OF_HOST}, "");
    struct buf name = {0};
    buf_printf(&name, "host %s", x->info->host);
    buf_put_u8(&name, 0);
    if (name.status != SKEIN_OK) {
        x->status = name.status;
    } else if (export_track_is_fresh(x, track, (const char *)name.data)) {
        pb_varint(&x->part, TRACK_UUID, export_uuid(track));
        export_text(&x->part, TRACK_NAME, (const char *)name.data);
        export_descriptor_end(x);
    }
    buf_fini(&name);
    return track;
}

/* Of one number, the counter's name; of more, "NAME.ARGUMENT". */
static void counter_name(const struct partition_event_type *type, unsigned arg, struct buf *name)
{
    buf_printf(name, type->nargs > 1 ? "%s.%s" : "%s", type->name, type->args[arg].name);
    buf_put_u8(name, 0);
}

static uint32_t counter_track(struct perfetto_export *x, const struct trace_event *event,
                              unsigned arg, bool of_host)
{
    const struct partition_event_type *type = event->type;
    bool of_thread = !of_host && type->nargs > 1 && event->thread != NULL;
    struct export_track_key key = {.kind = of_host ? TRACK_OF_HOST_COUNTER : TRACK_OF_COUNTER,
                                   .number = of_thread ? export_track_of(x, event->thread) + 1 : 0,
                                   .more = arg};
    struct buf name = {0};
    counter_name(type, arg, &name);
    if (name.status != SKEIN_OK) {
        x->status = name.status;
        return 0;
    }
    uint32_t track = export_track_number(x, &key, (const char *)name.data);
    uint32_t parent = x->process;
    if (of_host)
        parent = host_track(x);
    else if (of_thread)
        parent = export_counter_owner(x, event->thread);
    if (export_track_is_fresh(x, track, (const char *)name.data)) {
        pb_varint(&x->part, TRACK_UUID, export_uuid(track));
        pb_varint(&x->part, TRACK_PARENT, export_uuid(parent));
        export_text(&x->part, TRACK_NAME, (const char *)name.data);
        export_category_put(x, &x->item, COUNTER_CATEGORIES, type);
        export_text(&x->item, COUNTER_UNIT_NAME, type->args[arg].unit);
        pb_message(&x->part, TRACK_COUNTER, &x->item);
        export_descriptor_end(x);
    }
    buf_fini(&name);
    return track;
}

/* ---- values ---- */

static bool is_number(const struct partition_event_type *type, unsigned arg)
{
    uint8_t of = type->args[arg].type;
    return of == SKEIN_T_U64 || of == SKEIN_T_I64 || of == SKEIN_T_F64 || of == SKEIN_T_BOOL;
}

static void value_put(struct perfetto_export *x, uint8_t type, const struct partition_value *value)
{
    if (type == SKEIN_T_F64)
        pb_f64(&x->event, EVENT_COUNTER_F64, value->f64);
    else if (type == SKEIN_T_U64 && value->u64 > INT64_MAX)
        pb_f64(&x->event, EVENT_COUNTER_F64, (double)value->u64);
    else
        pb_varint(&x->event, EVENT_COUNTER, value->u64);
}

void export_counter(struct perfetto_export *x, const struct trace_event *event)
{
    const struct partition_event_type *type = event->type;
    uint64_t boot_ns = export_boot_ns(x, event->time_ns);
    bool of_host = event_is_of_host(x, event);
    for (unsigned i = 0; i < type->nargs && x->status == SKEIN_OK; i++) {
        if (!is_number(type, i))
            continue;
        uint32_t track = counter_track(x, event, i, of_host);
        if (x->status != SKEIN_OK || (of_host && sample_is_told(x, track, boot_ns)))
            continue;
        export_packet_begin(x, export_track_of(x, event->thread), boot_ns);
        pb_varint(&x->event, EVENT_TYPE, EVENT_IS_COUNTER);
        pb_varint(&x->event, EVENT_TRACK, export_uuid(track));
        value_put(x, type->args[i].type, &event->args[i]);
        pb_message(&x->packet, PACKET_TRACK_EVENT, &x->event);
        export_packet_end(x, x->out);
    }
}
