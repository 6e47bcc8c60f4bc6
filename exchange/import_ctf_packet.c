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
    ctf_loss_emit(i, PARTITION_LOSS_CORRUPT, 0, i->last_ns, i->last_ns);
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
    ctf_loss_emit(i, PARTITION_LOSS_CORRUPT, 0, ctf_ns(i, s, s->clock), s->last_ns);
    return i->status;
}

static bool number_get(const struct ctf_values *values, size_t from, const char *name,
                       uint64_t *number)
{
    const struct ctf_value *value = ctf_value_find(values, from, name);
    if (value == NULL || value->kind != TSDL_INTEGER)
        return false;
    *number = value->number;
    return true;
}

/* The description of a packet that says whose it is; of one that does not, the only one there is. */
static const struct tsdl_stream *stream_find(const struct ctf_import *i, bool said, uint64_t id)
{
    if (!said && i->t.stream_count == 1)
        return &i->t.streams[0];
    for (size_t k = 0; k < i->t.stream_count; k++)
        if (i->t.streams[k].id == id)
            return &i->t.streams[k];
    return NULL;
}

/* From `have` bytes that are there to n, of the source from `at` on. */
static int bytes_take(const struct skein_trace_source *source, uint64_t at, struct buf *packet,
                      uint64_t n)
{
    uint64_t have = packet->len;
    if (n <= have)
        return SKEIN_OK;
    uint8_t *room = buf_reserve(packet, (size_t)(n - have));
    if (room == NULL)
        return SKEIN_NO_MEMORY;
    int status = source->read(source->context, at + have, room, (size_t)(n - have));
    if (status == SKEIN_OK)
        packet->len = (size_t)n;
    return status;
}

/* The sizes that a packet names; where it names one alone, it is both. */
static const char *sizes_get(const struct ctf_values *v, size_t from, uint64_t left, uint64_t least,
                             struct ctf_head *head)
{
    uint64_t bits = left * 8;
    bool whole = number_get(v, from, "packet_size", &bits);
    head->content = bits;
    if (number_get(v, from, "content_size", &head->content) && !whole)
        bits = head->content <= left * 8 ? (head->content + 7) / 8 * 8 : head->content;
    head->bytes = bits / 8;
    if (bits % 8 != 0 || bits == 0 || bits / 8 > left || head->content > bits ||
        head->content < least)
        return "a packet has a size that it cannot have";
    return bits / 8 > CTF_PACKET_BYTES_MAX ? "a packet is larger than 256 MiB" : NULL;
}

/* The head at the begin of `bits`. NULL; or what is wrong with it. */
static const char *head_get(struct ctf_import *i, struct ctf_bits *bits, uint64_t left,
                            struct ctf_head *head)
{
    struct ctf_values *v = &i->values;
    uint64_t magic = MAGIC, id = 0;
    *head = (struct ctf_head){.description = NULL};
    v->count = 0;
    buf_clear(&v->texts);
    if (!ctf_struct_read(&i->t, bits, i->t.packet_header, v) ||
        (number_get(v, 0, "magic", &magic) && magic != MAGIC))
        return "there is no packet";
    bool said = number_get(v, 0, "stream_id", &id);
    head->description = stream_find(i, said, id);
    if (head->description == NULL)
        return "a packet is of a stream that the metadata does not have";
    head->has_instance = number_get(v, 0, "stream_instance_id", &head->instance);
    size_t from = v->count;
    if (!ctf_struct_read(&i->t, bits, head->description->packet_context, v))
        return "a packet's context is cut";
    head->has_begin = number_get(v, from, "timestamp_begin", &head->begin);
    const struct ctf_value *begin = ctf_value_find(v, from, "timestamp_begin");
    head->clock = begin != NULL ? begin->clock : 0;
    head->has_end = number_get(v, from, "timestamp_end", &head->end);
    head->has_cpu = number_get(v, from, "cpu_id", &head->cpu);
    head->has_discarded = number_get(v, from, "events_discarded", &head->discarded);
    head->has_number = number_get(v, from, "packet_seq_num", &head->number);
    return sizes_get(v, from, left, bits->at, head);
}

int ctf_head_peek(struct ctf_import *i, const struct skein_trace_source *source, uint64_t at,
                  struct ctf_head *head)
{
    struct buf packet = {0};
    uint64_t left = source->bytes - at;
    const char *wrong = "it has no head";
    int status = SKEIN_OK;
    for (uint64_t n = 1024; left > 0 && wrong != NULL && n <= HEAD_BYTES_MAX; n *= 64) {
        status = bytes_take(source, at, &packet, left < n ? left : n);
        if (status != SKEIN_OK)
            break;
        struct ctf_bits bits = {
            .bytes = packet.data, .end = (uint64_t)packet.len * 8, .big = i->t.big};
        wrong = head_get(i, &bits, left, head);
    }
    if (i->values.texts.status != SKEIN_OK)
        status = SKEIN_NO_MEMORY;
    buf_fini(&packet);
    return status != SKEIN_OK ? status : wrong == NULL;
}

/* ---- what the tracer says that it lost ---- */

/* Events that the tracer had no room for are counted on from packet to packet, and so are packets. Between
 * the end of the one before and this one's end lie the events, up to its begin the packets. */
