/* SPDX-License-Identifier: Apache-2.0
 *
 * The engine behind sql.h: a connection of SQLite's to an empty database in memory, with the tables
 * as eponymous modules, an authorizer that lets questions through and nothing else, and limits that
 * are looked at while a statement runs. Prints nothing, opens no file. One thread, but for
 * sql_interrupt.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "sql_int.h"

#define STEPS_BETWEEN 1000       /* looks of the progress handler */
#define VALUE_BYTES   (64 << 20) /* of any text that a statement makes */
#define SQL_BYTES     (1 << 20)  /* of a statement */

struct sql_statement {
    struct sql_engine *engine;
    sqlite3_stmt *stmt;
    bool begun;
};

const struct sql_table *const sql_tables[] = {
    &sql_event, &sql_slice,        &sql_thread, &sql_process, &sql_task,   &sql_counter,
    &sql_sched, &sql_thread_state, &sql_stack,  &sql_frame,   &sql_sample, &sql_log,
    &sql_args,  &sql_partition,    &sql_loss,   &sql_stats,   NULL};

/* ---- errors ---- */

int sql_code_of(int status)
{
    switch (status) {
    case SKEIN_OK:
        return SQLITE_OK;
    case SKEIN_NO_MEMORY:
        return SQLITE_NOMEM;
    case SKEIN_CLOSED:
    case SKEIN_TIMEOUT:
    case SKEIN_TOO_LARGE:
        return SQLITE_INTERRUPT;
    default:
        return SQLITE_ERROR;
    }
}

static int error_set(struct sql_engine *engine, int status, const char *text)
{
    snprintf(engine->error, sizeof engine->error, "%s", text);
    return status;
}

static int ended_tell(struct sql_engine *engine)
{
    switch (engine->ended) {
    case SKEIN_TIMEOUT:
        return error_set(engine, SKEIN_TIMEOUT, "the statement took longer than it may");
    case SKEIN_TOO_LARGE:
        return error_set(engine, SKEIN_TOO_LARGE,
                         "the statement took more steps or memory than it may");
    case SKEIN_NO_MEMORY:
        return error_set(engine, SKEIN_NO_MEMORY, "out of memory");
    default:
        return error_set(engine, SKEIN_CLOSED, "interrupted");
    }
}

static int failure_note(struct sql_engine *engine, int code)
{
    engine->error_at = -1;
    if (code == SQLITE_INTERRUPT)
        return ended_tell(engine);
    if ((code & 0xff) == SQLITE_NOMEM)
        return error_set(engine, SKEIN_NO_MEMORY, "out of memory");
    engine->error_at = sqlite3_error_offset(engine->db);
    error_set(engine, SKEIN_INVALID, sqlite3_errmsg(engine->db));
    return (code & 0xff) == SQLITE_AUTH ? SKEIN_DENIED : SKEIN_INVALID;
}

const char *sql_error(const struct sql_engine *engine)
{
    return engine->error;
}

int sql_error_at(const struct sql_engine *engine)
{
    return engine->error_at;
}

/* ---- limits ---- */

static int limit_met(const struct sql_engine *engine)
{
    const struct sql_limits *l = &engine->limits;
    if (atomic_load(&engine->stopped) ||
        (l->cancel != NULL && atomic_load_explicit(l->cancel, memory_order_relaxed)))
        return SKEIN_CLOSED;
    if (l->steps != 0 && engine->steps > l->steps)
        return SKEIN_TOO_LARGE;
    if (engine->deadline_ns != 0 && clock_monotonic_ns() > engine->deadline_ns)
        return SKEIN_TIMEOUT;
    if (l->memory_bytes != 0) {
        int64_t more = sqlite3_memory_used() - engine->memory_before;
        if (more > 0 && (uint64_t)more > l->memory_bytes)
            return SKEIN_TOO_LARGE;
    }
    return SKEIN_OK;
}

bool sql_may_go_on(struct sql_engine *engine, uint64_t steps)
{
    engine->steps += steps;
    if (engine->ended == SKEIN_OK)
        engine->ended = limit_met(engine);
    return engine->ended == SKEIN_OK;
}

