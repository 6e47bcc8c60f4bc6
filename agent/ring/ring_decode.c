/* SPDX-License-Identifier: Apache-2.0
 *
 * The row decoder: one tight loop over type, delta and arguments, with each event type's argument
 * kinds resolved beforehand. Owns nothing; one thread. Never allocates for an event, never reads
 * beyond the copy, and writes an event only after all of it has been decoded.
 */
#include "ring_decode.h"
#include "ring_quick.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define OPEN_DEPTH_MAX                                                                             \
    64 /* what the library repeats at a chunk's start, and what a cut inside a chunk does */
#define STR_CUT   (2 * SKEIN_STR_MAX)
#define NOT_QUICK 4 /* records: where one is not plain, the next are likely not, too */

struct open_range {
    uint64_t id, since; /* id 0: unknown */
    struct ring_names *names;
};

/* The loop's state beside position and time. */
struct row_state {
    struct ring_decoder *decoder;
    struct ring_rows *rows;
    struct ring_names *names; /* of the current string epoch; NULL: no table of it */
    const uint8_t *end;
    uint64_t generation;
    bool batch;             /* the writer has a batch for what comes */
    bool writing;           /* past what was taken before, and inside the window */
    bool eventful;          /* the record before is one that may have a stack */
    bool written;           /* and the writer has it */
    bool began;             /* a record that may only follow ranges open at the start was seen */
    uint32_t depth, deeper; /* open ranges kept, and those beyond OPEN_DEPTH_MAX */
    struct open_range open[OPEN_DEPTH_MAX];
    struct ring_type inline_type;
    char unnamed[SKEIN_ARGS_MAX][32];
};

struct ring_names *ring_decoder_names(struct ring_decoder *decoder, uint64_t epoch)
{
    for (size_t i = 0; i < decoder->name_count; i++)
        if (decoder->names[i].epoch == epoch)
            return &decoder->names[i];
    return NULL;
}

/* ---- bytes ---- */

static bool leb_long(const uint8_t **pos, const uint8_t *end, uint64_t *value)
{
    uint64_t v = 0;
    const uint8_t *p = *pos;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1)
            return false; /* beyond 64 bits */
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *pos = p;
            *value = v;
            return true;
        }
    }
    return false;
}

static inline bool leb_get(const uint8_t **pos, const uint8_t *end, uint64_t *value)
{
    const uint8_t *p = *pos;
    if (LIKELY(end - p >= 2)) {
        if (LIKELY(p[0] < 0x80)) {
            *value = p[0];
            *pos = p + 1;
            return true;
        }
        if (LIKELY(p[1] < 0x80)) {
            *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
            *pos = p + 2;
            return true;
        }
    }
    return leb_long(pos, end, value);
}

/* ---- batches ---- */

static int64_t range_type(struct row_state *s, const struct open_range *range)
{
    const struct ring_type *type = ring_names_type(range->names, &s->decoder->sink, range->id);
    return type == NULL || type->index == RING_TYPE_UNPLACED ? -1 : (int64_t)type->index;
}

static void batch_begin(struct row_state *s)
{
    struct ring_rows *rows = s->rows;
    struct partition_writer *writer = s->decoder->sink.writer;
    int64_t thread = s->decoder->thread_of(s->decoder->context, rows->stream);
    partition_writer_batch(writer, (uint32_t)thread, s->generation, rows->sequence,
                           s->generation <= s->decoder->late_generation);
    s->batch = true;
    if (!rows->restate)
        return;
    rows->restate = false;
    for (uint32_t i = 0; i < s->depth; i++)
        partition_writer_open_range(writer, range_type(s, &s->open[i]), s->open[i].since);
}

/* Ranges are followed up to the first record that is written: the first batch tells of them. */
static void range_push(struct row_state *s, uint64_t id, uint64_t since)
{
    if (s->depth == OPEN_DEPTH_MAX || s->deeper > 0)
        s->deeper++;
    else
        s->open[s->depth++] = (struct open_range){id, since, s->names};
}

static void range_pop(struct row_state *s)
{
    if (s->deeper > 0)
        s->deeper--;
    else if (s->depth > 0)
        s->depth--;
}

static inline void record_written(struct row_state *s, uint64_t ticks)
{
    struct ring_rows *rows = s->rows;
    if (rows->events++ == 0)
        rows->first_ticks = ticks;
}

/* ---- arguments ---- */

