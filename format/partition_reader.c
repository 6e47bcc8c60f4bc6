/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of the partition reader: takes records in the order of the merge, pairs begins with
 * ends, and gives what callers see. Owns struct partition_reader and the open ranges of each
 * thread. One thread; never touches the bytes but through cursors.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "partition_blocks_int.h"
#include "partition_reader_int.h"
#include "partition_tables_int.h"

static const struct partition_event_type unknown_range = {
    .name = "unknown", .text = "", .file = "", .klass = SKEIN_CLASS_RANGE_BEGIN};

/* ---- failure ---- */

static bool bytes_hold(const uint8_t *bytes, size_t n, const uint8_t *at)
{
    return bytes != NULL && (uintptr_t)at >= (uintptr_t)bytes &&
           (uintptr_t)at - (uintptr_t)bytes <= n;
}

/* Where `at` is in the partition, or in what one of its sections unpacks to. */
static void fault_locate(const struct partition_reader *r, const uint8_t *at,
                         struct partition_fault *fault)
{
    if (bytes_hold(r->unpacked, r->opened.raw_bytes, at)) {
        fault->packed = true;
        fault->byte = r->opened.offset;
        fault->unpacked_byte = (uint64_t)(at - r->unpacked);
        return;
    }
    for (size_t i = 0; i < r->block_count; i++)
        if (bytes_hold(r->blocks[i].raw, r->blocks[i].section.raw_bytes, at)) {
            fault->packed = true;
            fault->byte = r->blocks[i].section.offset;
            fault->unpacked_byte = (uint64_t)(at - r->blocks[i].raw);
            return;
        }
    if (bytes_hold(r->bytes, r->n, at))
        fault->byte = (uint64_t)(at - r->bytes);
}

int reader_fault(struct partition_reader *r, int status, const struct partition_fault *fault)
{
    if (r->status == SKEIN_OK) {
        r->fault = *fault;
        partition_fault_print(fault, 0, r->error, sizeof r->error);
        r->status = status;
    }
    return r->status;
}

int reader_fail(struct partition_reader *r, int status, enum format_rule rule, const uint8_t *at,
                const char *format, ...)
{
    struct partition_fault fault;
    va_list args;
    va_start(args, format);
    partition_fault_format(&fault, rule, 0, format, args);
    va_end(args);
    fault_locate(r, at, &fault);
    return reader_fault(r, status, &fault);
}

int reader_no_memory(struct partition_reader *r, const char *what)
{
    struct partition_fault fault;
    partition_fault_set(&fault, F_NONE, 0, "out of memory for %s", what);
    return reader_fault(r, SKEIN_NO_MEMORY, &fault);
}

bool reader_may(struct partition_reader *r, uint64_t n)
{
    struct partition_fault fault;
    if (n <= r->memory_left) {
        r->memory_left -= n;
        return true;
    }
    partition_fault_set(&fault, F_NONE, 0, "it takes more memory than is given to it");
    reader_fault(r, SKEIN_TOO_LARGE, &fault);
    return false;
}

/* ---- life ---- */

int partition_reader_make(const uint8_t *bytes, size_t n, struct partition_reader **out,
                          struct partition_fault *fault)
{
    return partition_reader_make_within(bytes, n, UINT64_MAX, out, fault);
}

int partition_reader_make_within(const uint8_t *bytes, size_t n, uint64_t memory_bytes,
                                 struct partition_reader **out, struct partition_fault *fault)
{
    *out = NULL;
    *fault = (struct partition_fault){.rule = F_NONE};
    struct partition_reader *r = calloc(1, sizeof *r);
    if (r == NULL) {
        partition_fault_set(fault, F_NONE, 0, "out of memory");
        return SKEIN_NO_MEMORY;
    }
    r->bytes = bytes;
    r->n = n;
    r->memory_left = memory_bytes;
    r->info.host = r->info.service = r->info.labels = r->info.exe = "";
    int status = tables_open(r);
    if (status == SKEIN_OK) {
        if (reader_may(r, r->thread_count * sizeof *r->lanes))
            r->lanes = calloc(r->thread_count + 1, sizeof *r->lanes);
        if (r->lanes == NULL)
            status = reader_no_memory(r, "the threads");
    }
    for (size_t i = 0; status == SKEIN_OK && i < r->thread_count; i++)
        r->lanes[i].first_batch = r->lanes[i].last_batch = r->lanes[i].next_batch = NO_BATCH;
    if (status != SKEIN_OK) {
        *fault = r->fault;
        partition_reader_free(&r);
        return status;
    }
    *out = r;
    return SKEIN_OK;
}

