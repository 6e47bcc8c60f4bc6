/* SPDX-License-Identifier: Apache-2.0
 *
 * Deletion in the footer index: which partitions a deletion looks at, what tombstones do to rows,
 * and which segments can go. Any thread, on the writing connection (index_sent_for: on that for brief
 * questions); each call is one transaction.
 * Never touches the store: the caller makes tombstones durable first.
 *
 * A tombstone stops a rebuild from making the row again, so it must stay as long as the partition's
 * bytes lie in another segment. Example: the bytes are in segment 3, the tombstone in segment 7.
 *
 *                             partitions   copy   tombstone
 *   index_add                 row in 3     –      –
 *   index_tombstones_add      –            in 3   in 7   needed: a copy lies in another segment
 *   index_segment_removed(3)  –            –      in 7   not needed: no copy is left
 *
 * If 7 goes before 3, the tombstone is first appended again at the store's end. It is not needed
 * either where its only copy lies in its own segment, or where the partition was stored again (it
 * has a row). A capture's tombstone is always needed.
 */
#include <stdlib.h>

#include "index_delete.h"
#include "index_int.h"

/* Runs steps in turn; the blob is the parameter of each. */
static int steps_run(struct db *db, const char *const *steps, size_t count, const void *blob,
                     size_t bytes)
{
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < count; i++)
        status = db_write(db, steps[i], DB(DB_BLOB(blob, bytes)));
    return status;
}

/* ---- which ---- */

struct entry_list {
    struct index_entry *entries;
    size_t count, room;
    uint64_t before_ns, last; /* last: id of the last row taken */
    bool young;               /* a row received at before_ns or later ended the list */
};

#define ENTRY_COLUMNS "id, key, capture, bytes, received_ns, to_ns"

static int entry_add(void *context, struct db_row *row)
{
    struct entry_list *list = context;
    list->young = (uint64_t)db_i64(row, 4) >= list->before_ns;
    if (list->young)
        return 1;
    size_t n;
    struct index_entry *entry = &list->entries[list->count++];
    *entry =
        (struct index_entry){.bytes = (uint64_t)db_i64(row, 3), .to_ns = (uint64_t)db_i64(row, 5)};
    const void *key = db_blob(row, 1, &n);
    if (n == INDEX_KEY_BYTES)
        index_key_get(key, &entry->key);
    const void *capture = db_blob(row, 2, &n);
    if (n == sizeof entry->sent_for.bytes)
        memcpy(entry->sent_for.bytes, capture, n);
    list->last = (uint64_t)db_i64(row, 0);
    return list->count == list->room;
}

int64_t index_sent_for(struct index *index, const struct capture_id *capture, uint64_t *after,
                       struct index_entry *entries, size_t room)
{
    struct entry_list list = {entries, 0, room, UINT64_MAX, *after, false};
    int64_t n =
        db_run(index->brief,
               "SELECT " ENTRY_COLUMNS " FROM partitions"
               " INDEXED BY by_capture WHERE capture = ?1 AND id > ?2 ORDER BY id",
               entry_add, &list,
               DB(DB_BLOB(capture->bytes, sizeof capture->bytes), DB_I64(index_i64(*after))));
    *after = list.last;
    return n < 0 ? index_result(index, n) : (int64_t)list.count;
}

int64_t index_oldest(struct index *index, uint64_t before_ns, uint64_t *after,
                     struct index_entry *entries, size_t room)
{
    struct entry_list list = {entries, 0, room, before_ns, *after, false};
    int64_t n = db_run(index->write,
                       "SELECT " ENTRY_COLUMNS " FROM partitions"
                       " WHERE id > ?1 ORDER BY id",
                       entry_add, &list, DB(DB_I64(index_i64(*after))));
    *after = list.count == room ? list.last : 0;
    return n < 0 ? index_result(index, n) : (int64_t)list.count;
}

/* ---- deleting ---- */

