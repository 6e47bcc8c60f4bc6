/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over the partitions of a trace: all processes at once, by the time at which records were
 * made, or one partition after the other. Owns the lanes, their partitions in memory, and the heap
 * that merges them. One thread.
 *
 *     process 1   cut 0 --- cut 1 --- cut 2          one lane, ranges go on over the cuts
 *                  evidence ~~~~~~~~~~~~             a lane of its own, beside them
 *     process 2        cut 0 ------- cut 1           one lane
 *     ---------------------------------------> time: a partition is read when its time has come
 */
#include <stdlib.h>

#include "trace_cursor_int.h"
#include "trace_int.h"

/* ---- partitions that are done ---- */

static void loaded_retire(struct trace_merge *merge, struct trace_loaded **at)
{
    struct trace_loaded *loaded = *at;
    *at = NULL;
    if (loaded == NULL)
        return;
    merge->fixed_up += partition_reader_fixed_up(loaded->reader);
    merge->unordered += partition_reader_unordered(loaded->reader);
    if (!loaded->in_batch) {
        loaded_free(&loaded);
        return;
    }
    loaded->next = merge->retired;
    merge->retired = loaded;
    merge->retired_bytes += loaded->bytes.len;
}

static void retired_free(struct trace_merge *merge)
{
    while (merge->retired != NULL) {
        struct trace_loaded *next = merge->retired->next;
        loaded_free(&merge->retired);
        merge->retired = next;
    }
    merge->retired_bytes = 0;
}

void merge_release(struct trace_merge *merge)
{
    retired_free(merge);
    for (size_t i = 0; i < merge->heap_count; i++)
        if (merge->heap[i]->now != NULL)
            merge->heap[i]->now->in_batch = false;
}

/* ---- a lane ---- */

/* Records that the query leaves out count for the order, too. */
static void lane_pass(struct trace_lane *lane)
{
    uint64_t ns = lane->now != NULL ? partition_reader_passed(lane->now->reader) : 0;
    lane->ns = ns > lane->ns ? ns : lane->ns;
}

/* Whether nothing that a query asks for hangs on the partition that is next. Skipped are those whose
 * ranges are all whole in them: what is carried on might end or be lost anywhere behind. The last of
 * a process tells what is in progress. */
static bool lane_skips(const struct trace_merge *merge, struct trace_lane *lane)
{
    const struct trace_part *part = merge->trace->parts[lane->next];
    const struct partition_footer *f = &part->entry->footer;
    bool carried = lane->carries && part->facts.follows;
    lane->carries = carried || !f->reaches || f->slice || f->open_range_count > 0;
    if (merge->cursor == NULL || carried || (!f->evidence && lane->next + 1 == lane->end))
        return false;
    const struct skein_query *q = &merge->cursor->query;
    return !lane->carries && (part->entry->told_to_ns < q->from_ns ||
                              (q->to_ns != 0 && part->entry->told_from_ns > q->to_ns));
}

/* Opens a partition, behind the one at hand. 1; 0: it cannot be read, and is a gap;
 * SKEIN_NO_MEMORY. */
static int lane_enter(struct trace_merge *merge, struct trace_lane *lane, size_t number)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct trace_loaded *loaded;
    struct trace_part *part = merge->trace->parts[number];
    int status = loaded_new(merge->trace, part, &loaded, error);
    if (status == SKEIN_NO_MEMORY)
        return status;
    if (status != SKEIN_OK)
        return gap_broken(merge, number, part->facts.from_ns, error);
    if (merge->cursor != NULL && rows_project(merge->cursor, loaded) != SKEIN_OK) {
        loaded_free(&loaded);
        return SKEIN_NO_MEMORY;
    }
    if (lane->now != NULL && partition_reader_status(lane->now->reader) == SKEIN_OK &&
        trace_part_follows(merge->trace, lane->now->part, part))
        partition_reader_continue(loaded->reader, lane->now->reader);
    lane_pass(lane);
    loaded_retire(merge, &lane->now);
    lane->now = loaded;
    lane->number = number;
    lane->skipped = 0;
    return 1;
}

