/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct index. Included only by index*.c: index_sqlite.c opens and adds,
 * index_delete.c deletes, index_series.c knows the labels of processes, index_row.c knows the form
 * of rows, index_query.c reads, index_usage.c counts, index_damage.c verifies, index_heal.c
 * replaces a damaged file.
 *
 * Integers in the database are signed: times and sizes above INT64_MAX are kept as INT64_MAX, agent
 * ids by their bits. A key is one blob: process, epoch and sequence, big-endian, so that blobs sort
 * as keys do.
 */
#ifndef INDEX_INT_H
#define INDEX_INT_H

#include <stdatomic.h>
#include <string.h>

#include "db.h"
#include "ids.h"
#include "index.h"

/* A row belongs to the bucket of 2 hours in which it ends. That is long enough that a day's window
 * of many processes is few range scans, and short enough that new rows go to few pages. */
#define INDEX_BUCKET_NS (INT64_C(7200) * 1000000000)
/* Longer partitions have an index of their own. So all others that overlap a window end at most
 * this far behind it: one range scan. */
#define INDEX_LONG_NS   (INT64_C(3600) * 1000000000)
#define INDEX_KEY_BYTES 32
/* A label's value is compared up to here. */
#define INDEX_VALUE_MAX 1023
/* A label that more series of a bucket have narrows nothing: rows are then found by time, as
 * also where there are not many more rows than series. */
#define INDEX_SERIES_MAX 1024

#define INDEX_COLUMNS_OF(table)                                                                    \
    table "key, " table "capture, " table "agent, " table "received_ns, " table "segment, " table  \
          "offset, " table "bytes, " table "from_ns, " table "to_ns, " table "events, " table      \
          "lost, " table "raw_bytes, " table "pid, " table "host, " table "service, " table        \
          "labels, " table "exe, " table "spans_from_ns, " table "spans_to_ns, " table             \
          "clock_offset_ns"
#define INDEX_COLUMNS INDEX_COLUMNS_OF("")

struct index {
    struct db *write; /* the ingest thread's, and index_find's: may be in the middle of a commit */
    struct db *read;  /* queries, so that they never hold up a commit */
    struct db *brief; /* questions that the control lock waits for: none of them takes long */
    struct store *store;
    char *folder;
    _Atomic bool broken;     /* damage was met: index_heal, or index_close, has to act */
    index_damage_fn *damage; /* constant once others use the index */
    void *damage_context;
};

/* What a record takes on disk besides its partition: itself, and its entry in the tail. */
#define INDEX_RECORD_BYTES 208

static inline int64_t index_i64(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* a + b, for b not below 0 */
static inline int64_t index_sum(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

void index_key_put(const struct partition_key *key, uint8_t out[INDEX_KEY_BYTES]);
void index_key_get(const uint8_t bytes[INDEX_KEY_BYTES], struct partition_key *key);

/* The keys of the first and the last of a range. */
void index_range_put(const struct partition_range *range, uint8_t low[INDEX_KEY_BYTES],
                     uint8_t high[INDEX_KEY_BYTES]);

/* Reads the row from INDEX_COLUMNS; its texts are the database's, valid for this step. */
void index_row_get(struct db_row *from, struct partition_row *row);

/* Turns a result into the caller's status; any result may be passed, also success. Where the
 * database is damaged, notes in memory that it must be made anew, and writes nothing: any thread
 * comes here. */
int index_result(struct index *index, int64_t status);

/* index_sqlite.c: opens the connections of an index that has a store, and brings it up to the
 * store's end; removes the files of a database. */
int index_connect(struct index *index, const char *path, char *error, size_t error_bytes);
void index_disconnect(struct index *index);
int index_configure(struct db *db); /* a connection's settings */
void index_files_remove(const char *path);

/* index_heal.c: has the next open make a damaged index anew, if no index_heal has by then. */
void index_broken_mark(const struct index *index);

/* Counts what was appended to a segment: rows, their bytes, records. Within a transaction. */
int index_segment_add(struct db *db, uint64_t segment, int64_t rows, int64_t bytes,
                      int64_t records);

/* Applies one tombstone, of a capture or a partition. Within a transaction. */
int index_tombstone_apply(struct db *db, const struct store_record *record, uint64_t segment);

/* SQL: the series of l has a second label in its bucket; an empty name asks for none. */
#define INDEX_SECOND_LABEL(name, value)                                                            \
    " AND (" name " = x'' OR EXISTS (SELECT 1 FROM label o WHERE o.bucket = l.bucket"              \
    " AND o.name = " name " AND o.value = " value " AND o.series = l.series))"

/* ---- index_series.c: a series is what one process says of itself ---- */

/* The number of a row's series: a hash of process, pid, host, service, labels and exe. Series of
 * one service lie together. Two series may share a number by chance: they share postings, and rows
 * are matched again, so that costs only time. */
int64_t index_series_of(const struct partition_row *row);
/* Counts a new row for its series and its bucket. Within a transaction. SKEIN_OK or a status. */
int index_series_add(struct db *db, const struct partition_row *row, int64_t series);

#define INDEX_TERMS_MAX 8 /* further terms are not used to narrow */

/* A label that every row of the answer must have. name NULL: none. */
struct series_term {
    const char *name, *value;
};
/* The terms of a query, in the order in which they are looked up. Not to be copied. */
struct series_terms {
    struct series_term terms[INDEX_TERMS_MAX]; /* the query's, or `process`: its, or its ranges' */
    size_t count;
    char process[ID_TEXT_BYTES];
};
void index_series_terms(const struct partition_query *query, struct series_terms *terms);

/* Where to look in one bucket. */
struct series_lead {
    int64_t bucket;
    int64_t low, high;           /* first and last to_ns */
    bool narrow;                 /* true: by the few series that have `terms`; false: by time */
    struct series_term terms[2]; /* the two that the fewest series have, rarest first */
    int64_t series, rows;        /* narrow: how many series have both terms; their rows */
};
/* Finds the next bucket that can answer: it has each of the terms, and rows that end at `low` or
 * later and may begin by `to`. Rows that end later than `to` + INDEX_LONG_NS are left to
 * BY_LONG. 1; 0: none; or a status. */
int index_series_next(struct db *db, struct series_terms *terms, int64_t low, int64_t to,
                      struct series_lead *lead);

/* Forgets a segment that is gone; with_rows: also the rows in it. Within a transaction. */
int index_segment_forget(struct db *db, uint64_t segment, bool with_rows);

#endif