static bool string_get(struct row_state *s, const uint8_t **pos, unsigned place,
                       struct partition_value *value)
{
    uint64_t v;
    if (!leb_get(pos, s->end, &v))
        return false;
    if ((v & 1) != 0) {
        uint64_t n = v >> 1;
        value->str.cut = n >= STR_CUT;
        n -= value->str.cut ? STR_CUT : 0;
        if (n > SKEIN_STR_MAX || n > (size_t)(s->end - *pos))
            return false;
        value->str.text = (const char *)*pos;
        value->str.len = (uint32_t)n;
        *pos += n;
        return true;
    }
    value->str.cut = false;
    if (ring_names_string(s->names, v >> 1, &value->str.text, &value->str.len))
        return true;
    char *text = s->unnamed[place];
    value->str.len = (uint32_t)snprintf(text, sizeof s->unnamed[place], "#%" PRIu64, (v >> 1));
    value->str.text = text;
    s->rows->unnamed += s->writing;
    return true;
}

static inline bool args_get(struct row_state *s, const uint8_t **at, const struct ring_type *type,
                            struct partition_value *values)
{
    const uint8_t *pos = *at, *end = s->end;
    for (unsigned i = 0; i < type->nargs; i++) {
        uint64_t v;
        switch (type->args[i]) {
        case SKEIN_T_I64:
            if (!leb_get(&pos, end, &v))
                return false;
            values[i].i64 = (int64_t)(v >> 1 ^ (0 - (v & 1)));
            break;
        case SKEIN_T_F64:
            if (sizeof values[i].f64 > (size_t)(end - pos))
                return false;
            memcpy(&values[i].f64, pos, sizeof values[i].f64);
            pos += sizeof values[i].f64;
            break;
        case SKEIN_T_STR:
            if (!string_get(s, &pos, i, &values[i]))
                return false;
            break;
        case SKEIN_T_SEQ:
            if (!leb_get(&pos, end, &values[i].seq.resource) ||
                !leb_get(&pos, end, &values[i].seq.number))
                return false;
            break;
        default: /* U64, BOOL, PTR */
            if (!leb_get(&pos, end, &values[i].u64))
                return false;
            break;
        }
    }
    *at = pos;
    return true;
}

/* ---- records ---- */

static inline bool event_get(struct row_state *s, const uint8_t **pos, uint64_t id,
                             const struct ring_type *type, uint64_t ticks)
{
    struct partition_value values[SKEIN_ARGS_MAX];
    uint64_t duration = 0;
    if (type->klass == SKEIN_CLASS_SPAN && !leb_get(pos, s->end, &duration))
        return false;
    if (UNLIKELY(!args_get(s, pos, type, values)))
        return false;
    if (UNLIKELY(!s->writing)) {
        if (type->klass == SKEIN_CLASS_RANGE_BEGIN)
            range_push(s, id, ticks);
        return true;
    }
    if (UNLIKELY(type->index == RING_TYPE_UNPLACED)) {
        s->rows->unplaced++;
        return true;
    }
    if (UNLIKELY(!s->batch))
        batch_begin(s);
    record_written(s, ticks);
    s->written = true;
    partition_writer_event(s->decoder->sink.writer, type->index, ticks, duration, values);
    return true;
}

static void end_get(struct row_state *s, uint64_t ticks)
{
    if (!s->writing) {
        range_pop(s);
        return;
    }
    if (!s->batch)
        batch_begin(s);
    record_written(s, ticks);
    s->written = true;
    partition_writer_end(s->decoder->sink.writer, ticks);
}

static bool inline_get(struct row_state *s, const uint8_t **pos, uint64_t ticks)
{
    struct cursor c;
    cursor_init(&c, *pos, (size_t)(s->end - *pos));
    if (ring_type_inline(&c, &s->decoder->sink, &s->inline_type) != SKEIN_OK)
        return false;
    *pos = c.pos;
    return event_get(s, pos, 0, &s->inline_type, ticks);
}

/* of the record just before it. One that cannot be told is none, and counted. */
static bool stack_get(struct row_state *s, const uint8_t **pos, uint64_t delta, bool follows)
{
    uint64_t id;
    if (!leb_get(pos, s->end, &id) || delta != 0 || !follows)
        return false;
    if (!s->written)
        return true;
    uint32_t stack = ring_names_stack(s->names, &s->decoder->sink, id);
    if (stack != 0)
        partition_writer_event_stack(s->decoder->sink.writer, stack);
    else
        s->rows->unnamed++;
    return true;
}

static void lost_note(struct ring_rows *rows, uint64_t count, uint64_t ticks, bool writing)
{
    if (!writing)
        return;
    if (rows->lost == 0)
        rows->lost_from = rows->last_ticks;
    rows->lost += count;
    rows->lost_to = ticks;
}

