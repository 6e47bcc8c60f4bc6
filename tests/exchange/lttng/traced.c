/* SPDX-License-Identifier: Apache-2.0
 * A program with two threads that writes events of LTTng.  traced COUNT */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "traced.h"

#include <pthread.h>
#include <stdlib.h>

static int count;

static void *work(void *unused)
{
    unsigned short data[] = {1, 2, 3, 4};
    for (int n = 0; n < count; n++) {
        lttng_ust_tracepoint(skein_exchange, step_begin, n);
        lttng_ust_tracepoint(skein_exchange, numbers, n);
        lttng_ust_tracepoint(skein_exchange, texts, n, n % 2 ? "odd \"one\"" : "even", data);
        lttng_ust_tracepoint(skein_exchange, step_end, n);
    }
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t other;
    count = argc > 1 ? atoi(argv[1]) : 10;
    if (pthread_create(&other, NULL, work, NULL) != 0)
        return 1;
    work(NULL);
    return pthread_join(other, NULL);
}
