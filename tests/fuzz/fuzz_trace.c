/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole of skein/trace.h. The first four bytes choose the query; the rest is a trace file as it
 * is, and the pieces of a partition (fuzz_pieces.h), which are both added. Every row of every batch
 * is looked at, and what the header promises of it must hold; without a time, which leaves out what a
 * footer says that it does not need, a cursor that takes event by event must give the same.
 */
#include "fuzz_pieces.h"
#include "fuzz_target.h"
#include "skein/trace.h"
#include "trace_merge.h"

static volatile uint64_t seen; /* so that every value is read */

static void text_look(const char *text, size_t len)
{
    require(text != NULL && text[len] == 0);
    if (text == NULL)
        return;
    for (size_t i = 0; i < len; i++)
        seen += (uint8_t)text[i];
}

static bool process_says(void *context, const struct skein_process *process)
{
    (void)context;
    text_look(process->host, strlen(process->host));
    return process->pid % 7 != 0;
}

static bool thread_says(void *context, const struct skein_thread *thread)
{
    (void)context;
    text_look(thread->name, strlen(thread->name));
    return thread->tid % 5 != 0;
}

static bool type_says(void *context, const struct skein_event_type *type)
{
    (void)context;
    require(type->arg_count <= SKEIN_ARGS_MAX && type->klass != SKEIN_CLASS_STACK);
    return strlen(type->name) % 3 != 0;
}

static void args_look(const struct skein_trace *trace, const struct skein_batch *batch, uint32_t i)
{
    const struct skein_event_type *type = skein_trace_type(trace, batch->type[i]);
    const struct skein_arg *args = skein_batch_args(batch, i);
    for (unsigned k = 0; k < type->arg_count; k++)
        if (type->args[k].type == SKEIN_T_STR)
            text_look(args[k].text, args[k].len);
        else
            seen += args[k].u64 + (type->args[k].type == SKEIN_T_SEQ ? args[k].number : 0);
}

static void stack_look(struct skein_cursor *cursor, uint32_t row, bool has)
{
    struct skein_frame frames[4];
    size_t total;
    uint8_t end;
    int status = skein_cursor_stack(cursor, row, frames, 4, &total, &end);
    require(status == (has ? SKEIN_OK : SKEIN_NOT_FOUND));
    for (size_t i = 0; i < total && i < 4; i++) {
        text_look(frames[i].function, strlen(frames[i].function));
        text_look(frames[i].module, strlen(frames[i].module));
    }
}

static void row_look(const struct skein_trace *trace, struct skein_cursor *cursor,
                     const struct skein_batch *b, const struct skein_query *q, uint32_t i)
{
    require(b->kind[i] >= SKEIN_ROW_BEGIN && b->kind[i] <= SKEIN_ROW_END_ONLY);
    require(q->kinds != 0 ? (q->kinds >> b->kind[i] & 1) != 0 : b->kind[i] != SKEIN_ROW_BEGIN);
    require(b->process[i] < skein_trace_process_count(trace));
    require(b->thread[i] == SKEIN_NONE || b->thread[i] < skein_trace_thread_count(trace));
    require(!q->no_evidence || (b->flags[i] & SKEIN_ROW_EVIDENCE) == 0);
    if (b->type != NULL && b->type[i] != SKEIN_NONE) {
        require(b->type[i] < skein_trace_type_count(trace));
        if (b->args != NULL)
            args_look(trace, b, i);
    } else if (b->type != NULL) {
        require(b->kind[i] == SKEIN_ROW_LOSS || b->kind[i] == SKEIN_ROW_END_ONLY);
    }
    if (b->time_ns != NULL && q->to_ns != 0)
        require(b->time_ns[i] <= q->to_ns);
    if (b->more[i] != SKEIN_NONE)
        seen += strlen(skein_loss_text(b->mores[b->more[i]].loss_reason));
    if (b->stack != NULL)
        stack_look(cursor, i, b->stack[i] != 0);
    seen += (b->depth != NULL ? b->depth[i] : 0);
}

