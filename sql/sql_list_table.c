/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables of lists as a module of SQLite's: rows are numbered from 0, and a column `id` is that
 * number, by which a join finds its row at once. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "sql_int.h"

struct list_cursor {
    sqlite3_vtab_cursor base;
    size_t row, end;
};

enum { PLAN_ALL, PLAN_ID };

static int plan_make(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    const struct sql_vtab *of = (const struct sql_vtab *)vtab;
    info->idxNum = PLAN_ALL;
    info->estimatedCost = 1000;
    info->estimatedRows = 1000;
    for (int i = 0; i < info->nConstraint; i++) {
        const struct sqlite3_index_constraint *c = &info->aConstraint[i];
        if (!c->usable || c->iColumn < 0 || c->op != SQLITE_INDEX_CONSTRAINT_EQ ||
            strcmp(of->table->columns[c->iColumn].name, "id") != 0)
            continue;
        info->idxNum = PLAN_ID;
        info->aConstraintUsage[i].argvIndex = 1;
        info->idxFlags = SQLITE_INDEX_SCAN_UNIQUE;
        info->estimatedCost = 1;
        info->estimatedRows = 1;
        break;
    }
    return SQLITE_OK;
}

static int cursor_filter(sqlite3_vtab_cursor *cursor, int plan, const char *text, int argc,
                         sqlite3_value **argv)
{
    struct list_cursor *of = (struct list_cursor *)cursor;
    const struct sql_vtab *vtab = (const struct sql_vtab *)cursor->pVtab;
    (void)text;
    int status = vtab->table->list->begin(vtab->engine);
    if (status != SKEIN_OK)
        return sql_code_of(status);
    of->row = 0;
    of->end = vtab->table->list->count(vtab->engine);
    if (plan == PLAN_ID && argc == 1 && sqlite3_value_type(argv[0]) == SQLITE_INTEGER) {
        int64_t id = sqlite3_value_int64(argv[0]);
        of->row = id >= 0 && (uint64_t)id < of->end ? (size_t)id : of->end;
        of->end = of->row < of->end ? of->row + 1 : of->end;
    }
    return SQLITE_OK;
}

static int column_give(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int i)
{
    const struct list_cursor *of = (const struct list_cursor *)cursor;
    const struct sql_vtab *vtab = (const struct sql_vtab *)cursor->pVtab;
    vtab->table->list->value(to, vtab->engine, of->row, vtab->table->columns[i].at);
    return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out)
{
    (void)vtab;
    struct list_cursor *cursor = calloc(1, sizeof *cursor);
    if (cursor == NULL)
        return SQLITE_NOMEM;
    *out = &cursor->base;
    return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int cursor_next(sqlite3_vtab_cursor *cursor)
{
    ((struct list_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static int cursor_ended(sqlite3_vtab_cursor *cursor)
{
    const struct list_cursor *of = (const struct list_cursor *)cursor;
    return of->row >= of->end;
}

static int row_number(sqlite3_vtab_cursor *cursor, sqlite3_int64 *number)
{
    *number = (sqlite3_int64)((struct list_cursor *)cursor)->row;
    return SQLITE_OK;
}

const sqlite3_module sql_list_module = SQL_MODULE;
