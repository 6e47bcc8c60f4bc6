/* SPDX-License-Identifier: Apache-2.0
 *
 * What SQL is given of a trace: numbers, texts, arguments. Texts of a trace may hold any bytes but
 * NUL and are given as they are. Owns nothing; one thread.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "ids.h"
#include "json.h"
#include "sql_int.h"

/* SQLite's integers have a sign: what is larger becomes a text of digits, which sorts behind them. */
void sql_u64_give(sqlite3_context *to, uint64_t value)
{
    char digits[24];
    if (value <= INT64_MAX) {
        sqlite3_result_int64(to, (int64_t)value);
        return;
    }
    snprintf(digits, sizeof digits, "%" PRIu64, value);
    sqlite3_result_text(to, digits, -1, SQLITE_TRANSIENT);
}

void sql_text_give(sqlite3_context *to, const char *text)
{
    sqlite3_result_text(to, text, -1, SQLITE_STATIC);
}

void sql_process_give(sqlite3_context *to, const struct skein_trace *trace, uint32_t process,
                      enum sql_what what)
{
    const struct skein_process *p =
        process != SKEIN_NONE ? skein_trace_process(trace, process) : NULL;
    char id[ID_TEXT_BYTES];
    if (p == NULL)
        return;
    switch (what) {
    case SQL_PROCESS:
        id_text(p->id, id);
        sqlite3_result_text(to, id, -1, SQLITE_TRANSIENT);
        break;
    case SQL_PID:
        sqlite3_result_int64(to, p->pid);
        break;
    case SQL_SERVICE:
        sql_text_give(to, p->service);
        break;
    case SQL_HOST:
        sql_text_give(to, p->host);
        break;
    default:
        sqlite3_result_int64(to, process);
        break;
    }
}

void sql_arg_give(sqlite3_context *to, uint8_t type, const struct skein_arg *arg)
{
    switch (type) {
    case SKEIN_T_I64:
        sqlite3_result_int64(to, arg->i64);
        break;
    case SKEIN_T_F64:
        sqlite3_result_double(to, arg->f64); /* NULL where it is no number */
        break;
    case SKEIN_T_BOOL:
        sqlite3_result_int(to, arg->u64 != 0);
        break;
    case SKEIN_T_STR:
        sqlite3_result_text(to, arg->text, (int)arg->len, SQLITE_TRANSIENT);
        break;
    case SKEIN_T_U64:
    case SKEIN_T_PTR:
        sql_u64_give(to, arg->u64);
        break;
    case SKEIN_T_SEQ:
        sql_u64_give(to, arg->resource);
        break;
    default: /* of the future */
        break;
    }
}

static void u64_put(struct buf *b, uint64_t value)
{
    const char *quote = value > INT64_MAX ? "\"" : "";
    buf_printf(b, "%s%" PRIu64 "%s", quote, value, quote);
}

void sql_arg_put(struct buf *b, uint8_t type, const struct skein_arg *arg)
{
    switch (type) {
    case SKEIN_T_I64:
        buf_printf(b, "%" PRId64, arg->i64);
        break;
    case SKEIN_T_F64:
        if (isfinite(arg->f64))
            buf_printf(b, "%.17g", arg->f64);
        else
            buf_printf(b, "null");
        break;
    case SKEIN_T_BOOL:
        buf_printf(b, "%s", arg->u64 != 0 ? "true" : "false");
        break;
    case SKEIN_T_STR:
        json_put_text(b, arg->text, arg->len);
        break;
    case SKEIN_T_U64:
    case SKEIN_T_PTR:
        u64_put(b, arg->u64);
        break;
    case SKEIN_T_SEQ:
        buf_printf(b, "{\"resource\":");
        u64_put(b, arg->resource);
        buf_printf(b, ",\"number\":");
        u64_put(b, arg->number);
        buf_printf(b, "}");
        break;
    default:
        buf_printf(b, "null");
        break;
    }
}
