/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletes partitions and gives the disk back. Runs on the ingest thread, only while no group is on
 * its way: then this thread may append to the store, and the index has all of the store. The order
 * of the steps is the guarantee:
 *
 *   1 append tombstones of some partitions, one sync ┐ again for each batch (batch_delete)
 *   2 delete their rows from the index               ┘
 *   3 append the capture's tombstone, one sync         ingest_delete_now
 *   4 remove segments that hold nothing any more       ingest_reclaim
 *
 * Candidates are the partitions in the capture's ranges and those that were sent for it. One of
 * them goes if no range of another capture names it. That is asked just before its batch's step 1.
 *
 * What a crash leaves: after 1 or 3, the next open makes the index follow the tombstones. Before 3,
 * part of the capture is gone: deleting it again deletes the rest.
 *
 * Step 4 never removes a segment with a row. Tombstones in it that are still needed are appended
 * again first.
 *
 * Compaction frees a segment that is mostly dead, one bounded step at a time:
 *
 *   1 append some of its live partitions again, one sync ┐ until the segment
 *   2 let their rows say the new place                   ┘ has no row
 *   3 remove the segment as above
 *
 * After a crash between 1 and 2 both copies are there. The later one is the row's (S-15), also once
 * the earlier one is gone. A damaged partition is not copied: its row and its segment stay.
 */
#include <stdlib.h>

#include "index_delete.h"
#include "ingest_commit.h"
#include "ingest_int.h"
#include "metrics.h"

#define DELETE_BATCH     1024 /* partitions in one sync and transaction */
#define DELETE_BATCH_MIN 64   /* while the disk is all but full: the index then logs less at once */
#define DELETE_RANGES    64   /* of a capture, asked for at once */
#define STRAYS_LOOKED_AT 4096 /* rows in one call: commits wait meanwhile */
#define COMPACT_ROWS     256
#define COMPACT_BYTES    (UINT64_C(4) << 20) /* in one step: commits wait only a moment */
#define COMPACT_STEP_NS  UINT64_C(20000000)
#define COMPACT_AGAIN_NS UINT64_C(1000000000) /* when there was nothing to do, or a step failed */
#define COMPACT_URGENT   95 /* percent: with more alive, copying costs twenty times what it frees */

/* Appends tombstones, durably, and deletes the rows they name. */
static int tombstones_put(struct ingest *in, const struct store_record *records, size_t count)
{
    size_t done;
    int status = store_append_tombstones(in->store, records, count, &done);
    int followed = index_tombstones_add(in->index, records, done);
    in->behind |= followed < 0;
    return status < 0 ? status : followed;
}

static int segment_tombstones_keep(struct ingest *in, uint64_t segment)
{
    struct store_record *records = calloc(DELETE_BATCH, sizeof *records);
    if (records == NULL)
        return SKEIN_NO_MEMORY;
    int64_t n;
    do { /* index_tombstones_in no longer gives those that were just appended elsewhere */
        n = index_tombstones_in(in->index, segment, records, DELETE_BATCH);
        if (n > 0) {
            int status = tombstones_put(in, records, (size_t)n);
            if (status < 0)
                n = status;
        }
    } while (n == DELETE_BATCH);
    free(records);
    return n < 0 ? (int)n : SKEIN_OK;
}

static int segment_remove(struct ingest *in, uint64_t segment)
{
    int status = segment_tombstones_keep(in, segment);
    if (status == SKEIN_OK)
        status = store_remove_segment(in->store, segment);
    if (status < 0 && status != SKEIN_NOT_FOUND)
        return status;
    return index_segment_removed(in->index, segment);
}

int ingest_reclaim(struct ingest *in)
{
    for (;;) {
        uint64_t empty[64];
        size_t count = sizeof empty / sizeof *empty;
        int status = index_empty_segments(in->index, empty, &count);
        if (status < 0 || count == 0)
            return status;
        size_t removed = 0;
        for (size_t i = 0; i < count; i++) {
            status = segment_remove(in, empty[i]);
            if (status < 0 && status != SKEIN_BUSY)
                return status;
            removed += status == SKEIN_OK;
        }
        if (removed == 0)
            return SKEIN_OK;
    }
}

/* Copies partitions until the step is full. *copied: how many; their rows have the new place. */
static int rows_copy(struct ingest *in, struct partition_row *rows, size_t count, size_t *copied)
{
    uint64_t bytes = 0;
    int status = SKEIN_OK;
    *copied = 0;
    for (size_t i = 0; status == SKEIN_OK && i < count && bytes < COMPACT_BYTES; i++) {
        status = store_copy(in->store, &rows[i].record.key, &rows[i].place);
        if (status == SKEIN_CORRUPT)
            index_damaged(in->index, &rows[i].record.key);
        bytes += rows[i].place.bytes;
        *copied += status == SKEIN_OK;
    }
    if (status == SKEIN_IO)
        return status;
    int synced = store_sync(in->store);
    return synced < 0 ? synced : status;
}

