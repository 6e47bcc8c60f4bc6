/* SPDX-License-Identifier: Apache-2.0
 *
 * See sql_print.h. Texts of a trace are hostile: on a terminal their control characters are shown
 * as \xNN, in JSON they are escaped everywhere, and CSV in a file or pipe has them as they are.
 */
#include "sql_print.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "array.h"
#include "cli_out.h"
#include "json.h"

#define FLUSH_BYTES (64u << 10)
#define ROWS_KEPT   1000 /* of a table, to measure its columns */
#define WIDTH_LEAST 8    /* of a column that is cut */

/* ---- values ---- */

/* NULL is nothing. */
static void plain_put(struct buf *out, const struct sql_value *value)
{
    if (value->type == SQL_INTEGER)
        buf_printf(out, "%" PRId64, value->integer);
    else if (value->type == SQL_REAL)
        sql_real_put(out, value->real);
    else if (value->type == SQL_BLOB)
        sql_hex_put(out, value);
    else if (value->type == SQL_TEXT)
        buf_put(out, value->text, value->len);
}

static void csv_text_put(struct buf *out, const char *text, size_t n)
{
    bool quoted = n == 0;
    for (size_t i = 0; i < n; i++)
        quoted |= text[i] == '"' || text[i] == ',' || text[i] == '\r' || text[i] == '\n' ||
                  text[i] == '\0';
    if (!quoted) {
        buf_put(out, text, n);
        return;
    }
    buf_put_u8(out, '"');
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '"')
            buf_put_u8(out, '"');
        buf_put_u8(out, (uint8_t)text[i]);
    }
    buf_put_u8(out, '"');
}

/* An empty text is quoted, so that it is none of NULL. */
void sql_value_csv(struct buf *out, const struct sql_value *value)
{
    if (value->type == SQL_TEXT)
        csv_text_put(out, value->text, value->len);
    else
        plain_put(out, value);
}

/* ---- JSON and CSV ---- */

/* The member's name: of a second column of that name with a number behind it. */
static void member_put(struct buf *out, const struct sql_rows *rows, size_t column)
{
    const char *name = rows->name(rows->context, column);
    struct buf text = {0};
    unsigned before = 0;
    for (size_t i = 0; i < column; i++)
        before += strcmp(rows->name(rows->context, i), name) == 0;
    buf_printf(&text, "%s", name);
    if (before > 0)
        buf_printf(&text, "_%u", before + 1);
    json_put_text(out, text.data != NULL ? (const char *)text.data : "", text.len);
    if (text.status != SKEIN_OK)
        out->status = text.status;
    buf_fini(&text);
}

static void json_row_put(struct buf *out, const struct sql_rows *rows)
{
    struct sql_value value;
    for (size_t i = 0; i < rows->columns; i++) {
        buf_put_u8(out, i == 0 ? '{' : ',');
        member_put(out, rows, i);
        buf_put_u8(out, ':');
        rows->value(rows->context, i, &value);
        sql_value_json(out, &value);
    }
    buf_put_u8(out, '}');
}

static void csv_line_put(struct buf *out, const struct sql_rows *rows, bool heading, bool terminal)
{
    struct buf line = {0};
    struct sql_value value;
    for (size_t i = 0; i < rows->columns; i++) {
        if (i > 0)
            buf_put_u8(&line, ',');
        if (heading) {
            const char *name = rows->name(rows->context, i);
            csv_text_put(&line, name, strlen(name));
        } else {
            rows->value(rows->context, i, &value);
            sql_value_csv(&line, &value);
        }
    }
    if (terminal && line.data != NULL)
        text_shown_put(out, (const char *)line.data, line.len);
    else
        buf_put(out, line.data != NULL ? line.data : (const uint8_t *)"", line.len);
    buf_printf(out, terminal ? "\n" : "\r\n");
    if (line.status != SKEIN_OK)
        out->status = line.status;
    buf_fini(&line);
}

