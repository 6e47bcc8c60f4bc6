/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions to a trace in SQL: SQLite over virtual tables that read the trace as they are asked
 * (docs/sql.md). Nothing is imported and nothing can be written: select, values, with, explain and
 * pragma table_info are all that is let through, and no statement reaches a file.
 *
 *     struct sql_engine *engine;
 *     sql_open(trace, &limits, &engine);
 *     sql_prepare(engine, text, strlen(text), &statement, &used);
 *     while (sql_next(statement) > 0)
 *         sql_value(statement, 0, &value);
 *     sql_statement_free(&statement);
 *
 * Memory: what the cursors of a statement take (skein/trace.h), and what SQLite sorts or groups,
 * all of it: nothing is put into a temporary file, and memory_bytes bounds it. An engine, its statements and
 * its trace belong to one thread; sql_interrupt alone may be called by others and by a signal's
 * handler. The trace must not get files as long as the engine lives.
 */
#ifndef SQL_H
#define SQL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/trace.h"

struct sql_engine;
struct sql_statement;

/* Of each statement, from its first row on; 0: no limit. */
struct sql_limits {
    uint64_t rows;  /* of the result */
    uint64_t steps; /* of SQLite's machine, in thousands, and rows of the trace that are read */
    uint64_t
        memory_bytes; /* that SQLite takes in this process from then on, looked at now and then */
    uint64_t time_ns;
    const atomic_bool *cancel; /* true ends it; NULL: none. Outlives the engine */
};

enum sql_type { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT, SQL_BLOB };
struct sql_value {
    enum sql_type type;
    int64_t integer;
    double real;
    const char *text; /* of TEXT and BLOB; any bytes */
    size_t len;
};

/* limits may be NULL, and is copied. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_UNSUPPORTED: SQLite refuses
 * what keeps statements from files. */
int sql_open(struct skein_trace *trace, const struct sql_limits *limits, struct sql_engine **out);
/* Its statements are freed before. */
void sql_close(struct sql_engine **engine);

/* The first statement of n bytes; *used: how many it took. SKEIN_OK (*out is NULL where there are but
 * blanks and comments); SKEIN_INVALID, SKEIN_DENIED (no question), SKEIN_NO_MEMORY. */
int sql_prepare(struct sql_engine *engine, const char *text, size_t n, struct sql_statement **out,
                size_t *used);
void sql_statement_free(struct sql_statement **statement);

size_t sql_column_count(const struct sql_statement *statement);
const char *sql_column_name(struct sql_statement *statement, size_t column);

/* The next row: 1; 0 at the end; SKEIN_INVALID: an error of SQL; SKEIN_TOO_LARGE: of rows, steps or
 * memory; SKEIN_TIMEOUT; SKEIN_CLOSED: cancelled or interrupted; SKEIN_NO_MEMORY. */
int sql_next(struct sql_statement *statement);
/* Of the row. Texts last until the next call with this statement. */
void sql_value(struct sql_statement *statement, size_t column, struct sql_value *value);

/* After a failure: a sentence, and the byte of the statement's text that it is about, or -1. */
const char *sql_error(const struct sql_engine *engine);
int sql_error_at(const struct sql_engine *engine);

/* Ends what runs: sql_next says SKEIN_CLOSED. Until the next sql_prepare. */
void sql_interrupt(struct sql_engine *engine);

/* Whether text ends a statement (a ';' that is none of a string's or a comment's). */
bool sql_is_complete(const char *text);

/* What the statements so far could not read (skein_cursor_gaps), each once. The engine's, until the
 * next statement. */
size_t sql_gaps(const struct sql_engine *engine, const struct skein_gap **gaps);

/* The tables by their names, and their columns with the types: NULL at the end. */
const char *sql_table_name(size_t table);
const char *sql_table_column(size_t table, size_t column, const char **type);

#endif
