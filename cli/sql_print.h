/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a statement, as they come, whoever has them: a table for people, JSON, or CSV (RFC 4180). Of a
 * table the first rows are kept, to know how wide its columns are; nothing else is. One thread.
 */
#ifndef SQL_PRINT_H
#define SQL_PRINT_H

#include "buf.h"
#include "sql.h"
#include "sql_json.h"

enum sql_form { SQL_FORM_TABLE, SQL_FORM_JSON, SQL_FORM_CSV };

/* Rows, from an engine or a collector's answer. Texts last until the next row. */
struct sql_rows {
    void *context;
    size_t columns;
    const char *(*name)(void *context, size_t column);
    int (*next)(void *context); /* 1; 0 at the end; a status below 0 */
    void (*value)(void *context, size_t column, struct sql_value *value);
};

/* Takes all rows and prints them on standard output. SKEIN_OK; a status of next, after which JSON
 * has no closing bracket; SKEIN_IO: standard output is gone, which has been told. */
int sql_rows_print(const struct sql_rows *rows, enum sql_form form);

/* Appends a value as a field of CSV. */
void sql_value_csv(struct buf *out, const struct sql_value *value);

#endif
