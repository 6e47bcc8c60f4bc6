/* SPDX-License-Identifier: Apache-2.0
 *
 * Which blocks of a partition a query's time needs: those whose reach (docs/format.md F-42) touches it,
 * as in a slice (F-39). The others are not unpacked; the reader goes on as over the holes of a slice
 * (F-41). Nothing that is left out touches that time, nor does what a reader then takes to be clipped.
 * Partitions are read whole whose ranges come from the one before, or go on in the next: which range
 * a thread carries depends on all of its batches. One thread.
 */
#include <string.h>

#include "partition_blocks_int.h"
#include "partition_reader_int.h"
#include "trace_rows.h"

#define COMPARISONS_MAX (1u << 20)

/* Whether a record with sequence numbers is in the partition: then the order of all may hang on it. */
static bool has_sequences(const struct partition_reader *r)
{
    const struct partition_footer *f = &r->footer;
    if (r->type_count * f->type_count > COMPARISONS_MAX)
        return true;
    for (size_t i = 0; i < r->type_count; i++)
        for (size_t k = 0; r->type_facts[i].sequences > 0 && k < f->type_count; k++)
            if (f->types[k].events > 0 && strcmp(f->types[k].name, r->types[i].name) == 0)
                return true;
    return false;
}

bool partition_reader_carries(const struct partition_reader *r)
{
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->lanes[i].depth > 0 || r->lanes[i].deeper > 0)
            return true;
    return false;
}

/* What was carried here ends in a block whose reach may not tell of it. */
void blocks_choose(struct partition_reader *r)
{
    const struct row_run *run = r->run;
    uint32_t holes = 0;
    if (run == NULL || !run->has_window || !r->footer.reaches || r->footer.slice ||
        r->footer.open_range_count > 0 || has_sequences(r) || partition_reader_carries(r))
        return;
    for (size_t i = 0; i < r->block_count; i++) {
        const struct partition_block *told = &r->footer.blocks[i];
        bool skipped = told->until_ticks != UINT64_MAX &&
                       (tick_scale_ns(&r->scale, told->since_ticks) > run->to_ns ||
                        tick_scale_ns(&r->scale, told->until_ticks) < run->from_ns);
        if (skipped && told->to_ticks > r->passed)
            r->passed = told->to_ticks;
        holes += skipped && (i == 0 || !r->blocks[i - 1].skipped);
        r->blocks[i].skipped = skipped;
        r->blocks[i].hole = holes;
    }
    r->skips = holes > 0;
}
