/* SPDX-License-Identifier: Apache-2.0
 *
 * The footer index in SQLite: opens, adds and rebuilds. Owns folder/index.db and three
 * connections, no thread; any thread may call. Holds nothing that the store does not hold: a lost or damaged
 * file is made again from the segments, and a file that is behind is brought up to the store's end
 * at open.
 *
 * Tables:
 *   partitions  one row each
 *   bucket      2 hours of rows
 *   series      a process's description in a bucket, and how many rows it has there
 *   label       which series of a bucket have a label
 *   segment     what is alive in each segment
 *   deleted     deleted captures
 *   tombstone   deleted partitions
 *   copy        records on disk that no row points to: deleted partitions, and doubles
 *   service     what each service has; triggers keep it
 *   meta        how far the store is indexed
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "array.h"
#include "index_delete.h"
#include "index_int.h"
#include "log.h"
#include "metrics.h"
#include "partition_slice.h"
#include "segment.h"

#define SCHEMA_VERSION 7

static const char *const schema =
    "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE segment(number INTEGER PRIMARY KEY, live INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, records INTEGER NOT NULL, written INTEGER NOT NULL);"
    "CREATE TABLE deleted(capture BLOB PRIMARY KEY, segment INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX deleted_in ON deleted(segment);"
    "CREATE TABLE tombstone(key BLOB PRIMARY KEY, segment INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX tombstone_in ON tombstone(segment);"
    "CREATE TABLE copy(key BLOB, segment INTEGER, PRIMARY KEY(key, segment)) WITHOUT ROWID;"
    "CREATE INDEX copy_in ON copy(segment);"
    "CREATE TABLE partitions(id INTEGER PRIMARY KEY, key BLOB NOT NULL, capture BLOB NOT NULL,"
    " agent INTEGER, received_ns INTEGER, segment INTEGER, offset INTEGER, bytes INTEGER,"
    " bucket INTEGER, from_ns INTEGER, to_ns INTEGER, long INTEGER, events INTEGER, lost INTEGER,"
    " raw_bytes INTEGER, pid INTEGER, host TEXT, service TEXT, labels TEXT, exe TEXT,"
    " spans_from_ns INTEGER, spans_to_ns INTEGER, clock_offset_ns INTEGER, series INTEGER);"
    "CREATE UNIQUE INDEX by_key ON partitions(key);"
    "CREATE INDEX by_time ON partitions(to_ns);"
    "CREATE INDEX by_series ON partitions(bucket, series, to_ns);"
    "CREATE INDEX by_long ON partitions(to_ns) WHERE long;"
    "CREATE INDEX by_segment ON partitions(segment);"
    "CREATE INDEX by_capture ON partitions(capture);"
    "CREATE TABLE bucket(number INTEGER PRIMARY KEY, longest INTEGER NOT NULL);"
    "CREATE TABLE series(bucket INTEGER, id INTEGER, rows INTEGER NOT NULL,"
    " longest INTEGER NOT NULL, PRIMARY KEY(bucket, id)) WITHOUT ROWID;"
    "CREATE TABLE label(bucket INTEGER, name BLOB, value BLOB, series INTEGER,"
    " PRIMARY KEY(bucket, name, value, series)) WITHOUT ROWID;"
    "CREATE TRIGGER row_gone AFTER DELETE ON partitions BEGIN"
    " UPDATE series SET rows = rows - 1 WHERE bucket = old.bucket AND id = old.series;"
    " DELETE FROM series WHERE bucket = old.bucket AND id = old.series AND rows <= 0; END;"
    "CREATE TRIGGER series_gone AFTER DELETE ON series"
    " WHEN NOT EXISTS (SELECT 1 FROM series WHERE bucket = old.bucket) BEGIN"
    " DELETE FROM label WHERE bucket = old.bucket;"
    " DELETE FROM bucket WHERE number = old.bucket; END;"
    "CREATE TABLE service(name TEXT PRIMARY KEY, bytes INTEGER NOT NULL,"
    " partitions INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE TRIGGER partitions_in AFTER INSERT ON partitions BEGIN"
    " INSERT INTO service VALUES(new.service, new.bytes, 1) ON CONFLICT(name) DO UPDATE SET"
    " bytes = bytes + excluded.bytes, partitions = partitions + 1; END;"
    "CREATE TRIGGER partitions_out AFTER DELETE ON partitions BEGIN"
    " UPDATE service SET bytes = bytes - old.bytes, partitions = partitions - 1"
    " WHERE name = old.service;"
    " DELETE FROM service WHERE name = old.service AND partitions = 0; END;"
    "CREATE TRIGGER partitions_changed AFTER UPDATE OF bytes ON partitions BEGIN"
    " UPDATE service SET bytes = bytes - old.bytes + new.bytes WHERE name = new.service; END;"
    "PRAGMA user_version=7;";

/* From schema 6: drops which captures have a partition, which the index no longer says. Does not
 * read the store again. If the capture that a partition was sent for no longer has it, the partition
 * counts as sent for one that has it: that one may be deleted and not purged yet, and no ranges say
 * what it had. */
