/* SPDX-License-Identifier: Apache-2.0
 *
 * Packets of a stream, one after the other, and the heads of the events in them.
 */
#include <inttypes.h>
#include <string.h>

#include "import_ctf_int.h"

#define MAGIC          0xc1fc1fc1u
#define HEAD_BYTES_MAX 65536u /* of a packet's header and context */

/* What is left of the stream has no place that is known. */
static int stream_leave(struct ctf_import *i, struct ctf_stream *s, const char *what)
{
    if (i->values.texts.status != SKEIN_OK)
        return SKEIN_NO_MEMORY; /* that is why nothing was read */
    import_why(i->told, "stream %s: %s near byte %" PRIu64 "; what is behind is left out",
               s->source->name, what, s->offset);
    i->told->cut_bytes += s->source->bytes - s->offset;
    s->offset = s->source->bytes;
    s->bits = (struct ctf_bits){.at = 0};
    ctf_loss_emit(i, s, i->last_ns, i->last_ns);
    return i->status;
}

int ctf_packet_leave(struct ctf_import *i, struct ctf_stream *s, const char *what)
{
    uint64_t from = s->event_at / 8, end = (s->bits.end + 7) / 8;
    if (i->values.texts.status != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    import_why(i->told,
               "stream %s: an event %s near byte %" PRIu64 "; the rest of its packet is left out",
               s->source->name, what, s->packet_at + from);
    i->told->cut_bytes += end - from;
    s->bits = (struct ctf_bits){.at = 0};
    s->clock = s->clock_before; /* the broken one's may be anything */
    ctf_loss_emit(i, s, ctf_ns(i, s->clock), s->last_ns);
    return i->status;
}

static uint64_t number_of(const struct ctf_values *values, size_t from, const char *name,
                          uint64_t otherwise)
{
    const struct ctf_value *value = ctf_value_find(values, from, name);
    return value != NULL && value->kind == TSDL_INTEGER ? value->number : otherwise;
}

static const struct tsdl_stream *stream_find(const struct ctf_import *i, uint64_t id)
{
    for (size_t k = 0; k < i->t.stream_count; k++)
        if (i->t.streams[k].id == id)
            return &i->t.streams[k];
    return NULL;
}

static int bytes_take(struct ctf_stream *s, uint64_t n)
{
    uint64_t have = s->packet.len;
    if (n <= have)
        return SKEIN_OK;
    uint8_t *room = buf_reserve(&s->packet, (size_t)(n - have));
    if (room == NULL)
        return SKEIN_NO_MEMORY;
    int status = s->source->read(s->source->context, s->offset + have, room, (size_t)(n - have));
    if (status == SKEIN_OK)
        s->packet.len = (size_t)n;
    s->bits.bytes = s->packet.data;
    return status;
}

/* Events that the tracer had no room for are counted on from packet to packet. */
static void discarded_note(struct ctf_import *i, struct ctf_stream *s, uint64_t discarded,
                           uint64_t begin_ns, uint64_t end_ns)
{
    if (s->has_discarded && discarded > s->discarded)
        s->lost = discarded - s->discarded;
    else if (!s->has_discarded)
        s->lost = discarded; /* since the stream began */
    if (s->lost > 0) {
        i->ctf->discarded += s->lost;
        ctf_loss_emit(i, s, s->begun ? s->last_ns : begin_ns, end_ns);
    }
    s->lost = 0;
    s->discarded = discarded > s->discarded ? discarded : s->discarded; /* it may go back */
    s->has_discarded = true;
}

static void context_take(struct ctf_import *i, struct ctf_stream *s, size_t from)
{
    const struct ctf_values *v = &i->values;
    uint64_t begin = number_of(v, from, "timestamp_begin", s->clock);
    s->end_clock = number_of(v, from, "timestamp_end", begin);
    s->clock = begin;
    s->has_cpu = ctf_value_find(v, from, "cpu_id") != NULL;
    s->cpu = number_of(v, from, "cpu_id", 0);
    if (ctf_value_find(v, from, "events_discarded") != NULL)
        discarded_note(i, s, number_of(v, from, "events_discarded", 0), ctf_ns(i, begin),
                       ctf_ns(i, s->end_clock));
    s->last_ns = ctf_ns(i, s->end_clock);
    s->begun = true;
}

static int packet_open(struct ctf_import *i, struct ctf_stream *s)
{
    uint64_t left = s->source->bytes - s->offset;
    struct ctf_values *v = &i->values;
    buf_clear(&s->packet);
    s->bits = (struct ctf_bits){.big = i->t.big};
    int status = bytes_take(s, left < HEAD_BYTES_MAX ? left : HEAD_BYTES_MAX);
    if (status != SKEIN_OK)
        return status;
    s->bits.end = (uint64_t)s->packet.len * 8;
    v->count = 0;
    buf_clear(&v->texts);
    if (!ctf_struct_read(&i->t, &s->bits, i->t.packet_header, v) ||
        number_of(v, 0, "magic", MAGIC) != MAGIC)
        return stream_leave(i, s, "there is no packet");
    s->description = stream_find(i, number_of(v, 0, "stream_id", 0));
    if (s->description == NULL)
        return stream_leave(i, s, "a packet is of a stream that the metadata does not have");
    size_t from = v->count;
    if (!ctf_struct_read(&i->t, &s->bits, s->description->packet_context, v))
        return stream_leave(i, s, "a packet's context is cut");
    uint64_t bits = number_of(v, from, "packet_size", left * 8);
    uint64_t content = number_of(v, from, "content_size", bits);
    if (bits % 8 != 0 || bits == 0 || bits / 8 > left || content > bits || content < s->bits.at)
        return stream_leave(i, s, "a packet has a size that it cannot have");
    if (bits / 8 > CTF_PACKET_BYTES_MAX)
        return stream_leave(i, s, "a packet is larger than 256 MiB");
    status = bytes_take(s, bits / 8);
    if (status != SKEIN_OK)
        return status;
    context_take(i, s, from);
    s->bits.end = content;
    s->packet_at = s->offset;
    s->offset += bits / 8;
    i->ctf->packets++;
    return SKEIN_OK;
}

/* A narrow clock goes on from the last time: where its bits are less, it went round once. */
static void clock_take(struct ctf_stream *s, const struct ctf_value *value)
{
    if (value->bits == 64) {
        s->clock = value->number;
        return;
    }
    uint64_t mask = (UINT64_C(1) << value->bits) - 1;
    if (value->number < (s->clock & mask))
        s->clock += mask + 1;
    s->clock = (s->clock & ~mask) | value->number;
}

/* 1; 0: the packet is left; a status below 0. */
static int event_head(struct ctf_import *i, struct ctf_stream *s)
{
    struct ctf_values *v = &i->values;
    uint64_t id = 0;
    s->event_at = s->bits.at;
    s->clock_before = s->clock;
    v->count = 0;
    buf_clear(&v->texts);
    if (!ctf_struct_read(&i->t, &s->bits, s->description->header, v))
        return ctf_packet_leave(i, s, s->bits.why);
    for (size_t k = 0; k < v->count; k++) {
        if (v->items[k].clock && v->items[k].kind == TSDL_INTEGER)
            clock_take(s, &v->items[k]);
        else if (strcmp(v->items[k].name, "id") == 0)
            id = v->items[k].number; /* the last one: of an extended head */
    }
    uint32_t at = import_map_get(&i->events, id ^ s->description->id << 32);
    s->event = at != IMPORT_MAP_NONE ? &i->t.events[at] : NULL;
    if (s->event == NULL || s->event->id != id || s->event->stream != s->description->id)
        return ctf_packet_leave(i, s, "is of a kind that the metadata does not have");
    s->time_ns = ctf_ns(i, s->clock);
    return 1;
}

int ctf_stream_next(struct ctf_import *i, struct ctf_stream *s)
{
    int more = 0;
    while (more == 0) {
        if (s->bits.at < s->bits.end)
            more = event_head(i, s); /* 0: the rest of its packet is left */
        else if (s->offset < s->source->bytes)
            more = packet_open(i, s);
        else
            break;
    }
    return more;
}
