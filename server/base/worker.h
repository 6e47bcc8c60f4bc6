/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread that works by itself until it is told to stop, with the lock and the signal that it waits
 * by. Lies in its owner, whose fields the lock may guard, too. Times are of CLOCK_MONOTONIC.
 *
 *   worker_init ─▶ worker_start ─▶ … ─▶ worker_end      (worker_start may be left out, or fail)
 */
#ifndef WORKER_H
#define WORKER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "skein/status.h"

struct worker {
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* broadcast by whoever gives it work, with the lock */
    bool started;
    int stopping; /* atomic, for those who look at it themselves (http_client.h) */
};

void worker_init(struct worker *worker);
/* SKEIN_OK, SKEIN_NO_MEMORY: there is no thread. */
int worker_start(struct worker *worker, void *(*run)(void *context), void *context);
/* Tells the thread to stop, waits for its end, and takes down lock and signal. */
void worker_end(struct worker *worker);

bool worker_is_stopping(const struct worker *worker); /* any thread */
/* With the lock, which is free meanwhile: waits until `changed` is broadcast, but no longer than
 * until_ns (UINT64_MAX: for ever). False: it is that late. Who waits for something looks again. */
bool worker_wait(struct worker *worker, uint64_t until_ns);
/* Without the lock: waits until then, whatever is broadcast. False: it has to stop, and at once. */
bool worker_rest(struct worker *worker, uint64_t until_ns);

#endif
