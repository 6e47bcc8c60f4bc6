/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops the threads that run, all at once, and lets them go on: PTRACE_SEIZE, PTRACE_INTERRUPT, and
 * PTRACE_DETACH. A thread of its own does it and ends: the kernel then lets go what could not be let
 * go before, as it had not stopped in time (it fell asleep in the kernel, or gets no processor).
 *
 *   seized ──interrupt──▶ asked ──wait──▶ stopped ──detach──▶ free
 *                           └──── in time it did not stop ────▲ end of our thread
 *
 * - A thread that had entered a system call before it was interrupted, and would be told EINTR by
 *   us, makes the call again. Where a signal waits for it, the EINTR is that one's, and stays.
 * - A signal that comes first stops the thread, too; it is let go with it.
 * - A group stop (SIGSTOP) stays one: a seized thread that is let go goes back into it.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "clock.h"
#include "dump_int.h"

#define CODE_64  0x33  /* the code segment of 64-bit programs */
#define PAUSE_NS 20000 /* between two looks whether a thread has stopped */

#ifdef __x86_64__

/* Our interrupt, and no group stop. */
static bool is_interrupt(int status)
{
    return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

/* What a thread that is let go is to be given: the signal that stopped it, if one did. */
static int signal_held(int status)
{
    bool event = status >> 16 != 0; /* PTRACE_EVENT_STOP: our interrupt, or a group stop */
    return event ? 0 : WSTOPSIG(status);
}

static bool signal_waits(uint32_t tid)
{
    uint64_t mask = 0;
    siginfo_t info;
    struct {
        uint64_t off;
        uint32_t flags;
        int32_t nr;
    } peek = {0, 0, 1};
    if (ptrace(PTRACE_GETSIGMASK, (pid_t)tid, sizeof mask, &mask) != 0)
        return true; /* not known: leave it as it is */
    for (uint32_t shared = 0; shared < 2; shared++)
        for (peek.off = 0, peek.flags = shared;
             ptrace(PTRACE_PEEKSIGINFO, (pid_t)tid, &peek, &info) == 1; peek.off++)
            if ((mask >> (info.si_signo - 1) & 1) == 0)
                return true;
    return false;
}

/* EINTR because of us: the call is made again, with the registers that it was made with. */
static void call_remake(uint32_t tid, struct user_regs_struct *regs)
{
    if ((int64_t)regs->orig_rax < 0 || (int64_t)regs->rax != -EINTR || regs->cs != CODE_64 ||
        signal_waits(tid))
        return;
    regs->rax = regs->orig_rax;
    regs->rip -= 2; /* the syscall instruction */
    struct iovec all = {.iov_base = regs, .iov_len = sizeof *regs};
    (void)ptrace(PTRACE_SETREGSET, (pid_t)tid, 1 /* NT_PRSTATUS */, &all);
}

static void registers_take(struct dump_thread *thread, const struct user_regs_struct *regs)
{
    const uint64_t by_number[DUMP_REGISTERS] = {
        regs->rax, regs->rdx, regs->rcx, regs->rbx, regs->rsi, regs->rdi,
        regs->rbp, regs->rsp, regs->r8,  regs->r9,  regs->r10, regs->r11,
        regs->r12, regs->r13, regs->r14, regs->r15, regs->rip};
    memcpy(thread->registers, by_number, sizeof by_number);
    thread->whole_registers = true;
}

/* A stopped thread: copies what is wanted, lets it go. */
static void stopped_take(const struct dump *dump, struct dump_thread *thread, int status)
{
    struct user_regs_struct regs;
    struct iovec all = {.iov_base = &regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, (pid_t)thread->tid, 1 /* NT_PRSTATUS */, &all) == 0 &&
        all.iov_len == sizeof regs) {
        registers_take(thread, &regs);
        thread->fate =
            dump_stack_copy(dump->pid, thread) == SKEIN_OK ? DUMP_STACK_TAKEN : DUMP_STACK_REFUSED;
        if (is_interrupt(status))
            call_remake(thread->tid, &regs);
    }
    (void)ptrace(PTRACE_DETACH, (pid_t)thread->tid, NULL, (void *)(intptr_t)signal_held(status));
}

/* Whether the thread is ours no more. */
static bool stop_poll(const struct dump *dump, struct dump_thread *thread)
{
    int status;
    pid_t got = waitpid((pid_t)thread->tid, &status, __WALL | WNOHANG);
    if (got == 0)
        return false;
    if (got < 0 && errno == EINTR)
        return false;
    if (got > 0 && WIFSTOPPED(status))
        stopped_take(dump, thread, status);
    else
        thread->fate = DUMP_STACK_ENDED;
    return true;
}

static bool thread_seize(struct dump_thread *thread)
{
    if (thread->tracer != 0)
        thread->fate = DUMP_STACK_TRACED;
    else if (ptrace(PTRACE_SEIZE, (pid_t)thread->tid, NULL, NULL) != 0)
        thread->fate = errno == ESRCH ? DUMP_STACK_ENDED : DUMP_STACK_REFUSED;
    else
        return true;
    return false;
}

/* Those that are to be stopped: they run, or have been seen to run each time. */
static bool is_wanted(const struct dump_thread *thread)
{
    return thread->state == 'R' &&
           (thread->fate == DUMP_STACK_NONE || thread->fate == DUMP_STACK_MOVED);
}

static void *threads_stop(void *context)
{
    struct dump *dump = context;
    size_t asked = 0, count = dump->count < DUMP_STACKS_MAX ? dump->count : DUMP_STACKS_MAX;
    struct dump_thread *waiting[DUMP_STACKS_MAX];
    uint64_t began_ns = clock_monotonic_ns(), until_ns = began_ns + DUMP_STOP_NS;
    until_ns = until_ns < dump->deadline_ns ? until_ns : dump->deadline_ns;
    for (size_t i = 0; i < count && clock_monotonic_ns() < until_ns; i++) {
        struct dump_thread *thread = &dump->threads[i];
        if (!is_wanted(thread) || !thread_seize(thread))
            continue;
        thread->fate = DUMP_STACK_LATE;
        if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) == 0)
            waiting[asked++] = thread;
    }
    dump->stopped = asked;
    while (asked > 0 && clock_monotonic_ns() < until_ns) {
        size_t left = 0;
        for (size_t i = 0; i < asked; i++)
            if (!stop_poll(dump, waiting[i]))
                waiting[left++] = waiting[i];
        asked = left;
        const struct timespec pause = {.tv_nsec = PAUSE_NS};
        if (asked > 0)
            nanosleep(&pause, NULL);
    }
    dump->stop_ns = clock_monotonic_ns() - began_ns;
    return NULL;
}

void dump_copy_running(struct dump *dump)
{
    bool wanted = false;
    pthread_t thread;
    for (size_t i = 0; i < dump->count && i < DUMP_STACKS_MAX; i++)
        wanted = wanted || is_wanted(&dump->threads[i]);
    if (wanted && pthread_create(&thread, NULL, threads_stop, dump) == 0)
        pthread_join(thread, NULL);
}

#else

void dump_copy_running(struct dump *dump)
{
    for (size_t i = 0; i < dump->count && i < DUMP_STACKS_MAX; i++)
        if (dump->threads[i].state == 'R')
            dump->threads[i].fate = DUMP_STACK_REFUSED; /* its registers are not known here */
}

#endif