static int partition_delete(struct db *db, const struct partition_key *key, uint64_t segment)
{
    static const char *const steps[] = {
        "INSERT OR IGNORE INTO copy SELECT key, segment FROM partitions WHERE key = ?1",
        "UPDATE segment SET live = live - 1, bytes = bytes -"
        " (SELECT bytes FROM partitions WHERE key = ?1)"
        " WHERE number = (SELECT segment FROM partitions WHERE key = ?1)",
        "DELETE FROM partitions WHERE key = ?1",
    };
    uint8_t bytes[INDEX_KEY_BYTES];
    index_key_put(key, bytes);
    int status = db_write(db, "INSERT OR REPLACE INTO tombstone VALUES(?1, ?2)",
                          DB(DB_BLOB(bytes, sizeof bytes), DB_I64(index_i64(segment))));
    return status < 0 ? status
                      : steps_run(db, steps, sizeof steps / sizeof *steps, bytes, sizeof bytes);
}

static int capture_remember(struct db *db, const struct capture_id *capture, uint64_t segment)
{
    return db_write(db, "INSERT OR REPLACE INTO deleted VALUES(?1, ?2)",
                    DB(DB_BLOB(capture->bytes, sizeof capture->bytes), DB_I64(index_i64(segment))));
}

int index_tombstone_apply(struct db *db, const struct store_record *record, uint64_t segment)
{
    int status = index_segment_add(db, segment, 0, 0, 1);
    if (status < 0)
        return status;
    return capture_id_is_zero(&record->capture) ? partition_delete(db, &record->key, segment)
                                                : capture_remember(db, &record->capture, segment);
}

int index_tombstones_add(struct index *index, const struct store_record *records, size_t count)
{
    uint64_t segments, bytes, end_segment, end_offset;
    store_totals(index->store, &segments, &bytes, &end_segment, &end_offset);
    int status = db_begin(index->write);
    if (status < 0)
        return index_result(index, status);
    for (size_t i = 0; status == SKEIN_OK && i < count; i++)
        status = index_tombstone_apply(index->write, &records[i], end_segment);
    return index_result(index, db_end(index->write, status));
}

void index_trim(struct index *index)
{
    db_trim(index->write);
}

/* ---- segments ---- */

struct record_list {
    struct store_record *records;
    size_t count, room;
};

static int record_add(void *context, struct db_row *row)
{
    struct record_list *list = context;
    if (list->count == list->room)
        return 1;
    struct store_record *record = &list->records[list->count++];
    memset(record, 0, sizeof *record);
    size_t n;
    const void *capture = db_blob(row, 0, &n);
    if (n == sizeof record->capture.bytes)
        memcpy(record->capture.bytes, capture, n);
    const void *key = db_blob(row, 1, &n);
    if (n == INDEX_KEY_BYTES)
        index_key_get(key, &record->key);
    return list->count == list->room;
}

#define NEEDED                                                                                     \
    "NOT EXISTS (SELECT 1 FROM partitions p WHERE p.key = t.key)"                                  \
    " AND EXISTS (SELECT 1 FROM copy c WHERE c.key = t.key AND c.segment <> t.segment)"

int64_t index_tombstones_in(struct index *index, uint64_t segment, struct store_record *records,
                            size_t room)
{
    struct record_list list = {records, 0, room};
    int64_t n = db_run(index->write,
                       "SELECT capture, NULL FROM deleted WHERE segment = ?1 UNION ALL"
                       " SELECT NULL, key FROM tombstone t WHERE segment = ?1 AND " NEEDED,
                       record_add, &list, DB(DB_I64(index_i64(segment))));
    return n < 0 ? index_result(index, n) : (int64_t)list.count;
}

struct number_list {
    uint64_t *numbers;
    size_t count, room;
};

static int number_add(void *context, struct db_row *row)
{
    struct number_list *list = context;
    if (list->count < list->room)
        list->numbers[list->count++] = (uint64_t)db_i64(row, 0);
    return list->count == list->room;
}

