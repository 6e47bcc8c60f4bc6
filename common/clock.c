/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the reading of this system's clocks. Any thread; no state; never allocates. What is done with
 * times, wherever they are from, is clock_text.c.
 */
#include "clock.h"

#include <time.h>

static uint64_t clock_read(clockid_t id)
{
    struct timespec now = {0, 0};
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t clock_realtime_ns(void)
{
    return clock_read(CLOCK_REALTIME);
}

uint64_t clock_monotonic_ns(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

uint64_t clock_boottime_ns(void)
{
    return clock_read(CLOCK_BOOTTIME);
}

uint64_t clock_cpu_ns(void)
{
    return clock_read(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
    return clock_read(CLOCK_THREAD_CPUTIME_ID);
}
