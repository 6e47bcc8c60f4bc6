/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of sql/ share: the engine's inside, and how values are given to SQLite. For this
 * folder alone.
 */
#ifndef SQL_INT_H
#define SQL_INT_H

#include "buf.h"
#include "sql_table_int.h"

/* ---- the engine ---- */

struct sql_stat {
    const char *name, *severity, *source, *description;
    int64_t process; /* number; -1: of the trace */
    uint64_t value;
};

struct sql_engine {
    sqlite3 *db;
    struct skein_trace *trace;
    struct sql_limits limits;
    atomic_bool stopped;
    /* Of the statement that runs. */
    uint64_t rows, steps, deadline_ns;
    int64_t memory_before;
    int ended; /* the status that a limit ended it with; SKEIN_OK: none did */

    bool names_known; /* all threads have their numbers */
    struct sql_stat *stats;
    size_t stat_count, stat_cap;
    bool stats_known;
    struct skein_gap *gaps; /* `what` is the engine's */
    size_t gap_count, gap_cap;

    char error[SKEIN_TRACE_ERROR_BYTES];
    int error_at;
};

/* Whether what runs may go on after `steps` more; else engine->ended says why not. */
bool sql_may_go_on(struct sql_engine *engine, uint64_t steps);

/* Numbers all threads of the trace: a pass that reads none of their events. */
int sql_names_learn(struct sql_engine *engine);

/* Keeps the gaps that a cursor has found. SKEIN_OK, SKEIN_NO_MEMORY. */
int sql_gaps_note(struct sql_engine *engine, const struct skein_cursor *cursor);

/* SQLite's code for a status; the engine has the sentence where SQLite has none. */
int sql_code_of(int status);

/* ---- the two kinds of tables, as SQLite's modules; a vtab's context is a struct sql_vtab ---- */

extern const sqlite3_module sql_event_module, sql_list_module;

/* Either is made of functions of these names, in its file. */
#define SQL_MODULE                                                                                 \
    {                                                                                              \
        .iVersion = 1, .xConnect = sql_vtab_connect, .xDisconnect = sql_vtab_disconnect,           \
        .xBestIndex = plan_make, .xOpen = cursor_open, .xClose = cursor_close,                     \
        .xFilter = cursor_filter, .xNext = cursor_next, .xEof = cursor_ended,                      \
        .xColumn = column_give, .xRowid = row_number,                                              \
    }

struct sql_module { /* what a module is made with; the engine's */
    struct sql_engine *engine;
    const struct sql_table *table;
};
struct sql_vtab {
    sqlite3_vtab base;
    struct sql_engine *engine;
    const struct sql_table *table;
};
int sql_vtab_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                     sqlite3_vtab **out, char **error);
int sql_vtab_disconnect(sqlite3_vtab *vtab);

/* ---- values: sql_values.c ---- */

void sql_u64_give(sqlite3_context *to, uint64_t value);
/* Of a text that lasts as long as the trace. */
void sql_text_give(sqlite3_context *to, const char *text);
void sql_process_give(sqlite3_context *to, const struct skein_trace *trace, uint32_t process,
                      enum sql_what what);
void sql_arg_give(sqlite3_context *to, uint8_t type, const struct skein_arg *arg);
/* As a value of JSON. */
void sql_arg_put(struct buf *b, uint8_t type, const struct skein_arg *arg);

#endif