/* A record that is no event: GENERATION, LOST, EPOCH, OPEN. Sets *stop at the cut's end. */
static bool control_get(struct row_state *s, const uint8_t **pos, uint64_t kind, uint64_t delta,
                        uint64_t ticks, bool *stop)
{
    uint64_t v;
    if (!leb_get(pos, s->end, &v))
        return false;
    switch (kind) {
    case RING_RECORD_GENERATION:
        *stop = v > s->decoder->newest_generation;
        if (!*stop && v != s->generation) {
            s->generation = v;
            s->batch = false;
        }
        return true;
    case RING_RECORD_LOST:
        if (v > RING_LOST_MAX)
            return false;
        lost_note(s->rows, v, ticks, s->writing);
        return true;
    case RING_RECORD_EPOCH:
        s->names = ring_decoder_names(s->decoder, v);
        return true;
    case RING_RECORD_OPEN:
        if (s->began)
            return false;
        range_push(s, v, delta < s->rows->base_ticks ? s->rows->base_ticks - delta : 0);
        return true;
    default:
        return false;
    }
}

/* One record behind its type and delta. */
static inline enum ring_decode record_get(struct row_state *s, const uint8_t **pos, uint64_t id,
                                          uint64_t delta, uint64_t now)
{
    const bool follows = s->eventful;
    bool stop = false, sound;
    if (UNLIKELY(id == RING_RECORD_STACK)) {
        s->eventful = false;
        return stack_get(s, pos, delta, follows) ? RING_DECODE_END : RING_DECODE_CORRUPT;
    }
    s->written = false;
    s->eventful = true;
    if (LIKELY(id >= RING_EVENT_FIRST)) {
        const struct ring_type *type = ring_names_type(s->names, &s->decoder->sink, id);
        if (UNLIKELY(type == NULL))
            return RING_DECODE_NAMELESS;
        sound = event_get(s, pos, id, type, now);
    } else if (id == RING_RECORD_END) {
        end_get(s, now);
        sound = true;
    } else if (id == RING_RECORD_INLINE) {
        sound = inline_get(s, pos, now);
    } else {
        s->eventful = false;
        sound = control_get(s, pos, id, delta, now, &stop);
    }
    if (UNLIKELY(!sound))
        return RING_DECODE_CORRUPT;
    return stop ? RING_DECODE_NEWER : RING_DECODE_END;
}

/* The plain records that follow one that the writer has; false: the next one is not plain. */
static inline bool records_quick(struct row_state *s, const uint8_t **pos, uint64_t *ticks)
{
    uint64_t taken =
        ring_quick(s->names, s->decoder->sink.writer, pos, s->end, ticks, s->decoder->ticks_max);
    s->rows->events += taken;
    s->rows->last_ticks = *ticks;
    s->eventful = s->eventful || taken > 0;
    return taken > 0;
}

enum ring_decode ring_decode(struct ring_decoder *decoder, struct ring_rows *rows)
{
    struct row_state s = {.decoder = decoder,
                          .rows = rows,
                          .names = ring_decoder_names(decoder, rows->string_epoch),
                          .end = rows->bytes + rows->n,
                          .generation = rows->generation};
    const uint8_t *pos = rows->bytes;
    uint64_t ticks = rows->base_ticks;
    unsigned rest = 0; /* records to decode here before the quick loop is tried again */
    rows->last_ticks = ticks;
    while (pos < s.end) {
        if (LIKELY(s.batch && s.writing && s.written)) {
            if (rest > 0)
                rest--;
            else if (!records_quick(&s, &pos, &ticks))
                rest = NOT_QUICK;
            if (pos == s.end)
                break;
        }
        rows->taken = (size_t)(pos - rows->bytes);
        uint64_t id, delta;
        if (!leb_get(&pos, s.end, &id) || !leb_get(&pos, s.end, &delta))
            return RING_DECODE_CORRUPT;
        uint64_t now = id == RING_RECORD_OPEN ? ticks : ticks + delta;
        if (UNLIKELY(now < ticks || now > decoder->ticks_max))
            return RING_DECODE_CORRUPT;
        if (UNLIKELY(!s.writing))
            s.writing = rows->taken >= rows->skip && now >= rows->from_ticks;
        enum ring_decode state = record_get(&s, &pos, id, delta, now);
        if (UNLIKELY(state != RING_DECODE_END))
            return state;
        s.began = s.began || id != RING_RECORD_OPEN;
        ticks = now;
        rows->last_ticks = ticks;
    }
    rows->taken = rows->n;
    if (rows->events == 0)
        rows->open = s.depth + s.deeper;
    if (rows->restate && rows->restate_bare && rows->open > 0)
        batch_begin(&s);
    return RING_DECODE_END;
}
