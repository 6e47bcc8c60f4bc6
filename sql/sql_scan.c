/* SPDX-License-Identifier: Apache-2.0
 *
 * See sql_scan.h.
 */
#include "sql_scan.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "ids.h"

#define WANTS(scan, what) (((scan)->wants >> SQL_##what & 1) != 0)

void sql_filter_fini(struct sql_filter *filter)
{
    for (size_t i = 0; i < SQL_TEXTS; i++)
        free(filter->texts[i]);
    *filter = (struct sql_filter){0};
}

static void cursor_close(struct sql_scan *scan)
{
    skein_cursor_free(&scan->cursor);
    sql_nest_fini(&scan->nest);
    scan->batch.count = 0;
    scan->row = UINT32_MAX;
    scan->number = 0;
}

void sql_scan_fini(struct sql_scan *scan)
{
    cursor_close(scan);
    sql_filter_fini(&scan->filter);
    free(scan->type_fits);
    free(scan->frames);
    scan->type_fits = NULL;
    scan->frames = NULL;
}

/* ---- filters, as the reader asks for them ---- */

static bool text_fits(const struct sql_filter *filter, enum sql_text which, const char *text)
{
    return filter->texts[which] == NULL || strcmp(filter->texts[which], text) == 0;
}

static bool number_fits(const struct sql_filter *filter, enum sql_number which, int64_t number)
{
    return !filter->has[which] || filter->numbers[which] == number;
}

static bool process_fits(void *context, const struct skein_process *process)
{
    const struct sql_scan *scan = context;
    const struct sql_filter *f = &scan->filter;
    char id[ID_TEXT_BYTES];
    id_text(process->id, id);
    if (!text_fits(f, SQL_TEXT_PROCESS, id) || !text_fits(f, SQL_TEXT_SERVICE, process->service) ||
        !text_fits(f, SQL_TEXT_HOST, process->host) ||
        !number_fits(f, SQL_NUMBER_PID, process->pid))
        return false;
    return !f->has[SQL_NUMBER_PROCESS] ||
           process ==
               skein_trace_process(scan->engine->trace, (uint32_t)f->numbers[SQL_NUMBER_PROCESS]);
}

static bool thread_fits(void *context, const struct skein_thread *thread)
{
    const struct sql_scan *scan = context;
    const struct sql_filter *f = &scan->filter;
    if (scan->table->of == SQL_OF_EVIDENCE && !thread->evidence)
        return false;
    if (!text_fits(f, SQL_TEXT_THREAD, thread->name) ||
        !number_fits(f, SQL_NUMBER_TID, thread->tid))
        return false;
    if (!f->has[SQL_NUMBER_THREAD])
        return true;
    const struct skein_thread *wanted =
        skein_trace_thread(scan->engine->trace, (uint32_t)f->numbers[SQL_NUMBER_THREAD]);
    return wanted->process == thread->process && wanted->tid == thread->tid &&
           wanted->incarnation == thread->incarnation && wanted->evidence == thread->evidence;
}

static bool type_fits(void *context, const struct skein_event_type *type)
{
    const struct sql_scan *scan = context;
    const char *const *types = scan->table->types;
    if (!text_fits(&scan->filter, SQL_TEXT_NAME, type->name))
        return false;
    for (size_t i = 0; types[i] != NULL; i++)
        if (strcmp(types[i], type->name) == 0)
            return true;
    return types[0] == NULL;
}

/* ---- rows ---- */

const struct skein_event_type *sql_scan_type(const struct sql_scan *scan)
{
    uint32_t type = scan->batch.type[scan->row];
    return type != SKEIN_NONE ? skein_trace_type(scan->engine->trace, type) : NULL;
}

static const struct skein_row_more *operation_of(const struct sql_scan *scan)
{
    uint32_t more = scan->batch.more[scan->row];
    return more != SKEIN_NONE && scan->batch.mores[more].has_detail ? &scan->batch.mores[more]
                                                                    : NULL;
}

