/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of evidence on their way into a partition; see evidence_out.h. The partition's writer takes
 * a thread's events in the order of time, so all wait here until there are no more. Equal texts,
 * threads, types and stacks are kept once.
 */
#include "evidence_out.h"

#include <stdlib.h>
#include <string.h>

#include "agent_clock.h"
#include "array.h"
#include "clock.h"
#include "intern_table.h"

#define TYPES_MAX      4096
#define STACK_PCS_MAX  PARTITION_FRAMES_MAX
#define INTERNED_BYTES 32 /* of an entry, with its slots */

struct out_event {
    uint64_t ticks, dur_ns; /* ticks: its end */
    uint32_t thread, type, stack;
    uint32_t values; /* of its first argument */
};

struct out_symbol {
    uint64_t address;
    uint32_t function; /* in `texts` */
};

struct evidence_out {
    size_t bytes_max, bytes;
    int status;
    struct partition_event_type *types; /* their texts are in `type_texts` */
    size_t type_count, type_cap;
    struct intern_table texts, threads, stacks, type_texts;
    struct partition_mapping *mappings; /* their paths are malloc'ed */
    size_t mapping_count, mapping_cap;
    struct out_symbol *symbols;
    size_t symbol_count, symbol_cap;
    struct out_event *events;
    size_t event_count, event_cap;
    struct partition_value *values; /* a text's is its number in `texts` */
    size_t value_count, value_cap;
    uint64_t left_out;
    uint32_t stacks_poured; /* of the stacks, into the partition */
    bool attachable;        /* the last call of evidence_event found room */
};

int evidence_out_new(size_t bytes_max, struct evidence_out **out)
{
    *out = calloc(1, sizeof **out);
    if (*out == NULL)
        return SKEIN_NO_MEMORY;
    (*out)->bytes_max = bytes_max == 0 ? EVIDENCE_OUT_BYTES : bytes_max;
    return SKEIN_OK;
}

void evidence_out_free(struct evidence_out **out_p)
{
    struct evidence_out *out = *out_p;
    if (out == NULL)
        return;
    *out_p = NULL;
    intern_table_fini(&out->texts);
    intern_table_fini(&out->threads);
    intern_table_fini(&out->stacks);
    intern_table_fini(&out->type_texts);
    for (size_t i = 0; i < out->mapping_count; i++)
        free((char *)(uintptr_t)out->mappings[i].path);
    free(out->types);
    free(out->mappings);
    free(out->symbols);
    free(out->events);
    free(out->values);
    free(out);
}

static int64_t out_fail(struct evidence_out *out, int status)
{
    if (out->status == SKEIN_OK)
        out->status = status;
    return status;
}

/* Interns bytes and counts what they take. A status below 0 where there is no room, too. */
static int64_t out_intern(struct evidence_out *out, struct intern_table *table, const void *bytes,
                          size_t n)
{
    if (n + INTERNED_BYTES > out->bytes_max - out->bytes)
        return SKEIN_FULL; /* also for what is known: nothing else fits either */
    bool fresh;
    int64_t id = intern_table_put(table, bytes, n, &fresh);
    if (id < 0)
        return out_fail(out, (int)id);
    if (fresh)
        out->bytes += n + INTERNED_BYTES;
    return id;
}

/* ---- types and threads ---- */

/* Texts of types lie in a table that may move: they are found again by their numbers. */
static void text_put(struct buf *key, const char *text)
{
    const char *known = text == NULL ? "" : text;
    buf_put(key, known, strlen(known) + 1);
}

static void type_key(struct buf *key, const struct partition_event_type *type)
{
    buf_put_u8(key, type->klass);
    buf_put_u8(key, type->group);
    buf_put_u8(key, type->nargs);
    buf_put_u32(key, type->line);
    for (unsigned i = 0; i < type->nargs; i++)
        buf_put_u8(key, type->args[i].type);
    text_put(key, type->name);
    text_put(key, type->text);
    text_put(key, type->file);
    for (unsigned i = 0; i < type->nargs; i++) {
        text_put(key, type->args[i].name);
        text_put(key, type->args[i].unit);
    }
}

