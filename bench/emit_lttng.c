/* SPDX-License-Identifier: Apache-2.0
 *
 * The program that bench_emit runs under an LTTng session: prints the median ns of LTTng-UST's
 * event with two arguments, for 1 and 2 threads, timed as our own is.
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "emit_lttng.h"

#include <pthread.h>
#include <stdio.h>

#include "emit_loop.h"

struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    double ns;
};

static volatile uint64_t key_now = 300, size_now = 17; /* unknown to the compiler */

static __attribute__((noinline)) double time_events(void)
{
    uint64_t key = key_now, size = size_now, began = emit_now_ns();
    for (uint64_t i = 0; i < EMIT_LOOP; i++)
        lttng_ust_tracepoint(skein_bench, two, key, size);
    return (double)(emit_now_ns() - began) / EMIT_LOOP;
}

static void *work(void *context)
{
    struct worker *worker = context;
    double runs[EMIT_ROUNDS];
    time_events();
    for (int round = 0; round < EMIT_ROUNDS; round++) {
        pthread_barrier_wait(worker->start);
        runs[round] = time_events();
    }
    worker->ns = emit_median(runs, EMIT_ROUNDS);
    return NULL;
}

int main(void)
{
    if (!lttng_ust_tracepoint_enabled(skein_bench, two))
        return 1; /* no session reached us: there is nothing to measure */
    for (int i = 0; i < 50; i++)
        time_events(); /* round its buffers, as ours has been */
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct worker workers[2];
        pthread_barrier_t start;
        double ns = 0;
        pthread_barrier_init(&start, NULL, threads);
        for (unsigned i = 0; i < threads; i++) {
            workers[i].start = &start;
            if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
                return 1;
        }
        for (unsigned i = 0; i < threads; i++) {
            pthread_join(workers[i].thread, NULL);
            ns += workers[i].ns / threads;
        }
        pthread_barrier_destroy(&start);
        printf("%.3f ", ns);
    }
    printf("\n");
    return 0;
}