static int out_flush(struct buf *out)
{
    int status = out->status;
    if (status == SKEIN_OK && out->len > 0 && !out_write(out))
        status = SKEIN_IO;
    buf_clear(out);
    return status;
}

static int lines_print(const struct sql_rows *rows, enum sql_form form)
{
    struct buf out = {0};
    bool terminal = isatty(STDOUT_FILENO) != 0;
    int status = 0, written = SKEIN_OK;
    uint64_t count = 0;
    if (form == SQL_FORM_CSV)
        csv_line_put(&out, rows, true, terminal);
    while (written == SKEIN_OK && (status = rows->next(rows->context)) > 0) {
        if (form == SQL_FORM_CSV) {
            csv_line_put(&out, rows, false, terminal);
        } else {
            buf_printf(&out, count == 0 ? "[" : ",\n");
            json_row_put(&out, rows);
        }
        count++;
        if (out.len >= FLUSH_BYTES || out.status != SKEIN_OK)
            written = out_flush(&out);
    }
    if (status == 0 && form == SQL_FORM_JSON)
        buf_printf(&out, count == 0 ? "[]\n" : "]\n");
    if (written == SKEIN_OK)
        written = out_flush(&out);
    buf_fini(&out);
    return written != SKEIN_OK ? written : status;
}

/* ---- a table ---- */

struct table {
    size_t columns;
    size_t *widths;
    bool *numbers;    /* the column has held nothing else */
    struct buf cells; /* of the rows that are kept */
    size_t *ends;     /* of each cell, the heading's first */
    size_t count, cap;
};

static size_t width_of(const char *text, size_t n)
{
    size_t width = 0;
    for (size_t i = 0; i < n; i++)
        width += ((uint8_t)text[i] & 0xc0) != 0x80;
    return width;
}

static int cell_keep(struct table *t, const struct sql_value *value)
{
    struct buf plain = {0};
    size_t column = t->count % t->columns, from = t->cells.len;
    plain_put(&plain, value);
    if (value->type == SQL_NULL)
        buf_put_u8(&t->cells, '-');
    else if (plain.data != NULL)
        text_shown_put(&t->cells, (const char *)plain.data, plain.len);
    int status = plain.status != SKEIN_OK ? plain.status : t->cells.status;
    buf_fini(&plain);
    if (status != SKEIN_OK || !array_grow(t->ends, t->count + 1, &t->cap))
        return SKEIN_NO_MEMORY;
    t->ends[t->count++] = t->cells.len;
    if (t->cells.len > from) {
        size_t width = width_of((const char *)t->cells.data + from, t->cells.len - from);
        t->widths[column] = width > t->widths[column] ? width : t->widths[column];
    }
    if (t->count > t->columns && (value->type == SQL_TEXT || value->type == SQL_BLOB))
        t->numbers[column] = false;
    return SKEIN_OK;
}

static int row_keep(struct table *t, const struct sql_rows *rows)
{
    struct sql_value value;
    int status = SKEIN_OK;
    for (size_t i = 0; i < t->columns && status == SKEIN_OK; i++) {
        rows->value(rows->context, i, &value);
        status = cell_keep(t, &value);
    }
    return status;
}

static int heading_keep(struct table *t, const struct sql_rows *rows)
{
    int status = SKEIN_OK;
    for (size_t i = 0; i < t->columns && status == SKEIN_OK; i++) {
        const char *name = rows->name(rows->context, i);
        struct sql_value value = {.type = SQL_TEXT, .text = name, .len = strlen(name)};
        status = cell_keep(t, &value);
        t->numbers[i] = true;
    }
    return status;
}

