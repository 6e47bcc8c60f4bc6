/* SPDX-License-Identifier: Apache-2.0
 *
 * skein sql: questions to trace files in SQL (sql/sql.h, docs/sql.md). One thread.
 */
#include <string.h>
#include <unistd.h>

#include "cli_out.h"
#include "cli_part.h"
#include "cmd.h"
#include "sql_shell.h"

struct options {
    const char *form;
    bool json, csv, table;
};

static const char *const forms[] = {"table", "json", "csv", NULL};

static const struct cli_option options[] = {
    CLI_CHOICE('o', "output", "FORM", struct options, form, forms,
               "table, json (an array, a row a line) or csv (default: table)"),
    CLI_OPTION(CLI_FLAG, 'j', "json", NULL, struct options, json, "short for -o json"),
    CLI_OPTION(CLI_FLAG, 0, "csv", NULL, struct options, csv, "short for -o csv"),
    CLI_OPTION(CLI_FLAG, 0, "table", NULL, struct options, table, "short for -o table"),
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

static int sql_run(const void *values, int count, char **arguments)
{
    const struct options *o = values;
    struct skein_trace *trace = NULL;
    struct sql_engine *engine = NULL;
    const char *text = is_statement(arguments[count - 1]) ? arguments[--count] : NULL;
    if (count == 0) {
        say_error("sql: which trace file is asked? See: skein sql --help");
        return CLI_USAGE;
    }
    if (o->json + o->csv + o->table + (o->form != NULL) > 1) {
        say_error("sql: only one of --json, --csv, --table and --output can be");
        return CLI_USAGE;
    }
    int status = CLI_FAILED;
    if ((trace = part_files_open(arguments, count)) != NULL) {
        int opened = sql_open(trace, NULL, &engine);
        status = opened == SKEIN_OK ? CLI_OK : CLI_FAILED;
        if (opened != SKEIN_OK)
            say_error("sql: %s", skein_status_text(opened));
    }
    if (status == CLI_OK)
        status = text != NULL ? sql_text_run(engine, form_of(o), text)
                              : sql_input_run(engine, form_of(o));
    sql_close(&engine);
    skein_trace_free(&trace);
    return status;
}

const struct cli_command cmd_sql = {
    .name = "sql",
    .arguments = "FILE... [STATEMENT]",
    .summary = "Ask trace files in SQL",
    .details =
        "Tables: event, slice, thread, process, task, counter, sched, thread_state, stack, frame,\n"
        "sample, log, args, partition, loss, stats; docs/sql.md says what they hold. Nothing is\n"
        "imported: what a statement does not ask for is not read. Without a statement, statements\n"
        "are read from standard input; on a terminal that is a shell with history and completion.\n",
    .examples =
        "  skein sql redis.skein \"select name, count(*), sum(dur) from slice group by name\"\n"
        "  skein sql redis.skein \"select * from stats where severity = 'data_loss' and value != 0\"\n"
        "  skein sql --csv a.skein b.skein <questions.sql\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .min_arguments = 1,
    .max_arguments = CLI_ARGUMENTS_ANY,
    .run = sql_run,
};
