/* SPDX-License-Identifier: Apache-2.0
 *
 * What the columns of tables of events hold, of the row at which a scan stands. Owns nothing; one
 * thread.
 */
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "sql_scan.h"
#include "trace_json.h"

static void frame_give(sqlite3_context *to, struct sql_scan *scan, int field)
{
    const struct skein_frame *frame = &scan->frames[scan->part];
    switch (field) {
    case 0:
        sqlite3_result_int64(to, scan->part);
        break;
    case 1:
    case 2:
    case 3: {
        const char *text = field == 1 ? frame->function : field == 2 ? frame->file : frame->module;
        if (text[0] != '\0')
            sqlite3_result_text(to, text, -1, SQLITE_TRANSIENT);
        break;
    }
    case 4:
        if (frame->line != 0)
            sqlite3_result_int64(to, frame->line);
        break;
    case 5:
        if (frame->address != 0 || frame->looked_up == 0)
            sql_u64_give(to, frame->address);
        break;
    case 6:
        if (frame->module[0] != '\0')
            sql_u64_give(to, frame->offset);
        break;
    default:
        sqlite3_result_int(to, frame->inlined);
        break;
    }
}

static void stack_give(sqlite3_context *to, struct sql_scan *scan, int field)
{
    static const char *const ends[] = {"whole", "cut", "broken", "whole", "cut"}; /* F-44 */
    int status = sql_scan_frames(scan);
    if (status != SKEIN_OK) {
        sqlite3_result_error_code(to, sql_code_of(status));
    } else if (field == 0) {
        sqlite3_result_int64(to, (int64_t)scan->frame_count);
    } else {
        uint8_t end = scan->stack_end & 0x7f;
        sql_text_give(to, end < sizeof ends / sizeof *ends ? ends[end] : "unknown");
    }
}

static void argument_give(sqlite3_context *to, const struct sql_scan *scan, int field)
{
    static const char *const types[] = {"",        "u64",     "i64",    "f64",
                                        "boolean", "pointer", "string", "sequence"};
    const struct sql_arg arg = sql_scan_arg(scan, scan->part);
    switch (field) {
    case 0:
        sqlite3_result_int64(to, scan->part);
        break;
    case 1:
        sql_text_give(to, arg.name);
        break;
    case 2:
        sql_text_give(to, arg.type >= 1 && arg.type <= SKEIN_T_SEQ ? types[arg.type] : "unknown");
        break;
    case 3:
        sql_text_give(to, arg.unit);
        break;
    case 4:
        sql_arg_give(to, arg.type, &arg.value);
        break;
    case 5:
        if (arg.type == SKEIN_T_SEQ)
            sql_u64_give(to, arg.value.number);
        break;
    default:
        sqlite3_result_int(to, arg.type == SKEIN_T_STR && arg.value.cut);
        break;
    }
}

static void task_give(sqlite3_context *to, const struct sql_scan *scan, int field)
{
    const struct sql_arg arg = sql_scan_arg(scan, sql_scan_task(scan, scan->part));
    if (field == 0)
        sql_arg_give(to, arg.type, &arg.value);
    else if (field == 1)
        sql_text_give(to, arg.name);
    else if (arg.type == SKEIN_T_SEQ)
        sql_u64_give(to, arg.value.number);
}

static void part_give(sqlite3_context *to, struct sql_scan *scan, int field)
{
    if (scan->table->rows == SQL_ROWS_FRAMES)
        frame_give(to, scan, field);
    else if (scan->table->rows == SQL_ROWS_STACK)
        stack_give(to, scan, field);
    else if (scan->table->rows == SQL_ROWS_ARGS)
        argument_give(to, scan, field);
    else
        task_give(to, scan, field);
}

static void named_arg_give(sqlite3_context *to, const struct sql_scan *scan, const char *name)
{
    for (uint32_t i = 0; i < sql_scan_arg_count(scan); i++) {
        const struct sql_arg arg = sql_scan_arg(scan, i);
        if (strcmp(arg.name, name) == 0) {
            sql_arg_give(to, arg.type, &arg.value);
            return;
        }
    }
}

