/* SPDX-License-Identifier: Apache-2.0
 *
 * The records of one thread, one at a time, from its checked batches (docs/format.md F-22 to F-28).
 * Every byte is hostile. Owns what a lane holds of its current batch.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "partition_blocks_int.h"
#include "partition_entries_int.h"
#include "partition_reader_int.h"
#include "trace_rows.h"

enum { AHEAD_COLUMNS = 64, AHEAD_THREADS = 1024 };

/* ---- one lane ---- */

/* A type that a batch only names costs 29 bytes there and many times that here: F-4 bounds the
 * sum. False also where the reader may not have so much; it has failed then. */
static bool lane_may_grow(struct partition_reader *r, const struct lane *lane, size_t types,
                          size_t columns)
{
    size_t more = (types > lane->type_cap ? types - lane->type_cap : 0) +
                  (columns > lane->column_cap ? columns - lane->column_cap : 0);
    if (more > ENTERED_MAX - r->entered)
        return false;
    r->entered += more;
    return reader_may(r, more * sizeof *lane->columns);
}

static bool lane_room(struct lane *lane, size_t types, size_t columns)
{
    if (types > lane->type_cap) {
        struct lane_type *grown = realloc(lane->types, types * sizeof *grown);
        if (grown == NULL)
            return false;
        lane->types = grown;
        lane->type_cap = types;
    }
    if (columns > lane->column_cap) {
        struct column *grown = realloc(lane->columns, columns * sizeof *grown);
        if (grown == NULL)
            return false;
        lane->columns = grown;
        lane->column_cap = columns;
        free(lane->values);
        lane->values = NULL;
    }
    return true;
}

/* Values ahead are for cursors, and where they take little memory beside a partition. false: no
 * memory. */
static bool lane_values_room(const struct partition_reader *r, struct lane *lane)
{
    if (lane->values != NULL || r->run == NULL || lane->column_cap > AHEAD_COLUMNS ||
        r->thread_count > AHEAD_THREADS || lane->column_cap == 0)
        return true;
    lane->values = malloc(lane->column_cap * COLUMN_AHEAD * sizeof *lane->values);
    return lane->values != NULL;
}

/* How many columns of known meaning the types of a batch have. */
static size_t batch_columns(const struct partition_reader *r, const struct reader_batch *batch)
{
    struct cursor c;
    size_t columns = 0;
    cursor_init(&c, batch->lists, (size_t)(batch->lists_end - batch->lists));
    for (uint32_t i = 0; i < batch->opens; i++) {
        cursor_uleb(&c);
        cursor_sleb(&c);
    }
    cursor_uleb(&c);
    for (uint32_t i = 0; i < batch->types; i++) {
        uint64_t type = cursor_uleb(&c);
        cursor_uleb(&c);
        uint64_t count = cursor_uleb(&c);
        columns += r->type_facts[type].columns;
        for (uint64_t k = 0; k < count; k++) {
            cursor_u8(&c);
            cursor_uleb(&c);
        }
    }
    return columns;
}

/* The enum skein_type by which column k of a type is read. */
static uint8_t column_type(const struct partition_event_type *type, unsigned k)
{
    if (type->klass == SKEIN_CLASS_SPAN && k-- == 0)
        return SKEIN_T_U64;
    for (unsigned i = 0; i < type->nargs; i++) {
        unsigned width = type->args[i].type == SKEIN_T_SEQ ? 2 : 1;
        if (k < width)
            return type->args[i].type;
        k -= width;
    }
    return SKEIN_T_U64;
}

static struct lane_type type_enter(const struct partition_reader *r, uint32_t type, uint32_t rows,
                                   uint32_t column)
{
    static const uint8_t kinds[] = {[SKEIN_CLASS_RANGE_BEGIN] = TRACE_BEGIN,
                                    [SKEIN_CLASS_SPAN] = TRACE_REGION,
                                    [SKEIN_CLASS_COUNTER] = TRACE_COUNTER,
                                    [SKEIN_CLASS_LOG] = TRACE_LOG};
    const struct reader_type *facts = &r->type_facts[type];
    uint8_t klass = r->types[type].klass, kind = klass < sizeof kinds ? kinds[klass] : 0;
    kind = kind != 0 ? kind : TRACE_INSTANT;
    return (struct lane_type){.type = type,
                              .left = rows,
                              .column = column,
                              .klass = klass,
                              .simple = !facts->stack && facts->sequences == 0,
                              .shown = r->run != NULL && row_run_shows(r->run, kind, type),
                              .kind = kind};
}