int index_empty_segments(struct index *index, uint64_t *segments, size_t *count)
{
    uint64_t total, bytes, end_segment, end_offset;
    store_totals(index->store, &total, &bytes, &end_segment, &end_offset);
    struct number_list list = {segments, 0, *count};
    int64_t n = 0;
    if (*count > 0) /* a segment that is half needed tombstones stays: they would only move on */
        n = db_run(index->write,
                   "SELECT number FROM segment WHERE live = 0 AND number < ?1 AND 2 * "
                   "((SELECT count(*) FROM deleted WHERE segment = number) +"
                   " (SELECT count(*) FROM tombstone t WHERE segment = number AND " NEEDED "))"
                   " * ?2 < written + records * ?2",
                   number_add, &list,
                   DB(DB_I64(index_i64(end_segment)), DB_I64((int64_t)INDEX_RECORD_BYTES)));
    *count = list.count;
    return n < 0 ? index_result(index, n) : SKEIN_OK;
}

int index_sparse_segment(struct index *index, unsigned percent, uint64_t *segment)
{
    uint64_t total, bytes, end_segment, end_offset;
    store_totals(index->store, &total, &bytes, &end_segment, &end_offset);
    struct number_list list = {segment, 0, 1};
    int64_t n = db_run(index->write,
                       "SELECT number FROM segment WHERE live > 0 AND number < ?1"
                       " AND (bytes + live * ?2) * 100 < ?3 * (written + records * ?2)"
                       " AND (bytes + ?2 * (live +"
                       " (SELECT count(*) FROM deleted WHERE segment = number) +"
                       " (SELECT count(*) FROM tombstone t WHERE segment = number AND " NEEDED
                       "))) * 100 < ?3 * (written + records * ?2)"
                       " ORDER BY CAST(bytes AS REAL) / (written + records * ?2), number LIMIT 1",
                       number_add, &list,
                       DB(DB_I64(index_i64(end_segment)), DB_I64((int64_t)INDEX_RECORD_BYTES),
                          DB_I64((int64_t)percent)));
    return n < 0 ? index_result(index, n) : (int)list.count;
}

struct row_list {
    struct partition_row *rows;
    size_t count, room;
};

static int row_keep(void *context, struct db_row *from)
{
    struct row_list *list = context;
    struct partition_row *row = &list->rows[list->count++];
    index_row_get(from, row);
    row->host = row->service = row->labels = row->exe = "";
    return list->count == list->room;
}

int64_t index_segment_rows(struct index *index, uint64_t segment, struct partition_row *rows,
                           size_t room)
{
    struct row_list list = {rows, 0, room};
    int64_t n =
        db_run(index->write,
               "SELECT " INDEX_COLUMNS " FROM partitions INDEXED BY by_segment WHERE segment = ?1",
               row_keep, &list, DB(DB_I64(index_i64(segment))));
    return n < 0 ? index_result(index, n) : (int64_t)list.count;
}

int index_segment_keep(struct index *index, uint64_t segment)
{
    return index_result(
        index, db_write(index->write,
                        "UPDATE segment SET written = bytes, records = live WHERE number = ?1",
                        DB(DB_I64(index_i64(segment)))));
}

int index_segment_forget(struct db *db, uint64_t segment, bool with_rows)
{
    static const char *const steps[] = {
        "DELETE FROM copy WHERE segment = ?1", "DELETE FROM segment WHERE number = ?1",
        "DELETE FROM tombstone WHERE segment = ?1", "DELETE FROM partitions WHERE segment = ?1"};
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < (with_rows ? 4u : 3u); i++)
        status = db_write(db, steps[i], DB(DB_I64(index_i64(segment))));
    return status;
}

int index_segment_removed(struct index *index, uint64_t segment)
{
    int status = db_begin(index->write);
    if (status < 0)
        return index_result(index, status);
    status = index_segment_forget(index->write, segment, false);
    return index_result(index, db_end(index->write, status));
}