int partition_reader_new(const uint8_t *bytes, size_t n, struct partition_reader **out, char *error,
                         size_t error_bytes)
{
    struct partition_fault fault;
    int status = partition_reader_make(bytes, n, out, &fault);
    if (error_bytes > 0)
        partition_fault_print(&fault, 0, error, error_bytes);
    return status;
}

static void reader_lanes_free(struct partition_reader *r)
{
    for (size_t i = 0; r->lanes != NULL && i < r->thread_count; i++) {
        free(r->lanes[i].types);
        free(r->lanes[i].columns);
        free(r->lanes[i].values);
        free(r->lanes[i].stack);
        free(r->lanes[i].ahead.rows);
        free(r->lanes[i].ahead.args);
    }
    free(r->lanes);
}

void partition_reader_free(struct partition_reader **reader)
{
    struct partition_reader *r = *reader;
    *reader = NULL;
    if (r == NULL)
        return;
    reader_lanes_free(r);
    for (size_t i = 0; i < r->block_count; i++)
        free(r->blocks[i].raw);
    while (r->arena != NULL) {
        struct arena_chunk *next = r->arena->next;
        free(r->arena);
        r->arena = next;
    }
    partition_footer_free(&r->footer);
    stacks_close(r);
    free(r->types);
    free(r->type_facts);
    free(r->threads);
    free(r->strings);
    free(r->opens);
    free(r->losses);
    free(r->blocks);
    free(r->batches);
    free(r->heap);
    free(r->gathered);
    free(r->marks);
    ahead_runs_fini(&r->merged);
    free(r->entries);
    free(r->resources);
    free(r);
}

/* ---- what is known without events ---- */

const struct partition_info *partition_reader_info(const struct partition_reader *r)
{
    return &r->info;
}

const struct partition_footer *partition_reader_footer(const struct partition_reader *r)
{
    return &r->footer;
}

size_t partition_reader_types(const struct partition_reader *r,
                              const struct partition_event_type **types)
{
    *types = r->types;
    return r->type_count;
}

size_t partition_reader_threads(const struct partition_reader *r,
                                const struct partition_thread **threads)
{
    *threads = r->threads;
    return r->thread_count;
}

const char *partition_reader_error(const struct partition_reader *r)
{
    return r->error;
}

int partition_reader_status(const struct partition_reader *r)
{
    return r->status;
}

uint64_t partition_reader_fixed_up(const struct partition_reader *r)
{
    return r->fixed_up;
}

uint64_t partition_reader_unordered(const struct partition_reader *r)
{
    return r->unordered;
}

void partition_reader_move(struct partition_reader *r, int64_t ns)
{
    if (ns != 0)
        r->scale = tick_scale_shift(&r->scale, ns);
}

uint64_t partition_reader_time_ns(const struct partition_reader *r, uint64_t ticks)
{
    return tick_scale_ns(&r->scale, ticks);
}

/* ---- open ranges ---- */

struct reader_frame *frame_room(struct partition_reader *r, struct lane *lane)
{
    if (r->frames == READER_RANGES_MAX || lane->deeper > 0) {
        r->frames_full = true;
        lane->deeper++;
        return NULL;
    }
    if (!reader_may(r, sizeof *lane->stack) ||
        !array_grow(lane->stack, lane->depth + 1, &lane->stack_cap)) {
        reader_no_memory(r, "open ranges");
        return NULL;
    }
    r->frames++;
    return &lane->stack[lane->depth++];
}

int frame_push(struct partition_reader *r, struct lane *lane, const struct reader_frame *frame)
{
    struct reader_frame *room = frame_room(r, lane);
    if (room != NULL)
        *room = *frame;
    return r->status;
}

static const struct partition_event_type *frame_type(const struct reader_frame *frame)
{
    return frame->type == NULL ? &unknown_range : frame->type;
}

