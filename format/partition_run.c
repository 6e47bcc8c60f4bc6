/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a partition straight into the columns of a batch: what partition_reader_next gives as
 * events, without one. Both share the state of the reader, so that either may go on where the other
 * stopped. Knows the simple records alone. One thread.
 */
#include "partition_reader_int.h"
#include "trace_rows.h"

void partition_reader_project(struct partition_reader *r, bool args, const uint8_t *thread_shown)
{
    bool sequences = false;
    for (size_t i = 0; i < r->type_count; i++)
        sequences = sequences || r->type_facts[i].sequences > 0;
    r->no_args = !args;
    /* the order of all threads may depend on each one's sequences */
    r->thread_shown = sequences ? NULL : thread_shown;
}

uint64_t partition_reader_passed(const struct partition_reader *r)
{
    return r->passed > 0 ? tick_scale_ns(&r->scale, r->passed) : 0;
}

/* ---- what comes next ---- */

static uint64_t next_loss(const struct partition_reader *r)
{
    return r->loss_at < r->loss_count ? r->losses[r->loss_at].from_ticks : UINT64_MAX;
}

int partition_reader_peek(struct partition_reader *r, uint64_t *ns)
{
    int status = reader_ready(r);
    if (status != SKEIN_OK)
        return status;
    const struct lane *lane = r->heap_count > 0 ? &r->lanes[r->heap[0]] : NULL;
    bool loss = r->loss_at < r->loss_count && (lane == NULL || next_loss(r) <= lane->ticks);
    if (lane == NULL && !loss)
        return 0;
    uint64_t ticks = loss ? next_loss(r) : lane->ticks > r->now ? lane->ticks : r->now;
    *ns = tick_scale_ns(&r->scale, ticks);
    return 1;
}

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

/* What the record at hand gives. */
struct record {
    const struct partition_event_type *type;
    const struct partition_value *args;
    uint64_t begin, now; /* ticks */
    uint32_t depth, stack;
    uint8_t kind, flags;
};

static void row_put(const struct partition_reader *r, const struct row_run *run, uint32_t thread,
                    const struct record *record)
{
    struct trace_rows *rows = run->rows;
    uint32_t i = rows->count;
    size_t type = (size_t)(record->type - r->types);
    if ((run->kinds >> record->kind & 1) == 0 || !run->type_shown[type] ||
        !run->thread_shown[thread])
        return;
    if (rows->time_ns != NULL || run->has_window) {
        uint64_t from = ns_of(&r->scale, record->begin);
        uint64_t dur = record->begin < record->now
                           ? tick_scale_span_ns(&r->scale, record->now - record->begin)
                           : 0;
        if (run->has_window &&
            (from > run->to_ns || (dur < run->from_ns && from < run->from_ns - dur)))
            return;
        if (rows->time_ns != NULL) {
            rows->time_ns[i] = from;
            rows->dur_ns[i] = dur;
        }
    }
    rows->count++;
    rows->kind[i] = record->kind;
    rows->flags[i] = record->flags | run->flags;
    rows->process[i] = run->process;
    rows->thread[i] = run->thread_numbers[thread];
    rows->more[i] = SKEIN_NONE;
    if (rows->type != NULL)
        rows->type[i] = run->type_numbers[type];
    if (rows->depth != NULL)
        rows->depth[i] = record->depth;
    if (rows->stack != NULL) {
        rows->stack[i] = record->stack != 0 ? run->stack_base + record->stack : 0;
        rows->stack_id[i] = record->stack;
        rows->loaded[i] = run->loaded;
    }
    if (rows->args != NULL)
        row_args_set(&rows->args[(size_t)i * SKEIN_ARGS_MAX], record->type, record->args);
}

static const uint8_t kind_of[] = {[SKEIN_CLASS_INSTANT] = SKEIN_ROW_INSTANT,
                                  [SKEIN_CLASS_RANGE_BEGIN] = SKEIN_ROW_BEGIN,
                                  [SKEIN_CLASS_SPAN] = SKEIN_ROW_REGION,
                                  [SKEIN_CLASS_COUNTER] = SKEIN_ROW_COUNTER,
                                  [SKEIN_CLASS_LOG] = SKEIN_ROW_LOG};

