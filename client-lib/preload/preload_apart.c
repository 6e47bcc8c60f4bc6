/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs work that opens files beside the program, not in it (preload_apart.h).
 */
#include "preload_apart.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "sys_raw.h"

#define STACK_BYTES 32768

/* It uses the caller's thread-local storage, for the caller stands still until it has ended. */
#define CLONE_FLAGS                                                                                \
    (CLONE_VM | CLONE_FS | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_VFORK |            \
     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* False: no thread is to be had. */
static bool thread_run(uint32_t (*run)(void *), void *context)
{
    uint32_t tid = 0;
    char *stack =
        raw_mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    if (stack == NULL)
        return false;
    long made = raw_thread(CLONE_FLAGS, stack + STACK_BYTES, &tid, run, context);
    raw_munmap(stack, STACK_BYTES);
    return made > 0;
}

void thread_apart_run(bool alone, uint32_t (*run)(void *), void *context)
{
    uint64_t all = UINT64_MAX, before;
    (void)RAW4(SYS_rt_sigprocmask, SIG_BLOCK, RAW_POINTER(&all), RAW_POINTER(&before), 8);
    if (alone || !thread_run(run, context))
        (void)run(context);
    (void)RAW4(SYS_rt_sigprocmask, SIG_SETMASK, RAW_POINTER(&before), 0, 8);
}