uint32_t sql_scan_arg_count(const struct sql_scan *scan)
{
    const struct skein_event_type *type = sql_scan_type(scan);
    if (type == NULL || (scan->batch.flags[scan->row] & SKEIN_ROW_BEGIN_CLIPPED) != 0)
        return 0;
    if (operation_of(scan) != NULL)
        return type->arg_count > 0 ? 1 : 0;
    return type->arg_count;
}

struct sql_arg sql_scan_arg(const struct sql_scan *scan, uint32_t i)
{
    const struct skein_arg_type *type = &sql_scan_type(scan)->args[i];
    const struct skein_row_more *operation = operation_of(scan);
    struct sql_arg arg = {.name = type->name, .unit = type->unit, .type = type->type};
    if (operation != NULL) {
        arg.type = SKEIN_T_I64;
        arg.value.i64 = operation->detail;
    } else if (scan->batch.args != NULL) {
        arg.value = skein_batch_args(&scan->batch, scan->row)[i];
    }
    return arg;
}

static bool is_task(const struct sql_arg *arg)
{
    if (arg->type == SKEIN_T_SEQ)
        return true;
    return arg->type == SKEIN_T_STR && strcmp(arg->name, "trace_id") == 0 && arg->value.len == 32 &&
           strspn(arg->value.text, "0123456789abcdefABCDEF") == 32;
}

static uint32_t tasks_count(const struct sql_scan *scan, uint32_t stop_at, uint32_t *arg)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < sql_scan_arg_count(scan); i++) {
        const struct sql_arg at = sql_scan_arg(scan, i);
        if (is_task(&at) && found++ == stop_at)
            *arg = i;
    }
    return found;
}

uint32_t sql_scan_task(const struct sql_scan *scan, uint32_t n)
{
    uint32_t arg = 0;
    tasks_count(scan, n, &arg);
    return arg;
}

/* Whether the row's type is one of the table's, and of that name. */
static int type_look(struct sql_scan *scan)
{
    uint32_t type = scan->batch.type[scan->row];
    if (type == SKEIN_NONE)
        return scan->table->types[0] == NULL;
    if (!array_grow_zero(scan->type_fits, (size_t)type + 1, &scan->type_cap))
        return SKEIN_NO_MEMORY;
    if (scan->type_fits[type] == 0)
        scan->type_fits[type] =
            type_fits(scan, skein_trace_type(scan->engine->trace, type)) ? 1 : 2;
    return scan->type_fits[type] == 1;
}

/* Into scan->parts: how many rows the table has of this one. */
static int parts_count(struct sql_scan *scan)
{
    int status = SKEIN_OK;
    scan->part = 0;
    switch (scan->table->rows) {
    case SQL_ROWS_ARGS:
        scan->parts = sql_scan_arg_count(scan);
        break;
    case SQL_ROWS_STACK:
        scan->parts = scan->batch.stack[scan->row] != 0;
        break;
    case SQL_ROWS_FRAMES:
        scan->parts = 0;
        if (scan->batch.stack[scan->row] != 0 && (status = sql_scan_frames(scan)) == SKEIN_OK)
            scan->parts = (uint32_t)scan->frame_count;
        break;
    case SQL_ROWS_TASKS:
        scan->parts = tasks_count(scan, UINT32_MAX, NULL);
        break;
    default:
        scan->parts = 1;
        break;
    }
    return status;
}

/* What the table has of the row: scan->parts. */
static int row_fit(struct sql_scan *scan)
{
    uint8_t kind = scan->batch.kind[scan->row];
    bool evidence = (scan->batch.flags[scan->row] & SKEIN_ROW_EVIDENCE) != 0;
    uint32_t kinds = scan->filter.kinds != 0 ? scan->filter.kinds : UINT32_MAX;
    scan->parts = 0;
    if (scan->filter.by_id && scan->id != scan->filter.id)
        return SKEIN_OK;
    if ((scan->table->kinds & kinds & UINT32_C(1) << kind) == 0 ||
        (scan->table->of == SQL_OF_EVIDENCE && !evidence) ||
        (scan->table->of == SQL_OF_RING && evidence))
        return SKEIN_OK;
    int status = type_look(scan);
    return status == 1 ? parts_count(scan) : status;
}