/* Copies and moves the next rows of the segment. 1: there are more; 0: it has none; or a status. */
static int rows_compact(struct ingest *in, struct partition_row *rows)
{
    int64_t n = index_segment_rows(in->index, in->compact_segment, rows, COMPACT_ROWS);
    if (n <= 0)
        return (int)n;
    size_t copied;
    int status = rows_copy(in, rows, (size_t)n, &copied);
    if (status == SKEIN_IO)
        return status; /* none of them is durable */
    if (copied > 0) {
        int moved = index_move(in->index, rows, copied);
        in->behind |= moved < 0;
        if (moved < 0)
            return moved;
        metrics_add(store_compacted_total, copied);
    }
    return status < 0 ? status : 1;
}

/* Whether deletions may have nothing left but the bytes set aside for them. */
static bool is_tight(struct ingest *in)
{
    uint64_t free_bytes, min_free_bytes;
    return store_space(in->store, &free_bytes, &min_free_bytes) == SKEIN_OK &&
           free_bytes < min_free_bytes / 2;
}

/* Whether the segments together are above max_bytes, or the disk is short. */
static bool is_urgent(struct ingest *in)
{
    uint64_t segments, bytes, end_segment, end_offset, free_bytes, min_free_bytes;
    store_totals(in->store, &segments, &bytes, &end_segment, &end_offset);
    if (in->max_bytes > 0 && bytes > in->max_bytes)
        return true;
    return store_space(in->store, &free_bytes, &min_free_bytes) == SKEIN_OK &&
           free_bytes < min_free_bytes;
}

static int compact_step(struct ingest *in)
{
    int status = 1;
    unsigned percent = in->compact_percent;
    if (in->compact_segment == 0 && percent < COMPACT_URGENT && is_urgent(in))
        percent = COMPACT_URGENT;
    if (in->compact_segment == 0)
        status = percent > 0 ? index_sparse_segment(in->index, percent, &in->compact_segment) : 0;
    if (status == 0)
        return ingest_reclaim(in); /* segments that could not be removed before */
    if (status < 0)
        return status;
    struct partition_row *rows = calloc(COMPACT_ROWS, sizeof *rows);
    if (rows == NULL)
        return SKEIN_NO_MEMORY;
    uint64_t segment = in->compact_segment;
    status = rows_compact(in, rows);
    free(rows);
    if (status == 1)
        return status;
    in->compact_segment = 0;
    if (status == SKEIN_CORRUPT || status == SKEIN_NOT_FOUND) {
        metrics_add(store_damaged_total, 1);
        return index_segment_keep(in->index, segment);
    }
    if (status == SKEIN_OK)
        status = segment_remove(in, segment);
    return status < 0 ? status : 1;
}

void ingest_compact(struct ingest *in, uint64_t now_ns)
{
    if (now_ns < in->compact_ns)
        return;
    int status = SKEIN_BUSY; /* the index must have all that the store has */
    if (groups_settle(in, now_ns) && ingest_index_follow(in) == SKEIN_OK)
        status = compact_step(in);
    in->compact_ns = now_ns + (status == 1 ? COMPACT_STEP_NS : COMPACT_AGAIN_NS);
}

/* ---- deleting ---- */

/* Candidates that a deletion has gathered and not judged yet. */
struct batch {
    struct ingest *in;
    struct index_entry *entries;
    size_t count, room;
    uint64_t deleted, bytes; /* in all batches so far */
    bool tight;              /* the disk is all but full: trim the index's log after each batch */
};