/* Goes on to the next partition that can be read. 1; 0: there is none, and the one at hand stays;
 * SKEIN_NO_MEMORY. */
static int lane_step(struct trace_merge *merge, struct trace_lane *lane)
{
    while (lane->next < lane->end) {
        const struct skein_partition *facts = &merge->trace->parts[lane->next]->facts;
        bool skips = lane_skips(merge, lane);
        size_t number = lane->next++;
        if (skips) {
            lane->ns = facts->to_ns > lane->ns ? facts->to_ns : lane->ns;
            lane->skipped = facts->evidence ? 0 : number + 1;
            continue;
        }
        int got = lane_enter(merge, lane, number);
        if (got != 0)
            return got;
    }
    /* none behind it can be read: it tells what is in progress after all */
    size_t skipped = lane->skipped;
    lane->skipped = 0;
    return skipped > 0 ? lane_enter(merge, lane, skipped - 1) : 0;
}

static void lane_time(struct trace_lane *lane)
{
    const struct trace_event *event = &lane->event;
    uint64_t ns = event->kind == TRACE_OPEN
                      ? event->time_ns + event->dur_ns
                      : partition_reader_time_ns(lane->now->reader, event->ticks);
    lane->ns = ns > lane->ns ? ns : lane->ns;
}

/* Whether the reader stands in front of rows, or of an event. */
static bool lane_peek(struct trace_lane *lane)
{
    uint64_t ns = 0;
    int got = partition_reader_peek(lane->now->reader, &ns, &lane->items, &lane->item_count);
    if (got <= 0)
        return false;
    lane->peeked = true;
    if (got == 1)
        lane->items = NULL;
    else
        ns = lane->items[0].at;
    for (size_t i = 0; got == 2 && i < lane->item_count && lane->items[i].at < lane->ns; i++)
        lane->items[i].at = lane->ns;
    lane->ns = ns > lane->ns ? ns : lane->ns;
    return true;
}

/* The lane's next event: 1; 0 at its end; SKEIN_NO_MEMORY. What is in progress at a cut comes again
 * with its end, or is in progress still: it is told behind the last cut alone. */
static int lane_read(struct trace_merge *merge, struct trace_lane *lane)
{
    bool peeks = merge->cursor != NULL && !lane->peeked; /* else its event is wanted */
    lane->waits = lane->peeked = false;
    lane->items = NULL;
    for (;;) {
        if (peeks && lane->now != NULL && lane_peek(lane))
            return 1;
        int got = lane->now != NULL ? partition_reader_next(lane->now->reader, &lane->event) : 0;
        if (got == SKEIN_NO_MEMORY)
            return got;
        if (got < 0 && gap_broken(merge, lane->number, lane->ns,
                                  partition_reader_error(lane->now->reader)) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
        if (got > 0 && (lane->event.kind != TRACE_OPEN || lane->opens))
            break;
        int step = lane_step(merge, lane);
        if (step < 0)
            return step;
        if (step > 0)
            continue;
        if (got <= 0) {
            loaded_retire(merge, &lane->now);
            return 0;
        }
        lane->opens = true; /* the event at hand is the first of them */
        break;
    }
    lane_time(lane);
    return 1;
}

/* ---- the merge ---- */

static bool lane_is_earlier(const struct trace_lane *a, const struct trace_lane *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a < b;
}

/* Puts the lane at i of the heap where it belongs, further down. */
static void heap_sink(struct trace_merge *merge, size_t i)
{
    struct trace_lane **heap = merge->heap;
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        for (size_t child = left; child < left + 2 && child < merge->heap_count; child++)
            if (lane_is_earlier(heap[child], heap[least]))
                least = child;
        if (least == i)
            return;
        struct trace_lane *lane = heap[i];
        heap[i] = heap[least];
        heap[least] = lane;
        i = least;
    }
}

