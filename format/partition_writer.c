/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of the partition writer: tables, batches, events. Owns struct partition_writer. An
 * event costs no allocation: its values go into arrays that grow by doubling, one for each column
 * of its type. Called by one thread; never reads a clock, a file or anything but its arguments.
 */
#include "array.h"
#include "partition_writer_int.h"

#include <stdlib.h>
#include <string.h>

static const char *text_or_empty(const char *text)
{
    return text == NULL ? "" : text;
}

static int info_copy(struct partition_writer *w, const struct partition_info *info)
{
    const char *from[4] = {info->host, info->service, info->labels, info->exe};
    for (unsigned i = 0; i < 4; i++) {
        if (strlen(text_or_empty(from[i])) > PARTITION_NAME_MAX)
            return SKEIN_INVALID;
        w->texts[i] = strdup(text_or_empty(from[i]));
        if (w->texts[i] == NULL)
            return SKEIN_NO_MEMORY;
    }
    w->info = *info;
    w->info.host = w->texts[0];
    w->info.service = w->texts[1];
    w->info.labels = w->texts[2];
    w->info.exe = w->texts[3];
    return SKEIN_OK;
}

int partition_writer_new(const struct partition_info *info, struct partition_writer **out)
{
    *out = NULL;
    struct tick_scale scale;
    if (tick_scale_init(&scale, info) != SKEIN_OK)
        return SKEIN_INVALID;
    struct partition_writer *w = malloc(sizeof *w); /* half a MiB, most of it buffers */
    if (w == NULL)
        return SKEIN_NO_MEMORY;
    memset(w, 0, WRITER_ZEROED_BYTES);
    w->scale = scale;
    w->pack.from_ticks = UINT64_MAX;
    w->rows = batch_rows_new();
    w->pack.filling = raw_block_new();
    int status = w->rows != NULL && w->pack.filling != NULL ? info_copy(w, info) : SKEIN_NO_MEMORY;
    if (status != SKEIN_OK) {
        partition_writer_free(&w);
        return status;
    }
    *out = w;
    return SKEIN_OK;
}

void partition_writer_free(struct partition_writer **writer)
{
    struct partition_writer *w = *writer;
    *writer = NULL;
    if (w == NULL)
        return;
    for (size_t i = 0; i < w->type_entries.count; i++) {
        free(w->fills[i].values);
        free(w->types[i].name);
    }
    for (unsigned i = 0; i < 4; i++)
        free(w->texts[i]);
    free(w->types);
    free(w->fills);
    free(w->depths);
    free(w->losses);
    free(w->opens);
    batch_rows_free(w->rows);
    pipe_free(&w->pack);
    free(w->pack.blocks);
    buf_fini(&w->pack.packed);
    ranges_free(&w->pack);
    stacks_free(w);
    intern_table_fini(&w->type_entries);
    intern_table_fini(&w->thread_entries);
    intern_table_fini(&w->strings);
    intern_table_fini(&w->trace_ids);
    free(w);
}

static bool name_put(struct buf *b, const char *name)
{
    size_t n = strlen(text_or_empty(name));
    buf_put_text(b, text_or_empty(name), n);
    return n <= PARTITION_NAME_MAX;
}

/* F-18 */
static bool type_entry_put(struct buf *b, const struct partition_event_type *type)
{
    bool good = type->nargs <= SKEIN_ARGS_MAX && type->klass != 0;
    buf_put_u8(b, type->klass);
    buf_put_u8(b, type->group);
    buf_put_uleb(b, type->line);
    good = name_put(b, type->name) && good;
    good = name_put(b, type->text) && good;
    good = name_put(b, type->file) && good;
    buf_put_u8(b, type->nargs);
    for (unsigned i = 0; good && i < type->nargs; i++) {
        good = type->args[i].type != 0 && good;
        buf_put_u8(b, type->args[i].type);
        good = name_put(b, type->args[i].name) && good;
        good = name_put(b, type->args[i].unit) && good;
    }
    return good;
}

