/* SPDX-License-Identifier: Apache-2.0
 *
 * Table records of a ring, as hostile bytes: index by id, event descriptors handed to the partition
 * writer on first use. Owns the index, borrows the copy. One thread. Keeps nothing of what is
 * malformed: an id either resolves to a whole descriptor or does not resolve.
 */
#include "ring_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- index ---- */

struct record {
    uint8_t kind;
    uint64_t id;              /* a mapping has none */
    struct ring_text payload; /* behind the id */
};

static bool record_next(struct cursor *c, const uint8_t *records, struct record *record)
{
    if (cursor_left(c) == 0)
        return false;
    record->kind = cursor_u8(c);
    uint64_t length = cursor_uleb(c);
    const uint8_t *payload = cursor_bytes(c, length);
    if (payload == NULL || c->status != SKEIN_OK)
        return false;
    struct cursor inner;
    cursor_init(&inner, payload, (size_t)length);
    record->id = record->kind == RING_TABLE_MAPPING ? 0 : cursor_uleb(&inner);
    record->payload =
        (struct ring_text){(uint32_t)(inner.pos - records), (uint32_t)cursor_left(&inner)};
    return inner.status == SKEIN_OK;
}

/* An id is dense in an honest table, so one beyond the table's bytes is none. */
static uint32_t id_count(uint32_t count, uint64_t place, uint32_t bytes)
{
    return place < bytes && place >= count ? (uint32_t)place + 1 : count;
}

/* How many ids of each kind there are. Returns that of stacks. */
static uint32_t records_count(struct ring_names *names, const struct ring_table_copy *table)
{
    struct cursor c;
    struct record r;
    uint32_t stacks = 0;
    cursor_init(&c, table->records, table->bytes);
    while (record_next(&c, table->records, &r)) {
        if (r.kind == RING_TABLE_STRING)
            names->string_count = id_count(names->string_count, r.id, table->bytes);
        else if (r.kind == RING_TABLE_STACK)
            stacks = id_count(stacks, r.id, table->bytes);
        else if (r.kind == RING_TABLE_EVENT_TYPE && r.id >= RING_EVENT_FIRST)
            names->type_count = id_count(names->type_count, r.id - RING_EVENT_FIRST, table->bytes);
    }
    return stacks;
}

static void record_index(struct ring_names *names, const struct record *r)
{
    if (r->kind == RING_TABLE_STRING && r->id < names->string_count)
        names->strings[r->id] = r->payload;
    else if (r->kind == RING_TABLE_STACK && r->id < names->stacks.count)
        names->stacks.texts[r->id] = r->payload;
    else if (r->kind == RING_TABLE_MAPPING)
        ring_stacks_mapping(&names->stacks, r->payload);
    else if (r->kind == RING_TABLE_EVENT_TYPE && r->id >= RING_EVENT_FIRST &&
             r->id - RING_EVENT_FIRST < names->type_count)
        names->type_texts[r->id - RING_EVENT_FIRST] = r->payload;
}

int ring_names_init(struct ring_names *names, const struct ring_table_copy *table)
{
    *names = (struct ring_names){.epoch = table->epoch, .records = table->records};
    uint32_t stacks = records_count(names, table);
    names->strings = calloc(names->string_count + 1, sizeof *names->strings);
    names->type_texts = calloc(names->type_count + 1, sizeof *names->type_texts);
    names->types = calloc(names->type_count + 1, sizeof *names->types);
    if (names->strings == NULL || names->type_texts == NULL || names->types == NULL ||
        ring_stacks_init(&names->stacks, table->records, stacks) != SKEIN_OK) {
        ring_names_fini(names);
        return SKEIN_NO_MEMORY;
    }
    struct cursor c;
    struct record r;
    cursor_init(&c, table->records, table->bytes);
    while (record_next(&c, table->records, &r))
        record_index(names, &r);
    return SKEIN_OK;
}

void ring_names_fini(struct ring_names *names)
{
    free(names->strings);
    free(names->type_texts);
    free(names->types);
    ring_stacks_fini(&names->stacks);
    *names = (struct ring_names){0};
}

bool ring_names_string(const struct ring_names *names, uint64_t id, const char **text,
                       uint32_t *bytes)
{
    if (names == NULL || id >= names->string_count || names->strings[id].offset == 0)
        return false;
    *text = (const char *)names->records + names->strings[id].offset;
    *bytes = names->strings[id].bytes;
    return true;
}

uint32_t ring_names_stack(struct ring_names *names, const struct type_sink *sink, uint64_t id)
{
    return names != NULL ? ring_stacks_place(&names->stacks, sink->writer, sink->exe, id) : 0;
}