static int progress_look(void *context)
{
    return sql_may_go_on(context, 1) ? 0 : 1;
}

void sql_interrupt(struct sql_engine *engine)
{
    atomic_store(&engine->stopped, true);
}

/* ---- what may be asked ---- */

static int action_allow(void *context, int action, const char *first, const char *second,
                        const char *database, const char *by)
{
    static const char *const pragmas[] = {"table_info", "table_xinfo"};
    (void)context;
    (void)database;
    (void)by;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return second != NULL && sqlite3_stricmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                                : SQLITE_OK;
    case SQLITE_PRAGMA:
        for (size_t i = 0; i < sizeof pragmas / sizeof *pragmas; i++)
            if (first != NULL && sqlite3_stricmp(first, pragmas[i]) == 0)
                return SQLITE_OK;
        return SQLITE_DENY;
    default:
        return SQLITE_DENY;
    }
}

/* ---- tables ---- */

static void declaration_put(char *text, size_t bytes, const struct sql_table *table)
{
    size_t n = (size_t)snprintf(text, bytes, "create table x(");
    for (size_t i = 0; table->columns[i].name != NULL; i++)
        n += (size_t)snprintf(text + n, bytes - n, "%s%s %s", i > 0 ? "," : "",
                              table->columns[i].name, table->columns[i].type);
    snprintf(text + n, bytes - n, ")");
}

int sql_vtab_connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                     sqlite3_vtab **out, char **error)
{
    const struct sql_module *module = context;
    char text[SQL_COLUMNS_MAX * 40];
    (void)argc;
    (void)argv;
    declaration_put(text, sizeof text, module->table);
    int code = sqlite3_declare_vtab(db, text);
    if (code != SQLITE_OK) {
        *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
        return code;
    }
    struct sql_vtab *vtab = calloc(1, sizeof *vtab);
    if (vtab == NULL)
        return SQLITE_NOMEM;
    vtab->engine = module->engine;
    vtab->table = module->table;
    *out = &vtab->base;
    return SQLITE_OK;
}

int sql_vtab_disconnect(sqlite3_vtab *vtab)
{
    free(vtab);
    return SQLITE_OK;
}

const char *sql_table_name(size_t table)
{
    return sql_tables[table] != NULL ? sql_tables[table]->name : NULL;
}

const char *sql_table_column(size_t table, size_t column, const char **type)
{
    const struct sql_column *of = &sql_tables[table]->columns[column];
    if (of->name != NULL)
        *type = of->type;
    return of->name;
}

static int tables_make(struct sql_engine *engine)
{
    for (size_t i = 0; sql_tables[i] != NULL; i++) {
        struct sql_module *module = calloc(1, sizeof *module);
        if (module == NULL)
            return SQLITE_NOMEM;
        *module = (struct sql_module){engine, sql_tables[i]};
        /* Frees `module` also where it fails. */
        int code = sqlite3_create_module_v2(
            engine->db, sql_tables[i]->name,
            sql_tables[i]->list != NULL ? &sql_list_module : &sql_event_module, module, free);
        if (code != SQLITE_OK)
            return code;
    }
    return SQLITE_OK;
}

/* A table is declared when it is first named. SQLite asks for leave to note that in a schema, which it
 * then does not, so all are named before the authorizer is there: these, and what else may be used. */
static int tables_declare(sqlite3 *db)
{
    static const char *const others[] = {"json_each", "json_tree", "pragma_table_info",
                                         "pragma_table_xinfo"};
    const size_t count = sizeof others / sizeof *others;
    int code = SQLITE_OK;
    for (size_t i = 0; code == SQLITE_OK && (i < count || sql_tables[i - count] != NULL); i++) {
        char text[64];
        sqlite3_stmt *stmt;
        snprintf(text, sizeof text, "select 1 from %s",
                 i < count ? others[i] : sql_tables[i - count]->name);
        code = sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
        sqlite3_finalize(stmt);
        if (i < count && code != SQLITE_NOMEM) /* this SQLite may be without it */
            code = SQLITE_OK;
    }
    return code;
}