/* The widest columns get narrower, until a line fits or none is left to be cut. */
static void widths_fit(struct table *t, size_t room)
{
    size_t sum = 2 * (t->columns - 1);
    for (size_t i = 0; i < t->columns; i++)
        sum += t->widths[i];
    while (room > 0 && sum > room) {
        size_t widest = t->columns;
        for (size_t i = 0; i < t->columns; i++)
            if (!t->numbers[i] && t->widths[i] > WIDTH_LEAST &&
                (widest == t->columns || t->widths[i] > t->widths[widest]))
                widest = i;
        if (widest == t->columns)
            return;
        t->widths[widest]--;
        sum--;
    }
}

/* Cut to the column's width where the terminal is too narrow for all of it. */
static void cell_put(struct buf *out, const struct table *t, size_t cell, bool cuts)
{
    size_t from = cell > 0 ? t->ends[cell - 1] : 0, n = t->ends[cell] - from;
    size_t column = cell % t->columns, width = t->widths[column];
    const char *text = n > 0 ? (const char *)t->cells.data + from : "";
    size_t own = width_of(text, n), fill = own < width ? width - own : 0;
    if (t->numbers[column])
        buf_printf(out, "%*s", (int)fill, "");
    if (cuts && own > width) {
        size_t at = 0, shown = 0;
        while (at < n && (((uint8_t)text[at] & 0xc0) == 0x80 || shown++ < width - 1))
            at++;
        buf_put(out, text, at);
        buf_printf(out, "\xe2\x80\xa6");
    } else {
        buf_put(out, text, n);
    }
    if (column + 1 < t->columns)
        buf_printf(out, "%*s  ", t->numbers[column] ? 0 : (int)fill, "");
}

/* Prints what is kept, and forgets it. */
static int rows_flush(struct table *t, bool heading)
{
    struct buf out = {0};
    bool cuts = out_columns() > 0;
    for (size_t cell = 0; cell < t->count; cell++) {
        if (heading && cell == 0)
            buf_printf(&out, "%s", colour_on(stdout, COLOUR_BOLD));
        cell_put(&out, t, cell, cuts);
        if (heading && cell + 1 == t->columns)
            buf_printf(&out, "%s", colour_off(stdout));
        if ((cell + 1) % t->columns != 0)
            continue;
        while (out.len > 0 && out.data[out.len - 1] == ' ')
            out.len--;
        buf_put_u8(&out, '\n');
    }
    int status = out_flush(&out);
    buf_fini(&out);
    buf_clear(&t->cells);
    t->count = 0;
    return status;
}

static int table_rows(struct table *t, const struct sql_rows *rows)
{
    bool heading = true;
    uint64_t count = 0;
    int status = heading_keep(t, rows), next = 0;
    while (status == SKEIN_OK && (next = rows->next(rows->context)) > 0) {
        count++;
        status = row_keep(t, rows);
        if (status == SKEIN_OK && t->count / t->columns > (heading ? ROWS_KEPT : 0)) {
            if (heading)
                widths_fit(t, out_columns());
            status = rows_flush(t, heading);
            heading = false;
        }
    }
    if (status == SKEIN_OK && heading && count > 0) {
        widths_fit(t, out_columns());
        status = rows_flush(t, true);
    }
    if (status == SKEIN_OK && count == 0 && next == 0)
        printf("no rows\n");
    return status != SKEIN_OK ? status : next;
}

static int rows_print(const struct sql_rows *rows)
{
    struct table t = {.columns = rows->columns};
    t.widths = calloc(t.columns, sizeof *t.widths);
    t.numbers = calloc(t.columns, sizeof *t.numbers);
    int status = SKEIN_NO_MEMORY;
    if (t.widths != NULL && t.numbers != NULL)
        status = table_rows(&t, rows);
    free(t.widths);
    free(t.numbers);
    free(t.ends);
    buf_fini(&t.cells);
    return status;
}

int sql_rows_print(const struct sql_rows *rows, enum sql_form form)
{
    if (rows->columns == 0) /* nothing that is allowed is so; it still runs */
        return rows->next(rows->context);
    return form == SQL_FORM_TABLE ? rows_print(rows) : lines_print(rows, form);
}
