/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue of jobs and its thread; see worker.h. One mutex guards the queue.
 *
 *   root ─┬─ user ─┬─ program ─── cause ─── jobs
 *         │        └─ program ─┬─ cause ─── jobs
 *         └─ user ─── ...      └─ cause ─── jobs
 *
 * A lane is there while a job waits in it or below it. The first lane of each level has the turn,
 * and goes behind the others of its level then.
 */
#include "worker.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/queue.h>

/* Below one user, and below one program: beyond, some share a lane, so that a lane is found quickly
 * however many somebody makes up. Users never share one. */
#define LANES_BELOW_MAX 64

struct job {
    STAILQ_ENTRY(job) link;
    worker_fn *fn;
    void *context;
};

struct lane {
    TAILQ_ENTRY(lane) link;
    uint64_t key;
    TAILQ_HEAD(, lane) lanes; /* a cause has none */
    STAILQ_HEAD(, job) jobs;  /* of a cause alone */
};

struct worker {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    struct lane root;
    bool stopping;
};

/* ---- lanes; with the mutex ---- */

static void turn_lane_init(struct lane *lane, uint64_t key)
{
    *lane = (struct lane){.key = key};
    TAILQ_INIT(&lane->lanes);
    STAILQ_INIT(&lane->jobs);
}

/* The lane below, made where there is none. NULL: no memory. */
static struct lane *turn_lane_take(struct lane *above, enum share_level level,
                                   const struct share_key *whose)
{
    uint64_t key = whose != NULL ? whose->at[level] : 0;
    struct lane *lane;
    if (level != SHARE_USER)
        key %= LANES_BELOW_MAX;
    TAILQ_FOREACH(lane, &above->lanes, link) {
        if (lane->key == key)
            return lane;
    }
    lane = malloc(sizeof *lane);
    if (lane == NULL)
        return NULL;
    turn_lane_init(lane, key);
    TAILQ_INSERT_TAIL(&above->lanes, lane, link);
    return lane;
}

/* Returns whether it was empty, and is gone. */
static bool turn_lane_drop(struct lane *above, struct lane *lane)
{
    if (!TAILQ_EMPTY(&lane->lanes) || !STAILQ_EMPTY(&lane->jobs))
        return false;
    TAILQ_REMOVE(&above->lanes, lane, link);
    free(lane);
    return true;
}

/* The turn is over. */
static void turn_lane_pass(struct lane *above, struct lane *lane)
{
    if (turn_lane_drop(above, lane))
        return;
    TAILQ_REMOVE(&above->lanes, lane, link);
    TAILQ_INSERT_TAIL(&above->lanes, lane, link);
}

static int job_put(struct worker *worker, const struct share_key *whose, struct job *job,
                   bool first)
{
    struct lane *way[SHARE_LEVELS + 1] = {&worker->root};
    int level = 0;
    while (level < SHARE_LEVELS && way[level] != NULL) {
        way[level + 1] = turn_lane_take(way[level], (enum share_level)level, whose);
        level++;
    }
    struct lane *cause = way[level];
    if (cause == NULL) { /* what was made on the way is empty */
        for (level -= 1; level > 0 && turn_lane_drop(way[level - 1], way[level]); level--)
            continue;
        return SKEIN_NO_MEMORY;
    }
    if (first)
        STAILQ_INSERT_HEAD(&cause->jobs, job, link);
    else
        STAILQ_INSERT_TAIL(&cause->jobs, job, link);
    return SKEIN_OK;
}

/* NULL: none waits. */
static struct job *job_take(struct worker *worker)
{
    struct lane *way[SHARE_LEVELS + 1] = {&worker->root};
    if (TAILQ_EMPTY(&worker->root.lanes))
        return NULL;
    for (int level = 0; level < SHARE_LEVELS; level++)
        way[level + 1] = TAILQ_FIRST(&way[level]->lanes);
    struct job *job = STAILQ_FIRST(&way[SHARE_LEVELS]->jobs);
    STAILQ_REMOVE_HEAD(&way[SHARE_LEVELS]->jobs, link);
    for (int level = SHARE_LEVELS; level > 0; level--)
        turn_lane_pass(way[level - 1], way[level]);
    return job;
}

/* ---- the thread ---- */

static void *worker_run(void *context)
{
    struct worker *worker = context;
    struct job *job;
    pthread_mutex_lock(&worker->mutex);
    for (;;) {
        while ((job = job_take(worker)) == NULL && !worker->stopping)
            pthread_cond_wait(&worker->changed, &worker->mutex);
        if (job == NULL)
            break;
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
    turn_lane_init(&worker->root, 0);
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

static int job_post(struct worker *worker, const struct share_key *whose, worker_fn *fn,
                    void *context, bool first)
{
    struct job *job = malloc(sizeof *job);
    if (job == NULL)
        return SKEIN_NO_MEMORY;
    *job = (struct job){.fn = fn, .context = context};
    pthread_mutex_lock(&worker->mutex);
    int status = job_put(worker, whose, job, first);
    if (status == SKEIN_OK)
        pthread_cond_signal(&worker->changed);
    pthread_mutex_unlock(&worker->mutex);
    if (status != SKEIN_OK)
        free(job);
    return status;
}

int worker_post(struct worker *worker, const struct share_key *whose, worker_fn *fn, void *context)
{
    return job_post(worker, whose, fn, context, false);
}

int worker_post_first(struct worker *worker, const struct share_key *whose, worker_fn *fn,
                      void *context)
{
    return job_post(worker, whose, fn, context, true);
}
