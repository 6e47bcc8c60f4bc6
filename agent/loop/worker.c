/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of jobs and its thread; see worker.h. One mutex guards the queue.
 */
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

struct job {
    STAILQ_ENTRY(job) link;
    worker_fn *fn;
    void *context;
};

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    STAILQ_HEAD(, job) jobs;
    bool stopping;
};

static void *worker_run(void *context)
{
    struct worker *worker = context;
    pthread_mutex_lock(&worker->mutex);
    for (;;) {
        while (STAILQ_EMPTY(&worker->jobs) && !worker->stopping)
            pthread_cond_wait(&worker->changed, &worker->mutex);
        struct job *job = STAILQ_FIRST(&worker->jobs);
        if (job == NULL)
            break;
        STAILQ_REMOVE_HEAD(&worker->jobs, link);
        pthread_mutex_unlock(&worker->mutex);
        job->fn(job->context);
        free(job);
        pthread_mutex_lock(&worker->mutex);
    }
    pthread_mutex_unlock(&worker->mutex);
    return NULL;
}

int worker_new(struct worker **out)
{
    *out = NULL;
    struct worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL)
        return SKEIN_NO_MEMORY;
    STAILQ_INIT(&worker->jobs);
    pthread_mutex_init(&worker->mutex, NULL);
    pthread_cond_init(&worker->changed, NULL);
    if (pthread_create(&worker->thread, NULL, worker_run, worker) != 0) {
        pthread_cond_destroy(&worker->changed);
        pthread_mutex_destroy(&worker->mutex);
        free(worker);
        return SKEIN_NO_MEMORY;
    }
    *out = worker;
    return SKEIN_OK;
}

void worker_free(struct worker **worker_p)
{
    struct worker *worker = *worker_p;
    if (worker == NULL)
        return;
    *worker_p = NULL;
    pthread_mutex_lock(&worker->mutex);
    worker->stopping = true;
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    pthread_join(worker->thread, NULL);
    pthread_cond_destroy(&worker->changed);
    pthread_mutex_destroy(&worker->mutex);
    free(worker);
}

static int job_post(struct worker *worker, worker_fn *fn, void *context, bool first)
{
    struct job *job = malloc(sizeof *job);
    if (job == NULL)
        return SKEIN_NO_MEMORY;
    *job = (struct job){.fn = fn, .context = context};
    pthread_mutex_lock(&worker->mutex);
    if (first)
        STAILQ_INSERT_HEAD(&worker->jobs, job, link);
    else
        STAILQ_INSERT_TAIL(&worker->jobs, job, link);
    pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    return SKEIN_OK;
}

int worker_post(struct worker *worker, worker_fn *fn, void *context)
{
    return job_post(worker, fn, context, false);
}

int worker_post_first(struct worker *worker, worker_fn *fn, void *context)
{
    return job_post(worker, fn, context, true);
}
