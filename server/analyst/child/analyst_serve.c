/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports and summaries, and the traces that all answers are read from; see analyst_serve.h.
 */
#include "analyst_serve.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "json.h"
#include "summary.h"
#include "trace_report_json.h"

/* ---- traces ---- */

struct trace_port {
    const struct analyst_port *port;
    uint32_t number;
};

static int port_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct trace_port *from = context;
    return from->port->read(from->port->context, from->number, offset, out, n);
}

static int traces_open(const struct analyst_task *task, struct trace_port *ports,
                       const struct analyst_port *port, struct skein_trace **out,
                       char error[ANALYST_ERROR_BYTES])
{
    int status = skein_trace_new(out);
    for (size_t i = 0; i < task->trace_count && status == SKEIN_OK; i++) {
        ports[i] = (struct trace_port){port, (uint32_t)i};
        const struct skein_trace_source source = {port_read, &ports[i], task->traces[i].bytes,
                                                  task->traces[i].name};
        status = skein_trace_add_source(*out, &source, error);
    }
    return status;
}

static bool process_passes(void *context, const struct skein_process *process)
{
    const struct analyst_task *task = context;
    return !(task->of_process && memcmp(process->id, task->process, 16) != 0) &&
           !(task->not_of_process && memcmp(process->id, task->not_process, 16) == 0);
}

/* The task outlives the query. */
static struct skein_query query_of(struct analyst_task *task)
{
    struct skein_query query = {.size = sizeof query,
                                .from_ns = task->from_ns,
                                .to_ns = task->to_ns,
                                .groups = task->groups};
    if (task->of_process || task->not_of_process) {
        query.process = process_passes;
        query.context = task;
    }
    return query;
}

/* ---- report ---- */

static int report_read(struct trace_report_builder *builder, struct skein_trace *trace,
                       struct skein_cursor *cursor, struct buf *answer)
{
    struct skein_batch batch;
    const struct trace_report *report;
    int next, status = SKEIN_OK;
    while (status == SKEIN_OK && (next = skein_cursor_next(cursor, &batch)) != 0)
        status = next < 0 ? next : trace_report_add(builder, trace, cursor, &batch);
    if (status == SKEIN_OK)
        status = trace_report_end(builder, trace, cursor, &report);
    if (status != SKEIN_OK)
        return status;
    cJSON *json = trace_report_json(report, trace);
    if (json == NULL)
        return SKEIN_NO_MEMORY;
    json_print(json, answer);
    cJSON_Delete(json);
    return answer->status;
}

static int report_answer(const struct analyst_task *task, const struct skein_query *query,
                         struct skein_trace *trace, struct buf *answer)
{
    const struct trace_report_limits limits = {
        .findings = task->rows, .rows = task->rows, .from_ns = task->from_ns, .to_ns = task->to_ns};
    struct trace_report_builder *builder = NULL;
    struct skein_cursor *cursor = NULL;
    int status = trace_report_new(&limits, &builder);
    if (status == SKEIN_OK)
        status = skein_cursor_new(trace, query, &cursor);
    if (status == SKEIN_OK)
        status = report_read(builder, trace, cursor, answer);
    skein_cursor_free(&cursor);
    trace_report_free(&builder);
    return status;
}

/* ---- summary ---- */

static int summary_answer(const struct analyst_task *task, const struct skein_query *query,
                          struct skein_trace *trace, struct buf *answer)
{
    struct summary *summary = NULL;
    int status = summary_new(task->rows, &summary);
    if (status == SKEIN_OK)
        status = summary_read(summary, trace, query);
    if (status == SKEIN_OK)
        status = summary_sort(summary);
    if (status == SKEIN_OK)
        status = summary_bytes_put(summary, answer);
    summary_free(&summary);
    return status;
}

int analyst_answer(const struct analyst_task *given, const struct analyst_port *port,
                   struct buf *answer, char error[ANALYST_ERROR_BYTES])
{
    struct analyst_task task = *given; /* a query's context is not const */
    struct trace_port ports[ANALYST_TRACES];
    struct skein_trace *trace = NULL;
    const struct skein_query query = query_of(&task);
    error[0] = '\0';
    int status = traces_open(&task, ports, port, &trace, error);
    if (status == SKEIN_OK) {
        if (task.kind == ANALYST_REPORT)
            status = report_answer(&task, &query, trace, answer);
        else if (task.kind == ANALYST_SUMMARY)
            status = summary_answer(&task, &query, trace, answer);
        else
            status = analyst_sql_answer(&task, trace, answer, error);
    }
    skein_trace_free(&trace);
    if (status == SKEIN_NO_MEMORY) {
        snprintf(error, ANALYST_ERROR_BYTES, "it takes more memory than %" PRIu64 " bytes",
                 task.memory_bytes);
        return SKEIN_TOO_LARGE;
    }
    if (status == SKEIN_OK && answer->len > task.answer_bytes) {
        snprintf(error, ANALYST_ERROR_BYTES, "the answer is longer than %" PRIu64 " bytes",
                 task.answer_bytes);
        return SKEIN_TOO_LARGE;
    }
    return status;
}
