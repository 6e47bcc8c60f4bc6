/* SPDX-License-Identifier: Apache-2.0
 *
 * System calls without libc, for the visitor (visitor.c): a thread that shares its maker's
 * thread-local storage may not touch errno, nor call what might. Each returns the kernel's answer,
 * -errno where it failed. Included by client-lib/src only. Any thread; signal-safe.
 */
#ifndef SYS_RAW_H
#define SYS_RAW_H

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>

#define SYS_RAW static inline __attribute__((always_inline, unused))

#if defined(__x86_64__) && defined(__LP64__)

SYS_RAW long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    long result;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "0"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* A thread that runs body(argument) on the stack that ends at stack_end, and ends with the status
 * that this returns. Returns its tid, which is also in *tid until it has ended. */
SYS_RAW long raw_thread(unsigned long flags, void *stack_end, uint32_t *tid,
                        uint32_t (*body)(void *), void *argument)
{
    long result;
    register long r10 __asm__("r10") = (long)(uintptr_t)tid;
    register long r8 __asm__("r8") = 0;
    register long r12 __asm__("r12") = (long)(uintptr_t)body;
    register long r13 __asm__("r13") = (long)(uintptr_t)argument;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "xor %%ebp, %%ebp\n\t"
                     "mov %%r13, %%rdi\n\t"
                     "call *%%r12\n\t"
                     "mov %%eax, %%edi\n\t"
                     "mov %[leave], %%eax\n\t"
                     "syscall\n\t"
                     "hlt\n"
                     "1:"
                     : "=a"(result)
                     : "0"((long)SYS_clone), "D"(flags), "S"(stack_end), "d"(tid), "r"(r10),
                       "r"(r8), "r"(r12), "r"(r13), [leave] "i"(SYS_exit)
                     : "rcx", "r11", "memory");
    return result;
}

#elif defined(__aarch64__)

SYS_RAW long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;
    __asm__ volatile("svc #0"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                     : "memory");
    return x0;
}

SYS_RAW long raw_thread(unsigned long flags, void *stack_end, uint32_t *tid,
                        uint32_t (*body)(void *), void *argument)
{
    register long x8 __asm__("x8") = SYS_clone;
    register long x0 __asm__("x0") = (long)flags;
    register long x1 __asm__("x1") = (long)(uintptr_t)stack_end;
    register long x2 __asm__("x2") = (long)(uintptr_t)tid;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = (long)(uintptr_t)tid;
    register long x19 __asm__("x19") = (long)(uintptr_t)body;
    register long x20 __asm__("x20") = (long)(uintptr_t)argument;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x29, xzr\n\t"
                     "mov x30, xzr\n\t"
                     "mov x0, x20\n\t"
                     "blr x19\n\t"
                     "mov x8, %[leave]\n\t"
                     "svc #0\n\t"
                     "brk #0\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x19),
                       "r"(x20), [leave] "i"(SYS_exit)
                     : "memory");
    return x0;
}

#else /* nobody has tried another: the program runs untraced there */

SYS_RAW long raw_call(long number, long a, long b, long c, long d, long e, long f)
{
    (void)number, (void)a, (void)b, (void)c, (void)d, (void)e, (void)f;
    return -ENOSYS;
}

SYS_RAW long raw_thread(unsigned long flags, void *stack_end, uint32_t *tid,
                        uint32_t (*body)(void *), void *argument)
{
    (void)flags, (void)stack_end, (void)tid, (void)body, (void)argument;
    return -ENOSYS;
}

#endif

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
