/* SPDX-License-Identifier: Apache-2.0
 *
 * SQLite behind db.h. Owns the connection, its recursive mutex and the kept statements; any thread;
 * never prints. A callback may run other statements on the same connection: if the same one is
 * running already, it is prepared once more.
 */
#include "array.h"
#include "db.h"
#include "errno_status.h"
#include "ids.h"
#include "no_sync.h"
#include "skein_check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS 10000

struct statement {
    char *sql;
    sqlite3_stmt *stmt;
    bool busy;
};

struct db {
    sqlite3 *handle;
    pthread_mutex_t lock; /* recursive; guards everything */
    bool reads;           /* and never commits: who waits for the lock waits for no disk's sync */
    struct statement *statements;
    size_t count, room;
    atomic_bool damaged;
};

struct db_row {
    sqlite3_stmt *stmt;     /* a query's row */
    sqlite3_value **values; /* a function's arguments; NULL: it is a query's row */
};

static int status_of(int code)
{
    if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS)
        return SKEIN_CORRUPT;
    if (code == SQLITE_IOERR_SHMSIZE) /* no room to make the log's index larger */
        return SKEIN_FULL;
    switch (code & 0xff) {
    case SQLITE_OK:
    case SQLITE_ROW:
    case SQLITE_DONE:
        return SKEIN_OK;
    case SQLITE_CONSTRAINT:
        return SKEIN_EXISTS;
    case SQLITE_FULL:
        return SKEIN_FULL;
    case SQLITE_NOMEM:
        return SKEIN_NO_MEMORY;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return SKEIN_CORRUPT;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SKEIN_BUSY;
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
        return SKEIN_INVALID;
    default:
        return SKEIN_IO;
    }
}

/* Whoever has the lock of a connection that commits may be in the middle of it. */
static void lock_take(struct db *db)
{
    if (!db->reads)
        no_sync_check();
    pthread_mutex_lock(&db->lock);
}

static int failure_note(struct db *db, int code)
{
    int status = status_of(code);
    if (status == SKEIN_CORRUPT)
        atomic_store(&db->damaged, true);
    return status;
}

static int setup_handle(sqlite3 *handle, bool full)
{
    sqlite3_extended_result_codes(handle, 1);
    sqlite3_busy_timeout(handle, BUSY_MS);
    static const char *const common = "PRAGMA journal_mode=WAL;"
                                      "PRAGMA foreign_keys=ON;"
                                      "PRAGMA temp_store=MEMORY;"
                                      "PRAGMA journal_size_limit=4194304;"
                                      "SELECT count(*) FROM sqlite_master;";
    int code = sqlite3_exec(handle, common, NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_exec(handle, full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL",
                            NULL, NULL, NULL);
    return code;
}

/* The log's index is a file that other processes share (skeind token …). A full disk has no room
 * for it, and the collector must start all the same: then the index is in memory, and no other
 * process can use the database. */
static int handle_open(struct db *db, const char *path, bool full)
{
    static const char *const systems[] = {NULL, "unix-excl"};
    int code = SQLITE_FULL;
    for (size_t i = 0; i < 2 && status_of(code) == SKEIN_FULL; i++) {
        sqlite3_close(db->handle);
        db->handle = NULL;
        code = sqlite3_open_v2(path, &db->handle,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                               systems[i]);
        if (code == SQLITE_OK)
            code = setup_handle(db->handle, full);
    }
    if (code == SQLITE_OK && db->reads) /* the log is the writer's to move into the file */
        (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return code;
}

static int connection_open(const char *path, bool full, bool reads, struct db **out, char *error,
                           size_t error_bytes)
{
    *out = NULL;
    struct db *db = calloc(1, sizeof *db);
    if (db == NULL)
        return SKEIN_NO_MEMORY;
    db->reads = reads;
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&db->lock, &recursive);
    pthread_mutexattr_destroy(&recursive);
    int code = handle_open(db, path, full);
    if (code != SQLITE_OK) {
        (void)snprintf(error, error_bytes, "%s: %s", path,
                       db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code));
        db_close(&db);
        return status_of(code);
    }
    *out = db;
    return SKEIN_OK;
}

int db_open(const char *path, bool full, struct db **out, char *error, size_t error_bytes)
{
    return connection_open(path, full, false, out, error, error_bytes);
}

int db_open_reading(const char *path, struct db **out, char *error, size_t error_bytes)
{
    return connection_open(path, false, true, out, error, error_bytes);
}

