/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds partitions: one row each, keys led by a time bucket. A cache of the segments' footers:
 * index_rebuild makes it anew from the store alone. Any thread.
 */
#ifndef INDEX_H
#define INDEX_H

#include "partition.h"
#include "selector.h"
#include "store.h"

struct partition_row {
    struct store_record record;
    struct store_place place;
    uint64_t from_ns, to_ns, events, lost, raw_bytes;
    uint32_t pid;
    const char *host, *service, *labels, *exe; /* valid during the callback */
};

struct partition_query {
    const struct process_uid *process; /* NULL: any */
    const struct capture_id *capture;  /* NULL: any */
    /* NULL: any; labels service, host, pid, process and the process's own */
    const struct selector *selector;
    const char *service;     /* NULL: any; narrows the scan */
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

/* The partitions of key's process and epoch from key's sequence to `last`, in order, until fn
 * returns not 0. fn runs under the lock of the database and must not use the index. Returns how
 * many were given to fn, or a status. */
typedef int partition_range_fn(void *context, const struct partition_key *key, uint64_t events,
                               uint64_t bytes);
int64_t index_range(struct index *index, const struct partition_key *key, uint64_t last,
                    partition_range_fn *fn, void *context);

/* Rows by (to_ns, key), oldest first, until fn returns not 0. fn runs outside all locks and may use
 * the index. Returns rows given to fn, or a status. */
typedef int partition_row_fn(void *context, const struct partition_row *row);
int64_t index_query(struct index *index, const struct partition_query *query, partition_row_fn *fn,
                    void *context);

/* The row of a partition; its texts stay the footer's. A partition without events has its window's
 * bounds. */
void partition_row_make(struct partition_row *row, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer);

/* 1 where the capture was deleted: what still arrives of it is not stored again. Else 0, or a
 * status. */
int index_capture_deleted(struct index *index, const struct capture_id *capture);

/* Deletes the rows of a capture after its tombstone is durable; fills segments that may be removed
 * now (at most *count), as index_empty_segments does. SKEIN_OK, SKEIN_INVALID (the zero id),
 * SKEIN_IO, SKEIN_FULL. */
int index_delete_capture(struct index *index, const struct capture_id *capture,
                         uint64_t *empty_segments, size_t *count);

/* Closed segments without a row, and without a tombstone that a partition still on disk needs.
 * After store_remove_segment tell index_segment_removed: that may free others. */
int index_empty_segments(struct index *index, uint64_t *segments, size_t *count);
int index_segment_removed(struct index *index, uint64_t segment);

/* Throws the rows away and makes them from the store. */
int index_rebuild(struct index *index, struct store *store);

#endif
