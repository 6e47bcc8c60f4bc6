/* SPDX-License-Identifier: Apache-2.0
 *
 * The two things of sys_raw.h that each processor does in its own way: a system call, and a thread
 * without libc. For sys_raw.h alone. Any thread; signal-safe.
 */
#ifndef SYS_RAW_CALL_H
#define SYS_RAW_CALL_H

#include <errno.h>
#include <stdint.h>
#include <sys/syscall.h>

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

#endif
