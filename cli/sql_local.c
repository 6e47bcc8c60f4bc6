/* SPDX-License-Identifier: Apache-2.0
 *
 * Statements over trace files, answered in this process. See sql_source.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli_out.h"
#include "cli_part.h"
#include "sql_source.h"

#define GAPS_TOLD 5

struct local {
    struct skein_trace *trace;
    struct sql_engine *engine;
    struct sql_statement *statement;
    size_t gaps_told; /* of the engine's */
    bool told;        /* the failure */
};

static const char *local_name(void *context, size_t column)
{
    return sql_column_name(context, column);
}

static int local_next(void *context)
{
    return sql_next(context);
}

static void local_value(void *context, size_t column, struct sql_value *value)
{
    sql_value(context, column, value);
}

static int local_take(void *context, const char *text, size_t *used)
{
    struct local *l = context;
    l->told = false;
    int status = sql_prepare(l->engine, text, strlen(text), &l->statement, used);
    return status != SKEIN_OK ? status : l->statement != NULL;
}

static int local_run(void *context, enum sql_form form)
{
    struct local *l = context;
    const struct sql_rows rows = {l->statement, sql_column_count(l->statement), local_name,
                                  local_next, local_value};
    int status = sql_rows_print(&rows, form);
    l->told = status == SKEIN_IO;
    return status < 0 ? CLI_FAILED : CLI_OK;
}

static const char *local_error(void *context, int *at)
{
    struct local *l = context;
    *at = sql_error_at(l->engine);
    return l->told ? NULL : sql_error(l->engine);
}

int sql_gaps_tell(const struct skein_gap *gaps, size_t count, uint64_t left_out)
{
    uint64_t told = 0, missing = 0;
    int status = CLI_OK;
    for (size_t i = 0; i < count; i++) {
        if (gaps[i].reason == SKEIN_GAP_MISSING) {
            missing++;
            continue;
        }
        if (told++ < GAPS_TOLD)
            status = part_gap_tell("sql: left out: ", &gaps[i]);
    }
    left_out += told > GAPS_TOLD ? told - GAPS_TOLD : 0;
    if (left_out > 0)
        say_error("sql: and %" PRIu64 " more that cannot be read: select * from loss", left_out);
    if (missing > 0)
        say_warning("between the partitions of the trace %" PRIu64
                    " are missing: select * from loss",
                    missing);
    return status;
}

/* What could not be read is told once. */
static int local_end(void *context)
{
    struct local *l = context;
    const struct skein_gap *gaps;
    sql_statement_free(&l->statement);
    size_t count = sql_gaps(l->engine, &gaps), before = l->gaps_told;
    l->gaps_told = count;
    return count > before ? sql_gaps_tell(gaps + before, count - before, 0) : CLI_OK;
}

static void local_interrupt(void *context)
{
    struct local *l = context;
    sql_interrupt(l->engine);
}

static void local_close(void *context)
{
    struct local *l = context;
    sql_close(&l->engine);
    skein_trace_free(&l->trace);
    free(l);
}

int sql_local_open(char *const *files, int count, struct sql_source *source)
{
    struct local *l = calloc(1, sizeof *l);
    *source = (struct sql_source){l,         local_take,      local_run,  local_error,
                                  local_end, local_interrupt, local_close};
    if (l == NULL) {
        say_error("out of memory");
        return CLI_FAILED;
    }
    int status = SKEIN_OK;
    if ((l->trace = part_files_open(files, count)) != NULL &&
        (status = sql_open(l->trace, NULL, &l->engine)) == SKEIN_OK)
        return CLI_OK;
    if (status != SKEIN_OK)
        say_error("sql: %s", skein_status_text(status));
    local_close(l);
    source->context = NULL;
    return CLI_FAILED;
}
