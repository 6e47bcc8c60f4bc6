/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the copies of chunks and tables and the events made of them; see the header.
 */
#include "decoded_ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "skein_atomic.h"

struct type_desc {
    uint32_t epoch;
    uint64_t id;
    uint8_t kind; /* enum ring_table_kind */
    uint8_t klass, group, nargs;
    uint8_t types[SKEIN_ARGS_MAX];
    char names[SKEIN_ARGS_MAX][SKEIN_NAME_MAX + 1];
    char text[SKEIN_STR_MAX + 1];
};

struct cursor {
    const uint8_t *p, *end;
    bool bad;
};

struct decoder {
    struct decoded_ring *out;
    struct type_desc *types;
    size_t type_count;
    /* of the chunk being read */
    struct cursor in;
    uint64_t ticks, generation;
    uint32_t epoch, chunk;
    bool eventful; /* the record before may have a stack */
};

static uint8_t take_byte(struct cursor *c)
{
    if (c->bad || c->p == c->end) {
        c->bad = true;
        return 0;
    }
    return *c->p++;
}

static uint64_t take_leb(struct cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = take_byte(c);
        value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
        if (!(byte & 0x80))
            return value;
    }
    c->bad = true;
    return 0;
}

static void take_bytes(struct cursor *c, char *to, size_t room, uint64_t n)
{
    if (c->bad || n > (size_t)(c->end - c->p) || n >= room) {
        c->bad = true;
        return;
    }
    memcpy(to, c->p, n);
    to[n] = 0;
    c->p += n;
}

static void take_text(struct cursor *c, char *to, size_t room)
{
    take_bytes(c, to, room, take_leb(c));
}

static bool fail(struct decoded_ring *out, const char *what, uint64_t a, uint64_t b)
{
    if (!out->error[0])
        snprintf(out->error, sizeof out->error, "%s (%llu, %llu)", what, (unsigned long long)a,
                 (unsigned long long)b);
    return false;
}

/* Of an array that grows by ones: what AddressSanitizer's realloc copies each time, it copies at
 * powers of two alone. */
static void *room_for_one(void *items, size_t count, size_t size)
{
    return (count & (count - 1)) == 0 ? realloc(items, (2 * count + 1) * size) : items;
}

/* ---- tables ---- */

