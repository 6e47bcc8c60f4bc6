/* SPDX-License-Identifier: Apache-2.0
 *
 * Records of a partition as rows, many at once: what partition_reader_next gives as events, without
 * one. Both share the state of the reader, so that either may go on where the other stopped. Owns the
 * rows that threads have taken ahead, and those that come next. One thread.
 *
 *     thread 1   given | r r r r r r | not looked at yet       rows that were taken, from ahead.at on
 *     thread 2   given | r r r | x                             x: a record that is not simple
 *     thread 3   given | r r r r r r r r | ...
 *                              ^ up to here all of them are merged at once
 */
#include <stdlib.h>

#include "partition_blocks_int.h"
#include "partition_reader_int.h"
#include "trace_rows.h"

enum { AHEAD_ROWS_LEAST = 8, AHEAD_ROWS_ALL = 65536, SORT_FEW = 16 };

void partition_reader_project(struct partition_reader *r, const struct row_run *run, bool args,
                              const uint8_t *thread_shown)
{
    bool sequences = false;
    for (size_t i = 0; i < r->type_count; i++)
        sequences = sequences || r->type_facts[i].sequences > 0;
    r->no_args = !args;
    r->run = run;
    /* the order of all threads may depend on each one's sequences */
    r->thread_shown = sequences ? NULL : thread_shown;
}

uint64_t partition_reader_passed(const struct partition_reader *r)
{
    uint64_t last = r->passed > r->now ? r->passed : r->now;
    return last > 0 ? tick_scale_ns(&r->scale, last) : 0;
}

static uint64_t next_loss(const struct partition_reader *r)
{
    return r->loss_at < r->loss_count ? r->losses[r->loss_at].from_ticks : UINT64_MAX;
}

/* ---- taking ---- */

/* Room for rows of the lane, made once. false: no memory. */
static bool ahead_room(struct partition_reader *r, struct lane *lane)
{
    struct lane_ahead *ahead = &lane->ahead;
    size_t cap = AHEAD_ROWS_ALL / r->thread_count;
    if (ahead->cap > 0)
        return true;
    cap = cap < AHEAD_ROWS ? cap : AHEAD_ROWS;
    ahead->rows = malloc(cap * sizeof *ahead->rows);
    if (!r->no_args)
        ahead->args = malloc(cap * SKEIN_ARGS_MAX * sizeof *ahead->args);
    if (ahead->rows == NULL || (!r->no_args && ahead->args == NULL)) {
        reader_no_memory(r, "rows of a thread");
        return false;
    }
    ahead->run = r->run;
    ahead->cap = (uint32_t)cap;
    return true;
}

/* With many threads, or when nearly as many ranges are open as are kept, the order of begins matters:
 * READER_RANGES_MAX counts all threads. */
static bool may_take(const struct partition_reader *r, const struct lane *lane)
{
    return lane_is_simple(r, lane) && r->thread_count <= AHEAD_ROWS_ALL / AHEAD_ROWS_LEAST &&
           r->frames <= READER_RANGES_MAX / 2;
}

/* The first lane takes more, or goes on to its next head. false: partition_reader_next must go on, or
 * there is a failure. */
static bool first_go_on(struct partition_reader *r)
{
    struct lane *lane = &r->lanes[r->heap[0]];
    r->fixed_up += lane->raised;
    lane->raised = 0;
    if (!lane->ready) { /* what was taken of it is all given */
        r->now = lane->ticks > r->now ? lane->ticks : r->now;
        return merge_go_on(r, lane) == SKEIN_OK;
    }
    if (!may_take(r, lane) || !ahead_room(r, lane))
        return false;
    merge_take(r);
    lane_take(r, lane, r->run);
    lane->key = lane->ahead.count > 0 ? lane->ahead.rows[0].ticks : lane->ticks;
    merge_put(r, lane);
    return r->status == SKEIN_OK;
}

/* ---- merging ---- */

/* Up to where rows may be given: of this lane's place, itself included. */
struct bound {
    uint64_t ticks;
    uint32_t lane;
};

static bool is_behind(uint64_t ticks, uint32_t lane, const struct bound *bound)
{
    return ticks != bound->ticks ? ticks > bound->ticks : lane > bound->lane;
}

static void bound_lower(struct bound *bound, uint64_t ticks, uint32_t lane)
{
    if (!is_behind(ticks, lane, bound))
        *bound = (struct bound){ticks, lane};
}

