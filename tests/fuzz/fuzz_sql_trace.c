/* SPDX-License-Identifier: Apache-2.0
 *
 * Hostile traces under a fixed set of statements. The input is a trace file as it is, and the pieces
 * of a partition (fuzz_pieces.h); both are added. What tables say of each other must agree: each
 * question below counts what contradicts, and its answer is 0.
 */
#include <stdio.h>

#include "fuzz_pieces.h"
#include "fuzz_target.h"
#include "sql.h"

static const char *const questions[] = {
    /* an id names one event, in all tables */
    "select count(*) - count(distinct id) from event",
    "select (select count(*) from event) - (select count(id) from event)",
    "select count(*) from slice where id not in (select id from event)",
    "select count(*) from (select event_id from args except select id from event)",
    /* filters find what a look at all rows finds */
    "select (select count(*) from event where kind = 'region') - "
    "(select count(*) from event where kind || '' = 'region')",
    "select (select count(*) from event where tid = 4711) - "
    "(select count(*) from event where tid + 0 = 4711)",
    "select (select count(*) from event where name = 'query') - "
    "(select count(*) from event where name || '' = 'query')",
    "select (select count(*) from event where ts >= 1795254000000100000) - "
    "(select count(*) from event where +ts >= 1795254000000100000)",
    /* and what is inside is not longer than what is around it */
    "select count(*) from slice where self_dur > dur or self_dur < 0",
    "select count(*) from slice where typeof(dur) = 'null' or (parent_id is null) <> (depth = 0)",
    "select count(*) from frame where event_id not in (select event_id from stack)",
    "select count(*) from args where position < 0 or json_valid(json_quote(name)) = 0",
    "select count(*) from event where args is not null and json_valid(args) = 0",
    "select (select count(*) from loss where bytes is null and what is null) - "
    "(select count(*) from event where kind = 'loss')",
    "select count(*) from task where task is null",
    "select count(*) from log l join event e using (id) where l.ts is not e.ts",
    "select count(*) from thread t left join process p on p.id = t.process_id where p.id is null",
    "select count(*) from partition where dur < 0 or process is null",
    "select count(*) from counter c where c.thread_id is not null and c.thread_id not in "
    "(select id from thread)",
    "select count(*) from sched join thread_state using (id) where state <> 'running'",
    "select count(*) from stats where severity not in ('data_loss', 'error', 'info')"};

static void question_ask(struct sql_engine *engine, const char *text)
{
    struct sql_statement *statement;
    struct sql_value value;
    size_t used;
    int status = sql_prepare(engine, text, strlen(text), &statement, &used);
    if (status == SKEIN_OK)
        status = sql_next(statement);
    if (status == 1) {
        sql_value(statement, 0, &value);
        if (value.type != SQL_INTEGER || value.integer != 0)
            fprintf(stderr, "%s: %lld\n", text, (long long)value.integer);
        require(value.type == SQL_INTEGER && value.integer == 0);
    } else if (status != SKEIN_TOO_LARGE) {
        fprintf(stderr, "%s: %s\n", text, sql_error(engine));
        abort();
    }
    sql_statement_free(&statement);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct sql_limits limits = {.steps = 200000};
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    struct sql_engine *engine;
    size_t length;
    require(skein_trace_new(&trace) == SKEIN_OK);
    uint8_t *assembled = pieces_assemble(bytes, n, &length);
    skein_trace_add_memory(trace, bytes, n, "input", error);
    skein_trace_add_memory(trace, assembled, length, "pieces", error);
    require(sql_open(trace, &limits, &engine) == SKEIN_OK);
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        question_ask(engine, questions[i]);
    sql_close(&engine);
    skein_trace_free(&trace);
    free(assembled);
    return 0;
}
