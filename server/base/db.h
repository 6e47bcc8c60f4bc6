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

/* Opens or makes the file, WAL; full: synchronous=FULL (state that exists nowhere else), else
 * NORMAL. SKEIN_OK; SKEIN_IO; SKEIN_CORRUPT (no database: the caller decides whether to rebuild),
 * with words in error. */
int db_open(const char *path, bool full, struct db **out, char *error, size_t error_bytes);
/* The same, full, for folder/name, which nobody but the folder's owner may read or write (also
 * where root makes it). SKEIN_TOO_LARGE: too long a path. */
int db_open_private(const char *folder, const char *name, struct db **out, char *error,
                    size_t error_bytes);
/* Renames folder/name and its log, which nobody may have open, to name.damaged-SECONDS, whose path
 * is put into `to`. False: it cannot be renamed. */
bool db_set_aside(const char *folder, const char *name, char *to, size_t to_bytes);
void db_close(struct db **db);

/* Whether SQLite finds it sound (PRAGMA quick_check): reads all of it. SKEIN_OK, SKEIN_CORRUPT or
 * another status. */
int db_check(struct db *db);
/* Whether any statement has met damage since it was opened. */
bool db_is_damaged(const struct db *db);
/* A sound copy of the database at `path`, whoever has it open: SQLite's backup into a new file,
 * checked, on disk. SKEIN_OK; SKEIN_CORRUPT (what was copied is damaged), SKEIN_IO, SKEIN_FULL;
 * then there is no new file. */
int db_copy(const char *path, const char *to);

/* For a file that is replaced while others use the connection: nobody runs a statement between
 * db_hold and db_release, nor may the caller be inside of one. In between, db_shut closes the file
 * and db_reopen opens `path`; without a file every statement is SKEIN_IO. */
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

/* What stands for a statement's ?1, ?2, ...: DB(DB_I64(n), DB_TEXT(name), DB_BLOB(id, 16)), or NULL
 * for none. A text that is NULL is SQL's NULL. A pointer is for functions of db_define alone. The
 * caller's until the run is over. */
struct db_bind {
    enum { DB_KIND_END = 0, DB_KIND_I64, DB_KIND_TEXT, DB_KIND_BLOB, DB_KIND_POINTER } kind;
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
#define DB_BLOB(start, length)                                                                     \
    {                                                                                              \
        .kind = DB_KIND_BLOB, .bytes = (start), .n = (length)                                      \
    }
#define DB_POINTER(value)                                                                          \
    {                                                                                              \
        .kind = DB_KIND_POINTER, .bytes = (value)                                                  \
    }
#define DB(...) ((const struct db_bind[]){__VA_ARGS__, {.kind = DB_KIND_END}})

/* Runs one statement; prepared once and kept. For each row calls fn until it returns not 0. Returns
 * rows seen (changed, where it is no query), or SKEIN_IO, SKEIN_EXISTS (a constraint), SKEIN_FULL,
 * SKEIN_CORRUPT, SKEIN_NO_MEMORY, SKEIN_BUSY; SKEIN_INVALID where there are more or fewer binds
 * than the statement has places. */
typedef int db_row_fn(void *context, struct db_row *row);
int64_t db_run(struct db *db, const char *sql, db_row_fn *fn, void *context,
               const struct db_bind *binds);

int64_t db_i64(struct db_row *row, int column);
const char *db_text(struct db_row *row, int column); /* "" for NULL; valid until the next row */
const void *db_blob(struct db_row *row, int column, size_t *n);

/* A function of so many arguments for the statements of this connection, which says yes or no. It
 * must not call the db. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_IO. */
typedef bool db_test_fn(struct db_row *arguments);
int db_define(struct db *db, const char *name, int arguments, db_test_fn *fn);
const void *db_pointer(struct db_row *arguments, int at); /* what was bound, or NULL */

/* A transaction holds the connection's mutex: begin and end on one thread. commit false rolls back.
 */
int db_begin(struct db *db);
int db_end(struct db *db, bool commit);

#endif