/* Takes the row in, and counts what the table has of it. */
static int row_take(struct sql_scan *scan)
{
    const struct skein_batch *b = &scan->batch;
    const struct skein_event_type *type = sql_scan_type(scan);
    uint8_t klass = type != NULL ? type->klass : 0;
    int status = SKEIN_OK;
    scan->parts = 0;
    if (WANTS(scan, ID) || WANTS(scan, SELF))
        status = sql_nest_add(&scan->nest, b, scan->row, klass, &scan->id, &scan->parent);
    if (status == SKEIN_OK && WANTS(scan, SELF) && b->kind[scan->row] == SKEIN_ROW_REGION)
        status = sql_nest_self(&scan->nest, b, scan->row, klass, &scan->self_ns);
    return status == SKEIN_OK ? row_fit(scan) : status;
}

/* The next row of the cursor: 1; 0 at the end; a status. */
static int row_next(struct sql_scan *scan)
{
    if (++scan->row < scan->batch.count)
        return 1;
    scan->row = 0;
    scan->frames_row = UINT32_MAX;
    memset(scan->stacks, 0, sizeof scan->stacks);
    do {
        scan->batch.count = 0;
        int status = skein_cursor_next(scan->cursor, &scan->batch);
        if (status <= 0)
            return status;
        if (!sql_may_go_on(scan->engine, scan->batch.count))
            return scan->engine->ended;
    } while (scan->batch.count == 0);
    return 1;
}

static int end_reach(struct sql_scan *scan)
{
    const struct skein_gap *gaps;
    int status = sql_gaps_note(scan->engine, scan->cursor);
    if (scan->table->rows == SQL_ROWS_LOSSES && !scan->at_gap) {
        scan->at_gap = true;
        scan->part = 0;
        scan->parts = (uint32_t)skein_cursor_gaps(scan->cursor, &gaps);
        scan->ended = scan->parts == 0;
        return status;
    }
    scan->ended = true;
    return status;
}

int sql_scan_next(struct sql_scan *scan)
{
    int status;
    scan->number++;
    if (scan->part + 1 < scan->parts) {
        scan->part++;
        return SKEIN_OK;
    }
    if (scan->at_gap || (scan->filter.by_id && scan->parts > 0)) {
        scan->ended = true;
        return SKEIN_OK;
    }
    while ((status = row_next(scan)) > 0) {
        status = row_take(scan);
        if (status != SKEIN_OK || scan->parts > 0)
            return status;
        if (scan->filter.by_id && scan->id == scan->filter.id &&
            scan->batch.kind[scan->row] != SKEIN_ROW_BEGIN) {
            scan->ended = true; /* the event has no row here */
            return SKEIN_OK;
        }
    }
    return status < 0 ? status : end_reach(scan);
}

/* ---- opening ---- */

static uint32_t columns_of(const struct sql_scan *scan)
{
    uint32_t columns = SKEIN_COLUMN_TYPE;
    enum sql_rows rows = scan->table->rows;
    if (WANTS(scan, TS) || WANTS(scan, DUR) || WANTS(scan, ID) || WANTS(scan, SELF))
        columns |= SKEIN_COLUMN_TIME;
    if (WANTS(scan, DEPTH) || WANTS(scan, ID) || WANTS(scan, SELF))
        columns |= SKEIN_COLUMN_DEPTH;
    if (WANTS(scan, STACK_ID) || rows == SQL_ROWS_STACK || rows == SQL_ROWS_FRAMES)
        columns |= SKEIN_COLUMN_STACK;
    if (WANTS(scan, ARGS) || WANTS(scan, ARG) || WANTS(scan, ARG_AT) || WANTS(scan, LEVEL) ||
        rows == SQL_ROWS_TASKS || (rows == SQL_ROWS_ARGS && WANTS(scan, PART)))
        columns |= SKEIN_COLUMN_ARGS;
    return columns;
}