/* The end of a range whose begin and type are at hand. */
static void end_run(struct partition_reader *r, struct lane *lane, const struct row_run *run,
                    uint8_t flags)
{
    const struct reader_frame *frame = &lane->stack[--lane->depth];
    r->frames--;
    struct record record = {.type = frame->type,
                            .args = frame->args,
                            .begin = frame->ticks,
                            .now = r->now,
                            .depth = (uint32_t)lane->depth,
                            .stack = lane->stack_id != 0 ? lane->stack_id : frame->stack,
                            .kind = SKEIN_ROW_REGION,
                            .flags = flags};
    if (frame->clipped)
        record.flags |= SKEIN_ROW_BEGIN_CLIPPED;
    row_put(r, run, (uint32_t)(lane - r->lanes), &record);
}

static int begin_run(struct partition_reader *r, struct lane *lane, const struct record *record)
{
    struct reader_frame *frame = frame_room(r, lane);
    if (frame == NULL)
        return r->status;
    frame->type = record->type;
    frame->recorded = lane->raw_ticks;
    frame->ticks = r->now;
    frame->block = NO_BLOCK;
    frame->clipped = false;
    frame->stack = lane->stack_id;
    for (unsigned i = 0; i < record->type->nargs; i++)
        frame->args[i] = record->args[i];
    return SKEIN_OK;
}

/* The lane's head, a simple record, is given. SKEIN_OK or a failure. */
static int record_run(struct partition_reader *r, struct lane *lane, const struct row_run *run)
{
    r->now = lane->ticks > r->now ? lane->ticks : r->now;
    uint8_t flags = r->now > lane->raw_ticks ? SKEIN_ROW_FIXED_UP : 0;
    r->fixed_up += flags != 0;
    if (lane->code == 0) {
        end_run(r, lane, run, flags);
        return SKEIN_OK;
    }
    struct partition_value args[SKEIN_ARGS_MAX];
    uint64_t dur = 0;
    const struct partition_event_type *type = lane_type(r, lane);
    if (lane_args(r, lane, &dur, args) != SKEIN_OK)
        return r->status;
    struct record record = {.type = type,
                            .args = args,
                            .begin = dur < r->now ? r->now - dur : 0,
                            .now = r->now,
                            .depth = (uint32_t)lane->depth,
                            .stack = lane->stack_id,
                            .kind = type->klass <= SKEIN_CLASS_LOG ? kind_of[type->klass]
                                                                   : SKEIN_ROW_INSTANT,
                            .flags = flags};
    row_put(r, run, (uint32_t)(lane - r->lanes), &record);
    return type->klass == SKEIN_CLASS_RANGE_BEGIN ? begin_run(r, lane, &record) : SKEIN_OK;
}

/* ---- the run ---- */

static bool is_simple(const struct partition_reader *r, const struct lane *lane)
{
    if (lane->head != LANE_RECORD || lane->blocked)
        return false;
    if (lane->code != 0)
        return r->type_facts[lane->types[lane->code - 1].type].sequences == 0;
    if (lane->deeper > 0 || lane->depth == 0)
        return false;
    uintptr_t type = (uintptr_t)lane->stack[lane->depth - 1].type, first = (uintptr_t)r->types;
    return type >= first && type - first < r->type_count * sizeof *r->types;
}

bool partition_reader_run(struct partition_reader *r, const struct row_run *run, uint64_t *ns)
{
    bool any = false;
    uint64_t loss = next_loss(r);
    *ns = UINT64_MAX;
    while (r->status == SKEIN_OK && r->heap_count > 0) {
        struct lane *lane = &r->lanes[r->heap[0]];
        if (lane->ticks >= loss)
            break;
        uint64_t ticks = lane->ticks > r->now ? lane->ticks : r->now;
        *ns = ns_of(&r->scale, ticks);
        if (*ns > run->until_ns || (*ns == run->until_ns && !run->at_too) ||
            run->rows->count == SKEIN_BATCH_ROWS)
            return any;
        if (!is_simple(r, lane))
            break;
        any = true;
        if (record_run(r, lane, run) != SKEIN_OK || merge_pop(r, lane) != SKEIN_OK)
            break;
    }
    if (partition_reader_peek(r, ns) <= 0)
        *ns = UINT64_MAX;
    return any;
}
