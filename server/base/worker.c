/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of their own; see worker.h.
 */
#include "worker.h"

#include <time.h>

void worker_init(struct worker *w)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&w->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&w->lock, NULL);
}

int worker_start(struct worker *w, void *(*run)(void *context), void *context)
{
    w->started = pthread_create(&w->thread, NULL, run, context) == 0;
    return w->started ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void worker_end(struct worker *w)
{
    pthread_mutex_lock(&w->lock);
    __atomic_store_n(&w->stopping, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (w->started)
        pthread_join(w->thread, NULL);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
}

bool worker_is_stopping(const struct worker *w)
{
    return __atomic_load_n(&w->stopping, __ATOMIC_RELAXED) != 0;
}

bool worker_wait(struct worker *w, uint64_t until_ns)
{
    struct timespec at = {.tv_sec = (time_t)(until_ns / 1000000000u),
                          .tv_nsec = (long)(until_ns % 1000000000u)};
    if (until_ns == UINT64_MAX)
        return pthread_cond_wait(&w->changed, &w->lock) == 0;
    return pthread_cond_timedwait(&w->changed, &w->lock, &at) == 0;
}

bool worker_rest(struct worker *w, uint64_t until_ns)
{
    pthread_mutex_lock(&w->lock);
    while (!worker_is_stopping(w) && worker_wait(w, until_ns))
        continue;
    pthread_mutex_unlock(&w->lock);
    return !worker_is_stopping(w);
}