/* ---- the connection ---- */

static bool is_locked(struct sql_engine *engine)
{
    sqlite3 *db = engine->db;
    bool fine =
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, (int *)NULL) == SQLITE_OK &&
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, (int *)NULL) == SQLITE_OK &&
        sqlite3_set_authorizer(db, action_allow, engine) == SQLITE_OK;
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, VALUE_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_SQL_LENGTH, SQL_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_WORKER_THREADS, 0);
    sqlite3_progress_handler(db, STEPS_BETWEEN, progress_look, engine);
    return fine;
}

int sql_open(struct skein_trace *trace, const struct sql_limits *limits, struct sql_engine **out)
{
    struct sql_engine *engine = calloc(1, sizeof *engine);
    *out = NULL;
    if (engine == NULL)
        return SKEIN_NO_MEMORY;
    engine->trace = trace;
    engine->error_at = -1;
    if (limits != NULL)
        engine->limits = *limits;
    int code =
        sqlite3_open_v2(":memory:", &engine->db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX, NULL);
    if (code == SQLITE_OK) /* what is sorted or grouped never gets into a file */
        code = sqlite3_exec(engine->db, "PRAGMA temp_store=MEMORY", NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = tables_make(engine);
    if (code == SQLITE_OK)
        code = tables_declare(engine->db);
    int status = code == SQLITE_OK ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK && !is_locked(engine))
        status = SKEIN_UNSUPPORTED;
    if (status != SKEIN_OK)
        sql_close(&engine);
    *out = engine;
    return status;
}

void sql_close(struct sql_engine **engine)
{
    if (*engine == NULL)
        return;
    sqlite3_close((*engine)->db);
    for (size_t i = 0; i < (*engine)->gap_count; i++)
        free((char *)(uintptr_t)(*engine)->gaps[i].what);
    free((*engine)->gaps);
    free((*engine)->stats);
    free(*engine);
    *engine = NULL;
}

/* ---- what the trace knows after a look at all of it ---- */

static bool thread_pass_over(void *context, const struct skein_thread *thread)
{
    (void)context;
    (void)thread;
    return false;
}

int sql_names_learn(struct sql_engine *engine)
{
    struct skein_query query = {.size = sizeof query,
                                .columns = SKEIN_COLUMN_TYPE,
                                .kinds = SQL_KIND_BIT(LOSS),
                                .by_process = true,
                                .thread = thread_pass_over};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    if (engine->names_known)
        return SKEIN_OK;
    int status = skein_cursor_new(engine->trace, &query, &cursor);
    if (status != SKEIN_OK)
        return status;
    while ((status = skein_cursor_next(cursor, &batch)) > 0)
        if (!sql_may_go_on(engine, batch.count)) {
            status = engine->ended;
            break;
        }
    skein_cursor_free(&cursor);
    engine->names_known = status == SKEIN_OK;
    return status;
}

static bool gap_is_same(const struct skein_gap *a, const struct skein_gap *b)
{
    return a->reason == b->reason && a->process == b->process && a->partition == b->partition &&
           a->from_ns == b->from_ns && a->to_ns == b->to_ns && a->bytes == b->bytes &&
           strcmp(a->what != NULL ? a->what : "", b->what != NULL ? b->what : "") == 0;
}

static bool gap_is_known(const struct sql_engine *engine, const struct skein_gap *gap)
{
    for (size_t i = 0; i < engine->gap_count; i++)
        if (gap_is_same(&engine->gaps[i], gap))
            return true;
    return false;
}

int sql_gaps_note(struct sql_engine *engine, const struct skein_cursor *cursor)
{
    const struct skein_gap *gaps;
    size_t count = skein_cursor_gaps(cursor, &gaps);
    for (size_t i = 0; i < count; i++) {
        if (gap_is_known(engine, &gaps[i]))
            continue;
        char *what = strdup(gaps[i].what != NULL ? gaps[i].what : "");
        if (what == NULL || !array_grow(engine->gaps, engine->gap_count + 1, &engine->gap_cap)) {
            free(what);
            return SKEIN_NO_MEMORY;
        }
        engine->gaps[engine->gap_count] = gaps[i];
        engine->gaps[engine->gap_count++].what = what;
    }
    return SKEIN_OK;
}

