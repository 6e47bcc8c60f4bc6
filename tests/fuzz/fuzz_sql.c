/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements of anybody over a sound trace: none may harm, none may do more than ask, and none may
 * run longer than its limits say. The input is the text of the statements.
 */
#include "../unit/sql/shop_trace.h"
#include "fuzz_target.h"
#include "sql_print.h"

static struct skein_trace *trace_made(void)
{
    static struct buf bytes;
    static struct skein_trace *trace;
    char error[SKEIN_TRACE_ERROR_BYTES];
    if (trace == NULL) {
        shop_trace(&bytes);
        shop_must(skein_trace_new(&trace) == SKEIN_OK, "a trace");
        shop_must(skein_trace_add_memory(trace, bytes.data, bytes.len, "shop", error) == SKEIN_OK,
                  error);
    }
    return trace;
}

static int rows_read(struct sql_statement *statement)
{
    struct buf out = {0};
    struct sql_value value;
    int status;
    while ((status = sql_next(statement)) > 0)
        for (size_t i = 0; i < sql_column_count(statement); i++) {
            sql_value(statement, i, &value);
            buf_clear(&out);
            sql_value_json(&out, &value);
            sql_value_csv(&out, &value);
        }
    buf_fini(&out);
    return status;
}

/* The tables are as they were. */
static void tables_look(struct sql_engine *engine)
{
    static const char text[] = "select count(*) = 19 from event";
    struct sql_statement *statement;
    struct sql_value value;
    size_t used;
    shop_must(sql_prepare(engine, text, sizeof text - 1, &statement, &used) == SKEIN_OK, "event");
    shop_must(sql_next(statement) == 1, "a row of event");
    sql_value(statement, 0, &value);
    shop_must(value.integer == 1, "all of event");
    sql_statement_free(&statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct sql_limits limits = {
        .rows = 200, .steps = 2000, .memory_bytes = 64 << 20, .time_ns = UINT64_C(2000000000)};
    struct sql_engine *engine;
    const char *text = (const char *)bytes;
    shop_must(sql_open(trace_made(), &limits, &engine) == SKEIN_OK, "an engine");
    for (size_t used = 0; n > 0; text += used, n -= used) {
        struct sql_statement *statement;
        int status = sql_prepare(engine, text, n, &statement, &used);
        if (statement != NULL)
            status = rows_read(statement);
        sql_statement_free(&statement);
        shop_must(status == SKEIN_OK || sql_error(engine)[0] != '\0', "a reason");
        shop_must(used <= n, "the end of a statement");
        if (status < 0 || used == 0)
            break;
    }
    tables_look(engine);
    sql_close(&engine);
    return 0;
}
