/* SPDX-License-Identifier: Apache-2.0
 *
 * One statement, and its rows as JSON:
 *
 *   {"columns":[{"name":"n","type":"integer"}],"rows":[[1],[2]],"more":false,"gaps":[]}
 *
 * A column's type is that of all its values: integer, real, text, blob; any where they differ; null
 * where it has none. Rows beyond the answer's room are left out, and `more` says so. For
 * analyst_serve.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyst_serve.h"
#include "clock.h"
#include "json.h"
#include "sql_json.h"

#define GAPS_SHARE  8  /* of the answer's room, at most, for gaps: one in so many */
#define TYPE_BYTES  32 /* of a column, beside its name */
#define FRAME_BYTES 64

enum column_type { TYPE_NULL, TYPE_INTEGER, TYPE_REAL, TYPE_TEXT, TYPE_BLOB, TYPE_ANY };
_Static_assert(TYPE_INTEGER == (int)SQL_INTEGER && TYPE_BLOB == (int)SQL_BLOB, "they begin alike");

struct result {
    struct sql_statement *statement;
    size_t columns, room; /* bytes for rows */
    enum column_type *types;
    struct buf rows;
    uint64_t row_count;
    bool more;
};

static int words_set(char error[ANALYST_ERROR_BYTES], int status, const char *words)
{
    snprintf(error, ANALYST_ERROR_BYTES, "%s", words);
    return status;
}

static int sql_failed(const struct sql_engine *engine, int status, char error[ANALYST_ERROR_BYTES])
{
    if (status == SKEIN_INVALID)
        snprintf(error, ANALYST_ERROR_BYTES, "%d: %s", sql_error_at(engine), sql_error(engine));
    else
        snprintf(error, ANALYST_ERROR_BYTES, "%s", sql_error(engine));
    return status;
}

/* ---- the statement ---- */

/* The one that the text has. */
static int statement_take(struct sql_engine *engine, const char *text, struct sql_statement **out,
                          char error[ANALYST_ERROR_BYTES])
{
    size_t n = strlen(text), used, rest_used = 0;
    struct sql_statement *rest = NULL;
    int status = sql_prepare(engine, text, n, out, &used);
    if (status != SKEIN_OK)
        return sql_failed(engine, status, error);
    if (*out == NULL)
        return words_set(error, SKEIN_INVALID, "-1: there is no statement");
    for (size_t at = used; at < n && rest == NULL && status == SKEIN_OK; at += rest_used) {
        status = sql_prepare(engine, text + at, n - at, &rest, &rest_used);
        if (status == SKEIN_OK && rest_used == 0)
            break;
    }
    bool alone = status == SKEIN_OK && rest == NULL;
    sql_statement_free(&rest);
    if (alone)
        return SKEIN_OK;
    snprintf(error, ANALYST_ERROR_BYTES, "%zu: only one statement at a time is answered", used);
    return SKEIN_INVALID;
}

/* ---- rows ---- */

static void type_note(enum column_type *type, enum sql_type of)
{
    if (of == SQL_NULL)
        return;
    if (*type == TYPE_NULL)
        *type = (enum column_type)of;
    else if (*type != (enum column_type)of)
        *type = TYPE_ANY;
}

/* Adds the row, unless there is no room for it. */
static int row_add(struct result *r)
{
    struct sql_value value;
    size_t before = r->rows.len;
    buf_put_u8(&r->rows, before == 0 ? '[' : ',');
    for (size_t i = 0; i < r->columns; i++) {
        sql_value(r->statement, i, &value);
        buf_put_u8(&r->rows, i == 0 ? '[' : ',');
        sql_value_json(&r->rows, &value);
    }
    buf_put_u8(&r->rows, ']');
    if (r->rows.status != SKEIN_OK)
        return r->rows.status;
    r->more = r->rows.len > r->room;
    if (r->more) {
        r->rows.len = before;
        return SKEIN_OK;
    }
    for (size_t i = 0; i < r->columns; i++) {
        sql_value(r->statement, i, &value);
        type_note(&r->types[i], value.type);
    }
    r->row_count++;
    return SKEIN_OK;
}

/* 0 at the end, or below. */
static int rows_read(struct result *r, uint64_t most)
{
    int status = SKEIN_OK, next = 0;
    while (status == SKEIN_OK && !r->more && (next = sql_next(r->statement)) > 0) {
        r->more = most != 0 && r->row_count == most;
        if (!r->more)
            status = row_add(r);
    }
    return status != SKEIN_OK ? status : next < 0 ? next : SKEIN_OK;
}

/* ---- the answer ---- */

static void columns_put(struct buf *out, struct result *r)
{
    static const char *const types[] = {"null", "integer", "real", "text", "blob", "any"};
    buf_printf(out, "{\"columns\":[");
    for (size_t i = 0; i < r->columns; i++) {
        const char *name = sql_column_name(r->statement, i);
        buf_printf(out, "%s{\"name\":", i > 0 ? "," : "");
        json_put_text(out, name, strlen(name));
        buf_printf(out, ",\"type\":\"%s\"}", types[r->types[i]]);
    }
    buf_printf(out, "]");
}

