/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions whose waiting ends at a time of CLOCK_MONOTONIC. No state of its own; any thread.
 */
#ifndef COND_UNTIL_H
#define COND_UNTIL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline void cond_init(pthread_cond_t *cond)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

/* With the mutex, which is free meanwhile. False: it is that late. Who waits for something looks
 * again. */
static inline bool cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t until_ns)
{
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000u),
                                   .tv_nsec = (long)(until_ns % 1000000000u)};
    return pthread_cond_timedwait(cond, mutex, &until) == 0;
}

#endif
