/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of struct index. Included by index_sqlite.c, which opens and adds,
 * index_delete.c, which deletes and shares, and index_query.c, which reads; by nobody else.
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
#include "index.h"

#define INDEX_BUCKET_NS (INT64_C(600) * 1000000000)
/* Partitions longer than this have an index of their own, so that an overlap query is a range scan
 * over the others. */
#define INDEX_LONG_NS   (INT64_C(3600) * 1000000000)
#define INDEX_KEY_BYTES 32

#define INDEX_COLUMNS_OF(table)                                                                    \
    table "key, " table "capture, " table "agent, " table "received_ns, " table "segment, " table  \
          "offset, " table "bytes, " table "from_ns, " table "to_ns, " table "events, " table      \
          "lost, " table "raw_bytes, " table "pid, " table "host, " table "service, " table        \
          "labels, " table "exe"
#define INDEX_COLUMNS INDEX_COLUMNS_OF("")

struct index {
    struct db *write; /* also index_find, which must see what was added last */
    struct db *read;  /* queries, so that they never hold up a commit */
    struct store *store;
    char *folder;
    _Atomic bool rebuilt;
};

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

/* Forgets a segment that is gone; with_rows: and the rows of what lay in it. In a transaction. */
int index_segment_forget(struct db *db, uint64_t segment, bool with_rows);

#endif
