/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds partitions: one row for each, found by time, by key, or by the labels of its process. A
 * cache of the segments' footers: index_rebuild makes it anew from the store alone. Any thread.
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
    /* By the collector's clock. from, to: the records. spans: the records and the window
     * together. */
    uint64_t from_ns, to_ns, spans_from_ns, spans_to_ns;
    int64_t clock_offset_ns; /* the collector's clock minus the host's, as the partition says it */
    uint64_t events, lost, raw_bytes;
    uint32_t pid;
    const char *host, *service, *labels, *exe; /* valid during the callback */
};

struct partition_query {
    const struct process_uid *process;     /* NULL: any */
    const struct partition_ranges *ranges; /* only partitions in these; NULL: any */
    /* NULL: any. Labels are service, host, exe, pid, process and the process's own. Terms that
     * allow one value only narrow the scan. */
    const struct selector *selector;
    uint64_t from_ns, to_ns; /* rows that overlap this; 0 and UINT64_MAX for all */
    /* cursor, where `after` is set: only rows behind (after_time, after_key) in the answer's
     * order */
    uint64_t after_time;
    struct partition_key after_key;
    bool after;
    size_t limit; /* 0: none */
};

struct index;

/* Opens folder/index.db and brings it up to the store's end. A file that is missing, damaged or of
 * an unknown version is made anew from the store. */
int index_open(const char *folder, struct store *store, struct index **out, char *error,
               size_t error_bytes);
void index_close(struct index **index);

/* Adds rows for partitions that the store has synced: all or none. SKEIN_OK, SKEIN_IO,
 * SKEIN_FULL. */
int index_add(struct index *index, const struct partition_row *rows, size_t count);

/* 1 and *row_without_text (may be NULL) where the key has a row; 0 where it has none; or a
 * status. */
int index_find(struct index *index, const struct partition_key *key,
               struct partition_row *row_without_text);

/* As store_read. If compaction has moved the partition, *place becomes the new place. */
int index_read(struct index *index, const struct partition_key *key, struct store_place *place,
               uint64_t from, void *out, size_t n);

/* As store_verify; if compaction has moved the partition, *place becomes the new place. Damage is
 * counted and told to the listener. SKEIN_OK, SKEIN_CORRUPT, SKEIN_NOT_FOUND, SKEIN_NO_MEMORY,
 * SKEIN_IO. */
int index_verify(struct index *index, const struct partition_key *key, struct store_place *place);
/* Counts and tells damage that somebody else found. */
void index_damaged(struct index *index, const struct partition_key *key);
/* Sets the one listener, before others use the index. Any thread calls it, once for each
 * finding. */
typedef void index_damage_fn(void *context, const struct partition_row *row_without_text);
void index_on_damage(struct index *index, index_damage_fn *fn, void *context);
/* Calls fn with rows by (to_ns, key), oldest first, until fn returns not 0; NULL: ends at the
 * first. fn runs outside all locks and may use the index. Returns how many rows fn got, or a
 * status. */
typedef int partition_row_fn(void *context, const struct partition_row *row);
int64_t index_query(struct index *index, const struct partition_query *query, partition_row_fn *fn,
                    void *context);

/* Calls fn with the stored partitions of a range, in order, until fn returns not 0; NULL: only
 * counts them. fn runs under the lock of a connection and must not use the index. Waits for no
 * commit, also not with the control lock held: a partition that is being added is not among them
 * until index_add returns. Returns how many fn got, or a status. */
int64_t index_range(struct index *index, const struct partition_range *range, partition_row_fn *fn,
                    void *context);

/* Appends to `out` how SQLite runs the query's first step: one line for each part. SKEIN_OK or a
 * status. */
int index_query_plan(struct index *index, const struct partition_query *query, struct buf *out);

/* Makes the row of a partition; its texts remain the footer's. A partition without events gets the
 * bounds of its window. */
void partition_row_make(struct partition_row *row, const struct store_record *record,
                        const struct store_place *place, const struct partition_footer *footer,
                        int64_t clock_offset_ns);

/* 1 where the capture was deleted: partitions sent for it are not stored again. Else 0, or a
 * status. */
int index_capture_deleted(struct index *index, const struct capture_id *capture);

/* Empties the database's log, for a disk that is all but full. */
void index_trim(struct index *index);

/* Adds what the store has behind the last row added. What is there already stays as it is. */
int index_follow(struct index *index);

/* Deletes all rows and makes them anew from the store. */
int index_rebuild(struct index *index);

/* Replaces the database if damage was met since it was opened: makes a new file from the segments
 * while the damaged one answers what it can, then puts it in its place. Only on the thread that
 * adds, between its calls. SKEIN_OK, also where there was nothing to do; SKEIN_IO, SKEIN_FULL,
 * SKEIN_NO_MEMORY: try again later. */
int index_heal(struct index *index);

#endif
