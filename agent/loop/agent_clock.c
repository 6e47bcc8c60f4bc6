/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns one number: what REALTIME was ahead of MONOTONIC when the agent began. Both are slewed
 * alike, so the difference changes only where somebody sets REALTIME. Any thread.
 */
#include "agent_clock.h"

#include <pthread.h>

#include "clock.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static uint64_t ahead_ns; /* constant after once */

/* Of five readings the tightest: an interrupt between the two clocks spoils one. */
static uint64_t ahead_now(void)
{
    uint64_t best = 0, least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = clock_monotonic_ns(), real = clock_realtime_ns();
        uint64_t took = clock_monotonic_ns() - before;
        if (took < least) {
            least = took;
            best = real - (before + took / 2);
        }
    }
    return best;
}

static void timer_begin(void)
{
    ahead_ns = ahead_now();
}

uint64_t agent_clock_at(uint64_t monotonic_ns)
{
    pthread_once(&once, timer_begin);
    return monotonic_ns + ahead_ns;
}

uint64_t agent_clock_ns(void)
{
    return agent_clock_at(clock_monotonic_ns());
}

int64_t agent_clock_host_ahead_ns(void)
{
    pthread_once(&once, timer_begin);
    return (int64_t)(ahead_now() - ahead_ns);
}
