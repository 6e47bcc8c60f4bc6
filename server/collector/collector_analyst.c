/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program reads traces for the collector, what each of its processes may take, and the worker that
 * sums captures up with it. All is made before any thread touches a capture.
 */
#include <stdio.h>
#include <string.h>

#include "child.h"
#include "collector_int.h"
#include "log.h"

#define PROGRAM     "skein-analyst"
#define PROCESSOR_S 600 /* beyond any time that somebody waits */

int collector_analyst_make(struct collector *c, char *error, size_t error_bytes)
{
    char program[4096], why[ANALYST_ERROR_BYTES] = "";
    struct analyst_settings settings = {.program = c->config.analysis_program,
                                        .memory_bytes = c->config.analysis_memory_bytes,
                                        .processor_s = PROCESSOR_S};
    bool named = settings.program[0] != '\0';
    if (!named && child_program_path(PROGRAM, program, sizeof program) == SKEIN_OK)
        settings.program = program;
    int status =
        settings.program[0] != '\0' ? analyst_new(&settings, &c->analyst, why) : SKEIN_NOT_FOUND;
    if (status == SKEIN_NOT_FOUND && !named) {
        log_warn("skeind",
                 "there is no " PROGRAM " beside this program: nothing is summed up, and questions "
                 "that need a trace to be read are refused; reinstall it, or set analysis.program",
                 NULL);
        return SKEIN_OK;
    }
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "analysis.program: %s",
                 why[0] != '\0' ? why : skein_status_text(status));
    return status;
}

/* Processes of the service that are traced now. */
static uint64_t service_live(void *context, const char *service)
{
    struct collector *c = context;
    struct fleet_process *p;
    size_t at = 0;
    uint64_t count = 0;
    control_lock(fleet_control(c->fleet));
    while ((p = fleet_process_next(c->fleet, &at)) != NULL)
        count += strcmp(fleet_process_labels(p).service, service) == 0 &&
                 fleet_process_status(c->fleet, p) == FLEET_LIVE;
    control_unlock(fleet_control(c->fleet));
    return count;
}

bool collector_is_full(void *context)
{
    struct collector *c = context;
    return c->ingest != NULL && ingest_is_full(c->ingest);
}

int collector_aggregate_make(struct collector *c, char *error, size_t error_bytes)
{
    const struct collector_config *g = &c->config;
    struct aggregate_settings settings = {.folder = g->folder,
                                          .run = c->analyst != NULL ? analyst_run : NULL,
                                          .analyst = c->analyst,
                                          .max_trace_bytes = g->analysis_max_trace_bytes,
                                          .timeout_ms = g->analysis_timeout_ms,
                                          .max_bytes = g->analysis_max_bytes,
                                          .keep_ms = g->analysis_keep_ms,
                                          .max_rows = g->analysis_max_rows,
                                          .is_full = collector_is_full,
                                          .live = service_live,
                                          .context = c};
    return aggregate_start(&settings, c->captures, c->catalog, c->index, &c->aggregate, error,
                           error_bytes);
}