static void placed_arg_give(sqlite3_context *to, const struct sql_scan *scan,
                            const struct sql_column *column)
{
    static const char *const levels[] = {"debug", "info", "warning", "error"};
    if ((uint32_t)column->at >= sql_scan_arg_count(scan))
        return;
    const struct sql_arg arg = sql_scan_arg(scan, (uint32_t)column->at);
    if (column->what == SQL_UNIT_AT) {
        sql_text_give(to, arg.unit);
    } else if (column->what == SQL_LEVEL) {
        if (arg.type == SKEIN_T_U64 && arg.value.u64 < sizeof levels / sizeof *levels)
            sql_text_give(to, levels[arg.value.u64]);
    } else {
        sql_arg_give(to, arg.type, &arg.value);
    }
}

static void thread_give(sqlite3_context *to, const struct sql_scan *scan, enum sql_what what)
{
    uint32_t number = scan->batch.thread[scan->row];
    if (number == SKEIN_NONE)
        return;
    const struct skein_thread *thread = skein_trace_thread(scan->engine->trace, number);
    if (what == SQL_THREAD)
        sqlite3_result_text(to, thread->name, -1, SQLITE_TRANSIENT);
    else
        sqlite3_result_int64(to, what == SQL_TID ? thread->tid : number);
}

