/* SPDX-License-Identifier: Apache-2.0
 *
 * What goes from the index, and from the store with it: candidates of a deletion, tombstones, segments
 * that are empty or sparse. Any thread.
 */
#ifndef INDEX_DELETE_H
#define INDEX_DELETE_H

#include "index.h"

/* ---- deleting ---- (index_delete.c)
 *
 * A row names the capture that its partition was sent for. It does not say which captures have the
 * partition: their ranges do, and those are not the index's. */

/* One candidate of a deletion. */
struct index_entry {
    struct partition_key key;
    struct capture_id sent_for; /* zero: none */
    uint64_t bytes, to_ns;
};
/* Partitions that were sent for the capture: at most `room` behind *after (0: from the first),
 * which moves along. Waits for no commit, as index_range. Returns how many, or a status. */
int64_t index_sent_for(struct index *index, const struct capture_id *capture, uint64_t *after,
                       struct index_entry *entries, size_t room);
/* The same for partitions that were received before before_ns, the oldest first. *after becomes 0
 * at the end. */
int64_t index_oldest(struct index *index, uint64_t before_ns, uint64_t *after,
                     struct index_entry *entries, size_t room);

/* Applies the tombstones that the store made durable just now. One of a partition (capture zero)
 * deletes its row; one of a capture is remembered. All or none. SKEIN_OK, SKEIN_IO, SKEIN_FULL. */
int index_tombstones_add(struct index *index, const struct store_record *records, size_t count);

/* The tombstones in a segment that are still needed (index_delete.c says which): at most `room`.
 * Returns how many, or a status. */
int64_t index_tombstones_in(struct index *index, uint64_t segment, struct store_record *records,
                            size_t room);

/* Closed segments that can go: without a row, and with few tombstones that are still needed. To
 * remove one: append those tombstones again (index_tombstones_in), add them, store_remove_segment,
 * index_segment_removed. *count: room, then how many. */
int index_empty_segments(struct index *index, uint64_t *segments, size_t *count);
int index_segment_removed(struct index *index, uint64_t segment);

/* The closed segment with the smallest live part, if that is less than `percent`. 1, 0 (none) or a
 * status. */
int index_sparse_segment(struct index *index, unsigned percent, uint64_t *segment);
/* Rows of the partitions in a segment, without texts: at most `room`. Returns how many, or a
 * status. */
int64_t index_segment_rows(struct index *index, uint64_t segment, struct partition_row *rows,
                           size_t room);
/* Gives rows the new places of their partitions, which were appended again, durably. All or
 * none. */
int index_move(struct index *index, const struct partition_row *rows, size_t count);
/* Notes that the dead part of the segment cannot be given back: it is not sparse until more
 * dies. */
int index_segment_keep(struct index *index, uint64_t segment);

#endif