static int64_t take_zigzag(struct cursor *c)
{
    uint64_t bits = take_leb(c);
    return (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
}

static bool take_stack(struct cursor *c, struct decoded_ring *out, uint32_t epoch)
{
    out->stacks = room_for_one(out->stacks, out->stack_count, sizeof *out->stacks);
    struct decoded_stack *stack = &out->stacks[out->stack_count++];
    memset(stack, 0, sizeof *stack);
    stack->epoch = epoch;
    stack->id = take_leb(c);
    stack->end = take_byte(c);
    stack->count = (uint32_t)take_leb(c);
    uint64_t pc = 0;
    for (uint32_t i = 0; i < stack->count && i < 64; i++) {
        pc = i == 0 ? take_leb(c) : pc + (uint64_t)take_zigzag(c);
        stack->pcs[i] = pc;
    }
    return !c->bad && c->p == c->end && stack->count > 0 && stack->count <= 64 && stack->end <= 2;
}

static bool take_mapping(struct cursor *c, struct decoded_ring *out, uint32_t epoch)
{
    out->mappings = room_for_one(out->mappings, out->mapping_count, sizeof *out->mappings);
    struct decoded_mapping *mapping = &out->mappings[out->mapping_count++];
    memset(mapping, 0, sizeof *mapping);
    mapping->epoch = epoch;
    mapping->start = take_leb(c);
    mapping->end = take_leb(c);
    mapping->offset = take_leb(c);
    mapping->build_id_bytes = take_byte(c);
    for (uint8_t i = 0; i < mapping->build_id_bytes && i < sizeof mapping->build_id; i++)
        mapping->build_id[i] = take_byte(c);
    take_bytes(c, mapping->path, sizeof mapping->path, (uint64_t)(c->end - c->p));
    return !c->bad && mapping->start < mapping->end && mapping->build_id_bytes <= 32;
}

static bool take_table_record(struct cursor *table, struct type_desc *d, struct decoded_ring *out)
{
    char skipped[SKEIN_STR_MAX + 1];
    d->kind = take_byte(table);
    uint64_t n = take_leb(table);
    if (table->bad || n > (size_t)(table->end - table->p))
        return false;
    struct cursor c = {table->p, table->p + n, false};
    table->p += n;
    if (d->kind == RING_TABLE_STACK)
        return take_stack(&c, out, d->epoch);
    if (d->kind == RING_TABLE_MAPPING)
        return take_mapping(&c, out, d->epoch);
    d->id = take_leb(&c);
    if (d->kind == RING_TABLE_STRING) {
        take_bytes(&c, d->text, sizeof d->text, (uint64_t)(c.end - c.p));
        return !c.bad;
    }
    d->klass = take_byte(&c);
    d->group = take_byte(&c);
    d->nargs = take_byte(&c);
    take_text(&c, d->text, sizeof d->text);
    take_text(&c, skipped, sizeof skipped);
    take_text(&c, skipped, sizeof skipped);
    take_leb(&c);
    if (d->kind != RING_TABLE_EVENT_TYPE || d->nargs > SKEIN_ARGS_MAX)
        return false;
    for (uint8_t i = 0; i < d->nargs; i++) {
        d->types[i] = take_byte(&c);
        take_text(&c, d->names[i], sizeof d->names[i]);
        take_text(&c, skipped, sizeof skipped);
    }
    return !c.bad && c.p == c.end;
}

static bool read_tables(struct decoder *d, const uint8_t *ring, const struct ring_geometry *g)
{
    for (int half = 0; half < 2; half++) {
        const uint8_t *at = ring + g->table_off[half];
        uint64_t committed = skein_table_load((const uint64_t *)(const void *)at);
        uint32_t bytes = (uint32_t)committed;
        if (bytes > g->table_bytes - sizeof(struct ring_table))
            return fail(d->out, "table half longer than its room", (uint64_t)half, bytes);
        struct cursor c = {at + sizeof(struct ring_table), at + sizeof(struct ring_table) + bytes,
                           0};
        while (c.p != c.end) {
            d->types = room_for_one(d->types, d->type_count, sizeof *d->types);
            struct type_desc *type = &d->types[d->type_count++];
            memset(type, 0, sizeof *type);
            type->epoch = (uint32_t)(committed >> 32);
            if (!take_table_record(&c, type, d->out))
                return fail(d->out, "malformed table record", (uint64_t)half, d->type_count);
        }
    }
    return true;
}

static const struct type_desc *find_type(const struct decoder *d, uint8_t kind, uint64_t id)
{
    for (size_t i = 0; i < d->type_count; i++)
        if (d->types[i].epoch == d->epoch && d->types[i].kind == kind && d->types[i].id == id)
            return &d->types[i];
    return NULL;
}

/* ---- chunks ---- */

static bool pin(uint32_t *state)
{
    uint32_t seen = skein_chunk_load(state);
    while ((seen & RING_CHUNK_STATE_MASK) == RING_CHUNK_WRITING ||
           (seen & RING_CHUNK_STATE_MASK) == RING_CHUNK_FULL)
        if (skein_chunk_cas(state, &seen, seen | RING_CHUNK_PIN))
            return true;
    return false;
}

static void unpin(uint32_t *state)
{
    uint32_t seen = skein_chunk_load(state);
    while (!skein_chunk_cas(state, &seen, seen & ~RING_CHUNK_PIN)) {
    }
}

static void copy_segment(struct decoded_ring *out, const uint8_t *at, uint32_t records,
                         uint32_t end, uint32_t index, bool big)
{
    const struct ring_segment *segment =
        (const struct ring_segment *)(const void *)(at + records - sizeof *segment);
    out->chunks = room_for_one(out->chunks, out->chunk_count, sizeof *out->chunks);
    struct decoded_chunk *c = &out->chunks[out->chunk_count++];
    memset(c, 0, sizeof *c);
    c->index = index;
    c->big = big;
    c->offset = records;
    c->bytes = end - records;
    c->copy = malloc(c->bytes + 1);
    memcpy(c->copy, at + records, c->bytes);
    memcpy(&c->head.flags, &segment->flags, sizeof c->head - offsetof(struct ring_segment, flags));
    out->payload_bytes += c->bytes;
}

/* one after the other, as far as they are committed. */
static bool copy_segments(struct decoded_ring *out, const uint8_t *at, uint32_t committed,
                          uint32_t index, bool big)
{
    uint32_t records = 112;
    for (;;) {
        uint32_t end = skein_load32((const uint32_t *)(const void *)(at + records - 88));
        uint32_t next = (end + 63) / 64 * 64 + 88;
        bool last = end == 0 || next > committed;
        if (!last && (end < records || end > committed))
            return fail(out, "a segment ends outside of what is committed", index, end);
        copy_segment(out, at, records, last ? committed : end, index, big);
        if (last)
            return true;
        records = next;
    }
}

static bool copy_chunk(struct decoded_ring *out, uint8_t *at, uint32_t index, bool big)
{
    struct ring_chunk *chunk = (struct ring_chunk *)(void *)at;
    uint32_t room = (big ? RING_BIG_CHUNK : RING_SMALL_CHUNK) - RING_CHUNK_HEADER_BYTES;
    if (!pin(&chunk->state))
        return true;
    bool good = true;
    uint64_t committed = skein_commit_load(&chunk->committed);
    uint32_t bytes = (uint32_t)committed;
    if (committed >> 32 == skein_chunk_load(&chunk->state) >> RING_CHUNK_EPOCH_SHIFT)
        good = bytes <= room ? copy_segments(out, at, 112 + bytes, index, big)
                             : fail(out, "chunk commits more than it holds", index, bytes);
    unpin(&chunk->state);
    return good;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return a < b ? -1 : a > b;
}

static int compare_chunks(const void *pa, const void *pb)
{
    const struct ring_segment *a = &((const struct decoded_chunk *)pa)->head;
    const struct ring_segment *b = &((const struct decoded_chunk *)pb)->head;
    int order = compare_u64(a->tid, b->tid);
    if (!order)
        order = compare_u64((uint64_t)a->slot << 32 | a->incarnation,
                            (uint64_t)b->slot << 32 | b->incarnation);
    if (!order)
        order = compare_u64(a->flags, b->flags);
    return order ? order : compare_u64(a->sequence, b->sequence);
}

/* ---- records ---- */

static struct decoded_event *add_event(struct decoder *d, enum decoded_kind kind, uint64_t ticks)
{
    struct decoded_ring *out = d->out;
    out->events = room_for_one(out->events, out->event_count, sizeof *out->events);
    struct decoded_event *e = &out->events[out->event_count++];
    memset(e, 0, sizeof *e);
    e->kind = kind;
    e->ticks = ticks;
    e->generation = d->generation;
    e->chunk = d->chunk;
    return e;
}

static void take_str(struct decoder *d, struct decoded_arg *arg)
{
    uint64_t v = take_leb(&d->in);
    uint64_t n = v >> 1;
    char text[SKEIN_STR_MAX + 1] = "";
    const struct type_desc *string = v & 1 ? NULL : find_type(d, RING_TABLE_STRING, n);
    if (v & 1) {
        arg->cut = n >= 2 * SKEIN_STR_MAX;
        take_bytes(&d->in, text, sizeof text, arg->cut ? n - 2 * SKEIN_STR_MAX : n);
    } else if (!string) {
        d->in.bad = true;
    }
    arg->text = strdup(string ? string->text : text);
}

static void take_arg(struct decoder *d, struct decoded_arg *arg)
{
    uint64_t bits = 0;
    switch (arg->type) {
    case SKEIN_T_F64:
        for (unsigned i = 0; i < 8; i++)
            bits |= (uint64_t)take_byte(&d->in) << 8 * i;
        memcpy(&arg->f64, &bits, sizeof bits);
        break;
    case SKEIN_T_STR:
        take_str(d, arg);
        break;
    case SKEIN_T_I64:
        bits = take_leb(&d->in);
        arg->i64 = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
        break;
    case SKEIN_T_SEQ:
        arg->u64 = take_leb(&d->in);
        arg->number = take_leb(&d->in);
        break;
    default:
        d->in.bad |= arg->type == 0 || arg->type > SKEIN_T_SEQ;
        arg->u64 = take_leb(&d->in);
    }
}

static bool take_event(struct decoder *d, uint64_t type)
{
    struct type_desc self;
    const struct type_desc *desc = &self;
    if (type == RING_RECORD_INLINE) {
        memset(&self, 0, sizeof self);
        self.klass = take_byte(&d->in);
        self.group = take_byte(&d->in);
        self.nargs = take_byte(&d->in);
        take_text(&d->in, self.text, SKEIN_NAME_MAX + 1);
        for (uint8_t i = 0; i < self.nargs && i < SKEIN_ARGS_MAX; i++) {
            self.types[i] = take_byte(&d->in);
            take_text(&d->in, self.names[i], sizeof self.names[i]);
        }
    } else {
        desc = find_type(d, RING_TABLE_EVENT_TYPE, type);
    }
    if (!desc || d->in.bad || desc->nargs > SKEIN_ARGS_MAX)
        return fail(d->out, "unknown event type", type, d->epoch);
    struct decoded_event *e = add_event(d, DECODED_EVENT, d->ticks);
    e->self_described = desc == &self;
    e->klass = desc->klass;
    e->group = desc->group;
    e->nargs = desc->nargs;
    memcpy(e->name, desc->text, sizeof e->name);
    e->args = calloc((size_t)e->nargs + 1, sizeof *e->args);
    if (e->klass == SKEIN_CLASS_SPAN)
        e->duration = take_leb(&d->in);
    for (uint8_t i = 0; i < e->nargs; i++) {
        e->args[i].type = desc->types[i];
        memcpy(e->args[i].name, desc->names[i], sizeof e->args[i].name - 1);
        take_arg(d, &e->args[i]);
    }
    return !d->in.bad || fail(d->out, "malformed arguments", type, d->chunk);
}

/* It belongs to the event just before it, which must be one. */
static bool take_stack_id(struct decoder *d, uint64_t delta, bool follows)
{
    uint64_t id = take_leb(&d->in);
    if (d->in.bad || delta != 0 || !follows || d->out->event_count == 0)
        return fail(d->out, "misplaced stack", id, d->chunk);
    for (size_t i = 0; i < d->out->stack_count; i++)
        if (d->out->stacks[i].epoch == d->epoch && d->out->stacks[i].id == id)
            d->out->events[d->out->event_count - 1].stack = (uint32_t)i + 1;
    return d->out->events[d->out->event_count - 1].stack != 0 ||
           fail(d->out, "unknown stack", id, d->epoch);
}

static bool take_record(struct decoder *d, bool *started)
{
    uint64_t type = take_leb(&d->in);
    uint64_t delta = take_leb(&d->in);
    const bool follows = d->eventful;
    d->eventful = type == RING_RECORD_END || type == RING_RECORD_INLINE || type >= RING_EVENT_FIRST;
    if (type == RING_RECORD_STACK)
        return take_stack_id(d, delta, follows);
    if (type == RING_RECORD_OPEN) {
        struct decoded_event *open = add_event(d, DECODED_OPEN, d->ticks - delta);
        uint64_t id = take_leb(&d->in);
        const struct type_desc *desc = find_type(d, RING_TABLE_EVENT_TYPE, id);
        if (*started || (id && !desc))
            return fail(d->out, "misplaced or unknown open range", id, d->chunk);
        if (desc)
            memcpy(open->name, desc->text, sizeof open->name);
        return !d->in.bad;
    }
    *started = true;
    d->ticks += delta;
    switch (type) {
    case RING_RECORD_END:
        add_event(d, DECODED_END, d->ticks);
        break;
    case RING_RECORD_GENERATION:
        d->generation = take_leb(&d->in);
        break;
    case RING_RECORD_EPOCH:
        d->epoch = (uint32_t)take_leb(&d->in);
        break;
    case RING_RECORD_LOST: {
        struct decoded_event *lost = add_event(d, DECODED_LOST, d->ticks);
        lost->lost = take_leb(&d->in);
        d->out->lost += lost->lost;
        break;
    }
    default:
        return take_event(d, type);
    }
    return !d->in.bad || fail(d->out, "record cut short", type, d->chunk);
}

static bool decode_chunk(struct decoder *d, uint32_t i)
{
    const struct decoded_chunk *c = &d->out->chunks[i];
    bool started = false;
    d->chunk = i;
    d->eventful = false;
    d->in = (struct cursor){c->copy, c->copy + c->bytes, false};
    d->ticks = c->head.base_ticks;
    d->generation = c->head.generation;
    d->epoch = c->head.string_epoch;
    d->out->lost += c->head.lost_before;
    while (d->in.p != d->in.end)
        if (!take_record(d, &started))
            return fail(d->out, "malformed record in chunk", i, (uint64_t)(d->in.p - c->copy));
    return true;
}

bool ring_decode(uint8_t *ring, const struct ring_geometry *geometry, struct decoded_ring *out)
{
    memset(out, 0, sizeof *out);
    struct decoder d = {.out = out};
    bool good = true;
    for (uint32_t i = 0; good && i < ring_small_count(geometry); i++)
        good = copy_chunk(out, ring + ring_small_offset(geometry, i), i, false);
    for (uint32_t i = 0; good && i < ring_big_count(geometry); i++)
        good = copy_chunk(out, ring + ring_big_offset(geometry, i), i, true);
    good = good && read_tables(&d, ring, geometry);
    if (out->chunk_count)
        qsort(out->chunks, out->chunk_count, sizeof *out->chunks, compare_chunks);
    for (uint32_t i = 0; good && i < out->chunk_count; i++)
        good = decode_chunk(&d, i);
    free(d.types);
    return good;
}

void ring_decode_free(struct decoded_ring *decoded)
{
    for (size_t i = 0; i < decoded->event_count; i++) {
        for (uint8_t a = 0; a < decoded->events[i].nargs; a++)
            free(decoded->events[i].args[a].text);
        free(decoded->events[i].args);
    }
    for (size_t i = 0; i < decoded->chunk_count; i++)
        free(decoded->chunks[i].copy);
    free(decoded->events);
    free(decoded->chunks);
    free(decoded->stacks);
    free(decoded->mappings);
    memset(decoded, 0, sizeof *decoded);
}

const struct decoded_event *decoded_nth(const struct decoded_ring *decoded, const char *name,
                                        size_t n)
{
    for (size_t i = 0; i < decoded->event_count; i++) {
        const struct decoded_event *e = &decoded->events[i];
        if (e->kind == DECODED_EVENT && strcmp(e->name, name) == 0 && n-- == 0)
            return e;
    }
    return NULL;
}

size_t decoded_count(const struct decoded_ring *decoded, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < decoded->event_count; i++)
        count +=
            decoded->events[i].kind == DECODED_EVENT && strcmp(decoded->events[i].name, name) == 0;
    return count;
}
