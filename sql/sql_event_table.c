/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of events as a module of SQLite's: which constraints of a statement become a filter. The plan that is handed from SQLite's planner to the scan is a text: the
 * columns that are used, in hex, then two letters for each constraint, what it is about and how.
 * One thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_scan.h"
#include "trace_json.h"

struct event_cursor {
    sqlite3_vtab_cursor base;
    struct sql_scan scan;
};

#define LETTER(what) ((char)('A' + (what)))

/* ---- planning ---- */

/* What a constraint on this column is worth: rows in a thousand that are left; 0: it is of no use. */
static double share_of(enum sql_what what, unsigned char op)
{
    bool equal = op == SQLITE_INDEX_CONSTRAINT_EQ;
    switch (what) {
    case SQL_TS:
        return equal ? 1
               : op == SQLITE_INDEX_CONSTRAINT_GT || op == SQLITE_INDEX_CONSTRAINT_GE ||
                       op == SQLITE_INDEX_CONSTRAINT_LT || op == SQLITE_INDEX_CONSTRAINT_LE
                   ? 300
                   : 0;
    case SQL_NAME:
    case SQL_TID:
    case SQL_THREAD_ID:
        return equal ? 50 : 0;
    case SQL_THREAD:
    case SQL_PROCESS:
    case SQL_PID:
    case SQL_PROCESS_ID:
        return equal ? 100 : 0;
    case SQL_SERVICE:
    case SQL_HOST:
    case SQL_KIND:
        return equal ? 300 : 0;
    default:
        return 0;
    }
}

static double events_in(const struct sql_engine *engine)
{
    double events = 100;
    for (uint32_t i = 0; i < skein_trace_process_count(engine->trace); i++)
        events += (double)skein_trace_process(engine->trace, i)->events;
    return events;
}

/* An id that is known makes every other constraint worthless. */
static int id_find(const sqlite3_index_info *info, const struct sql_table *table)
{
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (c->usable && c->iColumn >= 0 && c->op == SQLITE_INDEX_CONSTRAINT_EQ &&
            table->columns[c->iColumn].what == SQL_ID)
            return i;
    }
    return -1;
}

static int plan_make(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct sql_vtab *of = (const struct sql_vtab *)vtab;
    char plan[20 + 2 * SQL_COLUMNS_MAX];
    int n = snprintf(plan, 20, "%" PRIx64 ";", (uint64_t)info->colUsed), argc = 0;
    int id = id_find(info, of->table);
    double rows = events_in(of->engine), cost = rows;
    for (int i = 0; i < info->nConstraint && argc < SQL_COLUMNS_MAX; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (!c->usable || c->iColumn < 0 || (id >= 0 && i != id))
            continue;
        const struct sql_column *column = &of->table->columns[c->iColumn];
        double share = share_of(column->what, c->op);
        const char *collation = sqlite3_vtab_collation(info, i);
        if (i != id && (share == 0 || (column->type[0] == 'T' && collation != NULL &&
                                       strcmp(collation, "BINARY") != 0)))
            continue;
        plan[n++] = LETTER(column->what);
        plan[n++] = c->op == SQLITE_INDEX_CONSTRAINT_EQ   ? '='
                    : c->op == SQLITE_INDEX_CONSTRAINT_GT ? '>'
                    : c->op == SQLITE_INDEX_CONSTRAINT_GE ? 'g'
                    : c->op == SQLITE_INDEX_CONSTRAINT_LT ? '<'
                                                          : 'l';
        info->aConstraintUsage[i].argvIndex = ++argc;
        rows = rows * share / 1000;
        cost = rows;
    }
    plan[n] = '\0';
    info->idxStr = sqlite3_mprintf("%s", plan);
    info->needToFreeIdxStr = 1;
    info->estimatedCost = id >= 0 ? 20 : cost + 10;
    info->estimatedRows = id >= 0 ? 2 : (sqlite3_int64)rows + 1;
    return info->idxStr != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

/* ---- filtering ---- */

static const uint8_t kinds[] = {SKEIN_ROW_BEGIN,   SKEIN_ROW_REGION,  SKEIN_ROW_INSTANT,
                                SKEIN_ROW_COUNTER, SKEIN_ROW_LOG,     SKEIN_ROW_OPEN,
                                SKEIN_ROW_LOSS,    SKEIN_ROW_END_ONLY};

static int text_take(struct sql_filter *filter, enum sql_text which, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    if (text == NULL)
        return SQLITE_NOMEM;
    if (filter->texts[which] != NULL) { /* of two, SQLite looks at the other */
        return SQLITE_OK;
    }
    /* No text of a trace has a NUL inside. */
    filter->empty |= strlen(text) != (size_t)sqlite3_value_bytes(value);
    filter->texts[which] = strdup(text);
    return filter->texts[which] != NULL ? SQLITE_OK : SQLITE_NOMEM;
}

static void kind_take(struct sql_filter *filter, sqlite3_value *value)
{
    const char *text = (const char *)sqlite3_value_text(value);
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof kinds; i++)
        if (text != NULL && strcmp(trace_kind_text(kinds[i]), text) == 0)
            found = UINT32_C(1) << kinds[i];
    filter->empty |= found == 0 || (filter->kinds != 0 && (filter->kinds & found) == 0);
    filter->kinds = found;
}

