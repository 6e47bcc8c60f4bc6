/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits that programs ask the kernel for without the C library's names: futexes and asynchronous
 * I/O. Any thread; what is no such wait is passed on as it came.
 */
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "preload_exec.h"
#include "preload_wait.h"

/* libaio's, which returns its errors below 0 and leaves errno alone. */
EXPORT int io_getevents(void *context, long least, long count, void *events,
                        struct timespec *timeout)
{
    WAIT(io_getevents, ADDRESS(context));
    int result = REAL(io_getevents)(context, least, count, events, timeout);
    wait.result = result;
    return result;
}

static bool is_futex_wait(long operation)
{
    switch (operation & FUTEX_CMD_MASK) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET:
    case FUTEX_WAIT_REQUEUE_PI:
    case FUTEX_LOCK_PI:
#ifdef FUTEX_LOCK_PI2
    case FUTEX_LOCK_PI2:
#endif
        return true;
    default:
        return false;
    }
}

/* The event of a system call; SITE_COUNT: none. */
static enum site site_of(long number, const long a[6])
{
    switch (number) {
    case SYS_futex:
        return is_futex_wait(a[1]) ? SITE_futex_wait : SITE_COUNT;
#ifdef SYS_futex_waitv
    case SYS_futex_waitv:
        return SITE_futex_wait;
#endif
    case SYS_io_getevents:
#ifdef SYS_io_pgetevents
    case SYS_io_pgetevents:
#endif
        return SITE_io_getevents;
    default:
        return SITE_COUNT;
    }
}

static __attribute__((noinline)) long raw_wait(enum site site, long number, const long a[6],
                                               const void *caller)
{
    struct wait wait __attribute__((cleanup(wait_end)));
    wait_begin(&wait, site, a[0], caller);
    long result = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    return wait_size(&wait, result);
}

long numbered_call(long number, const long a[6], const void *caller)
{
    enum site site = site_of(number, a);
    if (number == SYS_execve || number == SYS_execveat)
        return exec_call(number, a);
    if (number == SYS_mlockall)
        return mlockall((int)a[0]);
    if (number == SYS_munlockall)
        return munlockall();
    return site != SITE_COUNT ? raw_wait(site, number, a, caller) : identity_call(number, a);
}

/* Six arguments whatever was given, as the C library's own syscall() takes them. */
EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(list, long);
    va_end(list);
    return numbered_call(number, a, CALLER);
}