static void args_give(sqlite3_context *to, const struct sql_scan *scan)
{
    struct buf b = {0};
    for (uint32_t i = 0; i < sql_scan_arg_count(scan); i++) {
        const struct sql_arg arg = sql_scan_arg(scan, i);
        buf_put_u8(&b, i == 0 ? '{' : ',');
        json_put_text(&b, arg.name, strlen(arg.name));
        buf_put_u8(&b, ':');
        sql_arg_put(&b, arg.type, &arg.value);
    }
    buf_put_u8(&b, '}');
    if (b.status == SKEIN_OK)
        sqlite3_result_text64(to, (const char *)b.data, b.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    else
        sqlite3_result_error_nomem(to);
    buf_fini(&b);
}

static void type_give(sqlite3_context *to, const struct sql_scan *scan, enum sql_what what)
{
    static const char *const groups[] = {"app", "net", "io", "lock", "thread", "sleep", "log"};
    static const char *const states[] = {"running", "runnable", "blocked"};
    const struct skein_event_type *type = sql_scan_type(scan);
    if (type == NULL)
        return;
    if (what == SQL_NAME) {
        sql_text_give(to, type->name);
    } else if (what == SQL_GROUP && type->group < sizeof groups / sizeof *groups) {
        sql_text_give(to, groups[type->group]);
    } else if (what == SQL_GROUP) {
        char digits[8];
        snprintf(digits, sizeof digits, "%u", type->group);
        sqlite3_result_text(to, digits, -1, SQLITE_TRANSIENT);
    } else if (what == SQL_SOURCE_FILE && type->file[0] != '\0') {
        sql_text_give(to, type->file);
    } else if (what == SQL_SOURCE_LINE && type->line != 0) {
        sqlite3_result_int64(to, type->line);
    } else if (what == SQL_STATE) {
        for (size_t i = 0; i < sizeof states / sizeof *states; i++)
            if (scan->table->types[i] != NULL && strcmp(scan->table->types[i], type->name) == 0)
                sql_text_give(to, states[i]);
    } else if (what == SQL_ARGS && sql_scan_arg_count(scan) > 0) {
        args_give(to, scan);
    }
}

static void loss_give(sqlite3_context *to, const struct sql_scan *scan, enum sql_what what)
{
    uint32_t more = scan->batch.more[scan->row];
    if (more == SKEIN_NONE)
        return;
    const struct skein_row_more *loss = &scan->batch.mores[more];
    if (what == SQL_REASON)
        sql_text_give(to, skein_loss_text(loss->loss_reason));
    else if (what == SQL_RECORDS && loss->lost != 0)
        sql_u64_give(to, loss->lost);
    else if (what == SQL_DETAIL && loss->has_detail)
        sqlite3_result_int64(to, loss->detail);
}

static void gap_give(sqlite3_context *to, const struct sql_scan *scan, enum sql_what what)
{
    static const char *const reasons[] = {"", "partition_broken", "partition_missing",
                                          "bytes_torn"};
    const struct skein_gap *gaps;
    skein_cursor_gaps(scan->cursor, &gaps);
    const struct skein_gap *gap = &gaps[scan->part];
    bool timed = gap->from_ns != 0 || gap->to_ns != 0;
    if (what == SQL_REASON)
        sql_text_give(to, gap->reason <= SKEIN_GAP_TORN ? reasons[gap->reason] : "unknown");
    else if (what == SQL_TS && timed)
        sql_u64_give(to, gap->from_ns);
    else if (what == SQL_DUR && timed)
        sql_u64_give(to, gap->to_ns > gap->from_ns ? gap->to_ns - gap->from_ns : 0);
    else if (what == SQL_BYTES && gap->reason == SKEIN_GAP_TORN)
        sql_u64_give(to, gap->bytes);
    else if (what == SQL_SENTENCE && gap->what != NULL)
        sqlite3_result_text(to, gap->what, -1, SQLITE_TRANSIENT);
    else if (what == SQL_KIND)
        sql_text_give(to, "gap");
    else if (what >= SQL_PROCESS && what <= SQL_PROCESS_ID)
        sql_process_give(to, scan->engine->trace, gap->process, what);
}

static void place_give(sqlite3_context *to, struct sql_scan *scan, const struct sql_column *column)
{
    const struct skein_batch *b = &scan->batch;
    uint32_t row = scan->row;
    uint8_t kind = b->kind[row];
    int64_t stack = 0;
    int status = SKEIN_OK;
    switch (column->what) {
    case SQL_ID:
        sqlite3_result_int64(to, scan->id);
        break;
    case SQL_PARENT:
        if (scan->parent != 0)
            sqlite3_result_int64(to, scan->parent);
        break;
    case SQL_TS:
        sql_u64_give(to, b->time_ns[row]);
        break;
    case SQL_DUR:
        if (kind != SKEIN_ROW_END_ONLY)
            sql_u64_give(to, b->dur_ns[row]);
        break;
    case SQL_SELF:
        if (kind == SKEIN_ROW_REGION)
            sql_u64_give(to, scan->self_ns);
        break;
    case SQL_KIND:
        sql_text_give(to, trace_kind_text(kind));
        break;
    case SQL_IS_OPEN:
        sqlite3_result_int(to, kind == SKEIN_ROW_OPEN);
        break;
    case SQL_DEPTH:
        if (kind != SKEIN_ROW_LOSS)
            sqlite3_result_int64(to, b->depth[row]);
        break;
    case SQL_STACK_ID:
        status = sql_scan_stack_id(scan, &stack);
        if (stack != 0)
            sqlite3_result_int64(to, stack);
        break;
    case SQL_FLAG:
        sqlite3_result_int(to, (b->flags[row] & column->at) != 0);
        break;
    default:
        break;
    }
    if (status != SKEIN_OK)
        sqlite3_result_error_code(to, sql_code_of(status));
}

void sql_scan_give(sqlite3_context *to, struct sql_scan *scan, const struct sql_column *column)
{
    if (scan->at_gap) {
        gap_give(to, scan, column->what);
        return;
    }
    switch (column->what) {
    case SQL_THREAD:
    case SQL_TID:
    case SQL_THREAD_ID:
        thread_give(to, scan, column->what);
        break;
    case SQL_PROCESS:
    case SQL_PID:
    case SQL_SERVICE:
    case SQL_HOST:
    case SQL_PROCESS_ID:
        sql_process_give(to, scan->engine->trace, scan->batch.process[scan->row], column->what);
        break;
    case SQL_NAME:
    case SQL_GROUP:
    case SQL_SOURCE_FILE:
    case SQL_SOURCE_LINE:
    case SQL_STATE:
    case SQL_ARGS:
        type_give(to, scan, column->what);
        break;
    case SQL_ARG:
        named_arg_give(to, scan, column->arg);
        break;
    case SQL_ARG_AT:
    case SQL_UNIT_AT:
    case SQL_LEVEL:
        placed_arg_give(to, scan, column);
        break;
    case SQL_PART:
        part_give(to, scan, column->at);
        break;
    case SQL_REASON:
    case SQL_RECORDS:
    case SQL_DETAIL:
        loss_give(to, scan, column->what);
        break;
    default:
        place_give(to, scan, column);
        break;
    }
}