static bool has_any(const struct sql_filter *f, enum sql_text text, enum sql_number a,
                    enum sql_number b)
{
    return f->texts[text] != NULL || f->has[a] || f->has[b];
}

static int cursor_open(struct sql_scan *scan)
{
    struct sql_filter *f = &scan->filter;
    bool all = WANTS(scan, ID) || WANTS(scan, SELF);
    uint32_t kinds = f->kinds != 0 ? f->kinds & scan->table->kinds : scan->table->kinds;
    struct skein_query query = {.size = sizeof query,
                                .columns = columns_of(scan),
                                .kinds = all ? SQL_KINDS_ALL : kinds,
                                .no_evidence = scan->table->of == SQL_OF_RING,
                                .context = scan};
    scan->ended = scan->at_gap = false;
    scan->part = scan->parts = 0;
    if (f->empty || kinds == 0 || (f->to_ns != 0 && f->from_ns > f->to_ns)) {
        scan->ended = true;
        return SKEIN_OK;
    }
    if (has_any(f, SQL_TEXT_PROCESS, SQL_NUMBER_PID, SQL_NUMBER_PROCESS) ||
        f->texts[SQL_TEXT_SERVICE] != NULL || f->texts[SQL_TEXT_HOST] != NULL)
        query.process = process_fits;
    if (has_any(f, SQL_TEXT_THREAD, SQL_NUMBER_TID, SQL_NUMBER_THREAD) ||
        scan->table->of == SQL_OF_EVIDENCE)
        query.thread = thread_fits;
    if (!all) {
        query.from_ns = f->from_ns;
        query.to_ns = f->to_ns;
        if (f->texts[SQL_TEXT_NAME] != NULL || scan->table->types[0] != NULL)
            query.type = type_fits;
    }
    if (scan->type_cap > 0)
        memset(scan->type_fits, 0, scan->type_cap);
    int status = skein_cursor_new(scan->engine->trace, &query, &scan->cursor);
    return status == SKEIN_OK ? sql_scan_next(scan) : status;
}

/* Whether no event of the table can have this id. */
static bool id_is_strange(const struct sql_scan *scan, int64_t id)
{
    const struct skein_trace *trace = scan->engine->trace;
    if (id <= 0)
        return (0 - (uint64_t)id) / (uint64_t)SQL_ID_STEP >= skein_trace_process_count(trace);
    uint64_t thread = (uint64_t)(id / SQL_ID_STEP);
    if (thread >= skein_trace_thread_count(trace))
        return true;
    bool evidence = skein_trace_thread(trace, (uint32_t)thread)->evidence;
    return (evidence && scan->table->of == SQL_OF_RING) ||
           (!evidence && scan->table->of == SQL_OF_EVIDENCE);
}

/* From where the scan stands, by another id. */
static int id_seek(struct sql_scan *scan)
{
    scan->ended = scan->at_gap = false;
    if (scan->row < scan->batch.count && scan->id == scan->filter.id &&
        scan->batch.kind[scan->row] != SKEIN_ROW_BEGIN) {
        int status = row_fit(scan);
        scan->ended = scan->parts == 0;
        return status;
    }
    scan->parts = scan->part = 0;
    return sql_scan_next(scan);
}