/* Room for values ahead; NULL: they are taken one by one, as those must be that order records. */
static uint64_t *column_values(const struct partition_reader *r, const struct lane *lane,
                               uint32_t type, uint32_t column)
{
    const struct reader_type *facts = &r->type_facts[type];
    return lane->values == NULL || facts->stack || facts->sequences > 0
               ? NULL
               : lane->values + (size_t)column * COLUMN_AHEAD;
}

static void columns_enter(const struct partition_reader *r, struct lane *lane,
                          const struct reader_batch *batch, struct cursor *c)
{
    const uint8_t *at = batch->columns;
    uint32_t column = 0;
    lane->has_stacks = false;
    for (uint32_t i = 0; i < batch->types; i++) {
        uint32_t type = (uint32_t)cursor_uleb(c), rows = (uint32_t)cursor_uleb(c);
        uint64_t count = cursor_uleb(c);
        lane->types[i] = type_enter(r, type, rows, column);
        lane->has_stacks = lane->has_stacks || r->type_facts[type].stack;
        for (uint64_t k = 0; k < count; k++) {
            uint8_t encoding = cursor_u8(c);
            uint64_t bytes = cursor_uleb(c);
            if (k < r->type_facts[type].columns) {
                lane->columns[column] =
                    (struct column){.pos = at,
                                    .end = at + bytes,
                                    .encoding = encoding,
                                    .values = column_values(r, lane, type, column),
                                    .type = column_type(&r->types[type], (unsigned)k)};
                column++;
            }
            at += bytes;
        }
    }
}

int batch_enter(struct partition_reader *r, struct lane *lane, const struct reader_batch *batch)
{
    size_t columns = batch_columns(r, batch);
    if (!lane_may_grow(r, lane, batch->types, columns))
        return reader_fail(r, SKEIN_CORRUPT, F_4, batch->lists,
                           "more than %u types and columns at one time", ENTERED_MAX);
    if (!lane_room(lane, batch->types, columns) || !lane_values_room(r, lane))
        return reader_no_memory(r, "a batch");
    struct cursor c;
    cursor_init(&c, batch->lists, (size_t)(batch->lists_end - batch->lists));
    lane->listed = c;
    lane->listed_left = batch->opens;
    for (uint32_t i = 0; i < batch->opens; i++) {
        cursor_uleb(&c);
        cursor_sleb(&c);
    }
    cursor_uleb(&c);
    columns_enter(r, lane, batch, &c);
    lane->batch = batch;
    lane->events_left = batch->events;
    lane->raw_ticks = batch->base;
    lane->codes = (struct column){.pos = batch->codes, .end = batch->codes + batch->codes_len};
    lane->times = (struct column){.pos = batch->times, .end = batch->times + batch->times_len};
    return SKEIN_OK;
}

/* F-28: passes over the listed ranges that are open already; what is left of the list opens, and
 * open ranges from clip_to on have lost their ends. */
static void batch_restate(const struct partition_reader *r, struct lane *lane,
                          const struct reader_batch *batch)
{
    uint32_t hole = r->blocks[batch->block].hole;
    bool continues = batch->opens == 0 && lane->has_sequence && hole == lane->last_hole &&
                     batch->sequence - lane->last_sequence <= 1;
    lane->over_hole = hole != lane->last_hole;
    lane->last_hole = hole;
    lane->clip_to = UINT32_MAX;
    lane->has_sequence = true;
    lane->last_sequence = batch->last_sequence;
    if (continues)
        return;
    size_t same = 0;
    while (lane->listed_left > 0 && same < lane->depth) {
        struct cursor c = lane->listed;
        uint64_t type = cursor_uleb(&c);
        uint64_t since = batch->base - (uint64_t)cursor_sleb(&c);
        const struct reader_frame *frame = &lane->stack[same];
        if (since != frame->recorded || (type != 0 && &r->types[type - 1] != frame->type))
            break;
        lane->listed = c;
        lane->listed_left--;
        same++;
    }
    lane->deeper = 0;
    lane->clip_to = (uint32_t)same;
}

/* How many of a type's columns are taken from; of a projection those it needs alone. */
static unsigned columns_read(const struct partition_reader *r, uint32_t type)
{
    const struct reader_type *facts = &r->type_facts[type];
    if (!r->no_args || facts->sequences > 0 || facts->stack)
        return facts->columns;
    return r->types[type].klass == SKEIN_CLASS_SPAN;
}

static int batch_bad(struct partition_reader *r, const struct lane *lane, enum format_rule rule,
                     const uint8_t *at, const char *what)
{
    return reader_fail(r, SKEIN_CORRUPT, rule, at, "a batch of thread %u: %s", lane->batch->thread,
                       what);
}

