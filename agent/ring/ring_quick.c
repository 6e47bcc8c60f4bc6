/* SPDX-License-Identifier: Apache-2.0
 *
 * The tight loop over plain records; see ring_quick.h. Owns nothing. No number is checked against the
 * end of the bytes: a record takes at most QUICK_BYTES, and the loop ends where fewer are left.
 */
#include "ring_quick.h"

#include "partition_fill.h"

#define LIKELY(x)   __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

#define LEB_BYTES   10
#define QUICK_BYTES ((3 + SKEIN_ARGS_MAX) * LEB_BYTES) /* type, delta, duration, arguments */

/* The third byte and those behind it; NULL: beyond 64 bits. */
static __attribute__((noinline)) const uint8_t *leb_rest(const uint8_t *p, uint64_t *value)
{
    uint64_t v = (uint64_t)(p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7;
    for (unsigned i = 2; i < LEB_BYTES; i++) {
        if (i == LEB_BYTES - 1 && p[i] > 1)
            return NULL;
        v |= (uint64_t)(p[i] & 0x7f) << (7 * i);
        if (p[i] < 0x80) {
            *value = v;
            return p + i + 1;
        }
    }
    return NULL;
}

/* LEB_BYTES may be read from p on. NULL: no number. */
static inline __attribute__((always_inline)) const uint8_t *leb_take(const uint8_t *p,
                                                                     uint64_t *value)
{
    if (LIKELY(p[0] < 0x80)) {
        *value = p[0];
        return p + 1;
    }
    if (LIKELY(p[1] < 0x80)) {
        *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)p[1] << 7;
        return p + 2;
    }
    if (LIKELY(p[2] < 0x80)) {
        *value = (uint64_t)(p[0] & 0x7f) | (uint64_t)(p[1] & 0x7f) << 7 | (uint64_t)p[2] << 14;
        return p + 3;
    }
    return leb_rest(p, value);
}

/* A number as its column has it (F-27). */
static inline uint64_t number_of(uint8_t kind, uint64_t v)
{
    if (kind == SKEIN_T_I64)
        return v >> 1 ^ (0 - (v & 1));
    return kind == SKEIN_T_BOOL ? v != 0 : v;
}

/* The duration and the arguments of an event into its next row. The end of the record; NULL: leave
 * it. *since as partition_fill's. */
static inline __attribute__((always_inline)) const uint8_t *
row_take(const uint8_t *p, const struct ring_type *type, const struct partition_fill_type *to,
         uint64_t now, uint64_t *since)
{
    uint64_t *value = to->values + to->rows;
    const uint32_t cap = to->cap;
    if (type->klass == SKEIN_CLASS_SPAN) {
        p = leb_take(p, value);
        if (UNLIKELY(p == NULL))
            return NULL;
        uint64_t from = *value < now ? now - *value : 0;
        *since = from < *since ? from : *since;
        value += cap;
    }
    for (unsigned i = 0; i < type->nargs; i++, value += cap) {
        uint64_t v;
        p = leb_take(p, &v);
        if (UNLIKELY(p == NULL))
            return NULL;
        *value = type->plain ? v : number_of(type->args[i], v);
    }
    return p;
}

static inline const struct ring_type *type_find(const struct ring_names *names, uint64_t id)
{
    if (UNLIKELY(id < RING_EVENT_FIRST || id - RING_EVENT_FIRST >= names->type_count))
        return NULL;
    const struct ring_type *type = &names->types[id - RING_EVENT_FIRST];
    return LIKELY(type->quick) ? type : NULL;
}

/* One record from p on, at `now`; its end, or NULL. */
static inline __attribute__((always_inline)) const uint8_t *
record_take(const struct ring_names *names, struct partition_fill *fill, const uint8_t *p,
            uint64_t id, uint64_t now)
{
    if (id == RING_RECORD_END) {
        if (UNLIKELY(fill->bytes_left < PARTITION_END_BYTES))
            return NULL;
        fill->bytes_left -= PARTITION_END_BYTES;
        fill->codes[fill->events] = 0;
        return p;
    }
    const struct ring_type *type = type_find(names, id);
    if (UNLIKELY(type == NULL))
        return NULL;
    struct partition_fill_type *to = &fill->types[type->index];
    if (UNLIKELY(to->local == 0 || to->rows == to->cap || fill->bytes_left < to->event_bytes))
        return NULL;
    uint64_t since = fill->since;
    p = row_take(p, type, to, now, &since);
    if (UNLIKELY(p == NULL))
        return NULL;
    fill->since = since;
    fill->bytes_left -= to->event_bytes;
    fill->codes[fill->events] = (uint16_t)to->local;
    to->rows++;
    return p;
}

uint64_t ring_quick(const struct ring_names *names, struct partition_writer *w, const uint8_t **pos,
                    const uint8_t *end, uint64_t *ticks, uint64_t ticks_max)
{
    struct partition_fill opened;
    if (names == NULL || !partition_writer_fill(w, &opened) || *ticks < opened.last ||
        *ticks > ticks_max)
        return 0;
    struct partition_fill fill = opened; /* whose address nobody else has: it stays in registers */
    const uint8_t *from = *pos;
    uint64_t at = *ticks;
    while (QUICK_BYTES <= (size_t)(end - from) && fill.events < fill.events_max) {
        uint64_t id, delta;
        const uint8_t *p = leb_take(from, &id);
        if (UNLIKELY(p == NULL))
            break;
        p = leb_take(p, &delta);
        if (UNLIKELY(p == NULL || delta > ticks_max - at))
            break;
        p = record_take(names, &fill, p, id, at + delta);
        if (UNLIKELY(p == NULL))
            break;
        fill.times[fill.events++] = at + delta - fill.last;
        at += delta;
        fill.last = at;
        from = p;
    }
    const uint64_t taken = fill.events - opened.events;
    *pos = from;
    *ticks = at;
    opened = fill;
    partition_writer_filled(w, &opened);
    return taken;
}