static const char *const schema_step =
    "BEGIN; UPDATE partitions SET capture=(SELECT m.capture FROM member m"
    " WHERE m.key=partitions.key) WHERE NOT EXISTS (SELECT 1 FROM member m"
    " WHERE m.key=partitions.key AND m.capture=partitions.capture)"
    " AND EXISTS (SELECT 1 FROM member m WHERE m.key=partitions.key);"
    "DROP TABLE member;"
    "CREATE INDEX by_capture ON partitions(capture);"
    "PRAGMA user_version=7; COMMIT;";

int index_result(struct index *index, int64_t status)
{
    if (status != SKEIN_CORRUPT)
        return (int)status;
    atomic_store(&index->broken, true);
    return SKEIN_IO;
}

/* ---- adding ---- */

static int end_set(struct db *db, uint64_t segment, uint64_t offset)
{
    return db_write(db,
                    "INSERT INTO meta VALUES('end_segment', ?1), ('end_offset', ?2) "
                    "ON CONFLICT(name) DO UPDATE SET value = excluded.value",
                    DB(DB_I64(index_i64(segment)), DB_I64(index_i64(offset))));
}

int index_segment_add(struct db *db, uint64_t segment, int64_t rows, int64_t bytes, int64_t records)
{
    return db_write(db,
                    "INSERT INTO segment VALUES(?1, ?2, ?3, ?4, ?3) ON CONFLICT(number) DO"
                    " UPDATE SET live = live + excluded.live, bytes = bytes + excluded.bytes,"
                    " records = records + excluded.records, written = written + excluded.bytes",
                    DB(DB_I64(index_i64(segment)), DB_I64(rows), DB_I64(bytes), DB_I64(records)));
}

/* 1: inserted; 0: the key has a row already; or a status. */
static int row_insert(struct db *db, const struct partition_row *row)
{
    uint8_t key[INDEX_KEY_BYTES];
    index_key_put(&row->record.key, key);
    int64_t from = index_i64(row->from_ns), to = index_i64(row->to_ns);
    int64_t series = index_series_of(row);
    int64_t n =
        db_run(db,
               "INSERT INTO partitions(" INDEX_COLUMNS ", bucket, long, series) "
               "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18,?19,?20,?21,"
               "?22,?23) "
               "ON CONFLICT(key) DO NOTHING",
               NULL, NULL,
               DB(DB_BLOB(key, sizeof key),
                  DB_BLOB(row->record.capture.bytes, sizeof row->record.capture.bytes),
                  DB_I64((int64_t)row->record.agent), DB_I64(index_i64(row->record.received_ns)),
                  DB_I64(index_i64(row->place.segment)), DB_I64(index_i64(row->place.offset)),
                  DB_I64(index_i64(row->place.bytes)), DB_I64(from), DB_I64(to),
                  DB_I64(index_i64(row->events)), DB_I64(index_i64(row->lost)),
                  DB_I64(index_i64(row->raw_bytes)), DB_I64((int64_t)row->pid), DB_TEXT(row->host),
                  DB_TEXT(row->service), DB_TEXT(row->labels), DB_TEXT(row->exe),
                  DB_I64(index_i64(row->spans_from_ns)), DB_I64(index_i64(row->spans_to_ns)),
                  DB_I64(row->clock_offset_ns), DB_I64(to / INDEX_BUCKET_NS),
                  DB_I64((int64_t)(to - from > INDEX_LONG_NS)), DB_I64(series)));
    if (n <= 0)
        return (int)n;
    int status = index_series_add(db, row, series);
    return status < 0 ? status : 1;
}