static int batch_leave(struct partition_reader *r, const struct lane *lane)
{
    if (lane->codes.pos != lane->codes.end)
        return batch_bad(r, lane, F_25, lane->codes.pos, "more codes than records");
    if (lane->times.pos != lane->times.end)
        return batch_bad(r, lane, F_25, lane->times.pos, "more times than records");
    if (lane->raw_ticks != lane->batch->last)
        return batch_bad(r, lane, F_24, lane->times.end, "the times end at another than the last");
    for (uint32_t i = 0; i < lane->batch->types; i++) {
        const struct lane_type *type = &lane->types[i];
        if (type->left != 0)
            return batch_bad(r, lane, F_25, lane->codes.end, "a type occurs less often than told");
        unsigned read = columns_read(r, type->type);
        for (unsigned k = 0; k < read; k++) {
            const struct column *column = &lane->columns[type->column + k];
            if (column_place(column) != column->end)
                return batch_bad(r, lane, F_26, column_place(column), "more values than records");
        }
    }
    return SKEIN_OK;
}

static int record_bad(struct partition_reader *r, const struct lane *lane, enum format_rule rule,
                      const uint8_t *at)
{
    return reader_fail(r, SKEIN_CORRUPT, rule, at, "record %u of a batch of thread %u is malformed",
                       lane->batch->events - lane->events_left, lane->batch->thread);
}

const struct partition_event_type *lane_type(const struct partition_reader *r,
                                             const struct lane *lane)
{
    return &r->types[lane->types[lane->code - 1].type];
}

/* F-29: time never goes back on a thread. */
static void head_ticks(struct lane *lane, uint64_t ticks)
{
    lane->ticks = ticks > lane->ticks ? ticks : lane->ticks;
}

/* F-45: takes the stack of the head, where that is the next record. */
static int stack_next(struct partition_reader *r, struct lane *lane)
{
    struct column codes = lane->codes;
    uint64_t code = lane->events_left > 0 ? column_uleb(&codes) : 0;
    if (codes.failed || code == 0 || code > lane->batch->types ||
        !r->type_facts[lane->types[code - 1].type].stack)
        return SKEIN_OK;
    struct lane_type *type = &lane->types[code - 1];
    struct column *ids = &lane->columns[type->column];
    lane->codes = codes;
    lane->events_left--;
    const uint8_t *time_at = lane->times.pos, *id_at = ids->pos;
    uint64_t delta = column_uleb(&lane->times), id = column_next(ids);
    if (lane->times.failed || type->left == 0)
        return record_bad(r, lane, F_25, time_at);
    if (value_fault_of(ids, id_at).rule != F_NONE)
        return record_bad(r, lane, value_fault_of(ids, id_at).rule, id_at);
    if (delta != 0 || id > r->stack_count)
        return record_bad(r, lane, F_45, delta != 0 ? time_at : id_at);
    type->left--;
    lane->stack_id = (uint32_t)id;
    return SKEIN_OK;
}

/* F-25 */
static int record_next(struct partition_reader *r, struct lane *lane)
{
    const uint8_t *code_at = lane->codes.pos, *time_at = lane->times.pos;
    uint64_t code = column_uleb(&lane->codes), delta = column_uleb(&lane->times);
    lane->events_left--;
    if (lane->codes.failed || code > lane->batch->types)
        return record_bad(r, lane, F_25, code_at);
    if (lane->times.failed || delta > UINT64_MAX - lane->raw_ticks)
        return record_bad(r, lane, F_25, time_at);
    lane->raw_ticks += delta;
    head_ticks(lane, lane->raw_ticks);
    lane->code = (uint32_t)code;
    lane->head = LANE_RECORD;
    lane->ready = true;
    lane->stack_id = 0;
    if (code != 0) {
        struct lane_type *type = &lane->types[code - 1];
        const struct reader_type *facts = &r->type_facts[type->type];
        if (type->left == 0 || facts->stack)
            return record_bad(r, lane, facts->stack ? F_45 : F_25, code_at);
        type->left--;
        if (facts->sequences > 0 && lane_args(r, lane, &lane->dur, lane->args) != SKEIN_OK)
            return r->status;
    }
    return lane->has_stacks ? stack_next(r, lane) : SKEIN_OK;
}

