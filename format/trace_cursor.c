/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk over the partitions of a trace: all processes at once, by the time at which records were
 * made. Owns the lanes, their partitions in memory, and the heap that merges them. One thread.
 *
 *     process 1   cut 0 --- cut 1 --- cut 2          one lane, ranges go on over the cuts
 *                  evidence ~~~~~~~~~~~~             a lane of its own, beside them
 *     process 2        cut 0 ------- cut 1           one lane
 *     ---------------------------------------> time: a partition is read when its time has come
 */
#include <stdlib.h>
#include <string.h>

#include "trace_int.h"

#define RETIRED_BYTES (1u << 20) /* of partitions that a batch keeps because of their texts */
#define KINDS         (((1u << (SKEIN_ROW_END_ONLY + 1)) - 1) & ~1u)
#define KINDS_DEFAULT (KINDS & ~(1u << SKEIN_ROW_BEGIN))

/* The rows are the reader's events. */
_Static_assert((int)SKEIN_ROW_BEGIN == (int)TRACE_BEGIN &&
                   (int)SKEIN_ROW_REGION == (int)TRACE_REGION &&
                   (int)SKEIN_ROW_INSTANT == (int)TRACE_INSTANT &&
                   (int)SKEIN_ROW_COUNTER == (int)TRACE_COUNTER &&
                   (int)SKEIN_ROW_LOG == (int)TRACE_LOG && (int)SKEIN_ROW_OPEN == (int)TRACE_OPEN &&
                   (int)SKEIN_ROW_LOSS == (int)TRACE_LOSS &&
                   (int)SKEIN_ROW_END_ONLY == (int)TRACE_END_ONLY,
               "kinds of rows are those of the partition reader");

/* ---- partitions that are done ---- */

static void loaded_retire(struct skein_cursor *cursor, struct trace_loaded **at)
{
    struct trace_loaded *loaded = *at;
    *at = NULL;
    if (loaded == NULL)
        return;
    cursor->fixed_up += partition_reader_fixed_up(loaded->reader);
    cursor->unordered += partition_reader_unordered(loaded->reader);
    if (!loaded->in_batch) {
        loaded_free(&loaded);
        return;
    }
    loaded->next = cursor->retired;
    cursor->retired = loaded;
    cursor->retired_bytes += loaded->bytes.len;
}

static void retired_free(struct skein_cursor *cursor)
{
    while (cursor->retired != NULL) {
        struct trace_loaded *next = cursor->retired->next;
        loaded_free(&cursor->retired);
        cursor->retired = next;
    }
    cursor->retired_bytes = 0;
}

/* ---- a lane ---- */

/* Goes on to the next partition that can be read. 1; 0: there is none, and the one at hand stays;
 * SKEIN_NO_MEMORY. */
static int lane_step(struct skein_cursor *cursor, struct trace_lane *lane, bool whole)
{
    while (lane->next < lane->end) {
        size_t number = lane->next++;
        struct trace_part *part = cursor->trace->parts[number];
        char error[SKEIN_TRACE_ERROR_BYTES];
        struct trace_loaded *loaded;
        int status = loaded_new(cursor->trace, part, &loaded, error);
        bool broken = status != SKEIN_OK && status != SKEIN_NO_MEMORY;
        if (broken)
            status = gap_broken(cursor, number, part->facts.from_ns, error);
        if (status != SKEIN_OK)
            return status;
        if (broken)
            continue;
        if (whole && lane->now != NULL && trace_part_follows(cursor->trace, lane->now->part, part))
            partition_reader_continue(loaded->reader, lane->now->reader);
        loaded_retire(cursor, &lane->now);
        lane->now = loaded;
        lane->number = number;
        return 1;
    }
    return 0;
}

static void lane_time(struct trace_lane *lane)
{
    const struct trace_event *event = &lane->event;
    uint64_t ns = event->kind == TRACE_OPEN
                      ? event->time_ns + event->dur_ns
                      : partition_reader_time_ns(lane->now->reader, event->ticks);
    lane->ns = ns > lane->ns ? ns : lane->ns;
}

/* The lane's next event: 1; 0 at its end; SKEIN_NO_MEMORY. What is in progress at a cut comes again
 * with its end, or is in progress still: it is told behind the last cut alone. */