void lane_put(struct trace_merge *merge, struct trace_lane *lane)
{
    size_t at = merge->heap_count++;
    for (; at > 0 && lane_is_earlier(lane, merge->heap[(at - 1) / 2]); at = (at - 1) / 2)
        merge->heap[at] = merge->heap[(at - 1) / 2];
    merge->heap[at] = lane;
}

struct trace_lane *lane_take_first(struct trace_merge *merge)
{
    struct trace_lane *lane = merge->heap[0];
    merge->heap[0] = merge->heap[--merge->heap_count];
    heap_sink(merge, 0);
    return lane;
}

/* Fills the heap: with the lanes of all processes, or of the next one. */
static void heap_fill(struct trace_merge *merge)
{
    const struct skein_trace *trace = merge->trace;
    merge->heap_count = 0;
    while (merge->lane_next < merge->lane_count) {
        struct trace_lane *lane = &merge->lanes[merge->lane_next];
        uint32_t process = trace->parts[lane->next]->facts.process;
        if (merge->ask.by_process && merge->heap_count > 0 && process != merge->process)
            break;
        merge->process = process;
        merge->heap[merge->heap_count++] = lane;
        merge->lane_next++;
    }
    for (size_t i = merge->heap_count; i-- > 0;)
        heap_sink(merge, i);
}

int merge_advance(struct trace_merge *merge)
{
    int got = lane_read(merge, merge->heap[0]);
    if (got < 0)
        return got;
    if (got == 0)
        merge->heap[0] = merge->heap[--merge->heap_count];
    heap_sink(merge, 0);
    return SKEIN_OK;
}

int merge_first(struct trace_merge *merge, struct trace_lane **lane)
{
    int status = SKEIN_OK;
    while (status == SKEIN_OK) {
        *lane = NULL;
        if (merge->heap_count == 0)
            heap_fill(merge);
        if (merge->heap_count == 0)
            return SKEIN_OK;
        *lane = merge->heap[0];
        if (!(*lane)->waits)
            return SKEIN_OK;
        status = merge_advance(merge);
    }
    return status;
}

uint64_t merge_fixed_up(const struct trace_merge *merge)
{
    uint64_t sum = merge->fixed_up;
    for (size_t i = 0; i < merge->heap_count; i++)
        if (merge->heap[i]->now != NULL)
            sum += partition_reader_fixed_up(merge->heap[i]->now->reader);
    return sum;
}

uint64_t merge_unordered(const struct trace_merge *merge)
{
    uint64_t sum = merge->unordered;
    for (size_t i = 0; i < merge->heap_count; i++)
        if (merge->heap[i]->now != NULL)
            sum += partition_reader_unordered(merge->heap[i]->now->reader);
    return sum;
}

/* ---- life ---- */

/* Evidence lies beside the cuts of its process: each partition of it is a lane. */
static void lanes_list(struct trace_merge *merge)
{
    struct trace_part **parts = merge->trace->parts;
    size_t count = merge->trace->part_count;
    for (size_t i = 0, end; i < count; i = end) {
        const struct skein_partition *facts = &parts[i]->facts;
        end = i + 1;
        while (!facts->evidence && end < count && parts[end]->facts.process == facts->process)
            end++;
        if (!is_wanted_process(merge, facts->process) ||
            (facts->evidence && merge->ask.no_evidence))
            continue;
        merge->lanes[merge->lane_count++] =
            (struct trace_lane){.next = i, .end = end, .ns = facts->from_ns, .waits = true};
    }
}

