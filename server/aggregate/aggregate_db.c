/* SPDX-License-Identifier: Apache-2.0
 *
 * analysis.db but for the series' rows: schema, damage, marks and answers. Any thread reads; the
 * worker alone writes. Never loses what exists nowhere else, for nothing here does.
 */
#include "aggregate_db.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "metrics.h"
#include "pack_lz4.h"

#define FILE_NAME "analysis.db"

/* The order of a bucket's rows is that of series_row_compare. */
static const char schema[] =
    "CREATE TABLE capture(id TEXT PRIMARY KEY, stamp INTEGER NOT NULL, etag TEXT NOT NULL,"
    " state INTEGER NOT NULL, series INTEGER NOT NULL, tries INTEGER NOT NULL,"
    " done_ns INTEGER NOT NULL, reason TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE answer(id INTEGER PRIMARY KEY, capture TEXT NOT NULL, kind INTEGER NOT NULL,"
    " raw INTEGER NOT NULL, packed INTEGER NOT NULL, bytes BLOB NOT NULL);"
    "CREATE UNIQUE INDEX answer_of ON answer(capture, kind, packed);"
    "CREATE TABLE row(step INTEGER NOT NULL, at INTEGER NOT NULL, service TEXT NOT NULL,"
    " grp INTEGER NOT NULL, name TEXT NOT NULL, capture TEXT NOT NULL,"
    " weight INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY(at, service, grp, name, step, capture)) WITHOUT ROWID;"
    "CREATE INDEX row_of ON row(capture) WHERE capture<>'';"
    "CREATE INDEX row_fine ON row(at) WHERE step=600;"
    "CREATE TABLE total(id INTEGER PRIMARY KEY, service TEXT NOT NULL, grp INTEGER NOT NULL,"
    " name TEXT NOT NULL, bytes BLOB NOT NULL);"
    "CREATE UNIQUE INDEX total_of ON total(service, grp, name);"
    "CREATE TABLE note(key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;";

/* ---- open ---- */

static int schema_check(struct db *db, char *error, size_t error_bytes)
{
    int status = db_tables_make(db, FILE_NAME, schema, NULL, error, error_bytes);
    if (status == SKEIN_VERSION)
        snprintf(error, error_bytes,
                 FILE_NAME " is of a newer collector: remove it, or take that one");
    if (status != SKEIN_OK)
        return status;
    status = db_check(db);
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, FILE_NAME ": %s", db_error(db));
    return status;
}

/* Which file is at the path; 0: none is. */
static void file_note(const char *path, uint64_t *device, uint64_t *inode)
{
    struct stat st;
    bool there = stat(path, &st) == 0;
    *device = there ? (uint64_t)st.st_dev : 0;
    *inode = there ? (uint64_t)st.st_ino : 0;
}

static bool file_is_another(const struct aggregate_db *db, const char *path)
{
    uint64_t device, inode;
    file_note(path, &device, &inode);
    return device != db->device || inode != db->inode;
}

static int pair_open(struct aggregate_db *out, char *error, size_t error_bytes)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/" FILE_NAME, out->folder);
    if (n < 0 || (size_t)n >= sizeof path)
        return SKEIN_TOO_LARGE;
    int status = db_open_private(out->folder, FILE_NAME, &out->write, error, error_bytes);
    if (status == SKEIN_OK)
        status = db_exec(out->write,
                         "PRAGMA synchronous=NORMAL"); /* derived: a lost end is made again */
    if (status == SKEIN_OK)
        status = schema_check(out->write, error, error_bytes);
    if (status == SKEIN_OK)
        status = db_open_reading(path, &out->read, error, error_bytes);
    if (status == SKEIN_OK)
        status = db_open_reading(path, &out->scan, error, error_bytes);
    if (status == SKEIN_OK)
        file_note(path, &out->device, &out->inode);
    return status;
}

static bool damaged_set_aside(const char *folder)
{
    char to[4352];
    if (!db_set_aside(folder, FILE_NAME, to, sizeof to))
        return false;
    log_error("analysis",
              FILE_NAME
              " is damaged: it is set aside and a new one begun; captures that are stored are "
              "summed up again, series of deleted ones are lost",
              "file", to, NULL);
    metrics_add(analysis_rebuilds_total, 1);
    return true;
}

int aggregate_db_open(const char *folder, struct aggregate_db *out, char *error, size_t error_bytes)
{
    *out = (struct aggregate_db){.folder = folder};
    int status = pair_open(out, error, error_bytes);
    if (status == SKEIN_CORRUPT) {
        aggregate_db_close(out);
        if (damaged_set_aside(folder))
            status = pair_open(out, error, error_bytes);
    }
    if (status != SKEIN_OK)
        aggregate_db_close(out);
    return status;
}

