/* SPDX-License-Identifier: Apache-2.0
 *
 * Sleeps, and waits for a thread to end. Any thread.
 */
#include <threads.h>

#include "preload_asked.h"
#include "preload_wait.h"

/* What lies elsewhere than on the stack is looked at after the call, and only where the kernel
 * could read it too. */
EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
    WAIT(sleep, asked_ns(time));
    int result = wait_int(&wait, REAL(nanosleep)(time, left));
    if (result == 0)
        wait.op.detail = duration_ns(time);
    return result;
}

/* What a clock says; 0 where there is no such clock. */
static int64_t clock_ns(clockid_t clock)
{
    int saved = errno;
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    errno = saved;
    return duration_ns(&now);
}

/* A sleep until an instant is told as the time that was left to it. */
EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
                           struct timespec *left)
{
    bool absolute = (flags & TIMER_ABSTIME) != 0;
    int64_t now = absolute ? clock_ns(clock) : 0;
    int64_t asked = asked_ns(time);
    WAIT(sleep, asked > now ? asked - now : 0);
    int error = wait_error(&wait, REAL(clock_nanosleep)(clock, flags, time, left));
    if (error == 0 && duration_ns(time) > now)
        wait.op.detail = duration_ns(time) - now;
    return error;
}

EXPORT int usleep(useconds_t microseconds)
{
    WAIT(sleep, (int64_t)microseconds * 1000);
    return wait_int(&wait, REAL(usleep)(microseconds));
}

EXPORT unsigned sleep(unsigned seconds)
{
    WAIT(sleep, (int64_t)seconds * NS_PER_S);
    unsigned left = REAL(sleep)(seconds);
    wait.result = left;
    return left;
}

EXPORT int thrd_sleep(const struct timespec *time, struct timespec *left)
{
    WAIT(sleep, asked_ns(time));
    int result = REAL(thrd_sleep)(time, left);
    wait.result = result == -1 ? -EINTR : result;
    return result;
}

/* The kernel's number of a thread that can be joined; 0: it has ended. The C library says it in the
 * name of the thread's clock: the number's complement, above three bits. */
static int64_t tid_of(pthread_t thread)
{
    clockid_t clock;
    return pthread_getcpuclockid(thread, &clock) == 0 ? (int64_t) ~(clock >> 3) : 0;
}

#define JOIN_LIST(X)                                                                               \
    X(pthread_join, (pthread_t thread, void **value), (thread, value))                             \
    X(pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *until),        \
      (thread, value, until))                                                                      \
    X(pthread_clockjoin_np,                                                                        \
      (pthread_t thread, void **value, clockid_t clock, const struct timespec *until),             \
      (thread, value, clock, until))

#define X(function, parameters, arguments)                                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(thread_join, thread);                                                                 \
        wait.more[0].i64 = tid_of(thread);                                                         \
        return wait_error(&wait, REAL(function) arguments);                                        \
    }
JOIN_LIST(X)
#undef X

EXPORT int thrd_join(thrd_t thread, int *result)
{
    WAIT(thread_join, thread);
    wait.more[0].i64 = tid_of(thread);
    int status = REAL(thrd_join)(thread, result);
    wait.result = status;
    return status;
}