static int lane_read(struct skein_cursor *cursor, struct trace_lane *lane)
{
    lane->waits = false;
    for (;;) {
        int got = lane->now != NULL ? partition_reader_next(lane->now->reader, &lane->event) : 0;
        if (got == SKEIN_NO_MEMORY)
            return got;
        if (got < 0 && gap_broken(cursor, lane->number, lane->ns,
                                  partition_reader_error(lane->now->reader)) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
        if (got > 0 && (lane->event.kind != TRACE_OPEN || lane->opens))
            break;
        int step = lane_step(cursor, lane, got >= 0);
        if (step < 0)
            return step;
        if (step > 0)
            continue;
        if (got <= 0) {
            loaded_retire(cursor, &lane->now);
            return 0;
        }
        lane->opens = true; /* the event at hand is the first of them */
        break;
    }
    lane_time(lane);
    return 1;
}

/* ---- the merge ---- */

static bool is_earlier(const struct trace_lane *a, const struct trace_lane *b)
{
    return a->ns != b->ns ? a->ns < b->ns : a < b;
}

/* Puts the lane at i of the heap where it belongs, further down. */
static void heap_sink(struct skein_cursor *cursor, size_t i)
{
    struct trace_lane **heap = cursor->heap;
    for (;;) {
        size_t least = i, left = 2 * i + 1;
        for (size_t child = left; child < left + 2 && child < cursor->heap_count; child++)
            if (is_earlier(heap[child], heap[least]))
                least = child;
        if (least == i)
            return;
        struct trace_lane *lane = heap[i];
        heap[i] = heap[least];
        heap[least] = lane;
        i = least;
    }
}

/* Fills the heap: with the lanes of all processes, or of the next one. */
static void heap_fill(struct skein_cursor *cursor)
{
    const struct skein_trace *trace = cursor->trace;
    cursor->heap_count = 0;
    while (cursor->lane_next < cursor->lane_count) {
        struct trace_lane *lane = &cursor->lanes[cursor->lane_next];
        uint32_t process = trace->parts[lane->next]->facts.process;
        if (cursor->query.by_process && cursor->heap_count > 0 && process != cursor->process)
            break;
        cursor->process = process;
        cursor->heap[cursor->heap_count++] = lane;
        cursor->lane_next++;
    }
    for (size_t i = cursor->heap_count; i-- > 0;)
        heap_sink(cursor, i);
}

/* Reads on in the first lane of the heap. SKEIN_OK, SKEIN_NO_MEMORY. */
static int heap_advance(struct skein_cursor *cursor)
{
    int got = lane_read(cursor, cursor->heap[0]);
    if (got < 0)
        return got;
    if (got == 0)
        cursor->heap[0] = cursor->heap[--cursor->heap_count];
    heap_sink(cursor, 0);
    return SKEIN_OK;
}

/* The lane whose event comes next; NULL: none. */
static int lane_first(struct skein_cursor *cursor, struct trace_lane **lane)
{
    int status = SKEIN_OK;
    while (status == SKEIN_OK) {
        *lane = NULL;
        if (cursor->heap_count == 0)
            heap_fill(cursor);
        if (cursor->heap_count == 0)
            return SKEIN_OK;
        *lane = cursor->heap[0];
        if (!(*lane)->waits)
            return SKEIN_OK;
        status = heap_advance(cursor);
    }
    return status;
}

/* ---- life ---- */

/* Evidence lies beside the cuts of its process: each partition of it is a lane. */
static void lanes_list(struct skein_cursor *cursor)
{
    struct trace_part **parts = cursor->trace->parts;
    size_t count = cursor->trace->part_count;
    for (size_t i = 0, end; i < count; i = end) {
        const struct skein_partition *facts = &parts[i]->facts;
        end = i + 1;
        while (!facts->evidence && end < count && parts[end]->facts.process == facts->process)
            end++;
        if (!cursor->process_wanted[facts->process] ||
            (facts->evidence && cursor->query.no_evidence))
            continue;
        cursor->lanes[cursor->lane_count++] =
            (struct trace_lane){.next = i, .end = end, .ns = facts->from_ns, .waits = true};
    }
}

static bool query_is_sound(const struct skein_query *q)
{
    return q->size == sizeof *q && (q->columns & ~SKEIN_COLUMN_ALL) == 0 &&
           (q->kinds & ~KINDS) == 0 && (q->to_ns == 0 || q->from_ns <= q->to_ns);
}

static int cursor_fill(struct skein_cursor *cursor)
{
    const struct skein_trace *trace = cursor->trace;
    const struct skein_query *q = &cursor->query;
    cursor->process_wanted = calloc(trace->process_count + 1, sizeof *cursor->process_wanted);
    cursor->lanes = calloc(trace->part_count + 1, sizeof *cursor->lanes);
    cursor->heap = calloc(trace->part_count + 1, sizeof *cursor->heap);
    if (cursor->process_wanted == NULL || cursor->lanes == NULL || cursor->heap == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < trace->process_count; i++)
        cursor->process_wanted[i] =
            q->process == NULL || q->process(q->context, trace->processes[i]);
    lanes_list(cursor);
    int status = gaps_known(cursor);
    return status == SKEIN_OK ? rows_new(cursor) : status;
}

int skein_cursor_new(struct skein_trace *trace, const struct skein_query *query,
                     struct skein_cursor **out)
{
    *out = NULL;
    if (!query_is_sound(query))
        return SKEIN_INVALID;
    struct skein_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL)
        return SKEIN_NO_MEMORY;
    cursor->trace = trace;
    cursor->query = *query;
    if (query->columns == 0)
        cursor->query.columns = SKEIN_COLUMN_ALL;
    if (query->kinds == 0)
        cursor->query.kinds = KINDS_DEFAULT;
    trace->cursors++;
    int status = cursor_fill(cursor);
    if (status != SKEIN_OK)
        skein_cursor_free(&cursor);
    *out = cursor;
    return status;
}