void aggregate_db_close(struct aggregate_db *db)
{
    db_close(&db->scan);
    db_close(&db->read);
    db_close(&db->write);
}

static bool removed_say(void)
{
    log_error("analysis",
              FILE_NAME " was removed or replaced: what is in its place is taken, or a new one "
                        "begun; captures that are stored are summed up again",
              NULL);
    metrics_add(analysis_rebuilds_total, 1);
    return true;
}

/* Both files are shut before the damaged one goes; without a new one statements fail until the next
 * attempt. */
static bool pair_replace(struct aggregate_db *db, const char *path, bool removed)
{
    char error[256] = "";
    bool gone = removed ? removed_say() : damaged_set_aside(db->folder);
    int made = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600); /* for nobody else */
    if (made >= 0)
        close(made);
    int status = db_reopen(db->write, path, true);
    if (status == SKEIN_OK)
        status = db_exec(db->write, "PRAGMA synchronous=NORMAL");
    if (status == SKEIN_OK)
        status = schema_check(db->write, error, sizeof error);
    if (status == SKEIN_OK)
        status = db_reopen(db->read, path, false);
    if (status == SKEIN_OK)
        status = db_reopen(db->scan, path, false);
    file_note(path, &db->device, &db->inode);
    if (status != SKEIN_OK)
        log_error("analysis", FILE_NAME " cannot be made anew; this is tried again", "error",
                  skein_status_text(status), NULL);
    return gone && status == SKEIN_OK;
}

bool aggregate_db_heal(struct aggregate_db *db)
{
    char path[4096];
    bool damaged = db->broken || db_is_damaged(db->write) || db_is_damaged(db->read) ||
                   db_is_damaged(db->scan);
    snprintf(path, sizeof path, "%s/" FILE_NAME, db->folder);
    if (!damaged && !file_is_another(db, path))
        return false;
    db_hold(db->scan); /* first: whoever reads there takes long, and others need not wait for it */
    db_hold(db->write);
    db_hold(db->read);
    db_shut(db->scan);
    db_shut(db->read);
    db_shut(db->write);
    bool healed = pair_replace(db, path, !damaged);
    db->broken = !healed;
    db_release(db->read);
    db_release(db->write);
    db_release(db->scan);
    return healed;
}

/* ---- captures ---- */

static int mark_take(void *context, struct db_row *row)
{
    struct aggregate_mark *mark = context;
    mark->stamp = (uint64_t)db_i64(row, 0);
    snprintf(mark->etag, sizeof mark->etag, "%s", db_text(row, 1));
    mark->state = (enum aggregate_state)(db_i64(row, 2) % 3);
    mark->series = (enum series_state)(db_i64(row, 3) % 3);
    mark->tries = (uint32_t)db_i64(row, 4);
    mark->done_ns = (uint64_t)db_i64(row, 5);
    snprintf(mark->reason, sizeof mark->reason, "%s", db_text(row, 6));
    return 1;
}

int aggregate_mark_get(struct db *db, const struct capture_id *id, struct aggregate_mark *out)
{
    *out = (struct aggregate_mark){.id = *id};
    return (int)db_run(db,
                       "SELECT stamp, etag, state, series, tries, done_ns, reason FROM capture"
                       " WHERE id=?",
                       mark_take, out, DB(DB_ID(id->bytes)));
}

int aggregate_mark_put(struct aggregate_db *db, const struct aggregate_mark *m)
{
    return db_write(
        db->write,
        "INSERT OR REPLACE INTO capture(id, stamp, etag, state, series, tries, done_ns, reason)"
        " VALUES(?,?,?,?,?,?,?,?)",
        DB(DB_ID(m->id.bytes), DB_I64((int64_t)m->stamp), DB_TEXT(m->etag), DB_I64(m->state),
           DB_I64(m->series), DB_I64(m->tries), DB_I64(db_clamped(m->done_ns)),
           DB_TEXT(m->reason)));
}

struct ids {
    struct capture_id *items;
    size_t count, room;
};

static int id_take(void *context, struct db_row *row)
{
    struct ids *ids = context;
    if (id_parse(db_text(row, 0), ids->items[ids->count].bytes) == SKEIN_OK)
        ids->count++;
    return ids->count == ids->room;
}

