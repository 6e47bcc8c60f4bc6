/* SPDX-License-Identifier: Apache-2.0
 *
 * A thin door to SQLite for index and catalog; db_sqlite.c alone knows sqlite3.h. A struct db is
 * one connection with one mutex: any thread may call, calls are serialised.
 */
#ifndef DB_H
#define DB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

struct db;
struct db_row; /* the current row of a query, or a function's arguments */

/* Opens or makes the file, in WAL mode. full: synchronous=FULL (for state that exists nowhere
 * else), else NORMAL. SKEIN_OK; SKEIN_IO; SKEIN_CORRUPT (not a database: the caller decides whether
 * to rebuild), with words in error. */
int db_open(const char *path, bool full, struct db **out, char *error, size_t error_bytes);
/* The same for a connection that never writes, of a file that is there. It sees what is committed,
 * and waits for no commit. A thread that must not wait for a disk (no_sync.h) may ask it; asking one
 * that commits aborts such a thread, because that one may be in the middle of a commit. */
int db_open_reading(const char *path, struct db **out, char *error, size_t error_bytes);
/* Makes the file at path in the folder before SQLite writes into it, or finds it: for nobody but the
 * folder's owner, also if root makes it. SKEIN_OK, SKEIN_IO (errno). */
int db_file_own(const char *folder, const char *path);
/* As db_open with full, for folder/name. Nobody but the folder's owner may read or write the file,
 * also if root makes it. SKEIN_TOO_LARGE: the path is too long. */
int db_open_private(const char *folder, const char *name, struct db **out, char *error,
                    size_t error_bytes);
/* Renames folder/name and its log, which nobody may have open, to name.damaged-SECONDS; `to` gets
 * the path. False: it cannot be renamed. */
bool db_set_aside(const char *folder, const char *name, char *to, size_t to_bytes);
void db_close(struct db **db);

/* Lets SQLite check all of it (PRAGMA quick_check). SKEIN_OK (sound), SKEIN_CORRUPT, or another
 * status. */
int db_check(struct db *db);
/* Whether any statement has met damage since it was opened. */
bool db_is_damaged(const struct db *db);
/* Copies the database at `path`, whoever has it open: SQLite's backup into a new file, checked, on
 * disk. SKEIN_OK; SKEIN_CORRUPT (the copy is damaged), SKEIN_IO, SKEIN_FULL: there is no new file
 * then. */
int db_copy(const char *path, const char *to);

/* Between db_hold and db_release nobody else runs a statement on the connection; the holder may (the
 * mutex is recursive), on this thread. So several statements have one turn, or the file is replaced
 * while others use the connection: db_shut closes it, which must not be called inside a statement,
 * db_reopen opens `path`; without a file every statement gives SKEIN_IO. */
void db_hold(struct db *db);
void db_release(struct db *db);
void db_shut(struct db *db);
int db_reopen(struct db *db, const char *path, bool full);
const char *db_error(const struct db *db);

/* Writes the log's pages back and empties its file, as far as nobody reads; for a disk that is
 * short. Not within a transaction. */
void db_trim(struct db *db);

/* Runs one or more statements without parameters (schemas, pragmas). */
int db_exec(struct db *db, const char *sql);

/* The values for a statement's ?1, ?2, ...: DB(DB_I64(n), DB_TEXT(name), DB_BLOB(id, 16)), or NULL
 * for none. A NULL text is SQL's NULL. A pointer is only for functions of db_define. Must stay
 * valid until the run is over. */
struct db_bind {
    enum {
        DB_KIND_END = 0,
        DB_KIND_I64,
        DB_KIND_TEXT,
        DB_KIND_ID,
        DB_KIND_BLOB,
        DB_KIND_POINTER
    } kind;
    int64_t i64;
    const char *text;
    const void *bytes;
    size_t n;
};
#define DB_I64(value)                                                                              \
    {                                                                                              \
        .kind = DB_KIND_I64, .i64 = (value)                                                        \
    }
#define DB_TEXT(value)                                                                             \
    {                                                                                              \
        .kind = DB_KIND_TEXT, .text = (value)                                                      \
    }
/* 16 bytes of an id, bound as the text of it (ids.h). */
#define DB_ID(id)                                                                                  \
    {                                                                                              \
        .kind = DB_KIND_ID, .bytes = (id), .n = 16                                                 \
    }
#define DB_BLOB(start, length)                                                                     \
    {                                                                                              \
        .kind = DB_KIND_BLOB, .bytes = (start), .n = (length)                                      \
    }
#define DB_POINTER(value)                                                                          \
    {                                                                                              \
        .kind = DB_KIND_POINTER, .bytes = (value)                                                  \
    }
#define DB(...) ((const struct db_bind[]){__VA_ARGS__, {.kind = DB_KIND_END}})

/* Runs one statement; it is prepared once and kept. Calls fn for each row until that returns not 0.
 * Returns how many rows it saw (or changed, if it is no query), or SKEIN_IO, SKEIN_EXISTS (a
 * constraint), SKEIN_FULL, SKEIN_CORRUPT, SKEIN_NO_MEMORY, SKEIN_BUSY; SKEIN_INVALID: there are
 * more or fewer binds than the statement has places. */
typedef int db_row_fn(void *context, struct db_row *row);
int64_t db_run(struct db *db, const char *sql, db_row_fn *fn, void *context,
               const struct db_bind *binds);

/* Of statements without rows of interest, and of what any run returned: SKEIN_OK or a status. */
int db_write(struct db *db, const char *sql, const struct db_bind *binds);
static inline int db_status(int64_t rows)
{
    return rows < 0 ? (int)rows : SKEIN_OK;
}
/* The first column of the first row; as it was where there is none. SKEIN_OK or a status. */
int db_number(struct db *db, const char *sql, int64_t *number, const struct db_bind *binds);

/* A row's value is signed: more than that is the most that there is. */
static inline int64_t db_clamped(uint64_t v)
{
    return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

int64_t db_i64(struct db_row *row, int column);
const char *db_text(struct db_row *row, int column); /* "" for NULL; valid until the next row */
const void *db_blob(struct db_row *row, int column, size_t *n);

/* Defines a yes-or-no function with so many arguments for statements of this connection. It must
 * not call the db. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
typedef bool db_test_fn(struct db_row *arguments);
int db_define(struct db *db, const char *name, int arguments, db_test_fn *fn);
const void *db_pointer(struct db_row *arguments, int at); /* what was bound, or NULL */

/* A transaction holds the connection's mutex: begin and end on one thread. db_end with SKEIN_OK
 * commits and returns how that went; with the status of what failed it rolls back, and returns
 * that. */
int db_begin(struct db *db);
int db_end(struct db *db, int status);

/* Makes the tables of a file that has none, in one transaction, and notes version 1 in it. *is_new
 * (may be NULL): it had none. SKEIN_OK; SKEIN_VERSION: a newer program's; or a status, with words in
 * error that begin with the file's `name`. */
int db_tables_make(struct db *db, const char *name, const char *schema, bool *is_new, char *error,
                   size_t error_bytes);

#endif
