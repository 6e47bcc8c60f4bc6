/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls without libc, for the visitor (visitor.c): a thread that shares its maker's
 * thread-local storage may not touch errno, nor call what might. Each returns the kernel's answer,
 * -errno where it failed. Included by client-lib alone. Any thread; signal-safe.
 */
#ifndef SYS_RAW_H
#define SYS_RAW_H

#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "sys_raw_call.h"

#define RAW_ARG(value)        ((long)(value))
#define RAW_POINTER(pointer)  ((long)(uintptr_t)(pointer))
#define RAW0(number)          raw_call(number, 0, 0, 0, 0, 0, 0)
#define RAW1(number, a)       raw_call(number, RAW_ARG(a), 0, 0, 0, 0, 0)
#define RAW2(number, a, b)    raw_call(number, RAW_ARG(a), RAW_ARG(b), 0, 0, 0, 0)
#define RAW3(number, a, b, c) raw_call(number, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), 0, 0, 0)
#define RAW4(number, a, b, c, d)                                                                   \
    raw_call(number, RAW_ARG(a), RAW_ARG(b), RAW_ARG(c), RAW_ARG(d), 0, 0)

SYS_RAW void *raw_mmap(void *at, size_t bytes, int protection, int flags, int fd)
{
    long place = raw_call(SYS_mmap, RAW_POINTER(at), RAW_ARG(bytes), protection, flags, fd, 0);
    return place < 0 && place > -4096 ? NULL : (void *)(uintptr_t)place;
}

SYS_RAW void raw_munmap(void *at, size_t bytes)
{
    (void)RAW2(SYS_munmap, RAW_POINTER(at), bytes);
}

SYS_RAW uint32_t raw_getpid(void)
{
    return (uint32_t)RAW0(SYS_getpid);
}

/* The kernel's own word: another library may stand in for clock_gettime(), and tell other times. */
SYS_RAW uint64_t raw_clock_ns(clockid_t clock)
{
    struct timespec now = {0, 0};
    (void)RAW2(SYS_clock_gettime, clock, RAW_POINTER(&now));
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Waits while *word is `value`, for `ns` at most. `shared` words are those that the kernel wakes
 * itself. Returns 0 or -errno, as the kernel. */
SYS_RAW long raw_futex_wait(const uint32_t *word, uint32_t value, uint64_t ns, int shared)
{
    struct timespec time = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    return RAW4(SYS_futex, RAW_POINTER(word), shared ? FUTEX_WAIT : FUTEX_WAIT_PRIVATE, value,
                RAW_POINTER(&time));
}

/* Between two looks at what another thread is just doing: steps aside a few times, then sleeps a
 * moment. The other may have less right to the processor than the caller (SCHED_FIFO), and gets it
 * only while that one sleeps. */
SYS_RAW void raw_step_aside(unsigned *steps)
{
    static const uint32_t never = 0;
    if (++*steps <= 32)
        (void)RAW0(SYS_sched_yield);
    else
        (void)raw_futex_wait(&never, 0, 50000, 0);
}

SYS_RAW void raw_futex_wake(const uint32_t *word)
{
    (void)RAW3(SYS_futex, RAW_POINTER(word), FUTEX_WAKE_PRIVATE, INT32_MAX);
}

/* The compiler must not make calls of memcpy() and memset() of these loops. */
SYS_RAW void raw_copy(void *to, const void *from, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];
        __asm__ volatile("" ::: "memory");
    }
}

SYS_RAW void raw_zero(void *at, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        ((uint8_t *)at)[i] = 0;
        __asm__ volatile("" ::: "memory");
    }
}

#endif