static const char *text_next(const char **at)
{
    const char *text = *at;
    *at += strlen(text) + 1;
    return text;
}

/* Points the type's texts to its key. */
static void type_texts_set(const struct evidence_out *out, struct partition_event_type *type,
                           size_t id)
{
    const char *at = (const char *)intern_table_bytes(&out->type_texts, id) + 7 + type->nargs;
    type->name = text_next(&at);
    type->text = text_next(&at);
    type->file = text_next(&at);
    for (unsigned i = 0; i < type->nargs; i++) {
        type->args[i].name = text_next(&at);
        type->args[i].unit = text_next(&at);
    }
}

int64_t evidence_type(struct evidence_out *out, const struct partition_event_type *type)
{
    if (type->nargs > SKEIN_ARGS_MAX)
        return out_fail(out, SKEIN_INVALID);
    struct buf key = {0};
    type_key(&key, type);
    int64_t id = key.status == SKEIN_OK ? out_intern(out, &out->type_texts, key.data, key.len)
                                        : out_fail(out, key.status);
    buf_fini(&key);
    if (id < (int64_t)out->type_count)
        return id; /* known, or a status */
    if (id >= TYPES_MAX)
        return out_fail(out, SKEIN_TOO_LARGE);
    if (!array_grow(out->types, out->type_count + 1, &out->type_cap))
        return out_fail(out, SKEIN_NO_MEMORY);
    out->types[out->type_count++] = *type;
    return id;
}

int64_t evidence_thread(struct evidence_out *out, uint32_t tid, const char *name)
{
    char key[sizeof tid + 64];
    size_t n = strnlen(name, sizeof key - sizeof tid);
    memcpy(key, &tid, sizeof tid);
    memcpy(key + sizeof tid, name, n);
    return out_intern(out, &out->threads, key, sizeof tid + n);
}

/* ---- events ---- */

static bool values_copy(struct evidence_out *out, const struct partition_event_type *type,
                        const struct partition_value *args)
{
    if (!array_grow(out->values, out->value_count + type->nargs, &out->value_cap)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return false;
    }
    struct partition_value *to = out->values + out->value_count;
    for (unsigned i = 0; i < type->nargs; i++) {
        to[i] = args[i];
        if (type->args[i].type != SKEIN_T_STR)
            continue;
        int64_t text = out_intern(out, &out->texts, args[i].str.text, args[i].str.len);
        if (text < 0)
            return false;
        to[i].str.text = (const char *)(uintptr_t)text;
    }
    return true;
}

bool evidence_event(struct evidence_out *out, int64_t thread, int64_t type, uint64_t monotonic_ns,
                    uint64_t dur_ns, const struct partition_value *args)
{
    out->attachable = false;
    if (thread < 0 || type < 0 || out->status != SKEIN_OK) {
        out->left_out++;
        return false;
    }
    const struct partition_event_type *of = &out->types[type];
    size_t bytes = sizeof *out->events + of->nargs * sizeof *args;
    if (bytes > out->bytes_max - out->bytes || !values_copy(out, of, args)) {
        out->left_out++;
        return false;
    }
    if (!array_grow(out->events, out->event_count + 1, &out->event_cap)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return false;
    }
    bool span = of->klass == SKEIN_CLASS_SPAN;
    out->events[out->event_count++] = (struct out_event){
        .ticks = span && dur_ns < UINT64_MAX - monotonic_ns ? monotonic_ns + dur_ns : monotonic_ns,
        .dur_ns = span ? dur_ns : 0,
        .thread = (uint32_t)thread,
        .type = (uint32_t)type,
        .values = (uint32_t)out->value_count};
    out->value_count += of->nargs;
    out->bytes += bytes;
    out->attachable = true;
    return true;
}

/* ---- stacks ---- */