int db_file_own(const char *folder, const char *path)
{
    struct stat owner;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return SKEIN_IO;
    int status = fchmod(fd, 0600) == 0 ? SKEIN_OK : SKEIN_IO;
    if (geteuid() == 0 && stat(folder, &owner) == 0 && fchown(fd, owner.st_uid, owner.st_gid) != 0)
        status = SKEIN_IO;
    close(fd);
    return status;
}

int db_open_private(const char *folder, const char *name, struct db **out, char *error,
                    size_t error_bytes)
{
    char path[4096];
    *out = NULL;
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return SKEIN_TOO_LARGE;
    if (db_file_own(folder, path) != SKEIN_OK) {
        (void)snprintf(error, error_bytes, "%s: %s", path, strerror(errno));
        return SKEIN_IO;
    }
    return db_open(path, true, out, error, error_bytes);
}

bool db_set_aside(const char *folder, const char *name, char *to, size_t to_bytes)
{
    static const char *const suffixes[] = {"-wal", "-shm", ""};
    char old[4096], new[4096];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    for (size_t i = 0; i < 3; i++) {
        int n = snprintf(old, sizeof old, "%s/%s%s", folder, name, suffixes[i]);
        int m = snprintf(new, sizeof new, "%s/%s.damaged-%" PRId64 "%s", folder, name,
                         (int64_t)now.tv_sec, suffixes[i]);
        if (n < 0 || m < 0 || (size_t)n >= sizeof old || (size_t)m >= sizeof new)
            return false;
        if (rename(old, new) != 0 && errno != ENOENT)
            return false;
    }
    (void)snprintf(to, to_bytes, "%s", new);
    return true;
}

void db_shut(struct db *db)
{
    for (size_t i = 0; i < db->count; i++) {
        sqlite3_finalize(db->statements[i].stmt);
        free(db->statements[i].sql);
    }
    db->count = 0;
    sqlite3_close(db->handle);
    db->handle = NULL;
}

int db_reopen(struct db *db, const char *path, bool full)
{
    int code = handle_open(db, path, full);
    if (code != SQLITE_OK)
        db_shut(db);
    else
        atomic_store(&db->damaged, false);
    return status_of(code);
}

void db_hold(struct db *db)
{
    lock_take(db);
}

void db_release(struct db *db)
{
    pthread_mutex_unlock(&db->lock);
}

bool db_is_damaged(const struct db *db)
{
    return atomic_load(&db->damaged);
}

