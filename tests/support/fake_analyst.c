/* SPDX-License-Identifier: Apache-2.0
 * See fake_analyst.h. */
#include "fake_analyst.h"

#include <stdio.h>
#include <string.h>

#include "summary.h"

struct fake_analyst fake_analyst;

static bool process_passes(void *context, const struct skein_process *process)
{
    const struct analyst_job *job = context;
    if (job->process != NULL && memcmp(job->process, process->id, sizeof process->id) != 0)
        return false;
    return job->not_process == NULL ||
           memcmp(job->not_process, process->id, sizeof process->id) != 0;
}

static int trace_open(const struct analyst_job *job, struct skein_trace **trace)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    int status = skein_trace_new(trace);
    for (size_t i = 0; i < job->trace_count && status == SKEIN_OK; i++)
        status = skein_trace_add_source(*trace, &job->traces[i], error);
    return status;
}

int fake_analyst_run(struct analyst *analyst, const struct analyst_job *job, struct buf *answer,
                     char error[ANALYST_ERROR_BYTES])
{
    struct skein_trace *trace = NULL;
    struct summary *summary = NULL;
    const struct skein_query query = {.size = sizeof query,
                                      .from_ns = job->from_ns,
                                      .to_ns = job->to_ns,
                                      .process = process_passes,
                                      .context = (void *)(uintptr_t)job};
    (void)analyst;
    fake_analyst.runs++;
    snprintf(error, ANALYST_ERROR_BYTES, "%s",
             fake_analyst.error != NULL ? fake_analyst.error : "");
    if (fake_analyst.status != SKEIN_OK)
        return fake_analyst.status;
    if (job->kind != ANALYST_SUMMARY)
        return SKEIN_UNSUPPORTED;
    int status = trace_open(job, &trace);
    if (status == SKEIN_OK)
        status = summary_new(job->rows, &summary);
    if (status == SKEIN_OK)
        status = summary_read(summary, trace, &query);
    if (status == SKEIN_OK)
        status = summary_bytes_put(summary, answer);
    summary_free(&summary);
    skein_trace_free(&trace);
    return status;
}
