/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct index. Included by index_sqlite.c, which opens and adds,
 * index_delete.c, which deletes, index_series.c, which knows the processes' labels,
 * index_row.c, which knows their form, index_query.c, which reads, and index_usage.c, which counts;
 * by nobody else.
 *
 * Integers in the database are signed: times and sizes above INT64_MAX are kept as INT64_MAX, agent
 * ids by their bits. A key is one blob, process, epoch and sequence big-endian, so that it sorts as
 * its parts do.
 */
#ifndef INDEX_INT_H
#define INDEX_INT_H

#include <stdatomic.h>
#include <string.h>

#include "db.h"
#include "ids.h"
#include "index.h"

/* A row is in the bucket of 2 hours that it ends in: long enough that a day's window of many
 * processes is few range scans, short enough that new rows go to few pages. */
#define INDEX_BUCKET_NS (INT64_C(7200) * 1000000000)
/* Partitions longer than this have an index of their own, so that an overlap query is a range scan
 * over the others. */
#define INDEX_LONG_NS   (INT64_C(3600) * 1000000000)
#define INDEX_KEY_BYTES 32
/* A label's value is compared up to here. */
#define INDEX_VALUE_MAX 1023
/* Labels that more series of a bucket have than this narrow nothing: rows are found by time; also
 * where there are not many more rows than series. */
#define INDEX_SERIES_MAX 1024

#define INDEX_COLUMNS_OF(table)                                                                    \
    table "key, " table "capture, " table "agent, " table "received_ns, " table "segment, " table  \
          "offset, " table "bytes, " table "from_ns, " table "to_ns, " table "events, " table      \
          "lost, " table "raw_bytes, " table "pid, " table "host, " table "service, " table        \
          "labels, " table "exe, " table "spans_from_ns, " table "spans_to_ns, " table             \
          "clock_offset_ns"
#define INDEX_COLUMNS INDEX_COLUMNS_OF("")

struct index {
    struct db *write; /* also index_find, which must see what was added last */
    struct db *read;  /* queries, so that they never hold up a commit */
    struct store *store;
    char *folder;
    _Atomic bool broken;     /* damage was met: index_heal */
    index_damage_fn *damage; /* constant once others use the index */
    void *damage_context;
};

/* On disk, of a record without its partition: the record, and the record again in the tail. */
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

/* The row under INDEX_COLUMNS; texts are the database's. */
void index_row_get(struct db_row *from, struct partition_row *row);

/* The status for the caller; where the database is damaged, notes that the next open rebuilds it.
 */
int index_fail(struct index *index, int64_t status);

/* index_sqlite.c: both connections of an index with a store, brought up to its end; the files of a
 * database. */
int index_connect(struct index *index, const char *path, char *error, size_t error_bytes);
void index_disconnect(struct index *index);
int index_configure(struct db *db); /* a connection's settings */
void index_files_remove(const char *path);

/* Counts what was appended to a segment: rows, bytes of theirs, records. Within a transaction. */
int index_segment_add(struct db *db, uint64_t segment, int64_t rows, int64_t bytes,
                      int64_t records);

/* What a tombstone's record says, a capture's or a partition's. Within a transaction. */
int index_tombstone_apply(struct db *db, const struct store_record *record, uint64_t segment);

/* Whether l's series has one label more in its bucket, or the label's name is empty. */
#define INDEX_SECOND_LABEL(name, value)                                                            \
    " AND (" name " = x'' OR EXISTS (SELECT 1 FROM label o WHERE o.bucket = l.bucket"              \
    " AND o.name = " name " AND o.value = " value " AND o.series = l.series))"

/* ---- index_series.c: a series is what one process says of itself ---- */

/* Its number: of process, pid, host, service, labels and exe; a service's lie together. Two that
 * share one by chance share postings too, and rows are matched again: nothing is lost but time. */
int64_t index_series_of(const struct partition_row *row);
/* Counts a new row of the series and of its bucket. In a transaction. SKEIN_OK or a status. */
int index_series_add(struct db *db, const struct partition_row *row, int64_t series);

#define INDEX_TERMS_MAX 8 /* that are looked at */

/* A label that what a query asks for must have. name NULL: none. */
struct series_term {
    const char *name, *value;
};
/* Those of a query; their order is that in which they are looked up. Not to be copied. */
struct series_terms {
    struct series_term terms[INDEX_TERMS_MAX]; /* the query's, or `process` below */
    size_t count;
    char process[ID_TEXT_BYTES];
};
void index_series_terms(const struct partition_query *query, struct series_terms *terms);

/* What to look at in a bucket. */
struct series_lead {
    int64_t bucket;
    int64_t low, high;           /* first and last to_ns */
    bool narrow;                 /* by the series that have `terms`, which are few, else by time */
    struct series_term terms[2]; /* that the fewest series of the bucket have, the rarer first */
    int64_t series, rows;        /* narrow: how many have them, and rows of theirs in the bucket */
};
/* The next bucket that has rows, of each of the terms, which end at `low` or later and may begin by
 * `to`, but for those longer than INDEX_LONG_NS. 1, 0: none; or a status. */
int index_series_next(struct db *db, struct series_terms *terms, int64_t low, int64_t to,
                      struct series_lead *lead);

/* Forgets a segment that is gone; with_rows: and the rows of what lay in it. In a transaction. */
int index_segment_forget(struct db *db, uint64_t segment, bool with_rows);

#endif