/* ---- descriptors ---- */

/* Texts of a descriptor with the NULs that the writer wants; as many as a type can have. */
struct texts {
    char bytes[(3 + 2 * SKEIN_ARGS_MAX) * 256];
    size_t used;
};

/* The library writes no text longer than 255 bytes. An embedded NUL ends what is shown. */
static const char *text_take(struct cursor *c, struct texts *texts)
{
    size_t n = 0;
    const char *from = cursor_text(c, 255, &n);
    if (from == NULL || sizeof texts->bytes - texts->used <= n) {
        cursor_fail(c, SKEIN_CORRUPT);
        return "";
    }
    char *to = texts->bytes + texts->used;
    memcpy(to, from, n);
    to[n] = '\0';
    texts->used += n + 1;
    return to;
}

static void type_place(const struct partition_event_type *type, struct type_sink *sink,
                       struct ring_type *out)
{
    out->klass = type->klass;
    out->group = type->group;
    out->nargs = type->nargs;
    bool plain = true, numbers = true;
    for (unsigned i = 0; i < type->nargs; i++) {
        uint8_t kind = type->args[i].type;
        out->args[i] = kind;
        plain = plain && (kind == SKEIN_T_U64 || kind == SKEIN_T_PTR);
        numbers = numbers && kind != SKEIN_T_F64 && kind != SKEIN_T_STR && kind != SKEIN_T_SEQ;
    }
    int64_t index = sink->full ? -1 : partition_writer_type(sink->writer, type);
    sink->full = sink->full || index >= RING_TYPES_MAX;
    out->index = index >= 0 ? (uint32_t)index : RING_TYPE_UNPLACED;
    out->quick = index >= 0 && numbers;
    out->plain = plain;
    out->state = RING_TYPE_GOOD;
}

/* Class, group and argument count, as both kinds of description begin. */
static void head_take(struct cursor *c, struct partition_event_type *type)
{
    type->klass = cursor_u8(c);
    type->group = cursor_u8(c);
    type->nargs = cursor_u8(c);
    if (type->klass < SKEIN_CLASS_INSTANT || type->klass > SKEIN_CLASS_LOG ||
        type->nargs > SKEIN_ARGS_MAX) {
        type->nargs = 0;
        cursor_fail(c, SKEIN_CORRUPT);
    }
}

static void args_take(struct cursor *c, struct texts *texts, bool units,
                      struct partition_event_type *type)
{
    for (unsigned i = 0; i < type->nargs; i++) {
        struct partition_arg *arg = &type->args[i];
        arg->type = cursor_u8(c);
        if (arg->type < SKEIN_T_U64 || arg->type > SKEIN_T_SEQ)
            cursor_fail(c, SKEIN_CORRUPT);
        arg->name = text_take(c, texts);
        arg->unit = units ? text_take(c, texts) : "";
    }
}

static void type_load(struct ring_names *names, struct type_sink *sink, uint32_t place)
{
    struct ring_type *out = &names->types[place];
    struct ring_text at = names->type_texts[place];
    struct texts texts = {.used = 0};
    struct partition_event_type type = {0};
    struct cursor c;
    cursor_init(&c, names->records + at.offset, at.bytes);
    head_take(&c, &type);
    type.name = text_take(&c, &texts);
    type.text = text_take(&c, &texts);
    type.file = text_take(&c, &texts);
    type.line = (uint32_t)cursor_uleb(&c);
    args_take(&c, &texts, true, &type);
    if (c.status == SKEIN_OK)
        type_place(&type, sink, out);
    else
        out->state = RING_TYPE_BAD;
}

const struct ring_type *ring_names_type_load(struct ring_names *names, struct type_sink *sink,
                                             uint32_t place)
{
    if (names->types[place].state == RING_TYPE_UNSEEN)
        type_load(names, sink, place);
    return names->types[place].state == RING_TYPE_GOOD ? &names->types[place] : NULL;
}

int ring_type_inline(struct cursor *c, struct type_sink *sink, struct ring_type *out)
{
    struct texts texts = {.used = 0};
    struct partition_event_type type = {.text = "", .file = ""};
    head_take(c, &type);
    type.name = text_take(c, &texts);
    args_take(c, &texts, false, &type);
    if (c->status == SKEIN_OK)
        type_place(&type, sink, out);
    return c->status;
}

uint32_t ring_type_unnamed(struct type_sink *sink, uint64_t id)
{
    char name[32];
    snprintf(name, sizeof name, "#%" PRIu64, id);
    const struct partition_event_type type = {
        .name = name, .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT};
    struct ring_type placed;
    type_place(&type, sink, &placed);
    return placed.index;
}
