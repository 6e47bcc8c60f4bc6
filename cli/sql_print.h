/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a statement (sql.h), as they come: a table for people, JSON, or CSV (RFC 4180). Of a
 * table the first rows are kept, to know how wide its columns are; nothing else is. One thread.
 */
#ifndef SQL_PRINT_H
#define SQL_PRINT_H

#include "buf.h"
#include "sql.h"
#include "sql_json.h"

enum sql_form { SQL_FORM_TABLE, SQL_FORM_JSON, SQL_FORM_CSV };

/* Runs the statement to its end and prints it on standard output. SKEIN_OK; a status of sql_next,
 * after which JSON has no closing bracket; SKEIN_IO: standard output is gone, which has been told. */
int sql_rows_print(struct sql_statement *statement, enum sql_form form);

/* Appends a value as a field of CSV. */
void sql_value_csv(struct buf *out, const struct sql_value *value);

#endif
