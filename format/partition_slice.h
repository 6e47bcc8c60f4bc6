/* SPDX-License-Identifier: Apache-2.0
 *
 * A time slice of one partition (docs/format.md, section 7), as a smaller partition: the blocks
 * that tell of something in a window, or of something that lasts into it, and the tables they need.
 * Blocks and tables are copied as they are stored; head, LOSS, FOOTER and tail are made. A plan
 * says where each byte comes from, so that any range of the slice can be given without making the
 * rest.
 *
 * Pure functions over bytes that a callback reads; every byte is hostile. The same partition and
 * window give the same slice, always.
 */
#ifndef PARTITION_SLICE_H
#define PARTITION_SLICE_H

#include "buf.h"
#include "partition.h"

/* The partition: `read` fills exactly n bytes from offset, offset + n <= bytes; SKEIN_OK or a
 * status that the functions below give back. */
struct partition_source {
    int (*read)(void *context, uint64_t offset, void *out, size_t n);
    void *context;
    uint64_t bytes;
};

/* Consecutive bytes of the slice, from the partition or from what was made. */
struct partition_slice_run {
    uint64_t at, from, bytes;
    bool made;
};

struct partition_slice {
    uint64_t bytes; /* of the slice; 0: nothing of the partition lies in the window */
    bool cut;       /* false: all of it lies in the window, and the slice is the partition */
    struct partition_slice_run *runs;
    size_t run_count;
    struct buf made;
};

/* Plans the slice for a window in the collector's time, both ends included. Reads head, INFO,
 * footer and the heads of the sections behind the last block, and nothing else. SKEIN_OK;
 * SKEIN_CORRUPT (the partition cannot be sliced: its footer or its layout is not as F-11 and F-34
 * say); SKEIN_NO_MEMORY; what `read` gives. On failure *slice is zero. */
int partition_slice_plan(const struct partition_source *source, uint64_t from_ns, uint64_t to_ns,
                         struct partition_slice *slice);
void partition_slice_fini(struct partition_slice *slice);

/* Fills n bytes of the planned slice from offset; offset + n <= slice->bytes. SKEIN_OK or what
 * `read` gives. */
int partition_slice_read(const struct partition_slice *slice, const struct partition_source *source,
                         uint64_t offset, void *out, size_t n);

/* The footer alone, of the partition's last bytes. SKEIN_OK: the caller frees it; SKEIN_CORRUPT,
 * SKEIN_VERSION; SKEIN_NO_MEMORY; what `read` gives. On failure *footer is zero. footer_at: where its
 * section begins; NULL: not asked. */
int partition_footer_read(const struct partition_source *source, struct partition_footer *footer,
                          uint64_t *footer_at);

/* Turns `count` ticks into UTC by the collector's clock (F-17), from head and INFO alone. SKEIN_OK;
 * SKEIN_CORRUPT; SKEIN_NO_MEMORY; what `read` gives: nothing is turned. */
int partition_times(const struct partition_source *source, uint64_t *ticks, size_t count);

/* What to add to the host's time to get the collector's (F-17), from head and INFO alone. SKEIN_OK;
 * SKEIN_CORRUPT; SKEIN_NO_MEMORY; what `read` gives. */
int partition_clock_offset(const struct partition_source *source, int64_t *offset_ns);

/* The same, and how ticks become the collector's time (scale, of partition_int.h; NULL: not asked
 * for). */
struct tick_scale;
int partition_clock(const struct partition_source *source, int64_t *offset_ns,
                    struct tick_scale *scale);

#endif