/* Ends are included, whatever the sign says: SQLite looks again. */
static void time_take(struct sql_filter *filter, char op, int64_t ns)
{
    if ((op == '=' || op == '>' || op == 'g') && ns > 0 && (uint64_t)ns > filter->from_ns)
        filter->from_ns = (uint64_t)ns;
    if (op == '>' || op == 'g')
        return;
    filter->empty |= ns < 0;
    if (ns > 0 && (filter->to_ns == 0 || (uint64_t)ns < filter->to_ns))
        filter->to_ns = (uint64_t)ns;
}

static void number_take(struct sql_filter *filter, enum sql_number which, int64_t number)
{
    filter->empty |= filter->has[which] && filter->numbers[which] != number;
    filter->has[which] = true;
    filter->numbers[which] = number;
}

static int constraint_take(struct sql_filter *filter, enum sql_what what, char op,
                           sqlite3_value *value)
{
    static const struct {
        enum sql_what what;
        int number, text; /* -1: it is none */
    } of[] = {{SQL_NAME, -1, SQL_TEXT_NAME},           {SQL_THREAD, -1, SQL_TEXT_THREAD},
              {SQL_PROCESS, -1, SQL_TEXT_PROCESS},     {SQL_SERVICE, -1, SQL_TEXT_SERVICE},
              {SQL_HOST, -1, SQL_TEXT_HOST},           {SQL_TID, SQL_NUMBER_TID, -1},
              {SQL_PID, SQL_NUMBER_PID, -1},           {SQL_THREAD_ID, SQL_NUMBER_THREAD, -1},
              {SQL_PROCESS_ID, SQL_NUMBER_PROCESS, -1}};
    int type = sqlite3_value_type(value);
    if (type == SQLITE_NULL) { /* nothing compares with it */
        filter->empty = true;
        return SQLITE_OK;
    }
    if (what == SQL_KIND && type == SQLITE_TEXT)
        kind_take(filter, value);
    if (what == SQL_TS && type == SQLITE_INTEGER)
        time_take(filter, op, sqlite3_value_int64(value));
    if (what == SQL_ID) {
        filter->by_id = type == SQLITE_INTEGER;
        filter->id = sqlite3_value_int64(value);
    }
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i].what != what)
            continue;
        if (of[i].text >= 0 && type == SQLITE_TEXT)
            return text_take(filter, (enum sql_text)of[i].text, value);
        if (of[i].number >= 0 && type == SQLITE_INTEGER)
            number_take(filter, (enum sql_number)of[i].number, sqlite3_value_int64(value));
    }
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int number, const char *plan, int argc,
                         sqlite3_value **argv)
{
    struct event_cursor *of = (struct event_cursor *)cursor;
    const struct sql_vtab *vtab = (const struct sql_vtab *)cursor->pVtab;
    struct sql_filter filter = {0};
    char *letters;
    uint64_t used = strtoull(plan, &letters, 16), wants = 0;
    int code = SQLITE_OK;
    (void)number;
    for (int i = 0; vtab->table->columns[i].name != NULL; i++)
        if ((used >> (i < 63 ? i : 63) & 1) != 0)
            wants |= UINT64_C(1) << vtab->table->columns[i].what;
    letters++;
    for (int i = 0; i < argc && code == SQLITE_OK; i++)
        code = constraint_take(&filter, (enum sql_what)(letters[2 * i] - 'A'), letters[2 * i + 1],
                               argv[i]);
    if (code == SQLITE_OK)
        code = sql_code_of(sql_scan_open(&of->scan, wants, &filter));
    sql_filter_fini(&filter);
    return code;
}

/* ---- rows ---- */

static int column_give(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int i)
{
    struct sql_scan *scan = &((struct event_cursor *)cursor)->scan;
    sql_scan_give(to, scan, &scan->table->columns[i]);
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    const struct sql_vtab *of = (const struct sql_vtab *)vtab;
    struct event_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    cursor->scan.engine = of->engine;
    cursor->scan.table = of->table;
    cursor->scan.row = UINT32_MAX;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    sql_scan_fini(&((struct event_cursor *)cursor)->scan);
    free(cursor);
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    return sql_code_of(sql_scan_next(&((struct event_cursor *)cursor)->scan));
}

static int cursor_ended(sqlite3_vtab_cursor *cursor)
{
    return sql_scan_ended(&((struct event_cursor *)cursor)->scan);
}

static int row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *number)
{
    *number = (sqlite3_int64)((struct event_cursor *)cursor)->scan.number;
    return SQLITE_OK;
}

const sqlite3_module sql_event_module = SQL_MODULE;