/* An event from a range and the time at which it is told, from its begin on. */
static void range_give(const struct partition_reader *r, const struct lane *lane,
                       const struct reader_frame *frame, uint8_t kind, uint64_t until,
                       struct trace_event *event)
{
    event->kind = kind;
    event->type = frame_type(frame);
    event->begin_clipped = frame->clipped;
    event->depth = (uint32_t)(frame - lane->stack);
    event->time_ns = tick_scale_ns(&r->scale, frame->ticks);
    event->dur_ns = tick_scale_span_ns(&r->scale, frame->ticks, until);
    event->stack = event->stack != 0 ? event->stack : frame->stack;
    memcpy(event->args, frame->args, sizeof event->args);
}

/* F-42: a block tells of `since`, or what one began lasts until `until`. */
static void block_reach(struct partition_reader *r, uint32_t block, uint64_t since, uint64_t until)
{
    if (block == NO_BLOCK)
        return;
    struct reader_block *b = &r->blocks[block];
    b->since = since < b->since ? since : b->since;
    b->until = until > b->until ? until : b->until;
}

static void end_give(struct partition_reader *r, struct lane *lane, uint64_t until,
                     struct trace_event *event)
{
    if (lane->deeper > 0 || lane->depth == 0) {
        event->kind = TRACE_END_ONLY;
        event->depth = (uint32_t)lane->depth;
        lane->deeper -= lane->deeper > 0;
        return;
    }
    const struct reader_frame *frame = &lane->stack[lane->depth - 1];
    range_give(r, lane, frame, TRACE_REGION, r->now, event);
    if (lane->depth <= RANGES_FOLLOWED_MAX) {
        block_reach(r, frame->block, UINT64_MAX, until);
        block_reach(r, lane->batch->block, frame->recorded, 0);
    }
    lane->depth--;
    r->frames--;
}

static int begin_give(struct partition_reader *r, struct lane *lane,
                      const struct reader_frame *frame, struct trace_event *event)
{
    event->kind = TRACE_BEGIN;
    event->type = frame_type(frame);
    event->depth = (uint32_t)lane->depth;
    event->begin_clipped = frame->clipped;
    event->time_ns = tick_scale_ns(&r->scale, frame->ticks);
    if (lane->depth < RANGES_FOLLOWED_MAX)
        block_reach(r, frame->block, frame->recorded, 0);
    return frame_push(r, lane, frame);
}

static int record_give(struct partition_reader *r, struct lane *lane, struct trace_event *event)
{
    event->stack = lane->stack_id;
    if (lane->code == 0) {
        end_give(r, lane, lane->raw_ticks, event);
        return SKEIN_OK;
    }
    const struct partition_event_type *type = lane_type(r, lane);
    uint64_t dur = 0;
    if (r->type_facts[lane->types[lane->code - 1].type].sequences > 0) {
        memcpy(event->args, lane->args, sizeof event->args);
        dur = lane->dur;
    } else if (lane_args(r, lane, &dur, event->args) != SKEIN_OK) {
        return r->status;
    }
    event->type = type;
    event->depth = (uint32_t)lane->depth;
    if (type->klass == SKEIN_CLASS_RANGE_BEGIN) {
        struct reader_frame frame = {.type = type,
                                     .recorded = lane->raw_ticks,
                                     .ticks = r->now,
                                     .stack = lane->stack_id,
                                     .block = lane->batch->block};
        memcpy(frame.args, event->args, sizeof frame.args);
        return begin_give(r, lane, &frame, event);
    }
    if (type->klass == SKEIN_CLASS_SPAN) {
        uint64_t begin = dur < r->now ? r->now - dur : 0;
        block_reach(r, lane->batch->block, dur < lane->raw_ticks ? lane->raw_ticks - dur : 0, 0);
        event->kind = TRACE_REGION;
        event->time_ns = tick_scale_ns(&r->scale, begin);
        event->dur_ns = tick_scale_span_ns(&r->scale, begin, r->now);
        return SKEIN_OK;
    }
    event->kind = type->klass == SKEIN_CLASS_COUNTER ? TRACE_COUNTER
                  : type->klass == SKEIN_CLASS_LOG   ? TRACE_LOG
                                                     : TRACE_INSTANT;
    return SKEIN_OK;
}

