/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a call is asked to wait, read from what its caller gave. For the wrappers alone; nothing
 * here changes errno.
 */
#ifndef PRELOAD_ASKED_H
#define PRELOAD_ASKED_H

#include <stdint.h>
#include <sys/time.h>
#include <time.h>

#define NEAR_BYTES 65536 /* of stack above a wrapper's frame */
#define NS_PER_S   INT64_C(1000000000)

/* A duration; 0 where it is none. */
static inline int64_t duration_ns(const struct timespec *time)
{
    if (time->tv_sec < 0 || time->tv_sec >= INT64_MAX / NS_PER_S)
        return 0;
    return (int64_t)time->tv_sec * NS_PER_S + time->tv_nsec;
}

/* What the caller asked for, before the call: -1 for ever; 0 where it cannot be known. A bad
 * pointer must give EFAULT, as it does without us, so that only what lies on the stack above is
 * looked at: there, nearly all callers have it. */
static inline int64_t asked_ns(const struct timespec *time)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (time == NULL)
        return -1;
    return (uintptr_t)time - here < NEAR_BYTES ? duration_ns(time) : 0;
}

/* The same of microseconds; 0 also where it is for ever. */
static inline int64_t asked_val_ns(const struct timeval *time)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if ((uintptr_t)time - here >= NEAR_BYTES || time->tv_usec < 0 || time->tv_usec >= 1000000)
        return 0;
    const struct timespec as = {time->tv_sec, time->tv_usec * 1000};
    return duration_ns(&as);
}

#endif