/* Points the row of a key to a later record of it (S-15). */
static int row_move(struct db *db, const struct partition_row *row,
                    const uint8_t key[INDEX_KEY_BYTES])
{
    static const char *const steps[] = {
        "INSERT OR IGNORE INTO copy SELECT key, segment FROM partitions WHERE key = ?1",
        "UPDATE segment SET live = live - 1, bytes = bytes -"
        " (SELECT bytes FROM partitions WHERE key = ?1)"
        " WHERE number = (SELECT segment FROM partitions WHERE key = ?1)",
    };
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < sizeof steps / sizeof *steps; i++)
        status = db_write(db, steps[i], DB(DB_BLOB(key, INDEX_KEY_BYTES)));
    if (status != SKEIN_OK)
        return status;
    return db_write(db,
                    "UPDATE partitions SET segment = ?2, offset = ?3, bytes = ?4 WHERE key = ?1",
                    DB(DB_BLOB(key, INDEX_KEY_BYTES), DB_I64(index_i64(row->place.segment)),
                       DB_I64(index_i64(row->place.offset)), DB_I64(index_i64(row->place.bytes))));
}

/* Where the record of a partition at `place` ends, and the next one begins. */
static uint64_t place_end(const struct store_place *place)
{
    return place->offset + segment_pad(place->bytes);
}

/* 1: the row now points to this record; 0: it did before; or a status. */
static int row_add(struct db *db, const struct partition_row *row)
{
    uint8_t key[INDEX_KEY_BYTES];
    index_key_put(&row->record.key, key);
    int status = row_insert(db, row);
    if (status == 0) {
        int64_t same = db_run(db,
                              "SELECT 1 FROM partitions WHERE key = ?1 AND segment = ?2"
                              " AND offset = ?3",
                              NULL, NULL,
                              DB(DB_BLOB(key, sizeof key), DB_I64(index_i64(row->place.segment)),
                                 DB_I64(index_i64(row->place.offset))));
        if (same != 0)
            return same < 0 ? (int)same : 0;
        metrics_add(store_doubles_total, 1);
        status = row_move(db, row, key);
    }
    return status < 0 ? status : 1;
}

static int rows_insert(struct db *db, const struct partition_row *rows, size_t count)
{
    int64_t live = 0, bytes = 0;
    for (size_t i = 0; i < count; i++) {
        const struct partition_row *row = &rows[i];
        int added = row_add(db, row);
        if (added < 0)
            return added;
        live += added;
        bytes += added ? index_i64(row->place.bytes) : 0;
        if (i + 1 < count && rows[i + 1].place.segment == row->place.segment)
            continue;
        int status = index_segment_add(db, row->place.segment, live, bytes, live);
        live = bytes = 0;
        if (status == SKEIN_OK && i + 1 == count)
            status = end_set(db, row->place.segment, place_end(&row->place));
        if (status < 0)
            return status;
    }
    return SKEIN_OK;
}

int index_add(struct index *index, const struct partition_row *rows, size_t count)
{
    if (count == 0)
        return SKEIN_OK;
    int status = db_begin(index->write);
    if (status < 0)
        return index_result(index, status);
    status = rows_insert(index->write, rows, count);
    return index_result(index, db_end(index->write, status));
}

static int rows_move(struct db *db, const struct partition_row *rows, size_t count)
{
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < count; i++) {
        const struct store_place *place = &rows[i].place;
        uint8_t key[INDEX_KEY_BYTES];
        index_key_put(&rows[i].record.key, key);
        status = row_move(db, &rows[i], key);
        if (status == SKEIN_OK)
            status = index_segment_add(db, place->segment, 1, index_i64(place->bytes), 1);
        if (status == SKEIN_OK)
            status = end_set(db, place->segment, place_end(place));
    }
    return status;
}