void db_close(struct db **db)
{
    struct db *d = *db;
    if (d == NULL)
        return;
    *db = NULL;
    db_shut(d);
    free(d->statements);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

const char *db_error(const struct db *db)
{
    return db->handle != NULL ? sqlite3_errmsg(db->handle) : "the file is closed";
}

void db_trim(struct db *db)
{
    lock_take(db);
    if (db->handle == NULL) {
        pthread_mutex_unlock(&db->lock);
        return;
    }
    sqlite3_busy_timeout(db->handle, 0); /* do not wait for readers */
    (void)sqlite3_exec(db->handle, "PRAGMA wal_checkpoint(TRUNCATE)", NULL, NULL, NULL);
    sqlite3_busy_timeout(db->handle, BUSY_MS);
    pthread_mutex_unlock(&db->lock);
}

int db_exec(struct db *db, const char *sql)
{
    lock_take(db);
    int code =
        db->handle != NULL ? sqlite3_exec(db->handle, sql, NULL, NULL, NULL) : SQLITE_CANTOPEN;
    pthread_mutex_unlock(&db->lock);
    return failure_note(db, code);
}

/* Keeps a new statement. Without memory for that it is finalised after its run, like a second
 * copy. */
static struct statement *statement_keep(struct db *db, const char *sql, sqlite3_stmt *stmt)
{
    if (!array_grow(db->statements, db->count + 1, &db->room))
        return NULL;
    char *copy = strdup(sql);
    if (copy == NULL)
        return NULL;
    db->statements[db->count] = (struct statement){copy, stmt, false};
    return &db->statements[db->count++];
}

/* Gives a statement ready to bind, and its place among the kept ones or SIZE_MAX. */
static int statement_get(struct db *db, const char *sql, sqlite3_stmt **stmt, size_t *kept)
{
    *kept = SIZE_MAX;
    for (size_t i = 0; i < db->count; i++) {
        if (strcmp(db->statements[i].sql, sql) != 0)
            continue;
        if (db->statements[i].busy) /* the same statement runs around this call */
            return sqlite3_prepare_v2(db->handle, sql, -1, stmt, NULL);
        db->statements[i].busy = true;
        *kept = i;
        *stmt = db->statements[i].stmt;
        return SQLITE_OK;
    }
    int code = sqlite3_prepare_v3(db->handle, sql, -1, SQLITE_PREPARE_PERSISTENT, stmt, NULL);
    if (code != SQLITE_OK)
        return code;
    struct statement *s = statement_keep(db, sql, *stmt);
    if (s != NULL) {
        s->busy = true;
        *kept = (size_t)(s - db->statements);
    }
    return SQLITE_OK;
}

static int value_bind(sqlite3_stmt *stmt, int place, const struct db_bind *bind)
{
    char id[ID_TEXT_BYTES];
    switch (bind->kind) {
    case DB_KIND_I64:
        return sqlite3_bind_int64(stmt, place, bind->i64);
    case DB_KIND_TEXT:
        return bind->text != NULL ? sqlite3_bind_text(stmt, place, bind->text, -1, SQLITE_STATIC)
                                  : sqlite3_bind_null(stmt, place);
    case DB_KIND_ID:
        id_text(bind->bytes, id);
        return sqlite3_bind_text(stmt, place, id, -1, SQLITE_TRANSIENT);
    case DB_KIND_BLOB:
        return sqlite3_bind_blob64(stmt, place, bind->n ? bind->bytes : "", bind->n, SQLITE_STATIC);
    case DB_KIND_POINTER: /* SQLite's prototype lacks const; only our functions get the pointer */
        return sqlite3_bind_pointer(stmt, place, (void *)(uintptr_t)bind->bytes, "db", NULL);
    case DB_KIND_END:
    default:
        return SQLITE_MISUSE;
    }
}

static int binds_bind(sqlite3_stmt *stmt, const struct db_bind *binds)
{
    int place = 0, code = SQLITE_OK;
    for (; binds != NULL && binds->kind != DB_KIND_END && code == SQLITE_OK; binds++)
        code = value_bind(stmt, ++place, binds);
    bool all = place == sqlite3_bind_parameter_count(stmt) || sqlite3_stmt_isexplain(stmt);
    return code == SQLITE_OK && !all ? SQLITE_MISUSE : code;
}

static int64_t statement_run(struct db *db, sqlite3_stmt *stmt, db_row_fn *fn, void *context)
{
    struct db_row row = {stmt, NULL};
    int64_t rows = 0;
    skein_check(!db->reads || sqlite3_stmt_readonly(stmt));
    int before = sqlite3_total_changes(db->handle);
    int code;
    while ((code = sqlite3_step(stmt)) == SQLITE_ROW) {
        rows++;
        if (fn != NULL && fn(context, &row) != 0) {
            code = SQLITE_DONE;
            break;
        }
    }
    if (code != SQLITE_DONE)
        return failure_note(db, code);
    if (sqlite3_column_count(stmt) == 0)
        return sqlite3_total_changes(db->handle) - before;
    return rows;
}

int64_t db_run(struct db *db, const char *sql, db_row_fn *fn, void *context,
               const struct db_bind *binds)
{
    lock_take(db);
    sqlite3_stmt *stmt = NULL;
    size_t kept;
    int code = db->handle != NULL ? statement_get(db, sql, &stmt, &kept) : SQLITE_CANTOPEN;
    int64_t result = failure_note(db, code);
    if (code == SQLITE_OK) {
        code = binds_bind(stmt, binds);
        result = code == SQLITE_OK ? statement_run(db, stmt, fn, context) : failure_note(db, code);
        if (kept == SIZE_MAX) {
            sqlite3_finalize(stmt);
        } else {
            sqlite3_reset(stmt);
            sqlite3_clear_bindings(stmt);
            db->statements[kept].busy = false;
        }
    }
    pthread_mutex_unlock(&db->lock);
    return result;
}

int64_t db_i64(struct db_row *row, int column)
{
    return row->values != NULL ? sqlite3_value_int64(row->values[column])
                               : sqlite3_column_int64(row->stmt, column);
}

const char *db_text(struct db_row *row, int column)
{
    const unsigned char *text = row->values != NULL ? sqlite3_value_text(row->values[column])
                                                    : sqlite3_column_text(row->stmt, column);
    return text != NULL ? (const char *)text : "";
}

const void *db_blob(struct db_row *row, int column, size_t *n)
{
    const void *bytes = sqlite3_column_blob(row->stmt, column);
    *n = bytes != NULL ? (size_t)sqlite3_column_bytes(row->stmt, column) : 0;
    return bytes;
}

static void function_call(sqlite3_context *context, int count, sqlite3_value **values)
{
    db_test_fn *const *fn = sqlite3_user_data(context);
    struct db_row arguments = {NULL, values};
    (void)count;
    sqlite3_result_int(context, (*fn)(&arguments));
}

int db_define(struct db *db, const char *name, int arguments, db_test_fn *fn)
{
    db_test_fn **kept = malloc(sizeof *kept);
    if (kept == NULL)
        return SKEIN_NO_MEMORY;
    *kept = fn;
    lock_take(db);
    int code = sqlite3_create_function_v2(db->handle, name, arguments, SQLITE_UTF8, kept,
                                          function_call, NULL, NULL, free);
    pthread_mutex_unlock(&db->lock);
    return failure_note(db, code);
}

const void *db_pointer(struct db_row *arguments, int at)
{
    return sqlite3_value_pointer(arguments->values[at], "db");
}

int db_begin(struct db *db)
{
    skein_check(!db->reads);
    lock_take(db);
    int code = db->handle != NULL ? sqlite3_exec(db->handle, "BEGIN IMMEDIATE", NULL, NULL, NULL)
                                  : SQLITE_CANTOPEN;
    if (code != SQLITE_OK)
        pthread_mutex_unlock(&db->lock);
    return failure_note(db, code);
}

int db_end(struct db *db, int status)
{
    bool commit = status == SKEIN_OK;
    no_sync_check();
    int code = sqlite3_exec(db->handle, commit ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
    if (code != SQLITE_OK && commit && !sqlite3_get_autocommit(db->handle))
        (void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
    pthread_mutex_unlock(&db->lock);
    int ended = failure_note(db, code);
    return commit ? ended : status;
}

int db_write(struct db *db, const char *sql, const struct db_bind *binds)
{
    return db_status(db_run(db, sql, NULL, NULL, binds));
}

static int number_take(void *context, struct db_row *row)
{
    *(int64_t *)context = db_i64(row, 0);
    return 1;
}

int db_number(struct db *db, const char *sql, int64_t *number, const struct db_bind *binds)
{
    return db_status(db_run(db, sql, number_take, number, binds));
}

int db_tables_make(struct db *db, const char *name, const char *schema, bool *is_new, char *error,
                   size_t error_bytes)
{
    int64_t version = 0;
    int status = db_number(db, "PRAGMA user_version", &version, NULL);
    if (status == SKEIN_OK && version > 1) {
        (void)snprintf(error, error_bytes, "%s is of a newer collector", name);
        return SKEIN_VERSION;
    }
    if (is_new != NULL)
        *is_new = version == 0;
    if (status == SKEIN_OK && version == 0 && (status = db_begin(db)) == SKEIN_OK) {
        status = db_exec(db, schema);
        if (status == SKEIN_OK)
            status = db_exec(db, "PRAGMA user_version=1");
        status = db_end(db, status);
    }
    if (status != SKEIN_OK)
        (void)snprintf(error, error_bytes, "%s: %s", name, db_error(db));
    return status;
}

/* ---- checks and copies ---- */

static int answer_take(void *context, struct db_row *row)
{
    bool *sound = context;
    *sound = strcmp(db_text(row, 0), "ok") == 0;
    return 1;
}

int db_check(struct db *db)
{
    bool sound = false;
    int64_t rows = db_run(db, "PRAGMA quick_check(1)", answer_take, &sound, NULL);
    if (rows >= 0 && !sound)
        atomic_store(&db->damaged, true);
    return rows < 0 ? (int)rows : sound ? SKEIN_OK : SKEIN_CORRUPT;
}

static int pages_copy(const char *path, const char *to)
{
    sqlite3 *from = NULL, *copy = NULL;
    int code = sqlite3_open_v2(path, &from, SQLITE_OPEN_READONLY, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_open_v2(to, &copy, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (code == SQLITE_OK) {
        sqlite3_busy_timeout(from, BUSY_MS);
        sqlite3_backup *backup = sqlite3_backup_init(copy, "main", from, "main");
        if (backup != NULL)
            (void)sqlite3_backup_step(backup, -1); /* one snapshot; in WAL it stops no writer */
        code = backup != NULL ? sqlite3_backup_finish(backup) : sqlite3_errcode(copy);
    }
    sqlite3_close(copy);
    sqlite3_close(from);
    return status_of(code);
}

int db_copy(const char *path, const char *to)
{
    char error[256];
    struct db *copy = NULL;
    (void)unlink(to);
    int fd = open(to, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return status_of_errno(errno);
    int status = pages_copy(path, to);
    if (status == SKEIN_OK)
        status = db_open(to, true, &copy, error, sizeof error);
    if (copy != NULL) {
        status = db_check(copy);
        (void)db_exec(copy, "PRAGMA journal_mode=DELETE"); /* one file */
    }
    db_close(&copy);
    no_sync_check();
    if (status == SKEIN_OK && fsync(fd) != 0)
        status = SKEIN_IO;
    close(fd);
    if (status != SKEIN_OK)
        (void)unlink(to);
    return status;
}