/* As kept: the pcs, then `end`. */
uint32_t evidence_stack(struct evidence_out *out, const struct partition_stack *stack)
{
    struct buf key = {0};
    size_t count = stack->count < STACK_PCS_MAX ? stack->count : STACK_PCS_MAX;
    buf_put(&key, stack->pcs, count * sizeof *stack->pcs);
    bool cut = count < stack->count;
    buf_put_u8(&key, cut ? (uint8_t)((stack->end & PARTITION_STACK_EXACT) | PARTITION_STACK_CUT)
                         : stack->end);
    int64_t id = key.status == SKEIN_OK ? out_intern(out, &out->stacks, key.data, key.len)
                                        : out_fail(out, key.status);
    buf_fini(&key);
    return id < 0 ? 0 : (uint32_t)id + 1;
}

void evidence_event_stack(struct evidence_out *out, uint32_t stack)
{
    if (out->attachable)
        out->events[out->event_count - 1].stack = stack;
}

static bool mapping_known(const struct evidence_out *out, const struct partition_mapping *mapping)
{
    for (size_t i = 0; i < out->mapping_count; i++) {
        const struct partition_mapping *known = &out->mappings[i];
        if (known->start == mapping->start && known->end == mapping->end &&
            known->offset == mapping->offset && strcmp(known->path, mapping->path) == 0)
            return true;
    }
    return false;
}

void evidence_mapping(struct evidence_out *out, const struct partition_mapping *mapping)
{
    size_t bytes = sizeof *mapping + strlen(mapping->path) + 1;
    if (mapping_known(out, mapping) || bytes > out->bytes_max - out->bytes)
        return;
    char *path = strdup(mapping->path);
    if (path == NULL || !array_grow(out->mappings, out->mapping_count + 1, &out->mapping_cap)) {
        free(path);
        out_fail(out, SKEIN_NO_MEMORY);
        return;
    }
    struct partition_mapping *to = &out->mappings[out->mapping_count++];
    *to = *mapping;
    to->path = path;
    out->bytes += bytes;
}

void evidence_symbol(struct evidence_out *out, uint64_t address, const char *function)
{
    int64_t text = out_intern(out, &out->texts, function, strlen(function) + 1);
    if (text < 0 || sizeof *out->symbols > out->bytes_max - out->bytes)
        return; /* it stays raw */
    if (!array_grow(out->symbols, out->symbol_count + 1, &out->symbol_cap)) {
        out_fail(out, SKEIN_NO_MEMORY);
        return;
    }
    out->symbols[out->symbol_count++] = (struct out_symbol){address, (uint32_t)text};
    out->bytes += sizeof *out->symbols;
}

/* ---- the partition ---- */

/* Two points of the agent's line, a second apart: it runs at the pace of CLOCK_MONOTONIC. */
static struct clock_snapshot snapshot_at(uint64_t monotonic_ns)
{
    uint64_t ahead_ns = clock_boottime_ns() - clock_monotonic_ns();
    return (struct clock_snapshot){.ticks = monotonic_ns,
                                   .monotonic_ns = monotonic_ns,
                                   .boottime_ns = monotonic_ns + ahead_ns,
                                   .realtime_ns = agent_clock_at(monotonic_ns)};
}

static int event_compare(const void *a, const void *b)
{
    const struct out_event *x = a, *y = b;
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->ticks != y->ticks)
        return x->ticks < y->ticks ? -1 : 1;
    return x->values < y->values ? -1 : x->values > y->values; /* as they came */
}

static void threads_pour(const struct evidence_out *out, struct partition_writer *writer)
{
    for (size_t i = 0; i < out->threads.count; i++) {
        const uint8_t *key = intern_table_bytes(&out->threads, i);
        char name[64 + 1] = "";
        struct partition_thread thread = {.name = name};
        memcpy(&thread.tid, key, sizeof thread.tid);
        memcpy(name, key + sizeof thread.tid, out->threads.entries[i].len - sizeof thread.tid);
        (void)partition_writer_thread(writer, &thread);
    }
}

static int symbols_pour(const struct evidence_out *out, struct partition_writer *writer)
{
    for (size_t i = 0; i < out->symbol_count; i++) {
        const struct partition_line line = {
            .function = (const char *)intern_table_bytes(&out->texts, out->symbols[i].function),
            .file = ""};
        const struct partition_symbol symbol = {out->symbols[i].address, &line, 1};
        if (partition_writer_symbol(writer, &symbol) == SKEIN_NO_MEMORY)
            return SKEIN_NO_MEMORY;
    }
    return SKEIN_OK;
}

