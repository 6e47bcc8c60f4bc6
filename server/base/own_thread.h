/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that works by itself until it is told to stop, with the lock and the signal that it waits
 * by. Lies in its owner, whose fields the lock may guard, too. Times are of CLOCK_MONOTONIC.
 *
 *   own_thread_init ─▶ own_thread_start (may be left out, or fail) ─▶ … ─▶ own_thread_end
 */
#ifndef OWN_THREAD_H
#define OWN_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/status.h"

struct own_thread {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* broadcast by whoever gives it work, with the lock */
    bool started;
    int stopping; /* atomic, for those who look at it themselves (http_client.h) */
};

void own_thread_init(struct own_thread *thread);
/* SKEIN_OK, SKEIN_NO_MEMORY: there is no thread. */
int own_thread_start(struct own_thread *thread, void *(*run)(void *context), void *context);
/* Tells the thread to stop, waits for its end, and takes down lock and signal. */
void own_thread_end(struct own_thread *thread);

bool own_thread_is_stopping(const struct own_thread *thread); /* any thread */
/* With the lock, which is free meanwhile: waits until `changed` is broadcast, but no longer than
 * until_ns (UINT64_MAX: for ever). False: it is that late. Who waits for something looks again. */
bool own_thread_wait(struct own_thread *thread, uint64_t until_ns);
/* Without the lock: waits until then, whatever is broadcast. False: it has to stop, and at once. */
bool own_thread_rest(struct own_thread *thread, uint64_t until_ns);

#endif
