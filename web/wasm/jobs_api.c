/* SPDX-License-Identifier: Apache-2.0
 *
 * Summaries and reports of a stretch of time, made step by step by analysis/, and what differs between
 * two summaries. Owns the cursor and what is made. One thread.
 */
#include <stdlib.h>
#include <string.h>

#include "diff.h"
#include "json.h"
#include "summary.h"
#include "trace_api_int.h"
#include "trace_report_json.h"

struct api_job {
    struct api_trace *t;
    uint32_t what;
    struct skein_query query; /* lasts as long as the feed */
    struct skein_cursor *cursor;
    uint32_t *processes, *threads; /* copies; NULL: all. Of a thread two numbers */
    uint32_t process_count, thread_count;
    struct summary *summary;
    struct summary_feed *feed;
    struct trace_report_builder *builder;
    const struct trace_report *report;
    int status; /* below 0: for good */
    bool ended;
};

static bool process_shown(void *context, const struct skein_process *process)
{
    const struct api_job *job = context;
    for (uint32_t i = 0; i < job->process_count; i++)
        if (skein_trace_process(job->t->trace, job->processes[i]) == process)
            return true;
    return false;
}

/* A thread's evidence has a number of its own, and counts where its thread does. */
static bool thread_shown(void *context, const struct skein_thread *thread)
{
    const struct api_job *job = context;
    for (uint32_t i = 0; i < job->thread_count; i++)
        if (job->threads[2 * i] == thread->process && job->threads[2 * i + 1] == thread->tid)
            return true;
    return false;
}

static int numbers_copy(const uint32_t *from, size_t count, uint32_t **to)
{
    if (count == 0)
        return SKEIN_OK;
    *to = malloc(count * sizeof **to);
    if (*to == NULL)
        return SKEIN_NO_MEMORY;
    memcpy(*to, from, count * sizeof **to);
    return SKEIN_OK;
}

static int made_begin(struct api_job *job)
{
    struct trace_report_limits limits = {.from_ns = job->query.from_ns, .to_ns = job->query.to_ns};
    if (job->what == API_REPORT)
        return trace_report_new(&limits, &job->builder);
    int status = summary_new(0, &job->summary);
    if (status == SKEIN_OK)
        status = summary_feed_new(job->summary, job->t->trace, &job->query, &job->feed);
    return status;
}

static int job_begin(struct api_job *job, const struct api_part *part)
{
    int status = numbers_copy(part->processes, part->process_count, &job->processes);
    if (status == SKEIN_OK)
        status = numbers_copy(part->threads, (size_t)part->thread_count * 2, &job->threads);
    if (status != SKEIN_OK)
        return status;
    job->process_count = part->process_count;
    job->thread_count = part->thread_count;
    job->query = (struct skein_query){.size = sizeof job->query,
                                      .from_ns = api_time(job->t, part->from),
                                      .to_ns = api_time(job->t, part->to),
                                      .process = job->processes != NULL ? process_shown : NULL,
                                      .thread = job->threads != NULL ? thread_shown : NULL,
                                      .context = job};
    status = made_begin(job);
    return status == SKEIN_OK ? skein_cursor_new(job->t->trace, &job->query, &job->cursor) : status;
}

struct api_job *api_job_new(struct api_trace *t, uint32_t what, const struct api_part *part)
{
    struct api_job *job = calloc(1, sizeof *job);
    api_begin();
    if (job == NULL)
        return NULL;
    job->t = t;
    job->what = what;
    if (job_begin(job, part) == SKEIN_OK)
        return job;
    api_job_free(job);
    return NULL;
}

void api_job_free(struct api_job *job)
{
    if (job == NULL)
        return;
    if (job->feed != NULL)
        (void)summary_feed_end(&job->feed, NULL);
    summary_free(&job->summary);
    trace_report_free(&job->builder);
    skein_cursor_free(&job->cursor);
    free(job->processes);
    free(job->threads);
    free(job);
}

static int batch_take(struct api_job *job, const struct skein_batch *batch)
{
    return job->what == API_REPORT
               ? trace_report_add(job->builder, job->t->trace, job->cursor, batch)
               : summary_feed_take(job->feed, job->cursor, batch);
}

static int job_end(struct api_job *job)
{
    int status = SKEIN_OK;
    if (job->what == API_REPORT)
        status = trace_report_end(job->builder, job->t->trace, job->cursor, &job->report);
    else
        status = summary_feed_end(&job->feed, job->cursor);
    if (status == SKEIN_OK && job->summary != NULL)
        status = summary_sort(job->summary);
    job->ended = status == SKEIN_OK;
    return status;
}

int api_job_step(struct api_job *job, uint32_t batches)
{
    struct skein_batch batch;
    int status = job->status < 0 ? job->status : !job->ended;
    api_begin();
    for (uint32_t i = 0; i < batches && status == 1; i++) {
        status = skein_cursor_next(job->cursor, &batch);
        int taken = status == 1 ? batch_take(job, &batch) : status == 0 ? job_end(job) : status;
        status = taken == SKEIN_OK ? status : taken;
    }
    job->status = status < 0 ? status : 0;
    return status;
}

int api_job_json(struct api_job *job)
{
    struct buf *b = api_begin();
    if (!job->ended)
        return SKEIN_BUSY;
    if (job->summary != NULL) {
        summary_json(job->summary, b);
        return api_end(SKEIN_OK);
    }
    cJSON *json = trace_report_json(job->report, job->t->trace);
    if (json == NULL)
        return api_end(SKEIN_NO_MEMORY);
    json_print(json, b);
    cJSON_Delete(json);
    return api_end(SKEIN_OK);
}

int api_jobs_diff(const struct api_job *before, const struct api_job *after)
{
    struct buf *b = api_begin();
    struct diff *diff = NULL;
    const struct diff_list *list;
    if (before->summary == NULL || after->summary == NULL || !before->ended || !after->ended)
        return api_end(SKEIN_INVALID);
    int status = diff_new(before->summary, after->summary, false, &diff, &list);
    if (status == SKEIN_OK)
        diff_json(list, NULL, b);
    diff_free(&diff);
    return api_end(status);
}
