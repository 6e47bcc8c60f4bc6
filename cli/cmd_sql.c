/* SPDX-License-Identifier: Apache-2.0
 *
 * skein sql: questions to trace files in SQL (sql/sql.h, docs/sql.md), or to a capture, answered by its
 * collector. One thread.
 */
#include <string.h>
#include <unistd.h>

#include "cli_out.h"
#include "cmd.h"
#include "sql_shell.h"

struct options {
    struct cli_collector collector;
    const char *form, *remote;
    bool json, csv, table;
};

static const char *const forms[] = {"table", "json", "csv", NULL};

static const struct cli_option options[] = {
    CLI_CHOICE('o', "output", "FORM", struct options, form, forms,
               "table, json (an array, a row a line) or csv (default: table)"),
    CLI_OPTION(CLI_FLAG, 'j', "json", NULL, struct options, json, "short for -o json"),
    CLI_OPTION(CLI_FLAG, 0, "csv", NULL, struct options, csv, "short for -o csv"),
    CLI_OPTION(CLI_FLAG, 0, "table", NULL, struct options, table, "short for -o table"),
    CLI_OPTION(CLI_TEXT, 0, "remote", "CAPTURE", struct options, remote,
               "no file: ask the collector, which reads the capture where it is"),
    CLI_COLLECTOR(struct options),
    CLI_OPTIONS_END};

/* The last argument, unless it is a file: one that is not there has no blank in its name, as a
 * statement has. */
static bool is_statement(const char *text)
{
    return access(text, F_OK) != 0 && (strpbrk(text, " \t\n(;") != NULL || text[0] == '\0' ||
                                       (text[0] == '.' && strpbrk(text, "/") == NULL));
}

static enum sql_form form_of(const struct options *o)
{
    if (o->json || (o->form != NULL && strcmp(o->form, "json") == 0))
        return SQL_FORM_JSON;
    if (o->csv || (o->form != NULL && strcmp(o->form, "csv") == 0))
        return SQL_FORM_CSV;
    return SQL_FORM_TABLE;
}

static int usage_check(const struct options *o, int files)
{
    const char *wrong = NULL;
    if (o->remote == NULL && files == 0)
        wrong = "which trace file is asked? See: skein sql --help";
    else if (o->remote != NULL && files > 0)
        wrong = "a capture with --remote, or files: not both";
    else if (o->json + o->csv + o->table + (o->form != NULL) > 1)
        wrong = "only one of --json, --csv, --table and --output can be";
    if (wrong != NULL)
        say_error("sql: %s", wrong);
    return wrong != NULL ? CLI_USAGE : CLI_OK;
}

static int sql_run(const struct cli_call *call)
{
    const struct options *o = call->options;
    struct sql_source source;
    const char *text = NULL;
    int count = call->count;
    if (count > 0 && is_statement(call->arguments[count - 1]))
        text = call->arguments[--count];
    int status = usage_check(o, count);
    if (status == CLI_OK)
        status = o->remote != NULL ? sql_remote_open(o->collector, o->remote, &source)
                                   : sql_local_open(call->arguments, count, &source);
    if (status != CLI_OK)
        return status;
    status =
        text != NULL ? sql_text_run(&source, form_of(o), text) : sql_input_run(&source, form_of(o));
    source.close(source.context);
    return status;
}

const struct cli_command cmd_sql = {
    .name = "sql",
    .arguments = "FILE...|--remote CAPTURE [STATEMENT]",
    .summary = "Ask trace files in SQL, or the collector's own of a capture",
    .details =
        "Tables: event, slice, thread, process, task, counter, sched, thread_state, stack, frame,\n"
        "sample, log, args, partition, loss, stats; docs/sql.md says what they hold. Nothing is\n"
        "imported: what a statement does not ask for is not read. Without a statement, statements\n"
        "are read from standard input; on a terminal that is a shell with history and completion.\n"
        "With --remote the collector reads the capture, under its limits of rows, time and memory.\n",
    .examples =
        "  skein sql redis.skein \"select name, count(*), sum(dur) from slice group by name\"\n"
        "  skein sql redis.skein \"select * from stats where severity = 'data_loss' and value != 0\"\n"
        "  skein sql --csv a.skein b.skein <questions.sql\n"
        "  skein sql --remote 0193a5c0 \"select name, max(dur) from slice group by name\"\n",
    .min_arguments = 0,
    .max_arguments = CLI_ARGUMENTS_ANY,
    CLI_RUN(options, struct options, sql_run),
};