static int batch_init(struct batch *batch, struct ingest *in, size_t room, bool tight)
{
    *batch = (struct batch){.in = in, .room = room, .tight = tight};
    batch->entries = calloc(room, sizeof *batch->entries);
    return batch->entries != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* Writes the batch's tombstones, and deletes the first n entries (steps 1 and 2). */
static int entries_delete(struct batch *batch, size_t n)
{
    struct store_record *records = calloc(n, sizeof *records);
    if (records == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < n; i++)
        records[i].key = batch->entries[i].key;
    int status = tombstones_put(batch->in, records, n);
    free(records);
    for (size_t i = 0; status == SKEIN_OK && i < n; i++)
        batch->bytes += batch->entries[i].bytes;
    batch->deleted += status == SKEIN_OK ? n : 0;
    return status;
}

/* Deletes the candidates that no capture has, and empties the batch. Where that fails, those that
 * have no tombstone are there as before, and may be listed. While the index is behind, it still has
 * the others, too: `deleted` waits until it has followed (ingest_index_follow). */
static int batch_delete(struct batch *batch)
{
    struct ingest *in = batch->in;
    int64_t n = (int64_t)batch->count;
    batch->count = 0;
    if (n > 0 && in->hooks.unlisted != NULL)
        n = in->hooks.unlisted(in->hooks.context, batch->entries, (size_t)n);
    if (n <= 0)
        return (int)n;
    int status = entries_delete(batch, (size_t)n);
    if (!in->behind && in->hooks.deleted != NULL)
        in->hooks.deleted(in->hooks.context);
    if (batch->tight)
        index_trim(in->index);
    return status;
}

static int batch_add(void *context, const struct partition_row *row)
{
    struct batch *batch = context;
    batch->entries[batch->count++] =
        (struct index_entry){row->record.key, row->record.capture, row->place.bytes, row->to_ns};
    return batch->count == batch->room;
}

/* Deletes what is stored of a range; the last, partly filled batch stays for the next range. */
static int range_delete(struct batch *batch, struct partition_range range)
{
    for (;;) {
        int64_t n = index_range(batch->in->index, &range, batch_add, batch);
        if (n < 0)
            return (int)n;
        if (batch->count < batch->room)
            return SKEIN_OK;
        range.key.sequence = batch->entries[batch->count - 1].key.sequence;
        int status = batch_delete(batch);
        if (status < 0 || range.key.sequence++ == range.last)
            return status;
    }
}

static int ranges_delete(struct batch *batch, const struct capture_id *capture)
{
    struct ingest *in = batch->in;
    struct partition_range ranges[DELETE_RANGES], after = {.last = 0};
    int64_t n = in->hooks.ranges != NULL ? DELETE_RANGES : 0;
    while (n == DELETE_RANGES) {
        n = in->hooks.ranges(in->hooks.context, capture, &after, ranges, DELETE_RANGES);
        for (int64_t i = 0; i < n; i++) {
            int status = range_delete(batch, ranges[i]);
            if (status < 0)
                return status;
        }
    }
    return n < 0 ? (int)n : batch_delete(batch);
}

/* Deletes what was sent for the capture, also what no report lists. */
static int sent_delete(struct batch *batch, const struct capture_id *capture)
{
    uint64_t after = 0;
    int64_t n;
    do {
        n = index_sent_for(batch->in->index, capture, &after, batch->entries, batch->room);
        batch->count = n > 0 ? (size_t)n : 0;
        int status = batch_delete(batch);
        if (status < 0)
            return status;
    } while (n == (int64_t)batch->room);
    return n < 0 ? (int)n : SKEIN_OK;
}

int64_t ingest_strays_now(struct ingest *in, const struct delete_request *request)
{
    if (!groups_flush(in) || ingest_index_follow(in) < 0)
        return SKEIN_BUSY;
    struct batch batch;
    int status = batch_init(&batch, in, DELETE_BATCH_MIN, false);
    for (size_t seen = 0; status == SKEIN_OK && seen < STRAYS_LOOKED_AT; seen += batch.room) {
        int64_t n =
            index_oldest(in->index, request->before_ns, request->after, batch.entries, batch.room);
        batch.count = n > 0 ? (size_t)n : 0;
        status = n < 0 ? (int)n : batch_delete(&batch);
        if (batch.deleted > 0 || *request->after == 0)
            break;
    }
    free(batch.entries);
    *request->bytes += batch.bytes;
    if (batch.deleted > 0)
        (void)ingest_reclaim(in);
    return status < 0 ? status : (int64_t)batch.deleted;
}

int ingest_delete_now(struct ingest *in, const struct capture_id *capture)
{
    if (capture_id_is_zero(capture))
        return SKEIN_INVALID;
    if (!groups_flush(in) || ingest_index_follow(in) < 0)
        return SKEIN_BUSY;
    bool tight = is_tight(in);
    struct batch batch;
    int status = batch_init(&batch, in, tight ? DELETE_BATCH_MIN : DELETE_BATCH, tight);
    if (status == SKEIN_OK)
        status = ranges_delete(&batch, capture);
    if (status == SKEIN_OK)
        status = sent_delete(&batch, capture);
    free(batch.entries);
    struct store_record record = {.capture = *capture};
    if (status == SKEIN_OK)
        status = tombstones_put(in, &record, 1);
    if (status < 0)
        return status;
    /* The capture is gone. A segment that cannot be removed now is removed later. */
    (void)ingest_reclaim(in);
    return SKEIN_OK;
}