size_t sql_gaps(const struct sql_engine *engine, const struct skein_gap **gaps)
{
    *gaps = engine->gaps;
    return engine->gap_count;
}

/* ---- statements ---- */

bool sql_is_complete(const char *text)
{
    return sqlite3_complete(text) != 0;
}

static void limits_begin(struct sql_engine *engine)
{
    engine->rows = engine->steps = 0;
    engine->ended = SKEIN_OK;
    engine->memory_before = sqlite3_memory_used();
    engine->deadline_ns =
        engine->limits.time_ns != 0 ? clock_monotonic_ns() + engine->limits.time_ns : 0;
}

int sql_prepare(struct sql_engine *engine, const char *text, size_t n, struct sql_statement **out,
                size_t *used)
{
    const char *tail = text;
    sqlite3_stmt *stmt = NULL;
    *out = NULL;
    *used = 0;
    engine->error[0] = '\0';
    engine->error_at = -1;
    atomic_store(&engine->stopped, false);
    limits_begin(engine);
    if (n > SQL_BYTES)
        return error_set(engine, SKEIN_INVALID, "the statement is longer than 1 MiB");
    int code = sqlite3_prepare_v2(engine->db, text, (int)n, &stmt, &tail);
    if (code != SQLITE_OK)
        return failure_note(engine, code);
    *used = (size_t)(tail - text);
    if (stmt == NULL)
        return SKEIN_OK;
    struct sql_statement *statement = calloc(1, sizeof *statement);
    if (statement == NULL) {
        sqlite3_finalize(stmt);
        return error_set(engine, SKEIN_NO_MEMORY, "out of memory");
    }
    *statement = (struct sql_statement){engine, stmt, false};
    *out = statement;
    return SKEIN_OK;
}

void sql_statement_free(struct sql_statement **statement)
{
    if (*statement == NULL)
        return;
    sqlite3_finalize((*statement)->stmt);
    free(*statement);
    *statement = NULL;
}

size_t sql_column_count(const struct sql_statement *statement)
{
    return (size_t)sqlite3_column_count(statement->stmt);
}

const char *sql_column_name(struct sql_statement *statement, size_t column)
{
    const char *name = sqlite3_column_name(statement->stmt, (int)column);
    return name != NULL ? name : "";
}

int sql_next(struct sql_statement *statement)
{
    struct sql_engine *engine = statement->engine;
    if (!statement->begun)
        limits_begin(engine);
    statement->begun = true;
    int code = sqlite3_step(statement->stmt);
    if (code == SQLITE_DONE)
        return 0;
    if (code != SQLITE_ROW)
        return failure_note(engine, code);
    if (engine->limits.rows != 0 && ++engine->rows > engine->limits.rows)
        return error_set(engine, SKEIN_TOO_LARGE, "the statement has more rows than it may");
    return 1;
}

void sql_value(struct sql_statement *statement, size_t column, struct sql_value *value)
{
    sqlite3_stmt *stmt = statement->stmt;
    int i = (int)column;
    *value = (struct sql_value){.type = SQL_NULL};
    switch (sqlite3_column_type(stmt, i)) {
    case SQLITE_INTEGER:
        value->type = SQL_INTEGER;
        value->integer = sqlite3_column_int64(stmt, i);
        break;
    case SQLITE_FLOAT:
        value->type = SQL_REAL;
        value->real = sqlite3_column_double(stmt, i);
        break;
    case SQLITE_TEXT:
        value->type = SQL_TEXT;
        value->text = (const char *)sqlite3_column_text(stmt, i);
        break;
    case SQLITE_BLOB:
        value->type = SQL_BLOB;
        value->text = sqlite3_column_blob(stmt, i);
        break;
    default:
        return;
    }
    if (value->type == SQL_TEXT || value->type == SQL_BLOB) {
        value->len = value->text != NULL ? (size_t)sqlite3_column_bytes(stmt, i) : 0;
        value->text = value->text != NULL ? value->text : "";
    }
}