static void losses_note(struct ctf_import *i, struct ctf_stream *s, const struct ctf_head *head)
{
    uint64_t before = s->has_discarded ? s->discarded : 0, begin_ns = ctf_ns(i, s, s->clock);
    uint64_t from_ns = s->begun ? s->last_ns : begin_ns;
    if (s->has_number && head->has_number && head->number > s->number + 1 && s->number + 1 > 0) {
        i->ctf->lost_packets += head->number - s->number - 1;
        ctf_loss_emit(i, PARTITION_LOSS_RING_FULL, 0, from_ns, begin_ns);
    }
    if (head->has_discarded && head->discarded > before) {
        i->ctf->discarded += head->discarded - before;
        ctf_loss_emit(i, PARTITION_LOSS_RING_FULL, head->discarded - before, from_ns,
                      ctf_ns(i, s, s->end_clock));
    }
    if (head->has_discarded) {
        s->discarded = head->discarded > before ? head->discarded : before; /* it may go back */
        s->has_discarded = true;
    }
    s->number = head->number;
    s->has_number = head->has_number;
}

static int packet_open(struct ctf_import *i, struct ctf_stream *s)
{
    struct ctf_head head;
    uint64_t left = s->source->bytes - s->offset;
    buf_clear(&s->packet);
    int status =
        bytes_take(s->source, s->offset, &s->packet, left < HEAD_BYTES_MAX ? left : HEAD_BYTES_MAX);
    if (status != SKEIN_OK)
        return status;
    s->bits = (struct ctf_bits){
        .bytes = s->packet.data, .end = (uint64_t)s->packet.len * 8, .big = i->t.big};
    const char *wrong = head_get(i, &s->bits, left, &head);
    if (wrong != NULL)
        return stream_leave(i, s, wrong);
    s->description = head.description;
    status = bytes_take(s->source, s->offset, &s->packet, head.bytes);
    if (status != SKEIN_OK)
        return status;
    s->clock = head.has_begin ? head.begin : s->clock;
    s->clock_of = head.clock != 0 ? head.clock : s->clock_of;
    s->end_clock = head.has_end ? head.end : s->clock;
    s->has_cpu = head.has_cpu;
    s->cpu = head.cpu;
    losses_note(i, s, &head);
    s->last_ns = ctf_ns(i, s, s->end_clock);
    s->begun = true;
    s->bits.bytes = s->packet.data;
    s->bits.end = head.content;
    s->packet_at = s->offset;
    s->offset += head.bytes;
    i->ctf->packets++;
    return SKEIN_OK;
}

static void no_clock_tell(struct ctf_import *i)
{
    if (!i->probes && !i->has_no_clock)
        import_why(i->told, "the metadata describes no clock: its times are taken for nanoseconds "
                            "since 1970");
    i->has_no_clock |= !i->probes;
}

/* A narrow clock goes on from the last time: where its bits are less, it went round once. */
static void clock_take(struct ctf_stream *s, const struct ctf_value *value)
{
    s->clock_of = value->clock != 0 ? value->clock : s->clock_of;
    if (value->bits == 64) {
        s->clock = value->number;
        return;
    }
    uint64_t mask = (UINT64_C(1) << value->bits) - 1;
    if (value->number < (s->clock & mask))
        s->clock += mask + 1;
    s->clock = (s->clock & ~mask) | value->number;
}

/* Of a clock; or, as Zephyr and others write it, called so, of the only clock there is. */
static bool is_time(const struct ctf_value *value)
{
    return value->kind == TSDL_INTEGER &&
           (value->clock != 0 || strcmp(value->name, "timestamp") == 0);
}

/* 1; 0: the packet is left; a status below 0. */
static int event_head(struct ctf_import *i, struct ctf_stream *s)
{
    struct ctf_values *v = &i->values;
    uint64_t id = s->description->only; /* of a head that says none */
    s->event_at = s->bits.at;
    s->clock_before = s->clock;
    v->count = 0;
    buf_clear(&v->texts);
    if (!ctf_struct_read(&i->t, &s->bits, s->description->header, v))
        return ctf_packet_leave(i, s, s->bits.why);
    for (size_t k = 0; k < v->count; k++) {
        if (is_time(&v->items[k])) {
            clock_take(s, &v->items[k]);
            if (!i->t.has_clock)
                no_clock_tell(i);
        } else if (strcmp(v->items[k].name, "id") == 0)
            id = v->items[k].number; /* the last one: of an extended head */
    }
    uint32_t at = import_map_get(&i->events, id ^ s->description->id << 32);
    s->event = at != IMPORT_MAP_NONE ? &i->t.events[at] : NULL;
    if (s->event == NULL || s->event->id != id || s->event->stream != s->description->id)
        return ctf_packet_leave(i, s, "is of a kind that the metadata does not have");
    s->time_ns = ctf_ns(i, s, s->clock);
    return 1;
}

/* The tracer had begun a new file. */
static void source_follow(struct ctf_import *i, struct ctf_stream *s)
{
    size_t next = s->next - 1;
    s->source = &i->sources[next];
    s->next = i->streams[next].next;
    s->offset = 0;
}

int ctf_stream_next(struct ctf_import *i, struct ctf_stream *s)
{
    int more = 0;
    while (more == 0) {
        if (s->bits.at < s->bits.end)
            more = event_head(i, s); /* 0: the rest of its packet is left */
        else if (s->offset < s->source->bytes)
            more = packet_open(i, s);
        else if (s->next > 0)
            source_follow(i, s);
        else
            break;
    }
    return more;
}