static void listed_next(const struct partition_reader *r, struct lane *lane)
{
    uint64_t type = cursor_uleb(&lane->listed);
    uint64_t since = lane->batch->base - (uint64_t)cursor_sleb(&lane->listed);
    lane->listed_left--;
    lane->listed_frame = (struct reader_frame){.type = type == 0 ? NULL : &r->types[type - 1],
                                               .recorded = since,
                                               .block = lane->batch->block,
                                               .clipped = true};
    for (unsigned i = 0; type != 0 && i < r->types[type - 1].nargs; i++)
        if (r->types[type - 1].args[i].type == SKEIN_T_STR)
            lane->listed_frame.args[i].str.text = "";
    lane->head = LANE_LISTED;
    head_ticks(lane, since);
    lane->ready = true;
}

int lane_advance(struct partition_reader *r, struct lane *lane)
{
    lane->ready = false;
    for (;;) {
        if (lane->batch != NULL && lane->depth > lane->clip_to) {
            lane->head = LANE_CLIP;
            if (!lane->over_hole) /* F-41: it may have ended anywhere in between */
                head_ticks(lane, lane->batch->base);
            lane->ready = true;
            return SKEIN_OK;
        }
        lane->clip_to = UINT32_MAX;
        if (lane->batch != NULL && lane->listed_left > 0) {
            listed_next(r, lane);
            return SKEIN_OK;
        }
        if (lane->batch != NULL && lane->events_left > 0)
            return record_next(r, lane);
        if (lane->batch != NULL && batch_leave(r, lane) != SKEIN_OK)
            return r->status;
        lane->batch = NULL;
        if (lane->next_batch == NO_BATCH)
            return SKEIN_OK;
        const struct reader_batch *batch = &r->batches[lane->next_batch];
        lane->next_batch = batch->next;
        int status = batch_enter(r, lane, batch);
        if (status != SKEIN_OK)
            return status;
        batch_restate(r, lane, batch);
    }
}

static inline __attribute__((always_inline)) uint64_t value_take(struct column *column,
                                                                 struct value_fault *fault)
{
    const uint8_t *at = column->pos;
    uint64_t v = column_take(column);
    if ((column->failed || column->encoding > COLUMN_RAW64) && fault->rule == F_NONE)
        *fault = value_fault_of(column, at);
    return v;
}

static void string_take(const struct partition_reader *r, struct column *column,
                        struct partition_value *arg, struct value_fault *fault)
{
    const uint8_t *at = column->pos;
    uint64_t v = value_take(column, fault);
    if (v >> 1 >= r->string_count) {
        if (fault->rule == F_NONE)
            *fault = (struct value_fault){F_27, column_place_of_last(column, at)};
        return;
    }
    const struct reader_string *string = &r->strings[v >> 1];
    arg->str.text = string->text;
    arg->str.len = string->len;
    arg->str.cut = (v & 1) != 0;
}

/* F-19, F-26, F-27 */
void lane_values(const struct partition_reader *r, struct lane *lane, const struct lane_type *place,
                 uint64_t *dur_ticks, struct partition_value args[SKEIN_ARGS_MAX],
                 struct value_fault *fault)
{
    const struct partition_event_type *type = &r->types[place->type];
    struct column *column = &lane->columns[place->column];
    *dur_ticks = type->klass == SKEIN_CLASS_SPAN ? value_take(column++, fault) : 0;
    bool skip = r->no_args && r->type_facts[place->type].sequences == 0;
    for (unsigned i = 0; i < type->nargs; i++, column++) {
        uint8_t kind = type->args[i].type;
        if (skip) {
            args[i].str.text = "";
            args[i].str.len = 0;
            args[i].str.cut = false;
            continue;
        }
        if (kind > SKEIN_T_SEQ) { /* from the future: not even its bytes are looked at */
            column->pos = column->end;
            args[i].u64 = 0;
        } else if (kind == SKEIN_T_STR) {
            string_take(r, column, &args[i], fault);
        } else if (kind == SKEIN_T_SEQ) {
            args[i].seq.resource = value_take(column++, fault);
            args[i].seq.number = value_take(column, fault);
        } else {
            uint64_t v = value_take(column, fault);
            args[i].u64 = kind == SKEIN_T_BOOL ? v != 0 : v;
        }
    }
}

/* The values of the head, taken from their columns. */
int lane_args(struct partition_reader *r, struct lane *lane, uint64_t *dur_ticks,
              struct partition_value args[SKEIN_ARGS_MAX])
{
    if (lane->fault.rule == F_NONE)
        lane_values(r, lane, &lane->types[lane->code - 1], dur_ticks, args, &lane->fault);
    return lane->fault.rule == F_NONE ? SKEIN_OK
                                      : record_bad(r, lane, lane->fault.rule, lane->fault.at);
}