void skein_cursor_free(struct skein_cursor **cursor)
{
    struct skein_cursor *c = *cursor;
    *cursor = NULL;
    if (c == NULL)
        return;
    c->trace->cursors--;
    for (size_t i = 0; i < c->lane_count; i++)
        loaded_free(&c->lanes[i].now);
    retired_free(c);
    gaps_free(c);
    rows_free(&c->rows);
    free(c->lanes);
    free(c->heap);
    free(c->process_wanted);
    free(c);
}

/* ---- rows ---- */

/* Nothing of a partition is in the batch any more. */
static void batch_clear(struct skein_cursor *cursor)
{
    retired_free(cursor);
    rows_clear(cursor->rows);
    for (size_t i = 0; i < cursor->heap_count; i++)
        if (cursor->heap[i]->now != NULL)
            cursor->heap[i]->now->in_batch = false;
}

static int batch_fill(struct skein_cursor *cursor)
{
    while (!rows_full(cursor->rows) && cursor->retired_bytes < RETIRED_BYTES) {
        struct trace_lane *lane;
        int status = lane_first(cursor, &lane);
        if (status == SKEIN_OK && lane == NULL)
            break;
        if (status == SKEIN_OK)
            status = rows_put(cursor, lane->now, &lane->event);
        if (status == SKEIN_OK)
            status = heap_advance(cursor);
        if (status != SKEIN_OK)
            return status;
    }
    return SKEIN_OK;
}

int skein_cursor_next(struct skein_cursor *cursor, struct skein_batch *batch)
{
    *batch = (struct skein_batch){0};
    batch_clear(cursor);
    if (cursor->status == SKEIN_OK)
        cursor->status = batch_fill(cursor);
    if (cursor->status != SKEIN_OK)
        return cursor->status;
    rows_give(cursor, batch);
    return batch->count > 0;
}

/* ---- what was counted ---- */

uint64_t skein_cursor_fixed_up(const struct skein_cursor *cursor)
{
    uint64_t sum = cursor->fixed_up;
    for (size_t i = 0; i < cursor->heap_count; i++)
        if (cursor->heap[i]->now != NULL)
            sum += partition_reader_fixed_up(cursor->heap[i]->now->reader);
    return sum;
}

uint64_t skein_cursor_unordered(const struct skein_cursor *cursor)
{
    uint64_t sum = cursor->unordered;
    for (size_t i = 0; i < cursor->heap_count; i++)
        if (cursor->heap[i]->now != NULL)
            sum += partition_reader_unordered(cursor->heap[i]->now->reader);
    return sum;
}

const char *skein_loss_text(uint8_t reason)
{
    return partition_loss_text(reason);
}