int64_t aggregate_marks(struct aggregate_db *db, struct capture_id *after, struct capture_id *out,
                        size_t room)
{
    struct ids ids = {out, 0, room};
    int64_t rows = db_run(db->write, "SELECT id FROM capture WHERE id > ? ORDER BY id", id_take,
                          &ids, DB(DB_ID(after->bytes)));
    if (ids.count > 0)
        *after = out[ids.count - 1];
    return rows < 0 ? rows : (int64_t)ids.count;
}

int aggregate_forget(struct aggregate_db *db, const struct capture_id *id)
{
    int status = db_begin(db->write);
    if (status != SKEIN_OK)
        return status;
    status = db_write(db->write, "DELETE FROM answer WHERE capture=?", DB(DB_ID(id->bytes)));
    if (status == SKEIN_OK)
        status = db_write(db->write, "DELETE FROM capture WHERE id=?", DB(DB_ID(id->bytes)));
    return db_end(db->write, status);
}

/* ---- answers ---- */

int aggregate_answer_put(struct aggregate_db *db, const struct capture_id *id, int kind,
                         const struct buf *bytes)
{
    struct buf packed = {0};
    lz4_pack(&packed, bytes->data, bytes->len);
    int status = packed.status;
    if (status == SKEIN_OK)
        status = db_write(db->write, "DELETE FROM answer WHERE capture=? AND kind=?",
                          DB(DB_ID(id->bytes), DB_I64(kind)));
    if (status == SKEIN_OK)
        status = db_write(db->write,
                          "INSERT INTO answer(capture, kind, raw, packed, bytes) VALUES(?,?,?,?,?)",
                          DB(DB_ID(id->bytes), DB_I64(kind), DB_I64((int64_t)bytes->len),
                             DB_I64((int64_t)packed.len), DB_BLOB(packed.data, packed.len)));
    buf_fini(&packed);
    return status;
}

struct unpacking {
    struct buf *out;
    int status;
};

static int answer_take(void *context, struct db_row *row)
{
    struct unpacking *u = context;
    size_t n;
    uint64_t raw = (uint64_t)db_i64(row, 0);
    const void *bytes = db_blob(row, 1, &n);
    uint8_t *to = raw <= AGGREGATE_ANSWER_BYTES ? buf_reserve(u->out, (size_t)raw) : NULL;
    u->status = raw > AGGREGATE_ANSWER_BYTES ? SKEIN_CORRUPT : SKEIN_NO_MEMORY;
    if (to != NULL)
        u->status = lz4_unpack(bytes, n, to, (size_t)raw);
    if (u->status == SKEIN_OK)
        u->out->len += (size_t)raw;
    return 1;
}

int aggregate_answer_get(struct aggregate_db *db, const struct capture_id *id, int kind,
                         struct buf *out)
{
    struct unpacking u = {out, SKEIN_NOT_FOUND};
    int64_t rows = db_run(db->read, "SELECT raw, bytes FROM answer WHERE capture=? AND kind=?",
                          answer_take, &u, DB(DB_ID(id->bytes), DB_I64(kind)));
    return rows < 0 ? (int)rows : u.status;
}

/* The sizes are in the index: no page of an answer is read for them. Captures' ids sort by time, while
 * a walk sums them up the newest first. */
int64_t aggregate_answers_trim(struct aggregate_db *db, uint64_t max_bytes)
{
    int64_t bytes = 0, count = 0, rows = 1;
    while (rows > 0) {
        int status =
            db_number(db->write, "SELECT coalesce(sum(packed), 0) FROM answer INDEXED BY answer_of",
                      &bytes, NULL);
        if (status != SKEIN_OK)
            return status;
        if ((uint64_t)bytes <= max_bytes)
            break;
        rows = db_run(db->write,
                      "DELETE FROM answer WHERE capture = (SELECT min(capture) FROM answer"
                      " INDEXED BY answer_of)",
                      NULL, NULL, NULL);
        count += rows > 0;
    }
    return rows < 0 ? rows : count;
}

/* ---- counts that last ---- */

int aggregate_note_add(struct aggregate_db *db, const char *key, uint64_t n)
{
    return db_write(db->write,
                    "INSERT INTO note(key, value) VALUES(?1, ?2)"
                    " ON CONFLICT(key) DO UPDATE SET value = value + ?2",
                    DB(DB_TEXT(key), DB_I64(db_clamped(n))));
}

uint64_t aggregate_note(struct db *db, const char *key)
{
    int64_t value = 0;
    (void)db_number(db, "SELECT value FROM note WHERE key=?", &value, DB(DB_TEXT(key)));
    return (uint64_t)value;
}