static int type_init(struct writer_type *t, const struct partition_event_type *type)
{
    *t = (struct writer_type){.klass = type->klass, .nargs = type->nargs, .copied = true};
    if (type->klass == SKEIN_CLASS_SPAN)
        t->column_types[t->columns++] = SKEIN_T_U64;
    for (unsigned i = 0; i < type->nargs; i++) {
        uint8_t kind = type->args[i].type;
        t->args[i] = kind;
        t->last_string[i] = NO_STRING;
        t->column_types[t->columns++] = kind;
        t->copied = t->copied && kind != SKEIN_T_STR && kind != SKEIN_T_BOOL && kind != SKEIN_T_SEQ;
        if (kind == SKEIN_T_SEQ) {
            t->column_types[t->columns++] = kind;
            t->sequences++;
        }
        if (kind == SKEIN_T_STR && strcmp(text_or_empty(type->args[i].name), "trace_id") == 0)
            t->trace_id_args |= (uint8_t)(1u << i);
    }
    t->header_bytes = 3 + 3 + 1 + t->columns * 4u;
    t->name = strdup(text_or_empty(type->name));
    return t->name == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

int64_t writer_type_make(struct partition_writer *w, const struct partition_event_type *type)
{
    struct buf entry = {0};
    struct writer_type made = {0};
    int64_t id = SKEIN_INVALID;
    bool fresh = false;
    if (!type_entry_put(&entry, type))
        goto out;
    id = SKEIN_NO_MEMORY;
    if (entry.status != SKEIN_OK)
        goto out;
    if (!array_grow(w->types, w->type_entries.count + 1, &w->type_cap) ||
        !array_grow(w->fills, w->type_entries.count + 1, &w->fill_cap))
        goto out;
    if (type_init(&made, type) != SKEIN_OK)
        goto out;
    id = intern_table_put(&w->type_entries, entry.data, entry.len, &fresh);
    if (fresh) {
        w->types[id] = made;
        w->fills[id] = (struct partition_fill_type){
            .columns = made.columns,
            .event_bytes = RECORD_BYTES + made.columns * (uint32_t)COLUMN_VALUE_BYTES};
        made.name = NULL;
        if (id >= TYPES_MAX)
            id = SKEIN_TOO_LARGE;
    }
out:
    free(made.name);
    buf_fini(&entry);
    if (id < 0)
        writer_fail(w, (int)id);
    return id;
}

int64_t partition_writer_type(struct partition_writer *w, const struct partition_event_type *type)
{
    bool ranges = w->info.evidence && type->klass == SKEIN_CLASS_RANGE_BEGIN; /* F-50 */
    if (type->klass != SKEIN_CLASS_STACK && !ranges)
        return writer_type_make(w, type);
    writer_fail(w, SKEIN_INVALID);
    return SKEIN_INVALID;
}

/* F-21 */
int64_t partition_writer_thread(struct partition_writer *w, const struct partition_thread *thread)
{
    struct buf entry = {0};
    bool fresh = false;
    buf_put_uleb(&entry, thread->tid);
    buf_put_uleb(&entry, thread->incarnation);
    bool good = name_put(&entry, thread->name);
    int64_t id = entry.status;
    if (!good)
        id = SKEIN_INVALID;
    else if (id == SKEIN_OK)
        id = intern_table_put(&w->thread_entries, entry.data, entry.len, &fresh);
    if (id >= THREADS_MAX)
        id = SKEIN_TOO_LARGE;
    buf_fini(&entry);
    if (id < 0)
        writer_fail(w, (int)id);
    return id;
}

static void batch_start(struct partition_writer *w, uint32_t thread, uint64_t generation,
                        uint64_t sequence, bool late)
{
    w->batch = (struct writer_batch){.active = true,
                                     .fresh = true,
                                     .late = late,
                                     .thread = thread,
                                     .generation = generation,
                                     .sequence = sequence,
                                     .last_sequence = sequence,
                                     .merged_sequence = sequence,
                                     .bytes_max = BATCH_HEADER_BYTES,
                                     .since = UINT64_MAX};
    const struct writer_depth *d = depth_at(w, thread);
    if (d == NULL)
        writer_fail(w, SKEIN_NO_MEMORY);
    else
        w->batch.bytes_max +=
            (d->open < WRITER_BATCH_OPENS ? d->open : WRITER_BATCH_OPENS) * BATCH_OPEN_BYTES;
}

void partition_writer_batch(struct partition_writer *w, uint32_t thread, uint64_t generation,
                            uint64_t sequence, bool late)
{
    struct writer_batch *b = &w->batch;
    if (thread >= w->thread_entries.count) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    bool merge = b->active && b->thread == thread && b->generation == generation &&
                 b->late == late && sequence - b->last_sequence <= 1;
    if (merge) {
        b->merged_sequence = b->last_sequence;
        b->last_sequence = sequence;
        b->fresh = true;
        b->bare = false;
        return;
    }
    batch_flush(w);
    batch_start(w, thread, generation, sequence, late);
}

void partition_writer_open_range(struct partition_writer *w, int64_t type_or_minus_1,
                                 uint64_t since_ticks)
{
    struct writer_batch *b = &w->batch;
    if (!b->active || !b->fresh || w->info.evidence || type_or_minus_1 < -1 ||
        type_or_minus_1 >= (int64_t)w->type_entries.count) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    if (b->events > 0) { /* merged, but what it lists makes it a batch of its own */
        struct writer_batch next = *b;
        b->last_sequence = b->merged_sequence;
        batch_flush(w);
        batch_start(w, next.thread, next.generation, next.last_sequence, next.late);
    }
    if (b->opens == WRITER_BATCH_OPENS) {
        writer_fail(w, SKEIN_TOO_LARGE);
        return;
    }
    w->rows->opens_listed[b->opens++] = (struct partition_open){
        .type = (uint32_t)(type_or_minus_1 + 1), .since_ticks = since_ticks};
    b->bytes_max += BATCH_OPEN_BYTES;
}

/* A full batch goes out and its thread continues in the next (F-28: the same sequence). */
static __attribute__((noinline)) void batch_continue(struct partition_writer *w)
{
    struct writer_batch full = w->batch;
    batch_flush(w);
    batch_start(w, full.thread, full.generation, full.last_sequence, full.late);
}

/* The cold half of an event: makes room in the batch, in its list of types, and in the type's
 * rows. Out of line, as values_put, so that the hot half needs no frame for them. */
static __attribute__((noinline)) bool event_room(struct partition_writer *w, uint32_t type)
{
    const struct partition_fill_type *t = &w->fills[type];
    size_t need = t->event_bytes + (t->local == 0 ? w->types[type].header_bytes : 0);
    if (!batch_has_room(&w->batch, need))
        batch_continue(w);
    return batch_rows_room(w, type);
}

/* The time and code of a record, which may start the batch. */
static inline void record_put(struct partition_writer *w, uint32_t code, uint64_t ticks)
{
    struct writer_batch *b = &w->batch;
    if (b->events == 0)
        b->base = b->last = ticks;
    if (ticks < b->last) {
        ticks = b->last;
        w->fixed_up++;
    }
    w->rows->times[b->events] = ticks - b->last;
    w->rows->codes[b->events] = (uint16_t)code;
    b->last = ticks;
    b->events++;
    b->fresh = false;
    b->bare = true;
}

static void trace_id_note(struct partition_writer *w, const char *text, size_t n)
{
    uint8_t id[16];
    bool fresh;
    if (trace_id_parse(text, n, id) && intern_table_put(&w->trace_ids, id, sizeof id, &fresh) < 0)
        writer_fail(w, SKEIN_NO_MEMORY);
}

/* F-27: id * 2 + cut */
static uint64_t string_value(struct partition_writer *w, struct writer_type *t, unsigned arg,
                             const struct partition_value *value)
{
    const char *text = value->str.len ? value->str.text : "";
    size_t n = value->str.len < PARTITION_NAME_MAX ? value->str.len : PARTITION_NAME_MAX;
    uint64_t cut = value->str.cut || n < value->str.len;
    uint32_t last = t->last_string[arg];
    if (last != NO_STRING && w->strings.entries[last].len == n &&
        memcmp(intern_table_bytes(&w->strings, last), text, n) == 0)
        return (uint64_t)last * 2 + cut;
    bool fresh;
    int64_t id = intern_table_put(&w->strings, text, n, &fresh);
    if (id < 0 || id >= STRINGS_MAX) {
        writer_fail(w, id < 0 ? SKEIN_NO_MEMORY : SKEIN_TOO_LARGE);
        return 0;
    }
    if (fresh)
        w->string_bytes += n + 2;
    t->last_string[arg] = (uint32_t)id;
    if ((t->trace_id_args >> arg & 1) != 0)
        trace_id_note(w, text, n);
    return (uint64_t)id * 2 + cut;
}

/* The arguments of one event, where some are not stored as they come. */
static __attribute__((noinline)) void values_put(struct partition_writer *w, struct writer_type *t,
                                                 uint64_t *value, uint32_t cap,
                                                 const struct partition_value *args)
{
    for (unsigned i = 0; i < t->nargs; i++, value += cap) {
        if (t->args[i] == SKEIN_T_STR) {
            *value = string_value(w, t, i, &args[i]);
        } else if (t->args[i] == SKEIN_T_BOOL) {
            *value = args[i].u64 != 0;
        } else if (t->args[i] == SKEIN_T_SEQ) {
            *value = args[i].seq.resource;
            value += cap;
            *value = args[i].seq.number;
        } else {
            *value = args[i].u64;
        }
    }
}

void partition_writer_event(struct partition_writer *w, uint32_t type, uint64_t ticks,
                            uint64_t dur_ticks, const struct partition_value *args)
{
    struct writer_batch *b = &w->batch;
    if (type >= w->type_entries.count || !b->active || w->status != SKEIN_OK) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    struct writer_type *t = &w->types[type];
    struct partition_fill_type *fill = &w->fills[type];
    if ((fill->local == 0 || fill->rows == fill->cap || !batch_has_room(b, fill->event_bytes)) &&
        !event_room(w, type))
        return;
    b->bytes_max += fill->event_bytes;
    record_put(w, fill->local, ticks);
    uint32_t cap = fill->cap;
    uint64_t *value = fill->values + fill->rows++;
    if (t->klass == SKEIN_CLASS_SPAN) {
        uint64_t since = dur_ticks < b->last ? b->last - dur_ticks : 0;
        b->since = since < b->since ? since : b->since;
        *value = dur_ticks;
        value += cap;
    }
    if (t->copied) {
        for (unsigned i = 0; i < t->nargs; i++, value += cap)
            *value = args[i].u64;
        return;
    }
    values_put(w, t, value, cap, args);
}

void partition_writer_end(struct partition_writer *w, uint64_t ticks)
{
    struct writer_batch *b = &w->batch;
    if (!b->active || w->status != SKEIN_OK) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    if (!batch_has_room(b, RECORD_BYTES))
        batch_continue(w);
    b->bytes_max += RECORD_BYTES;
    record_put(w, 0, ticks);
}

/* F-45: its type, which is made with the first. */
static struct partition_fill_type *stack_type(struct partition_writer *w)
{
    static const struct partition_event_type type = {
        .name = "stack", .klass = SKEIN_CLASS_STACK, .nargs = 1, .args = {{SKEIN_T_U64, "id", ""}}};
    if (w->names.type == 0) {
        int64_t made = writer_type_make(w, &type);
        if (made < 0)
            return NULL;
        w->names.type = (uint32_t)made + 1;
    }
    return &w->fills[w->names.type - 1];
}

void partition_writer_event_stack(struct partition_writer *w, uint32_t id)
{
    struct writer_batch *b = &w->batch;
    if (id == 0 || w->status != SKEIN_OK)
        return;
    if (!b->active || !b->bare || id > w->names.stacks.count) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    struct partition_fill_type *t = stack_type(w);
    if (t == NULL)
        return;
    if ((t->local == 0 || t->rows == t->cap) && !batch_rows_room(w, w->names.type - 1))
        return; /* the batch has room: BATCH_BYTES_MAX */
    b->bytes_max += t->event_bytes;
    record_put(w, t->local, b->last);
    t->values[t->rows++] = id; /* NOLINT(clang-analyzer-core.NullDereference): there is room */
    b->bare = false;
}

/* F-32: beyond the limit one row for each reason. */
static struct partition_loss *loss_row(struct partition_writer *w, uint8_t reason)
{
    if (w->loss_count < WRITER_LOSSES_MAX)
        return NULL;
    for (size_t i = WRITER_LOSSES_MAX; i < w->loss_count; i++)
        if (w->losses[i].reason == reason)
            return &w->losses[i];
    return NULL;
}

void partition_writer_loss(struct partition_writer *w, const struct partition_loss *loss)
{
    if (loss->thread != UINT32_MAX && loss->thread >= w->thread_entries.count) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    struct partition_loss *row = loss_row(w, loss->reason);
    if (row != NULL) {
        row->events += loss->events;
        row->from_ticks = loss->from_ticks < row->from_ticks ? loss->from_ticks : row->from_ticks;
        row->to_ticks = loss->to_ticks > row->to_ticks ? loss->to_ticks : row->to_ticks;
        return;
    }
    if (!array_grow(w->losses, w->loss_count + 1, &w->loss_cap)) {
        writer_fail(w, SKEIN_NO_MEMORY);
        return;
    }
    w->losses[w->loss_count] = *loss;
    if (w->loss_count >= WRITER_LOSSES_MAX)
        w->losses[w->loss_count].thread = UINT32_MAX;
    w->loss_count++;
}

void partition_writer_open(struct partition_writer *w, const struct partition_open *open)
{
    if (open->thread >= w->thread_entries.count || open->type >= w->type_entries.count) {
        writer_fail(w, SKEIN_INVALID);
        return;
    }
    if (w->open_count == OPENS_MAX) {
        writer_fail(w, SKEIN_TOO_LARGE);
        return;
    }
    if (!array_grow(w->opens, w->open_count + 1, &w->open_cap)) {
        writer_fail(w, SKEIN_NO_MEMORY);
        return;
    }
    w->opens[w->open_count++] = *open;
}

void partition_writer_count(struct partition_writer *w, struct partition_counts *counts)
{
    w->pack.counts = counts;
}

uint64_t partition_writer_bytes(const struct partition_writer *w)
{
    const struct batch_packer *p = &w->pack;
    size_t packed = p->pipe.shared ? p->raw_bytes : p->packed.len; /* whose end may be on its way */
    return HEAD_BYTES + TAIL_BYTES + packed + p->filling->raw_len + (uint64_t)w->batch.events * 2 +
           w->string_bytes + w->type_entries.bytes.len + w->thread_entries.bytes.len +
           w->loss_count * 32 + w->open_count * 24 + stacks_bytes(w) + 1024;
}