int index_move(struct index *index, const struct partition_row *rows, size_t count)
{
    int status = db_begin(index->write);
    if (status < 0)
        return index_result(index, status);
    status = rows_move(index->write, rows, count);
    return index_result(index, db_end(index->write, status));
}

/* ---- finding ---- */

static int row_find(void *context, struct db_row *from)
{
    struct partition_row *row = context;
    if (row != NULL) {
        index_row_get(from, row);
        row->host = row->service = row->labels = row->exe = ""; /* the texts end with this call */
    }
    return 1;
}

int index_find(struct index *index, const struct partition_key *key,
               struct partition_row *row_without_text)
{
    uint8_t bytes[INDEX_KEY_BYTES];
    index_key_put(key, bytes);
    int64_t n = db_run(index->write, "SELECT " INDEX_COLUMNS " FROM partitions WHERE key = ?1",
                       row_find, row_without_text, DB(DB_BLOB(bytes, sizeof bytes)));
    return index_result(index, n);
}

#define RANGE_ROWS 128 /* one statement's: others wait for the connection meanwhile */

struct range_walk {
    partition_row_fn *fn;
    void *context;
    uint64_t last; /* the sequence of the last row */
    bool ended;    /* fn has had enough */
};

static int range_row(void *context, struct db_row *from)
{
    struct range_walk *walk = context;
    struct partition_row row;
    index_row_get(from, &row);
    walk->last = row.record.key.sequence;
    walk->ended = walk->fn != NULL && walk->fn(walk->context, &row) != 0;
    return walk->ended;
}

void index_range_put(const struct partition_range *range, uint8_t low[INDEX_KEY_BYTES],
                     uint8_t high[INDEX_KEY_BYTES])
{
    struct partition_key end = {range->key.process, range->key.epoch, range->last};
    index_key_put(&range->key, low);
    index_key_put(&end, high);
}

int64_t index_range(struct index *index, const struct partition_range *range, partition_row_fn *fn,
                    void *context)
{
    struct range_walk walk = {.fn = fn, .context = context};
    struct partition_range rest = *range;
    int64_t n, given = 0;
    do {
        uint8_t low[INDEX_KEY_BYTES], high[INDEX_KEY_BYTES];
        index_range_put(&rest, low, high);
        n = db_run(index->brief,
                   "SELECT " INDEX_COLUMNS
                   " FROM partitions WHERE key >= ?1 AND key <= ?2 ORDER BY key LIMIT ?3",
                   range_row, &walk,
                   DB(DB_BLOB(low, sizeof low), DB_BLOB(high, sizeof high), DB_I64(RANGE_ROWS)));
        given += n;
        rest.key.sequence = walk.last + 1;
    } while (n == RANGE_ROWS && !walk.ended && walk.last < range->last);
    return n < 0 ? index_result(index, n) : given;
}

int index_read(struct index *index, const struct partition_key *key, struct store_place *place,
               uint64_t from, void *out, size_t n)
{
    int status = store_read(index->store, place, from, out, n);
    for (int again = 0; status == SKEIN_NOT_FOUND && again < 8; again++) {
        struct partition_row row;
        int found = index_find(index, key, &row);
        if (found < 0)
            return found;
        if (found == 0 || row.place.bytes != place->bytes) /* bytes differ: another record */
            return SKEIN_NOT_FOUND;
        *place = row.place;
        status = store_read(index->store, place, from, out, n);
    }
    return status;
}

int index_capture_deleted(struct index *index, const struct capture_id *capture)
{
    int64_t n = db_run(index->write, "SELECT 1 FROM deleted WHERE capture = ?1", NULL, NULL,
                       DB(DB_BLOB(capture->bytes, sizeof capture->bytes)));
    return index_result(index, n);
}

/* ---- following the store ---- */

