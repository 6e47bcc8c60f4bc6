/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads of their own; see own_thread.h.
 */
#include "own_thread.h"

#include "cond_until.h"

void own_thread_init(struct own_thread *thread)
{
    cond_init(&thread->changed);
    pthread_mutex_init(&thread->lock, NULL);
}

int own_thread_start(struct own_thread *thread, void *(*run)(void *context), void *context)
{
    thread->started = pthread_create(&thread->thread, NULL, run, context) == 0;
    return thread->started ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void own_thread_end(struct own_thread *thread)
{
    pthread_mutex_lock(&thread->lock);
    __atomic_store_n(&thread->stopping, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&thread->changed);
    pthread_mutex_unlock(&thread->lock);
    if (thread->started)
        pthread_join(thread->thread, NULL);
    pthread_cond_destroy(&thread->changed);
    pthread_mutex_destroy(&thread->lock);
}

bool own_thread_is_stopping(const struct own_thread *thread)
{
    return __atomic_load_n(&thread->stopping, __ATOMIC_RELAXED) != 0;
}

bool own_thread_wait(struct own_thread *thread, uint64_t until_ns)
{
    if (until_ns == UINT64_MAX)
        return pthread_cond_wait(&thread->changed, &thread->lock) == 0;
    return cond_wait_until(&thread->changed, &thread->lock, until_ns);
}

bool own_thread_rest(struct own_thread *thread, uint64_t until_ns)
{
    pthread_mutex_lock(&thread->lock);
    while (!own_thread_is_stopping(thread) && own_thread_wait(thread, until_ns))
        continue;
    pthread_mutex_unlock(&thread->lock);
    return !own_thread_is_stopping(thread);
}