static int head_give(struct partition_reader *r, struct lane *lane, struct trace_event *event)
{
    r->now = lane->ticks > r->now ? lane->ticks : r->now;
    event->thread = &r->threads[lane - r->lanes];
    event->ticks = r->now;
    event->time_ns = tick_scale_ns(&r->scale, r->now);
    if (lane->head == LANE_CLIP) {
        end_give(r, lane, lane->batch->base, event);
        event->end_clipped = true;
        return SKEIN_OK;
    }
    if (lane->head == LANE_LISTED) {
        struct reader_frame frame = lane->listed_frame;
        frame.ticks = frame.recorded;
        return begin_give(r, lane, &frame, event);
    }
    event->fixed_up = r->now > lane->raw_ticks;
    r->fixed_up += event->fixed_up;
    return record_give(r, lane, event);
}

/* ---- what is neither begin nor end ---- */

static void loss_give(struct partition_reader *r, struct trace_event *event)
{
    const struct partition_loss *loss = &r->losses[r->loss_at++];
    event->kind = TRACE_LOSS;
    event->loss = loss;
    event->ticks = loss->from_ticks;
    event->time_ns = tick_scale_ns(&r->scale, loss->from_ticks);
    event->dur_ns = tick_scale_span_ns(&r->scale, loss->from_ticks, loss->to_ticks);
    if (loss->thread != UINT32_MAX)
        event->thread = &r->threads[loss->thread];
}

/* F-42: whether the frame at hand is one of those that the writer left open. Both are by thread,
 * outermost first. */
static bool known_open(struct partition_reader *r, const struct reader_frame *frame)
{
    const struct partition_footer *f = &r->footer;
    size_t *at = &r->open_range_at;
    while (*at < f->open_range_count && f->open_ranges[*at].thread < r->open_lane)
        ++*at;
    if (*at == f->open_range_count)
        return false;
    const struct partition_open *range = &f->open_ranges[*at];
    if (range->thread != r->open_lane || range->since_ticks != frame->recorded)
        return false;
    ++*at;
    return true;
}

/* After the last record: ranges without an end, then operations in progress. */
static bool open_give(struct partition_reader *r, struct trace_event *event)
{
    uint64_t last = r->now > r->passed ? r->now : r->passed;
    uint64_t cut = last > r->info.end.ticks ? last : r->info.end.ticks;
    /* F-41: the end may be left out */
    bool behind = r->footer.left_out_behind > 0 || r->skips;
    for (; r->open_lane < r->thread_count; r->open_lane++, r->open_frame = 0) {
        const struct lane *lane = &r->lanes[r->open_lane];
        if (r->open_frame == lane->depth)
            continue;
        const struct reader_frame *frame = &lane->stack[r->open_frame++];
        bool clipped = behind && !known_open(r, frame);
        range_give(r, lane, frame, TRACE_OPEN, clipped ? lane->ticks : cut, event);
        event->end_clipped = clipped;
        event->thread = &r->threads[r->open_lane];
        event->ticks = frame->ticks;
        return true;
    }
    if (r->open_at == r->open_count)
        return false;
    const struct partition_open *open = &r->opens[r->open_at++];
    event->kind = TRACE_OPEN;
    event->thread = &r->threads[open->thread];
    event->type = &r->types[open->type];
    event->depth = (uint32_t)r->lanes[open->thread].depth;
    event->ticks = open->since_ticks;
    event->time_ns = tick_scale_ns(&r->scale, open->since_ticks);
    event->dur_ns = tick_scale_span_ns(&r->scale, open->since_ticks, cut);
    event->detail = open->detail;
    event->has_detail = true;
    return true;
}

int reader_ready(struct partition_reader *r)
{
    if (r->status != SKEIN_OK || r->prepared)
        return r->status;
    r->prepared = true;
    int status = blocks_open(r);
    return status == SKEIN_OK ? merge_open(r) : status;
}

int partition_reader_next(struct partition_reader *r, struct trace_event *event)
{
    *event = (struct trace_event){0};
    if (reader_ready(r) != SKEIN_OK)
        return r->status;
    struct lane *lane = merge_top(r);
    if (r->loss_at < r->loss_count &&
        (lane == NULL || r->losses[r->loss_at].from_ticks <= lane->ticks)) {
        loss_give(r, event);
        return 1;
    }
    if (lane == NULL)
        return open_give(r, event) ? 1 : 0;
    int status = head_give(r, lane, event);
    if (status != SKEIN_OK)
        return status;
    merge_pop(r, lane); /* its failure is the next call's: this event is sound */
    return 1;
}