struct stored {
    struct store *store;
    const struct store_place *place;
};

static int stored_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct stored *stored = context;
    return store_read(stored->store, stored->place, offset, out, n);
}

static int partition_scan(void *context, const struct store_record *record,
                          const struct store_place *place, const struct partition_footer *footer)
{
    struct index *index = context;
    struct partition_row row;
    struct stored stored = {index->store, place};
    struct partition_source source = {stored_read, &stored, place->bytes};
    int64_t offset_ns;
    int status = partition_clock_offset(&source, &offset_ns);
    if (status != SKEIN_OK && status != SKEIN_CORRUPT)
        return status;
    /* As at ingest: 0 for a corrupt one; its reader will say so. */
    partition_row_make(&row, record, place, footer, status == SKEIN_OK ? offset_ns : 0);
    return rows_insert(index->write, &row, 1);
}

static int tombstone_scan(void *context, const struct store_record *record, uint64_t segment)
{
    struct index *index = context;
    return index_tombstone_apply(index->write, record, segment);
}

static int value_get(void *context, struct db_row *row)
{
    uint64_t *value = context;
    *value = (uint64_t)db_i64(row, 0);
    return 1;
}

static int meta_get(struct db *db, const char *name, uint64_t *value)
{
    *value = 0;
    int64_t n =
        db_run(db, "SELECT value FROM meta WHERE name = ?1", value_get, value, DB(DB_TEXT(name)));
    return n < 0 ? (int)n : SKEIN_OK;
}

static int rows_clear(struct db *db)
{
    return db_exec(
        db, "DELETE FROM label; DELETE FROM series; DELETE FROM bucket; DELETE FROM partitions;"
            "DELETE FROM segment; DELETE FROM deleted; DELETE FROM tombstone; DELETE FROM copy;"
            "DELETE FROM service; DELETE FROM meta;");
}

/* Brings the rows up to the store's end. Goes on where they end; where that place is not in the
 * store, or from_nothing, clears them and begins anew. */
static int store_follow(struct index *index, bool from_nothing)
{
    struct db *db = index->write;
    uint64_t segments, bytes, end_segment, end_offset, segment = 0, offset = 0;
    int status = db_begin(db);
    if (status < 0)
        return status;
    status = meta_get(db, "end_segment", &segment);
    if (status == SKEIN_OK)
        status = meta_get(db, "end_offset", &offset);
    store_totals(index->store, &segments, &bytes, &end_segment, &end_offset);
    if (segment > end_segment || (segment == end_segment && offset > end_offset))
        from_nothing = true; /* another store's index, or the disk lost what it had promised */
    if (status == SKEIN_OK && (from_nothing || (segment == 0 && end_segment > 0))) {
        status = rows_clear(db);
        segment = offset = 0;
    }
    if (status == SKEIN_OK)
        status = store_scan(index->store, segment, offset, partition_scan, tombstone_scan, index);
    return db_end(db, status);
}

int index_follow(struct index *index)
{
    return index_result(index, store_follow(index, false));
}

int index_rebuild(struct index *index)
{
    return index_result(index, store_follow(index, true));
}

struct number_list {
    uint64_t *numbers;
    size_t count, room;
};

static int numbers_collect(void *context, struct db_row *row)
{
    struct number_list *list = context;
    if (!array_grow(list->numbers, list->count + 1, &list->room))
        return 1;
    list->numbers[list->count++] = (uint64_t)db_i64(row, 0);
    return 0;
}

/* Deletes rows of segments that are gone. The index may still have some if a power failure took its
 * last commits just after a segment was removed. */
static int missing_forget(struct index *index)
{
    struct number_list list = {0};
    int64_t n = db_run(index->write, "SELECT number FROM segment", numbers_collect, &list, NULL);
    int status = n < 0 ? (int)n : (size_t)n > list.count ? SKEIN_NO_MEMORY : SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < list.count; i++)
        if (!store_has_segment(index->store, list.numbers[i]))
            status = index_segment_forget(index->write, list.numbers[i], true);
    free(list.numbers);
    return status;
}

/* ---- opening ---- */