int trace_merge_new(struct skein_trace *trace, const struct trace_merge_ask *ask,
                    struct trace_merge **out)
{
    *out = NULL;
    if (!ask->in_turn && trace_causes_apply(trace) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    struct trace_merge *merge = *out = calloc(1, sizeof *merge);
    if (merge == NULL)
        return SKEIN_NO_MEMORY;
    merge->trace = trace;
    merge->ask = *ask;
    trace->cursors++;
    merge->lanes = calloc(trace->part_count + 1, sizeof *merge->lanes);
    merge->heap = calloc(trace->part_count + 1, sizeof *merge->heap);
    merge->gathered = calloc(trace->part_count + 1, sizeof *merge->gathered);
    bool room = merge->lanes != NULL && merge->heap != NULL && merge->gathered != NULL;
    int status = room ? gaps_known(merge) : SKEIN_NO_MEMORY;
    if (status != SKEIN_OK)
        trace_merge_free(out);
    else if (ask->in_turn)
        merge->lanes[merge->lane_count++] = (struct trace_lane){.end = trace->part_count};
    else
        lanes_list(merge);
    return status;
}

void trace_merge_free(struct trace_merge **merge)
{
    struct trace_merge *m = *merge;
    *merge = NULL;
    if (m == NULL)
        return;
    m->trace->cursors--;
    for (size_t i = 0; m->lanes != NULL && i < m->lane_count; i++)
        loaded_free(&m->lanes[i].now);
    retired_free(m);
    gaps_free(m);
    ahead_runs_fini(&m->runs);
    free(m->lanes);
    free(m->heap);
    free(m->gathered);
    free(m);
}

/* ---- for who wants events, not rows ---- */

static void place_of(const struct trace_merge *merge, const struct trace_lane *lane,
                     struct trace_step *place)
{
    const struct skein_trace *trace = merge->trace;
    place->entry = lane->now->part->entry;
    place->reader = lane->now->reader;
    place->last_of_process =
        lane->number + 1 == trace->part_count ||
        trace->parts[lane->number + 1]->facts.process != lane->now->part->facts.process;
}

int trace_merge_step(struct trace_merge *merge, struct trace_step *place)
{
    struct trace_lane *lane = &merge->lanes[0];
    int got = lane_step(merge, lane);
    if (got > 0)
        place_of(merge, lane, place);
    else
        loaded_retire(merge, &lane->now);
    return got;
}

int trace_merge_event(struct trace_merge *merge, struct trace_event *event)
{
    struct trace_lane *lane = &merge->lanes[0];
    int got = partition_reader_next(lane->now->reader, event);
    if (got > 0)
        lane->ns = partition_reader_time_ns(lane->now->reader, event->ticks);
    if (got >= 0 || got == SKEIN_NO_MEMORY)
        return got;
    return gap_broken(merge, lane->number, lane->ns, partition_reader_error(lane->now->reader));
}

/* Whether no range comes into the partition or goes on behind it. */
static bool is_closed(const struct trace_lane *lane)
{
    const struct partition_footer *f = partition_reader_footer(lane->now->reader);
    return f->reaches && !f->slice && f->open_range_count == 0 &&
           !partition_reader_carries(lane->now->reader);
}

int trace_merge_pass(struct trace_merge *merge)
{
    struct trace_lane *lane = &merge->lanes[0];
    struct partition_reader *reader = lane->now->reader;
    struct trace_event event;
    int got = 1;
    if (is_closed(lane))
        return SKEIN_OK;
    lane->now->run = (struct row_run){.thread_numbers = lane->now->thread_numbers};
    partition_reader_project(reader, &lane->now->run, true, NULL);
    while (got > 0) {
        uint64_t ns = 0;
        got = partition_reader_peek(reader, &ns, &lane->items, &lane->item_count);
        if (got == 1)
            got = partition_reader_next(reader, &event);
    }
    lane->items = NULL;
    if (got >= 0 || got == SKEIN_NO_MEMORY)
        return got;
    return gap_broken(merge, lane->number, lane->ns, partition_reader_error(reader));
}

int trace_merge_next(struct trace_merge *merge, const struct trace_event **event,
                     struct trace_step *place)
{
    struct trace_lane *lane;
    int status = merge->given ? merge_advance(merge) : SKEIN_OK;
    merge->given = false;
    if (status == SKEIN_OK)
        status = merge_first(merge, &lane);
    if (status != SKEIN_OK || lane == NULL)
        return status;
    merge->given = true;
    place_of(merge, lane, place);
    *event = &lane->event;
    return 1;
}

size_t trace_merge_gaps(const struct trace_merge *merge, const struct skein_gap **gaps)
{
    *gaps = merge->gaps;
    return merge->gap_count;
}
