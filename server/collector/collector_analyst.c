/* SPDX-License-Identifier: Apache-2.0
 *
 * Which program reads traces for the collector, and what each of its processes may take. Before any
 * thread has started.
 */
#include <stdio.h>

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