/* Rows of many processes go to many pages: keep those in memory, and write them back for many
 * commits at once, because each checkpoint is two syncs. */
static const char *const settings = "PRAGMA cache_size=-32768; PRAGMA wal_autocheckpoint=8192;";

int index_configure(struct db *db)
{
    return db_exec(db, settings);
}

static int schema_check(struct db *db)
{
    uint64_t version = 0;
    int64_t n = db_run(db, "PRAGMA user_version", value_get, &version, NULL);
    if (n < 0)
        return (int)n;
    if (version == SCHEMA_VERSION)
        return SKEIN_OK;
    if (version == 0)
        return db_exec(db, schema);
    if (version + 1 == SCHEMA_VERSION)
        return db_exec(db, schema_step);
    log_info("index", "index.db is another version's: it is made anew from the segments", "schema",
             log_fmt("%" PRIu64 ", this program has %d", version, SCHEMA_VERSION), NULL);
    return SKEIN_VERSION;
}

void index_disconnect(struct index *index)
{
    db_close(&index->brief);
    db_close(&index->read);
    db_close(&index->write);
}

int index_connect(struct index *index, const char *path, char *error, size_t error_bytes)
{
    (void)db_file_own(index->folder,
                      path); /* where it fails, the next says why; a link is its maker's */
    int status = db_open(path, false, &index->write, error, error_bytes);
    if (status == SKEIN_OK)
        status = index_configure(index->write);
    if (status == SKEIN_OK)
        status = schema_check(index->write);
    if (status == SKEIN_OK)
        status = store_follow(index, false);
    if (status == SKEIN_OK)
        status = missing_forget(index);
    if (status == SKEIN_OK)
        status = db_open_reading(path, &index->read, error, error_bytes);
    if (status == SKEIN_OK)
        status = index_configure(index->read);
    if (status == SKEIN_OK)
        status = db_open_reading(path, &index->brief, error, error_bytes);
    if (status < 0 && index->write != NULL && !error[0])
        (void)snprintf(error, error_bytes, "%s: %s", path, db_error(index->write));
    return status;
}

void index_files_remove(const char *path)
{
    static const char *const suffixes[] = {"", "-wal", "-shm"};
    for (size_t i = 0; i < 3; i++) {
        char name[4096];
        int n = snprintf(name, sizeof name, "%s%s", path, suffixes[i]);
        if (n > 0 && (size_t)n < sizeof name)
            (void)unlink(name);
    }
}

int index_open(const char *folder, struct store *store, struct index **out, char *error,
               size_t error_bytes)
{
    *out = NULL;
    if (error_bytes > 0)
        error[0] = 0;
    char path[4096], marker[4096];
    if (snprintf(path, sizeof path, "%s/index.db", folder) >= (int)sizeof path ||
        snprintf(marker, sizeof marker, "%s/index.rebuild", folder) >= (int)sizeof marker)
        return SKEIN_INVALID;
    struct index *index = calloc(1, sizeof *index);
    if (index == NULL)
        return SKEIN_NO_MEMORY;
    index->store = store;
    index->folder = strdup(folder);
    int status = index->folder != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK && access(marker, F_OK) == 0)
        index_files_remove(path);
    if (status == SKEIN_OK)
        status = index_connect(index, path, error, error_bytes);
    if (status == SKEIN_CORRUPT)
        log_warn("index", "index.db is damaged: it is made anew from the segments", NULL);
    if (status == SKEIN_CORRUPT || status == SKEIN_VERSION) {
        index_disconnect(index);
        index_files_remove(path);
        if (error_bytes > 0)
            error[0] = 0;
        status = index_connect(index, path, error, error_bytes);
    }
    if (status < 0) {
        index_close(&index);
        return status;
    }
    (void)unlink(marker);
    *out = index;
    return SKEIN_OK;
}

void index_close(struct index **index)
{
    struct index *i = *index;
    if (i == NULL)
        return;
    *index = NULL;
    if (atomic_load(&i->broken))
        index_broken_mark(i);
    index_disconnect(i);
    free(i->folder);
    free(i);
}
