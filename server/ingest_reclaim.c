/* SPDX-License-Identifier: Apache-2.0
 *
 * Deleting, and giving the disk back. Runs on the ingest thread alone, between group commits. The
 * order of its steps is the guarantee:
 *
 *   1 tombstones of the partitions that no other capture has, one sync   2 their rows go
 *   3 the capture's tombstone, synced   4 its memberships go   5 segments that hold nothing go
 *
 * A crash behind 1 or 3: the index follows the tombstones at the next open. Between 2 and 3, with
 * many partitions also between two turns of 1 and 2, part of the capture is gone: who deletes it
 * again deletes the rest. Before a segment goes, tombstones in it that are still needed are
 * appended again. Never removes a segment with a row.
 */
#include <stdlib.h>

#include "ingest_int.h"

#define DELETE_BATCH 1024 /* partitions a sync and transaction */

/* Appends tombstones and lets the index follow. */
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
    if (!records)
        return SKEIN_NO_MEMORY;
    int64_t n;
    do { /* those that were appended again are no longer in this segment */
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

/* One turn: tombstones of up to DELETE_BATCH partitions. Their number, or a status. */
static int64_t partitions_delete(struct ingest *in, const struct capture_id *capture)
{
    struct partition_key *keys = calloc(DELETE_BATCH, sizeof *keys);
    struct store_record *records = calloc(DELETE_BATCH, sizeof *records);
    int64_t n = SKEIN_NO_MEMORY;
    if (keys && records)
        n = index_only_of(in->index, capture, keys, DELETE_BATCH);
    for (int64_t i = 0; i < n; i++)
        records[i].key = keys[i];
    if (n > 0) {
        int status = tombstones_put(in, records, (size_t)n);
        if (status < 0)
            n = status;
    }
    free(records);
    free(keys);
    return n;
}

int ingest_delete_now(struct ingest *in, const struct capture_id *capture)
{
    if (capture_id_is_zero(capture))
        return SKEIN_INVALID;
    group_commit(in);
    if (in->group.count > 0)
        return SKEIN_BUSY;
    if (ingest_index_follow(in) < 0)
        return SKEIN_BUSY;
    int64_t n;
    do
        n = partitions_delete(in, capture);
    while (n == DELETE_BATCH);
    if (n < 0)
        return (int)n;
    struct store_record record = {.capture = *capture};
    int status = tombstones_put(in, &record, 1);
    if (status < 0)
        return status;
    /* The capture is gone; room that is not given back now is at the next chance. */
    (void)ingest_reclaim(in);
    return SKEIN_OK;
}