/* Stacks keep their numbers: all are different, and come in their order. A stack that has no room in
 * the partition takes that of all behind it: their events go without. */
static int stacks_pour(struct evidence_out *out, struct partition_writer *writer)
{
    uint64_t pcs[STACK_PCS_MAX];
    for (size_t i = 0; i < out->stacks.count; i++) {
        const uint8_t *key = intern_table_bytes(&out->stacks, i);
        size_t bytes = out->stacks.entries[i].len - 1;
        memcpy(pcs, key, bytes);
        const struct partition_stack stack = {
            .pcs = pcs, .count = (uint32_t)(bytes / sizeof *pcs), .end = key[bytes]};
        int64_t id = partition_writer_stack(writer, &stack);
        if (id == SKEIN_TOO_LARGE)
            break;
        if (id < 0)
            return (int)id;
        out->stacks_poured = (uint32_t)i + 1;
    }
    for (size_t i = 0; i < out->mapping_count; i++) {
        int status = partition_writer_mapping(writer, &out->mappings[i]);
        if (status == SKEIN_NO_MEMORY)
            return status;
    }
    return symbols_pour(out, writer);
}

static void tables_pour(struct evidence_out *out, struct partition_writer *writer)
{
    for (size_t i = 0; i < out->type_count; i++) {
        type_texts_set(out, &out->types[i], i);
        (void)partition_writer_type(writer, &out->types[i]);
    }
    threads_pour(out, writer);
}

static void event_pour(struct evidence_out *out, struct partition_writer *writer,
                       const struct out_event *event)
{
    struct partition_value *values = out->values + event->values;
    const struct partition_event_type *type = &out->types[event->type];
    for (unsigned i = 0; i < type->nargs; i++) {
        if (type->args[i].type != SKEIN_T_STR)
            continue;
        size_t text = (size_t)(uintptr_t)values[i].str.text;
        values[i].str.text = (const char *)intern_table_bytes(&out->texts, text);
    }
    partition_writer_event(writer, event->type, event->ticks, event->dur_ns, values);
    if (event->stack <= out->stacks_poured)
        partition_writer_event_stack(writer, event->stack);
}

int evidence_out_pour(struct evidence_out *out, struct partition_info *info, uint64_t from_ns,
                      uint64_t to_ns, struct partition_writer **writer)
{
    *writer = NULL;
    if (out->status != SKEIN_OK)
        return out->status;
    if (out->event_count == 0)
        return SKEIN_NOT_FOUND;
    info->clock = PARTITION_CLOCK_MONOTONIC;
    info->shift = 0;
    info->evidence = true;
    info->begin = snapshot_at(from_ns);
    info->end = snapshot_at(from_ns + 1000000000u);
    info->window_from_ticks = from_ns;
    info->window_to_ticks = to_ns;
    int status = partition_writer_new(info, writer);
    if (status != SKEIN_OK)
        return status;
    tables_pour(out, *writer);
    status = stacks_pour(out, *writer);
    if (status != SKEIN_OK) {
        partition_writer_free(writer);
        return status;
    }
    qsort(out->events, out->event_count, sizeof *out->events, event_compare);
    uint32_t thread = UINT32_MAX;
    for (size_t i = 0; i < out->event_count; i++) {
        if (out->events[i].thread != thread)
            partition_writer_batch(*writer, out->events[i].thread, info->generation, 0, false);
        thread = out->events[i].thread;
        event_pour(out, *writer, &out->events[i]);
    }
    out->event_count = out->value_count = 0;
    return SKEIN_OK;
}

uint64_t evidence_out_events(const struct evidence_out *out)
{
    return out->event_count;
}

uint64_t evidence_out_left_out(const struct evidence_out *out)
{
    return out->left_out;
}

size_t evidence_out_room(const struct evidence_out *out)
{
    return out->bytes_max - out->bytes;
}
