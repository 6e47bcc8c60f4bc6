/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of all processes in one order, many at once: of each lane of the walk (trace_merge.c) those
 * that come before anything that is not known yet. They are merged, and given batch by batch; until
 * then no lane goes on. One thread.
 */
#include "trace_int.h"

/* Takes lanes with rows out of the heap, as long as a row of them comes in front of what is not known
 * yet: of what is behind the last row of each. By number. */
static void lanes_gather(struct trace_merge *merge, uint64_t *ns, const struct trace_lane **of)
{
    struct trace_lane **gathered = merge->gathered;
    size_t count = 0;
    *of = NULL; /* no bound */
    while (merge->heap_count > 0) {
        struct trace_lane *lane = merge->heap[0];
        if (*of != NULL && (lane->ns != *ns ? lane->ns > *ns : lane > *of))
            break;
        uint64_t last = lane->items != NULL ? lane->items[lane->item_count - 1].at : lane->ns;
        if (*of == NULL || (last != *ns ? last < *ns : lane < *of)) {
            *ns = last;
            *of = lane;
        }
        if (lane->items == NULL)
            break;
        lane_take_first(merge);
        size_t at = count++;
        for (; at > 0 && gathered[at - 1] > lane; at--)
            gathered[at] = gathered[at - 1];
        gathered[at] = lane;
    }
    merge->gathered_count = count;
}

/* How many of the lane's rows are not behind the bound. */
static size_t rows_in_front(const struct trace_lane *lane, uint64_t ns, const struct trace_lane *of)
{
    size_t low = 0, high = lane->item_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t at = lane->items[middle].at;
        if (at != ns ? at < ns : lane <= of)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The lane's first rows are given; it waits for its next ones, or has some left. */
static void lane_give(struct trace_merge *merge, struct trace_lane *lane, size_t count)
{
    lane->ns = count > 0 ? lane->items[count - 1].at : lane->ns;
    lane->items += count;
    lane->item_count -= count;
    if (lane->item_count > 0) {
        lane->ns = lane->items[0].at;
    } else {
        lane->items = NULL;
        lane->peeked = false;
        lane->waits = true;
    }
    lane_put(merge, lane);
}

int merge_gather(struct trace_merge *merge)
{
    uint64_t ns = 0;
    const struct trace_lane *of;
    struct ahead_runs *runs = &merge->runs;
    lanes_gather(merge, &ns, &of);
    size_t count = merge->gathered_count, rows = 0;
    merge->out_at = 0;
    if (count == 1) {
        struct trace_lane *lane = merge->gathered[0];
        merge->out = lane->items;
        merge->out_count = rows_in_front(lane, ns, of);
        lane_give(merge, lane, merge->out_count);
        return SKEIN_OK;
    }
    for (size_t i = 0; i < count; i++)
        rows += merge->gathered[i]->item_count;
    if (!ahead_runs_begin(runs, count, rows))
        return SKEIN_NO_MEMORY;
    rows = 0;
    for (size_t i = 0; i < count; i++) {
        struct trace_lane *lane = merge->gathered[i];
        size_t n = rows_in_front(lane, ns, of);
        for (size_t k = 0; k < n; k++)
            runs->items[rows++] = lane->items[k];
        runs->ends[runs->count++] = (uint32_t)rows;
        lane_give(merge, lane, n);
    }
    ahead_runs_merge(runs);
    merge->out = runs->items;
    merge->out_count = rows;
    return SKEIN_OK;
}

bool merge_rows(struct trace_merge *merge, struct trace_rows *rows)
{
    size_t n = merge->out_count - merge->out_at;
    size_t room = SKEIN_BATCH_ROWS - rows->count;
    if (n == 0)
        return false;
    n = n < room ? n : room;
    rows_put_ahead(rows, merge->out + merge->out_at, (uint32_t)n);
    merge->out_at += n;
    for (size_t i = 0; i < merge->gathered_count; i++) /* their texts are in the batch */
        merge->gathered[i]->now->in_batch = true;
    return true;
}
