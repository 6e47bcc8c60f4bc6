/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct index. Included by index_sqlite.c, which opens and adds,
 * index_delete.c, which deletes and shares, index_series.c, which knows the processes' labels,
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

/* Long enough that a day's window of many processes is few range scans, short enough that new rows
 * go to few pages. */
#define INDEX_BUCKET_NS (INT64_C(21600) * 1000000000)
/* Partitions longer than this have an index of their own, so that an overlap query is a range scan
 * over the others. */
#define INDEX_LONG_NS   (INT64_C(3600) * 1000000000)
#define INDEX_KEY_BYTES 32
/* A label's value is compared up to here. */
#define INDEX_VALUE_MAX 1023
/* A label that more processes have than this narrows nothing: rows are found by time. */
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
    _Atomic bool rebuilt;
};

/* On disk, of a record without its partition: the record, and the record again in the tail. */
#define INDEX_RECORD_BYTES 208

static inline int64_t index_i64(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

void index_key_put(const struct partition_key *key, uint8_t out[INDEX_KEY_BYTES]);
void index_key_get(const uint8_t bytes[INDEX_KEY_BYTES], struct partition_key *key);

/* The row under INDEX_COLUMNS; texts are the database's. */
void index_row_get(struct db_row *from, struct partition_row *row);

/* The status for the caller; where the database is damaged, notes that the next open rebuilds it.
 */
int index_fail(struct index *index, int64_t status);

/* Counts what was appended to a segment: rows, bytes of theirs, records. Within a transaction. */
int index_segment_add(struct db *db, uint64_t segment, int64_t rows, int64_t bytes,
                      int64_t records);

/* What a tombstone's record says, a capture's or a partition's. Within a transaction. */
int index_tombstone_apply(struct db *db, const struct store_record *record, uint64_t segment);

/* A second label of l's series, where its name is not empty. */
#define INDEX_SECOND_LABEL(name, value)                                                            \
    " AND (" name " = x'' OR EXISTS (SELECT 1 FROM label o WHERE o.name = " name                   \
    " AND o.value = " value " AND o.series = l.series))"

/* ---- index_series.c: a series is what one process says of itself ---- */

/* Its number: of process, pid, host, service, labels and exe. Two that share one by chance share
 * postings too, and rows are matched again: nothing is lost but time. */
int64_t index_series_of(const struct partition_row *row);
/* Counts a new row of the series. In a transaction. SKEIN_OK or a status. */
int index_series_add(struct db *db, const struct partition_row *row, int64_t series);

struct series_label {
    const char *name, *value; /* NULL: none */
};
/* The two labels of a query that the fewest series have which are alive in its window, and what is
 * known of those that have both. Not to be copied. */
struct series_lead {
    struct series_label labels[2]; /* the query's, or `process` below; the rarer first */
    char process[ID_TEXT_BYTES];
    int64_t series;      /* how many, up to INDEX_SERIES_MAX + 1 */
    int64_t first, last; /* their buckets */
    int64_t rows;        /* about, in a bucket */
    int64_t longest_ns;  /* of their partitions */
};
/* SKEIN_OK or a status; labels[0].name is NULL where the query has no such label. */
int index_series_lead(struct db *db, const struct partition_query *query, struct series_lead *lead);

/* Forgets a segment that is gone; with_rows: and the rows of what lay in it. In a transaction. */
int index_segment_forget(struct db *db, uint64_t segment, bool with_rows);

#endif