static void gap_put(struct buf *out, const struct skein_gap *gap)
{
    static const char *const reasons[] = {
        [SKEIN_GAP_BROKEN] = "broken", [SKEIN_GAP_MISSING] = "missing", [SKEIN_GAP_TORN] = "torn"};
    bool known = gap->reason >= SKEIN_GAP_BROKEN && gap->reason <= SKEIN_GAP_TORN;
    char from[CLOCK_TEXT_BYTES];
    buf_printf(out, "{\"reason\":\"%s\"", known ? reasons[gap->reason] : "unknown");
    if (gap->from_ns != 0 || gap->to_ns != 0) {
        clock_text(gap->from_ns, from);
        buf_printf(out, ",\"from\":\"%s\"", from);
        if (gap->to_ns >= gap->from_ns)
            buf_printf(out, ",\"dur_ns\":%" PRIu64, gap->to_ns - gap->from_ns);
    }
    if (gap->bytes > 0)
        buf_printf(out, ",\"bytes\":%" PRIu64, gap->bytes);
    buf_printf(out, ",\"text\":");
    json_put_text(out, gap->what, strlen(gap->what));
    buf_printf(out, "}");
}

static void gap_list_put(struct buf *out, const struct sql_engine *engine, size_t room)
{
    const struct skein_gap *gaps;
    size_t count = sql_gaps(engine, &gaps), before = out->len, i = 0;
    buf_printf(out, ",\"gaps\":[");
    for (; i < count; i++) {
        size_t at = out->len;
        buf_printf(out, "%s", i > 0 ? "," : "");
        gap_put(out, &gaps[i]);
        if (out->len - before > room) {
            out->len = at;
            break;
        }
    }
    buf_printf(out, "]");
    if (i < count)
        buf_printf(out, ",\"gaps_left_out\":%zu", count - i);
}

/* What columns and gaps take is kept free of rows. */
static int room_make(struct result *r, uint64_t answer_bytes, char error[ANALYST_ERROR_BYTES])
{
    struct buf names = {0};
    columns_put(&names, r);
    size_t used = names.len + r->columns * TYPE_BYTES + FRAME_BYTES + answer_bytes / GAPS_SHARE;
    int status = names.status;
    buf_fini(&names);
    if (status == SKEIN_OK && used >= answer_bytes) {
        snprintf(error, ANALYST_ERROR_BYTES,
                 "the names of its columns alone are longer than the answer may be, %" PRIu64
                 " bytes",
                 answer_bytes);
        return SKEIN_TOO_LARGE;
    }
    r->room = (size_t)(answer_bytes - used);
    return status;
}

static int result_put(struct result *r, const struct sql_engine *engine, uint64_t answer_bytes,
                      struct buf *answer)
{
    columns_put(answer, r);
    buf_printf(answer, ",\"rows\":");
    if (r->rows.len > 0)
        buf_put(answer, r->rows.data, r->rows.len);
    buf_printf(answer, "%s],\"more\":%s", r->rows.len > 0 ? "" : "[", r->more ? "true" : "false");
    gap_list_put(answer, engine, (size_t)(answer_bytes / GAPS_SHARE));
    buf_printf(answer, "}\n");
    return answer->status;
}

static int statement_answer(struct sql_engine *engine, const struct analyst_task *task,
                            struct result *r, struct buf *answer, char error[ANALYST_ERROR_BYTES])
{
    int status = statement_take(engine, task->sql, &r->statement, error);
    if (status != SKEIN_OK)
        return status;
    r->columns = sql_column_count(r->statement);
    if (r->columns == 0)
        return words_set(error, SKEIN_INVALID, "-1: the statement has no result");
    r->types = calloc(r->columns, sizeof *r->types);
    if (r->types == NULL)
        return SKEIN_NO_MEMORY;
    status = room_make(r, task->answer_bytes, error);
    if (status != SKEIN_OK)
        return status;
    status = rows_read(r, task->rows);
    if (status == SKEIN_OK && r->more && r->row_count == 0) {
        snprintf(error, ANALYST_ERROR_BYTES, "one row is longer than %zu bytes", r->room);
        return SKEIN_TOO_LARGE;
    }
    if (status != SKEIN_OK)
        return status == SKEIN_NO_MEMORY ? status : sql_failed(engine, status, error);
    return result_put(r, engine, task->answer_bytes, answer);
}

int analyst_sql_answer(const struct analyst_task *task, struct skein_trace *trace,
                       struct buf *answer, char error[ANALYST_ERROR_BYTES])
{
    uint64_t now_ns = clock_monotonic_ns();
    const struct sql_limits limits = {
        .memory_bytes = task->memory_bytes / 2,
        .time_ns = task->deadline_ns > now_ns ? task->deadline_ns - now_ns : 1};
    struct result result = {0};
    struct sql_engine *engine = NULL;
    int status = sql_open(trace, &limits, &engine);
    if (status == SKEIN_OK)
        status = statement_answer(engine, task, &result, answer, error);
    sql_statement_free(&result.statement);
    free(result.types);
    buf_fini(&result.rows);
    sql_close(&engine);
    return status;
}