/* By number; few by insertion, many by a bit for each lane. */
static void lanes_sort(struct partition_reader *r, size_t count)
{
    uint32_t *lanes = r->gathered;
    for (size_t i = 1; count <= SORT_FEW && i < count; i++) {
        uint32_t number = lanes[i];
        size_t at = i;
        for (; at > 0 && lanes[at - 1] > number; at--)
            lanes[at] = lanes[at - 1];
        lanes[at] = number;
    }
    if (count <= SORT_FEW)
        return;
    for (size_t i = 0; i < count; i++)
        r->marks[lanes[i] / 64] |= UINT64_C(1) << lanes[i] % 64;
    size_t n = 0;
    for (size_t word = 0; n < count; word++)
        for (uint64_t *bits = &r->marks[word]; *bits != 0; *bits &= *bits - 1)
            lanes[n++] = (uint32_t)(word * 64 + (unsigned)__builtin_ctzll(*bits));
}

/* Takes lanes with rows out of the heap, as long as a row of them comes before what is not taken yet.
 * By number; their count. */
static size_t lanes_gather(struct partition_reader *r, struct bound *bound)
{
    size_t count = 0;
    while (r->heap_count > 0) {
        uint32_t number = r->heap[0];
        struct lane *lane = &r->lanes[number];
        if (lane->blocked || is_behind(lane->key, number, bound))
            break;
        if (lane->ahead.at == lane->ahead.count) {
            bound_lower(bound, lane->key, number);
            break;
        }
        bound_lower(bound, lane->ticks, number);
        merge_take(r);
        r->gathered[count++] = number;
    }
    lanes_sort(r, count);
    return count;
}

/* Rows of a lane up to the bound become a run. */
static void run_add(struct partition_reader *r, struct lane *lane, const struct bound *bound)
{
    struct ahead_runs *merged = &r->merged;
    struct lane_ahead *ahead = &lane->ahead;
    size_t n = merged->count > 0 ? merged->ends[merged->count - 1] : 0;
    uint64_t end = bound->ticks + ((uint32_t)(lane - r->lanes) <= bound->lane);
    for (; ahead->at < ahead->count; ahead->at++) {
        const struct ahead_row *row = &ahead->rows[ahead->at];
        if (row->ticks >= end)
            break;
        merged->items[n++] = (struct ahead_item){row->ticks, row};
        r->fixed_up += row->raised;
    }
    merged->ends[merged->count++] = (uint32_t)n;
    lane->key = ahead->at < ahead->count ? ahead->rows[ahead->at].ticks : lane->ticks;
    merge_put(r, lane);
}

/* All rows that can be given are merged. false: no memory. */
static bool rows_gather(struct partition_reader *r)
{
    struct ahead_runs *merged = &r->merged;
    struct bound bound = {next_loss(r) - 1, UINT32_MAX};
    size_t count = lanes_gather(r, &bound), rows = 0;
    for (size_t i = 0; i < count; i++)
        rows += r->lanes[r->gathered[i]].ahead.count - r->lanes[r->gathered[i]].ahead.at;
    if (!ahead_runs_begin(merged, count, rows)) {
        reader_no_memory(r, "merged rows");
        return false;
    }
    for (size_t i = 0; i < count; i++)
        run_add(r, &r->lanes[r->gathered[i]], &bound);
    ahead_runs_merge(merged);
    uint64_t last = merged->items[merged->ends[0] - 1].at;
    r->now = last > r->now ? last : r->now;
    for (size_t i = 0; i < merged->ends[0]; i++)
        merged->items[i].at = merged->items[i].row->made_ns;
    return true;
}

/* ---- what comes next ---- */

int partition_reader_peek(struct partition_reader *r, uint64_t *ns, struct ahead_item **items,
                          size_t *count)
{
    int status = reader_ready(r);
    if (status != SKEIN_OK)
        return status;
    if (r->gathered == NULL)
        r->gathered = calloc(r->thread_count + 1, sizeof *r->gathered);
    if (r->marks == NULL)
        r->marks = calloc(r->thread_count / 64 + 1, sizeof *r->marks);
    if (r->gathered == NULL || r->marks == NULL)
        return reader_no_memory(r, "rows");
    while (r->heap_count > 0) {
        const struct lane *lane = &r->lanes[r->heap[0]];
        if (lane->blocked || lane->key >= next_loss(r))
            break;
        if (lane->ahead.at == lane->ahead.count) {
            if (!first_go_on(r))
                break;
        } else if (rows_gather(r)) {
            *items = r->merged.items;
            *count = r->merged.ends[0];
            return 2;
        } else {
            break;
        }
    }
    if (r->status != SKEIN_OK)
        return r->status;
    const struct lane *lane = r->heap_count > 0 ? &r->lanes[r->heap[0]] : NULL;
    bool loss = r->loss_at < r->loss_count && (lane == NULL || next_loss(r) <= lane->ticks);
    if (lane == NULL && !loss)
        return 0;
    uint64_t ticks = loss ? next_loss(r) : lane->ticks > r->now ? lane->ticks : r->now;
    *ns = tick_scale_ns(&r->scale, ticks);
    return 1;
}
