/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns what a report takes from the agent's evidence (docs/evidence.md): hands rows on to the tables
 * of vitals, scheduling and descriptors, and keeps crashes, who waits for whom, and titles itself.
 * One thread enters. Every text is hostile, and none is interpreted.
 */
#include "array.h"
#include "trace_report_int.h"

#include <string.h>

/* A row as those tables take it; pointers are the trace's and the batch's. */
struct evidence_row {
    struct partition_info info;
    struct partition_thread thread;
    struct partition_event_type type;
    struct trace_event event;
};

static enum report_mark mark_of(const char *name)
{
    static const struct {
        const char *name;
        enum report_mark mark;
    } marks[] = {{"crash.signal", REPORT_MARK_CRASH},
                 {"crash.handled", REPORT_MARK_HANDLED},
                 {"thread.wait", REPORT_MARK_WAIT},
                 {"thread.dump", REPORT_MARK_DUMP},
                 {"thread.state", REPORT_MARK_STATE}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (strcmp(name, marks[i].name) == 0)
            return marks[i].mark;
    return REPORT_MARK_NONE;
}

static struct partition_value value_of_arg(uint8_t type, const struct skein_arg *arg)
{
    struct partition_value value = {.u64 = 0};
    if (type == SKEIN_T_STR) {
        value.str.text = arg->text != NULL ? arg->text : "";
        value.str.len = arg->text != NULL ? arg->len : 0;
        value.str.cut = arg->cut;
    } else if (type == SKEIN_T_SEQ) {
        value.seq.resource = arg->resource;
        value.seq.number = arg->number;
    } else {
        value.u64 = arg->u64;
    }
    return value;
}

static void type_fill(struct partition_event_type *to, const struct skein_event_type *type)
{
    *to = (struct partition_event_type){.name = type->name,
                                        .text = type->text,
                                        .file = type->file,
                                        .line = type->line,
                                        .klass = type->klass,
                                        .group = type->group,
                                        .nargs = type->arg_count};
    for (unsigned i = 0; i < type->arg_count && i < SKEIN_ARGS_MAX; i++)
        to->args[i] =
            (struct partition_arg){type->args[i].type, type->args[i].name, type->args[i].unit};
}

static void row_fill(struct evidence_row *to, const struct skein_trace *trace,
                     const struct skein_batch *batch, uint32_t row)
{
    const struct skein_process *p = skein_trace_process(trace, batch->process[row]);
    const struct skein_event_type *type = skein_trace_type(trace, batch->type[row]);
    const struct skein_arg *args = skein_batch_args(batch, row);
    *to = (struct evidence_row){.info = {.pid = p->pid,
                                         .host = p->host,
                                         .service = p->service,
                                         .labels = p->labels,
                                         .exe = p->exe,
                                         .evidence = true}};
    memcpy(to->info.key.process.bytes, p->id, sizeof p->id);
    type_fill(&to->type, type);
    to->event = (struct trace_event){.kind = batch->kind[row],
                                     .time_ns = batch->time_ns[row],
                                     .dur_ns = batch->dur_ns[row],
                                     .type = &to->type};
    for (unsigned i = 0; i < type->arg_count && i < SKEIN_ARGS_MAX; i++)
        to->event.args[i] = value_of_arg(type->args[i].type, &args[i]);
    if (batch->thread[row] == SKEIN_NONE)
        return;
    const struct skein_thread *thread = skein_trace_thread(trace, batch->thread[row]);
    to->thread = (struct partition_thread){
        .tid = thread->tid, .name = thread->name, .incarnation = thread->incarnation};
    to->event.thread = &to->thread;
}

static const struct partition_value *arg_find(const struct trace_event *event, const char *name,
                                              bool text)
{
    for (unsigned i = 0; i < event->type->nargs; i++) {
        uint8_t type = event->type->args[i].type;
        bool fits = text ? type == SKEIN_T_STR
                         : type == SKEIN_T_U64 || type == SKEIN_T_I64 || type == SKEIN_T_PTR;
        if (fits && strcmp(event->type->args[i].name, name) == 0)
            return &event->args[i];
    }
    return NULL;
}

static uint64_t number_of(const struct trace_event *event, const char *name)
{
    const struct partition_value *value = arg_find(event, name, false);
    return value != NULL ? value->u64 : 0;
}

/* ---- what the report keeps itself ---- */

static int crash_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                      const struct skein_batch *batch, uint32_t row,
                      const struct trace_event *event, bool handled)
{
    if (b->crash_count >= REPORT_KEPT_MAX)
        return SKEIN_OK;
    if (!array_grow(b->crashes, b->crash_count + 1, &b->crash_cap))
        return SKEIN_NO_MEMORY;
    b->crashes[b->crash_count++] =
        (struct report_crash){.process = batch->process[row],
                              .thread = batch->thread[row],
                              .stack = report_stack_keep(b, cursor, batch, row),
                              .signal = (int64_t)number_of(event, "signal"),
                              .at_ns = batch->time_ns[row],
                              .handled = handled};
    return b->status;
}

