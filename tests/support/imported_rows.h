/* SPDX-License-Identifier: Apache-2.0
 *
 * How many events there are in what an import has made, by whoever asks for them: the count that each
 * import tells must be this one. LINK skein_sql.
 */
#ifndef IMPORTED_ROWS_H
#define IMPORTED_ROWS_H

#include <string.h>

#include "buf.h"
#include "skein/status.h"
#include "sql.h"

/* Rows of `event`, without losses and what is in progress at the end; UINT64_MAX: it cannot be asked. */
static inline uint64_t imported_rows(const struct buf *trace)
{
    static const char question[] = "select count(*) from event where kind not in ('open', 'loss')";
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *t = NULL;
    struct sql_engine *engine = NULL;
    struct sql_statement *statement = NULL;
    struct sql_value value = {.integer = -1};
    size_t used;
    if (trace->len == 0)
        return 0;
    if (skein_trace_new(&t) == SKEIN_OK &&
        skein_trace_add_memory(t, trace->data, trace->len, "imported", error) == SKEIN_OK &&
        sql_open(t, NULL, &engine) == SKEIN_OK &&
        sql_prepare(engine, question, strlen(question), &statement, &used) == SKEIN_OK &&
        sql_next(statement) == 1)
        sql_value(statement, 0, &value);
    sql_statement_free(&statement);
    sql_close(&engine);
    skein_trace_free(&t);
    return (uint64_t)value.integer;
}

#endif