int sql_scan_open(struct sql_scan *scan, uint64_t wants, struct sql_filter *filter)
{
    int status = SKEIN_OK;
    bool goes_on = scan->cursor != NULL && scan->filter.by_id && filter->by_id &&
                   scan->wants == (wants | UINT64_C(1) << SQL_ID);
    sql_filter_fini(&scan->filter);
    scan->filter = *filter;
    *filter = (struct sql_filter){0};
    scan->wants = wants;
    if (WANTS(scan, PARENT) || scan->filter.by_id)
        scan->wants |= UINT64_C(1) << SQL_ID;
    if (WANTS(scan, ID) || WANTS(scan, THREAD) || scan->filter.texts[SQL_TEXT_THREAD] != NULL ||
        scan->filter.has[SQL_NUMBER_THREAD])
        status = sql_names_learn(scan->engine);
    if (status != SKEIN_OK)
        return status;
    const struct sql_filter *f = &scan->filter;
    if (f->has[SQL_NUMBER_THREAD] &&
        (f->numbers[SQL_NUMBER_THREAD] < 0 ||
         f->numbers[SQL_NUMBER_THREAD] >= skein_trace_thread_count(scan->engine->trace)))
        scan->filter.empty = true;
    if (f->has[SQL_NUMBER_PROCESS] &&
        (f->numbers[SQL_NUMBER_PROCESS] < 0 ||
         f->numbers[SQL_NUMBER_PROCESS] >= skein_trace_process_count(scan->engine->trace)))
        scan->filter.empty = true;
    if (f->by_id && id_is_strange(scan, f->id)) {
        scan->ended = true; /* and what was read so far stays read */
        return SKEIN_OK;
    }
    if (goes_on && (scan->id == f->id || sql_nest_is_ahead(&scan->nest, f->id)))
        return id_seek(scan);
    cursor_close(scan);
    return cursor_open(scan);
}

/* ---- stacks ---- */

int sql_scan_frames(struct sql_scan *scan)
{
    if (scan->frames_row == scan->row)
        return SKEIN_OK;
    size_t total = 0;
    int status = skein_cursor_stack(scan->cursor, scan->row, scan->frames, scan->frame_cap, &total,
                                    &scan->stack_end);
    if (status == SKEIN_OK && total > scan->frame_cap) {
        if (!array_grow(scan->frames, total, &scan->frame_cap))
            return SKEIN_NO_MEMORY;
        status = skein_cursor_stack(scan->cursor, scan->row, scan->frames, scan->frame_cap, &total,
                                    &scan->stack_end);
    }
    scan->frame_count = status == SKEIN_OK ? total : 0;
    if (status == SKEIN_OK || status == SKEIN_NOT_FOUND)
        scan->frames_row = scan->row;
    return status == SKEIN_NOT_FOUND ? SKEIN_OK : status;
}

/* Inlined functions are of the address behind them, and are there only where it has a name. */
int sql_scan_stack_id(struct sql_scan *scan, int64_t *id)
{
    uint32_t stack = scan->batch.stack[scan->row];
    size_t slot = stack % SQL_STACKS_KEPT, n = 0;
    *id = stack != 0 ? scan->stacks[slot].id : 0;
    if (stack == 0 || scan->stacks[slot].stack == stack)
        return SKEIN_OK;
    int status = sql_scan_frames(scan);
    if (status != SKEIN_OK)
        return status;
    const struct skein_process *process =
        skein_trace_process(scan->engine->trace, scan->batch.process[scan->row]);
    uint64_t *words = calloc(scan->frame_count + 3, sizeof *words);
    if (words == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(words, process->id, sizeof process->id);
    words[2] = scan->stack_end;
    bool listed = (scan->stack_end & 0x7f) >= 3; /* F-44: names of one address are told apart */
    for (size_t i = 0; i < scan->frame_count; i++)
        if (!scan->frames[i].inlined)
            words[3 + n++] = listed ? scan->frames[i].looked_up : scan->frames[i].address;
    /* 53 bits: exact in JSON, too. */
    *id = (int64_t)(checksum64(words, (3 + n) * sizeof *words) >> 11);
    free(words);
    scan->stacks[slot].stack = stack;
    scan->stacks[slot].id = *id;
    return SKEIN_OK;
}