static void trace_look(struct skein_trace *trace, const struct skein_query *query)
{
    struct skein_cursor *cursor;
    struct skein_batch batch;
    const struct skein_gap *gaps;
    int status = skein_cursor_new(trace, query, &cursor);
    require(status == SKEIN_OK);
    while ((status = skein_cursor_next(cursor, &batch)) > 0) {
        require(batch.count > 0 && batch.count <= SKEIN_BATCH_ROWS);
        for (uint32_t i = 0; i < batch.count; i++)
            row_look(trace, cursor, &batch, query, i);
    }
    require(status == 0);
    size_t count = skein_cursor_gaps(cursor, &gaps);
    for (size_t i = 0; i < count; i++) {
        text_look(gaps[i].what, strlen(gaps[i].what));
        require(gaps[i].from_ns <= gaps[i].to_ns);
    }
    seen += skein_cursor_fixed_up(cursor) + skein_cursor_unordered(cursor);
    skein_cursor_free(&cursor);
}

/* ---- event by event ---- */

struct sum {
    uint64_t rows, of_all;
};

static void sum_add(struct sum *sum, uint64_t value)
{
    sum->of_all = (sum->of_all ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    sum->of_all ^= sum->of_all >> 29;
}

static void row_sum(struct sum *sum, const struct skein_batch *b, uint32_t i)
{
    sum->rows++;
    sum_add(sum, b->kind[i] | (uint64_t)b->flags[i] << 8 | (uint64_t)b->process[i] << 16);
    sum_add(sum, b->thread[i] | (uint64_t)(b->type != NULL ? b->type[i] : 0) << 32);
    sum_add(sum, b->time_ns != NULL ? b->time_ns[i] : 0);
    sum_add(sum, b->time_ns != NULL ? b->dur_ns[i] : 0);
    sum_add(sum, b->depth != NULL ? b->depth[i] : 0);
    sum_add(sum, b->stack != NULL && b->stack[i] != 0);
}

static struct sum trace_sum(struct skein_trace *trace, const struct skein_query *query, bool slow)
{
    struct sum sum = {0};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    const struct skein_gap *gaps;
    int status = slow ? trace_cursor_slow_new(trace, query, &cursor)
                      : skein_cursor_new(trace, query, &cursor);
    require(status == SKEIN_OK);
    while (skein_cursor_next(cursor, &batch) > 0)
        for (uint32_t i = 0; i < batch.count; i++)
            row_sum(&sum, &batch, i);
    if (query->columns == SKEIN_COLUMN_ALL && query->thread == NULL) /* all of it is read */
        sum_add(&sum, skein_cursor_gaps(cursor, &gaps));
    skein_cursor_free(&cursor);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    struct skein_query query = {.size = sizeof query};
    size_t length;
    if (n < 4)
        return 0;
    query.columns = bytes[0] & SKEIN_COLUMN_ALL;
    query.no_evidence = (bytes[0] & 0x40) != 0;
    query.by_process = (bytes[0] & 0x80) != 0;
    query.kinds = (uint32_t)bytes[1] << 1;
    query.groups = bytes[2];
    query.process = bytes[3] & 1 ? process_says : NULL;
    query.thread = bytes[3] & 2 ? thread_says : NULL;
    query.type = bytes[3] & 4 ? type_says : NULL;
    query.from_ns = bytes[3] & 8 ? UINT64_C(1795254000000064000) : 0;
    query.to_ns = bytes[3] & 16 ? UINT64_C(1795254000000300000) : 0;
    require(skein_trace_new(&trace) == SKEIN_OK);
    uint8_t *assembled = pieces_assemble(bytes + 4, n - 4, &length);
    int first = skein_trace_add_memory(trace, bytes + 4, n - 4, "input", error);
    require(first == SKEIN_OK || error[0] != 0);
    int second = skein_trace_add_memory(trace, assembled, length, "pieces", error);
    require(second == SKEIN_OK || error[0] != 0);
    trace_look(trace, &query);
    if (query.from_ns == 0 && query.to_ns == 0 && query.thread == NULL &&
        query.columns == SKEIN_COLUMN_ALL) {
        struct sum slow = trace_sum(trace, &query, true), fast = trace_sum(trace, &query, false);
        require(slow.rows == fast.rows && slow.of_all == fast.of_all);
    }
    skein_trace_free(&trace);
    free(assembled);
    return 0;
}
