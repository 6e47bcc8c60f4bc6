/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of one thread become rows before their turn has come, in a loop over its columns: what
 * partition_reader_next gives as events, without one. Knows the simple records alone, and leaves the
 * lane in front of all else. What is malformed is left, too: it fails when its turn comes. One thread.
 */
#include "partition_blocks_int.h"
#include "partition_reader_int.h"
#include "trace_rows.h"

/* What goes through struct taking stays in registers only where all of it is one function. */
#define INLINE static inline __attribute__((always_inline))

/* The lane as it goes on, and where to; its own fields stand still meanwhile. */
struct taking {
    struct partition_reader *r;
    struct lane *lane;
    const struct row_run *run;
    const uint8_t *codes;   /* of records to come, a byte each */
    const uint64_t *deltas; /* and their times */
    uint32_t at, end;
    uint64_t raw_ticks, ticks, now; /* as those of the lane; the reader's */
    uint32_t code, stack_id, raised;
    uint64_t least_ns;      /* shorter ones are left out */
    uint32_t thread, count; /* of the trace; rows so far */
    bool shown;             /* its thread is */
};

/* What a record gives. */
struct record {
    size_t type; /* of the partition */
    const struct partition_value *args;
    uint64_t begin, now; /* ticks */
    uint32_t depth, stack;
    uint8_t kind, flags;
};

/* tick_scale_ns, without a sign in its product. */
static inline uint64_t ns_of(const struct tick_scale *scale, uint64_t ticks)
{
    if (ticks >= scale->anchor_ticks) {
        unsigned __int128 ns =
            (((unsigned __int128)(ticks - scale->anchor_ticks) * scale->factor) >> FRACTION_BITS) +
            scale->anchor_ns;
        return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
    }
    unsigned __int128 back = (unsigned __int128)(scale->anchor_ticks - ticks) * scale->factor;
    back = (back + (((unsigned __int128)1 << FRACTION_BITS) - 1)) >> FRACTION_BITS;
    return back > scale->anchor_ns ? 0 : scale->anchor_ns - (uint64_t)back;
}

/* ---- a row ---- */

static bool is_outside(const struct row_run *run, const struct ahead_row *row)
{
    return row->time_ns > run->to_ns ||
           (row->dur_ns < run->from_ns && row->time_ns < run->from_ns - row->dur_ns);
}

INLINE void row_put(struct taking *t, const struct record *record)
{
    const struct row_run *run = t->run;
    const struct tick_scale *scale = &t->r->scale;
    struct lane_ahead *ahead = &t->lane->ahead;
    struct ahead_row *row = &ahead->rows[t->count];
    row->made_ns = ns_of(scale, record->now);
    row->time_ns = record->begin == record->now ? row->made_ns : ns_of(scale, record->begin);
    row->dur_ns = record->begin < record->now ? row->made_ns - row->time_ns : 0;
    if (row->dur_ns < t->least_ns)
        return;
    if (run->has_window && is_outside(run, row))
        return;
    row->ticks = t->ticks;
    row->of = ahead;
    row->process = run->process;
    row->thread = t->thread;
    row->type = run->type_numbers[record->type];
    row->depth = record->depth;
    row->stack = record->stack;
    row->kind = record->kind;
    row->flags = record->flags | run->flags;
    row->nargs = 0;
    row->raised = (uint8_t)(t->raised < UINT8_MAX ? t->raised : UINT8_MAX);
    t->raised -= row->raised;
    if (ahead->args != NULL) {
        const struct partition_event_type *type = &t->r->types[record->type];
        row->nargs = type->nargs;
        row_args_set(&ahead->args[(size_t)t->count * SKEIN_ARGS_MAX], type, record->args);
    }
    t->count++;
}

/* ---- the head becomes a row ---- */

/* Whether the end at hand is of a range of a type of the partition's table: `*type`. */
INLINE bool end_is_simple(const struct partition_reader *r, const struct lane *lane, size_t *type)
{
    if (lane->deeper > 0 || lane->depth == 0)
        return false;
    uintptr_t of = (uintptr_t)lane->stack[lane->depth - 1].type, first = (uintptr_t)r->types;
    if (of < first || of - first >= r->type_count * sizeof *r->types)
        return false;
    *type = (of - first) / sizeof *r->types;
    return true;
}