static int waiter_take(struct trace_report_builder *b, const struct skein_batch *batch,
                       uint32_t row, const struct trace_event *event)
{
    if (b->waiter_count >= REPORT_KEPT_MAX || event->thread == NULL)
        return SKEIN_OK;
    if (!array_grow(b->waiters, b->waiter_count + 1, &b->waiter_cap))
        return SKEIN_NO_MEMORY;
    b->waiters[b->waiter_count++] =
        (struct report_waiter){.process = batch->process[row],
                               .tid = event->thread->tid,
                               .holder = (uint32_t)number_of(event, "holder"),
                               .object = number_of(event, "object"),
                               .at_ns = batch->time_ns[row]};
    return SKEIN_OK;
}

static int title_take(struct trace_report_builder *b, const struct skein_batch *batch, uint32_t row,
                      const struct trace_event *event)
{
    const struct partition_value *title = arg_find(event, "title", true);
    if (title == NULL || title->str.len == 0 || b->title_count >= REPORT_KEPT_MAX)
        return SKEIN_OK;
    if (!array_grow(b->titles, b->title_count + 1, &b->title_cap))
        return SKEIN_NO_MEMORY;
    char *text = strndup(title->str.text,
                         title->str.len < TRACE_REPORT_TEXT ? title->str.len : TRACE_REPORT_TEXT);
    if (text == NULL)
        return SKEIN_NO_MEMORY;
    b->titles[b->title_count++] =
        (struct report_title){batch->process[row], batch->time_ns[row], text};
    return SKEIN_OK;
}

static int state_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                      const struct skein_batch *batch, uint32_t row,
                      const struct trace_event *event)
{
    const struct partition_value *call = arg_find(event, "syscall", true);
    if (call == NULL || call->str.len == 0 || event->thread == NULL ||
        b->state_count >= REPORT_KEPT_MAX)
        return SKEIN_OK;
    if (!array_grow(b->states, b->state_count + 1, &b->state_cap))
        return SKEIN_NO_MEMORY;
    size_t n = call->str.len < TRACE_REPORT_TEXT ? call->str.len : TRACE_REPORT_TEXT;
    char *text = strndup(call->str.text, n);
    if (text == NULL)
        return SKEIN_NO_MEMORY;
    b->states[b->state_count++] =
        (struct report_state){.process = batch->process[row],
                              .tid = event->thread->tid,
                              .stack = report_stack_keep(b, cursor, batch, row),
                              .at_ns = batch->time_ns[row],
                              .call = text};
    return b->status;
}

int report_evidence_take(struct trace_report_builder *b, struct skein_cursor *cursor,
                         const struct skein_batch *batch, uint32_t row)
{
    struct evidence_row as;
    struct report_process *p = &b->processes[batch->process[row]];
    row_fill(&as, b->trace, batch, row);
    if (p->beside == NULL && beside_new(&p->beside) != SKEIN_OK)
        return SKEIN_NO_MEMORY;
    int status = beside_add(p->beside, &as.event);
    if (status == SKEIN_OK)
        status = vitals_table_add(b->vitals, &as.info, &as.event);
    if (status == SKEIN_OK)
        status = sched_sums_add(b->sched, &as.info, &as.event);
    if (status != SKEIN_OK || as.event.kind != SKEIN_ROW_INSTANT)
        return status;
    switch (mark_of(as.type.name)) {
    case REPORT_MARK_CRASH:
    case REPORT_MARK_HANDLED:
        return crash_take(b, cursor, batch, row, &as.event,
                          mark_of(as.type.name) == REPORT_MARK_HANDLED);
    case REPORT_MARK_WAIT:
        return waiter_take(b, batch, row, &as.event);
    case REPORT_MARK_STATE:
        return state_take(b, cursor, batch, row, &as.event);
    case REPORT_MARK_DUMP:
        return title_take(b, batch, row, &as.event);
    default:
        return SKEIN_OK;
    }
}
