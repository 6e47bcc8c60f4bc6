/* SPDX-License-Identifier: Apache-2.0
 *
 * A made trace, an engine over it, and statements that run to their end. Included by one file of a
 * test program; one thread.
 */
#ifndef SQL_ASKED_H
#define SQL_ASKED_H

#include <check.h>
#include <string.h>

#include "shop_trace.h"
#include "sql.h"
#include "support.h"

static struct skein_trace *trace;
static struct sql_engine *engine;
static struct sql_limits limits;
static struct buf bytes;
static uint64_t bytes_read;

static int bytes_give(void *context, uint64_t offset, void *out, size_t n)
{
    const struct buf *from = context;
    must_hold(offset <= from->len && n <= from->len - offset, "beyond the trace");
    memcpy(out, from->data + offset, n);
    bytes_read += n;
    return SKEIN_OK;
}

static void trace_open(void)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace_source source = {bytes_give, &bytes, bytes.len, "made"};
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_source(trace, &source, error) == SKEIN_OK, "%s", error);
    ck_assert_int_eq(sql_open(trace, &limits, &engine), SKEIN_OK);
}

static void trace_close(void)
{
    sql_close(&engine);
    skein_trace_free(&trace);
}

/* To its end: the status, and how many rows there were; *first: the first value of the last row. */
static int asked(const char *text, uint64_t *rows, int64_t *first)
{
    struct sql_statement *statement;
    struct sql_value value;
    size_t used;
    int status = sql_prepare(engine, text, strlen(text), &statement, &used);
    *rows = 0;
    while (status == SKEIN_OK && (status = sql_next(statement)) > 0) {
        status = SKEIN_OK;
        (*rows)++;
        sql_value(statement, 0, &value);
        *first = value.integer;
    }
    sql_statement_free(&statement);
    return status;
}

#endif