INLINE bool end_take(struct taking *t, struct record *record)
{
    struct lane *lane = t->lane;
    if (!end_is_simple(t->r, lane, &record->type))
        return false;
    const struct reader_frame *frame = &lane->stack[--lane->depth];
    t->r->frames--;
    t->raised += record->flags != 0;
    if (!t->shown || !row_run_shows(t->run, SKEIN_ROW_REGION, record->type))
        return true;
    record->args = frame->args;
    record->begin = frame->ticks;
    record->depth = (uint32_t)lane->depth;
    record->stack = t->stack_id != 0 ? t->stack_id : frame->stack;
    record->kind = SKEIN_ROW_REGION;
    record->flags |= frame->clipped ? SKEIN_ROW_BEGIN_CLIPPED : 0;
    row_put(t, record);
    return true;
}

static const struct partition_value nothing = {.str = {.text = ""}};

INLINE bool begin_take(struct taking *t, const struct record *record, unsigned nargs)
{
    struct lane *lane = t->lane;
    struct reader_frame *frame = frame_room(t->r, lane);
    if (frame == NULL)
        return t->r->status == SKEIN_OK;
    frame->type = &t->r->types[record->type];
    frame->recorded = t->raw_ticks;
    frame->ticks = record->now;
    frame->block = NO_BLOCK;
    frame->clipped = false;
    frame->stack = t->stack_id;
    for (unsigned i = 0; i < nargs; i++)
        if (t->r->no_args)
            frame->args[i].str = nothing.str;
        else
            frame->args[i] = record->args[i];
    return true;
}

/* The values of a record that somebody asks for, now or when its range ends. false: they are bad. */
INLINE bool values_take(const struct taking *t, const struct lane_type *place, uint64_t *dur,
                        struct partition_value *args)
{
    struct lane *lane = t->lane;
    if (!t->r->no_args) {
        lane_values(t->r, lane, place, dur, args, &lane->fault);
    } else if (place->klass == SKEIN_CLASS_SPAN) {
        struct column *column = &lane->columns[place->column];
        const uint8_t *at = column->pos;
        *dur = column_take(column);
        if (column->failed || column->encoding > COLUMN_RAW64)
            lane->fault = value_fault_of(column, at);
    }
    return lane->fault.rule == F_NONE;
}

/* false: it is left. */
INLINE bool head_take(struct taking *t)
{
    struct partition_reader *r = t->r;
    struct lane *lane = t->lane;
    uint64_t now = t->ticks > t->now ? t->ticks : t->now, dur = 0;
    struct record record;
    record.now = now;
    record.flags = now > t->raw_ticks ? SKEIN_ROW_FIXED_UP : 0;
    if (t->code == 0)
        return end_take(t, &record);
    const struct lane_type *place = &lane->types[t->code - 1];
    struct partition_value args[SKEIN_ARGS_MAX];
    if (!values_take(t, place, &dur, args))
        return false;
    t->raised += record.flags != 0;
    record.type = place->type;
    record.args = args;
    if (place->shown && t->shown) {
        record.begin = dur < now ? now - dur : 0;
        record.depth = (uint32_t)lane->depth;
        record.stack = t->stack_id;
        record.kind = place->kind;
        row_put(t, &record);
    }
    return place->klass != SKEIN_CLASS_RANGE_BEGIN ||
           begin_take(t, &record, r->types[record.type].nargs);
}

/* ---- the next head ---- */

/* F-45: passes over the stack of the record, where that is next. false: something is wrong with it, or
 * it is not at hand. */
