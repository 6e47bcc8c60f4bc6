/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds partitions: one row each, keys led by a time bucket, found by the labels of their
 * processes. A cache of the segments' footers: index_rebuild makes it anew from the store alone.
 * Any thread.
 */
#ifndef INDEX_H
#define INDEX_H

#include "index_ranges.h"
#include "partition.h"
#include "selector.h"
#include "store.h"

struct partition_row {
    struct store_record record;
    struct store_place place;
    /* by the collector's clock; spans: its records and its window */
    uint64_t from_ns, to_ns, spans_from_ns, spans_to_ns;
    int64_t clock_offset_ns; /* the collector's less the host's, which the partition itself has */
    uint64_t events, lost, raw_bytes;
    uint32_t pid;
    const char *host, *service, *labels, *exe; /* valid during the callback */
};

struct partition_query {
    const struct process_uid *process;     /* NULL: any */
    const struct partition_ranges *ranges; /* NULL: any; else of these alone */
    /* NULL: any; labels service, host, exe, pid, process and the process's own. Terms that allow
     * one value narrow the scan. */
    const struct selector *selector;
    uint64_t from_ns, to_ns; /* overlap; 0 and UINT64_MAX for all */
    /* cursor: rows behind (to_ns, key) */
    uint64_t after_time;
    struct partition_key after_key;
    bool after;
    size_t limit; /* 0: none */
};

struct index;

/* Opens folder/index.db and brings it up to the store's end; rebuilds it where it is missing or
 * unreadable. */
int index_open(const char *folder, struct store *store, struct index **out, char *error,
               size_t error_bytes);
void index_close(struct index **index);

/* Adds rows for partitions that the store has synced, all or none. SKEIN_OK, SKEIN_IO, SKEIN_FULL.
 */
int index_add(struct index *index, const struct partition_row *rows, size_t count);

/* 1 and *place where the key is there (not deleted), else 0, or a status. */
int index_find(struct index *index, const struct partition_key *key,
               struct partition_row *row_without_text);

/* As store_read; where compaction has moved the partition, *place becomes the new one. */
int index_read(struct index *index, const struct partition_key *key, struct store_place *place,
               uint64_t from, void *out, size_t n);

/* store_verify, also of what compaction has moved. What is damaged is counted and told to who
 * listens. SKEIN_OK, SKEIN_CORRUPT, SKEIN_NOT_FOUND, SKEIN_NO_MEMORY, SKEIN_IO. */
int index_verify(struct index *index, const struct partition_key *key, struct store_place *place);
void index_damaged(struct index *index, const struct partition_key *key); /* found otherwise */
/* One listener, set before others use the index; called by any thread, for every finding. */
typedef void index_damage_fn(void *context, const struct partition_row *row_without_text);
void index_on_damage(struct index *index, index_damage_fn *fn, void *context);
/* Rows by (to_ns, key), oldest first, until fn returns not 0. fn runs outside all locks and may use
 * the index. Returns rows given to fn, or a status. */
typedef int partition_row_fn(void *context, const struct partition_row *row);
int64_t index_query(struct index *index, const struct partition_query *query, partition_row_fn *fn,
                    void *context);

/* Those of a range that are stored, in order, until fn returns not 0. fn runs under the lock of the
 * database and must not use the index. Returns how many were given to fn, or a status. */
int64_t index_range(struct index *index, const struct partition_range *range, partition_row_fn *fn,
                    void *context);

/* How SQLite says that it runs the query: a line each for a step, appended to `out`. SKEIN_OK or a
 * status. */
int index_query_plan(struct index *index, const struct partition_query *query, struct buf *out);

/* The row of a partition; its texts stay the footer's. A partition without events has its window's
 * bounds. */
void partition_row_make(struct partition_row *row, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer,
                        int64_t clock_offset_ns);

/* 1 where the capture was deleted: what still arrives of it is not stored again. Else 0, or a
 * status. */
int index_capture_deleted(struct index *index, const struct capture_id *capture);

/* ---- deleting ---- (index_delete.c)
 *
 * A partition is its process's. Its record names a capture that it was sent for; which captures
 * have it is not the index's: their ranges say it. */

/* What a deletion looks at. */
struct index_entry {
    struct partition_key key;
    struct capture_id sent_for; /* zero: none */
    uint64_t bytes;
};
/* Partitions that were sent for the capture, behind *after (0: from the beginning), which moves; at
 * most `room`. Their number, or a status. */
int64_t index_sent_for(struct index *index, const struct capture_id *capture, uint64_t *after,
                       struct index_entry *entries, size_t room);
/* The same of those that were received before then, the oldest first; *after becomes 0 at the end.
 */
int64_t index_oldest(struct index *index, uint64_t before_ns, uint64_t *after,
                     struct index_entry *entries, size_t room);

/* What tombstones say that the store has made durable last: a partition's (capture zero) takes its
 * row, a capture's is remembered. SKEIN_OK, SKEIN_INVALID (neither), SKEIN_IO, SKEIN_FULL: all or
 * none. */
int index_tombstones_add(struct index *index, const struct store_record *records, size_t count);

/* Tombstones in a segment that are still needed: a capture's always; a partition's while its bytes
 * lie in another segment and it was not stored again. At most `room`; their number, or a status. */
int64_t index_tombstones_in(struct index *index, uint64_t segment, struct store_record *records,
                            size_t room);

/* Closed segments without a row. Tombstones in them that are needed must be appended again and
 * added before store_remove_segment; then tell index_segment_removed. */
int index_empty_segments(struct index *index, uint64_t *segments, size_t *count);
int index_segment_removed(struct index *index, uint64_t segment);

/* Of the closed segments of which less than so many percent is alive, that with the least. 1, 0 or
 * a status. */
int index_sparse_segment(struct index *index, unsigned percent, uint64_t *segment);
/* Rows that lie in a segment, without their texts; at most `room`. Their number, or a status. */
int64_t index_segment_rows(struct index *index, uint64_t segment, struct partition_row *rows,
                           size_t room);
/* Rows whose partitions were appended again, durably, at their new places. All or none. */
int index_move(struct index *index, const struct partition_row *rows, size_t count);
/* Says that what is not alive in the segment cannot be given back: it is not sparse until more
 * dies. */
int index_segment_keep(struct index *index, uint64_t segment);

/* Keeps the database's log short, where the disk is. */
void index_trim(struct index *index);

/* Adds what the store has behind the last added row; what is there already changes nothing. */
int index_follow(struct index *index);

/* Throws the rows away and makes them from the store. */
int index_rebuild(struct index *index, struct store *store);

/* Where damage was met since it was opened: makes a new file from the segments while the damaged
 * one answers what it can, and puts it in its place. Of the thread that adds, when it adds nothing.
 * SKEIN_OK, also where nothing was to be done; SKEIN_IO, SKEIN_FULL, SKEIN_NO_MEMORY: later. */
int index_heal(struct index *index);

#endif
