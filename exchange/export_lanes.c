/* SPDX-License-Identifier: Apache-2.0
 *
 * Where a form draws regions inside each other, by their times: what crosses another region of its
 * thread is on a thread that is made up, below that one. Owns what is known of each thread's time, and
 * the numbers of threads that are made up. One thread.
 */
#include <stdlib.h>

#include "array.h"
#include "export_int.h"

struct lane_key {
    uint32_t process, thread, lane;
};

void export_lanes_fini(struct export_lanes *lanes)
{
    for (size_t i = 0; i < lanes->thread_cap; i++)
        span_lanes_fini(&lanes->threads[i]);
    for (size_t i = 0; i < lanes->process_cap; i++)
        span_lanes_fini(&lanes->processes[i]);
    free(lanes->threads);
    free(lanes->processes);
    intern_table_fini(&lanes->made);
}

static struct span_lanes *lanes_of(struct export_lanes *lanes, const struct export_row *row)
{
    if (row->thread == SKEIN_NONE)
        return array_grow_zero(lanes->processes, (size_t)row->process + 1, &lanes->process_cap)
                   ? &lanes->processes[row->process]
                   : NULL;
    return array_grow_zero(lanes->threads, (size_t)row->thread + 1, &lanes->thread_cap)
               ? &lanes->threads[row->thread]
               : NULL;
}

int export_lane_take(struct export_run *x, struct export_row *row)
{
    if (row->kind != SKEIN_ROW_REGION && row->kind != SKEIN_ROW_OPEN)
        return SKEIN_OK;
    struct span_lanes *lanes = lanes_of(&x->lanes, row);
    int64_t lane =
        lanes != NULL ? span_lanes_put(lanes, &row->time_ns, &row->made_ns) : SKEIN_NO_MEMORY;
    if (lane < 0)
        return (int)lane;
    row->lane = (uint32_t)lane;
    row->dur_ns = row->made_ns - row->time_ns;
    return SKEIN_OK;
}

int export_lane_tid(struct export_run *x, const struct export_row *row, uint32_t *tid, bool *fresh)
{
    const struct lane_key key = {row->process, row->thread, row->lane};
    int64_t at = intern_table_put(&x->lanes.made, &key, sizeof key, fresh);
    if (at < 0)
        return (int)at;
    *tid = EXPORT_LANES + (uint32_t)at;
    return SKEIN_OK;
}

bool export_lane_made(const struct export_run *x, size_t i, struct export_lane *lane)
{
    struct lane_key key;
    if (i >= x->lanes.made.count)
        return false;
    memcpy(&key, intern_table_bytes(&x->lanes.made, i), sizeof key);
    *lane = (struct export_lane){key.process, key.thread, key.lane, EXPORT_LANES + (uint32_t)i};
    return true;
}

void export_lane_name(struct export_run *x, const struct export_lane *lane, struct buf *out)
{
    if (lane->thread == SKEIN_NONE)
        buf_printf(out, "process");
    else
        export_thread_name(out, skein_trace_thread(x->trace, lane->thread));
    buf_printf(out, ": crossing %u", lane->lane);
}