INLINE bool stack_pass(struct taking *t)
{
    const struct lane *lane = t->lane;
    unsigned code = t->at < t->end ? t->codes[t->at] : 0;
    t->stack_id = 0;
    if (t->at == t->end)
        return lane->events_left == t->end;
    if (code == 0 || code > lane->batch->types ||
        !t->r->type_facts[lane->types[code - 1].type].stack)
        return true;
    struct lane_type *type = &lane->types[code - 1];
    struct column ids = lane->columns[type->column];
    uint64_t id = column_next(&ids);
    if (type->left == 0 || ids.failed || ids.encoding > COLUMN_RAW64 || t->deltas[t->at] != 0 ||
        id > t->r->stack_count)
        return false;
    lane->columns[type->column] = ids;
    type->left--;
    t->at++;
    t->stack_id = (uint32_t)id;
    return true;
}

/* F-25. false: it is not simple, or malformed, or not at hand; nothing was taken. */
INLINE bool head_next(struct taking *t)
{
    const struct lane *lane = t->lane;
    if (t->at == t->end)
        return false;
    unsigned code = t->codes[t->at];
    uint64_t delta = t->deltas[t->at];
    /* One of the last tick is left, too: the order has no place behind it (partition_reader_peek). */
    if (code > lane->batch->types || delta >= UINT64_MAX - t->raw_ticks)
        return false;
    struct lane_type *type = &lane->types[code > 0 ? code - 1 : 0];
    if (code != 0 && (type->left == 0 || !type->simple))
        return false;
    t->at++;
    if (lane->has_stacks && !stack_pass(t)) {
        t->at--;
        return false;
    }
    if (code != 0)
        type->left--;
    t->code = code;
    t->raw_ticks += delta;
    t->ticks = t->raw_ticks > t->ticks ? t->raw_ticks : t->ticks;
    return true;
}

/* How many of the next n codes are a byte each. */
static uint32_t codes_short(const struct column *codes, uint32_t n)
{
    uint32_t i = 0;
    size_t there = (size_t)(codes->end - codes->pos);
    n = n < there ? n : (uint32_t)there;
    while (8 <= n - i && (word_load(codes->pos + i) & UINT64_C(0x8080808080808080)) == 0)
        i += 8;
    while (i < n && codes->pos[i] < 0x80)
        i++;
    return i;
}

bool lane_is_simple(const struct partition_reader *r, const struct lane *lane)
{
    size_t type;
    if (!lane->ready || lane->head != LANE_RECORD || lane->blocked || lane->fault.rule != F_NONE)
        return false;
    if (lane->code != 0)
        return r->type_facts[lane->types[lane->code - 1].type].sequences == 0;
    return end_is_simple(r, lane, &type);
}

void lane_take(struct partition_reader *r, struct lane *lane, const struct row_run *run)
{
    size_t thread = (size_t)(lane - r->lanes);
    bool shown = run->thread_shown != NULL && run->thread_shown[thread] != 0;
    uint32_t cap = lane->ahead.cap, n = lane->events_left < cap ? lane->events_left : cap;
    uint64_t deltas[AHEAD_ROWS];
    uint32_t ends[AHEAD_ROWS];
    n = codes_short(&lane->codes, n);
    n = (uint32_t)column_ulebs(&lane->times, n, deltas, ends);
    struct taking t = {.r = r,
                       .lane = lane,
                       .run = run,
                       .codes = lane->codes.pos,
                       .deltas = deltas,
                       .end = n,
                       .raw_ticks = lane->raw_ticks,
                       .ticks = lane->ticks,
                       .now = r->now,
                       .code = lane->code,
                       .stack_id = lane->stack_id,
                       .raised = lane->raised,
                       .thread = run->thread_numbers[thread],
                       .least_ns = run->least_ns != NULL ? *run->least_ns : 0,
                       .shown = shown};
    bool ready = true;
    while (ready && head_take(&t))
        ready = t.count < cap && head_next(&t);
    lane->ready = ready;
    lane->codes.pos += t.at;
    lane->times.pos += t.at > 0 ? ends[t.at - 1] : 0;
    lane->raw_ticks = t.raw_ticks;
    lane->ticks = t.ticks;
    lane->code = t.code;
    lane->stack_id = t.stack_id;
    lane->events_left -= t.at;
    lane->raised = t.raised;
    lane->ahead.at = 0;
    lane->ahead.count = t.count;
}
