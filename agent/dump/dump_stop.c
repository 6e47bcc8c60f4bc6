/* SPDX-License-Identifier: Apache-2.0
 *
 * Stops the threads that run, all at once, and lets them go on: PTRACE_SEIZE, PTRACE_INTERRUPT, and
 * PTRACE_DETACH. The dump's own thread does it, and stays with those that did not stop in time (they
 * fell asleep in the kernel, or get no processor): they stop when they next leave the kernel, and
 * are let go at once. After a minute it ends, and the kernel lets go what is left.
 *
 *   seized ──interrupt──▶ asked ──in time──▶ stopped: registers, copy ──detach──▶ free
 *                           └──────late────▶ stopped ───────────────────detach────▲
 *
 * - A thread that had entered a system call before it was interrupted, and would be told EINTR by
 *   us, makes the call again: it gets the kernel's own ERESTARTNOHAND in its place, with which the
 *   kernel makes the call again unless a signal is handled first; then the EINTR is that one's, and
 *   stays. A close that was told EINTR has closed: it is not made again.
 * - A signal that comes first stops the thread, too; it is let go with it.
 * - A group stop (SIGSTOP) stays one: a seized thread that is let go goes back into it.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "dump_int.h"

#define CODE_64       0x33 /* the code segment of 64-bit programs */
#define RESTARTNOHAND 514  /* the kernel's ERESTARTNOHAND, which a program never sees */
#define NICE          (-20)
#define LATE_NS       UINT64_C(60000000000)
#define LATE_PAUSE_NS 500000
#define PAUSE_NS      20000 /* between two looks whether a thread has stopped */

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

/* EINTR because of us: unless a signal is handled first, the kernel makes the call again, with the
 * registers that it was made with. */
static void call_remake(uint32_t tid, struct user_regs_struct *regs)
{
    if ((int64_t)regs->orig_rax < 0 || (int64_t)regs->rax != -EINTR || regs->cs != CODE_64 ||
        regs->orig_rax == SYS_close || regs->orig_rax == SYS_close_range)
        return;
    regs->rax = (uint64_t)-RESTARTNOHAND;
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
static void stopped_take(struct dump *dump, struct dump_thread *thread, int status)
{
    struct user_regs_struct regs;
    struct iovec all = {.iov_base = &regs, .iov_len = sizeof regs};
    if (ptrace(PTRACE_GETREGSET, (pid_t)thread->tid, 1 /* NT_PRSTATUS */, &all) == 0 &&
        all.iov_len == sizeof regs) {
        registers_take(thread, &regs);
        thread->at_ns = clock_monotonic_ns();
        thread->fate = dump_stack_copy_stopped(dump, thread);
        if (is_interrupt(status))
            call_remake(thread->tid, &regs);
    }
    (void)ptrace(PTRACE_DETACH, (pid_t)thread->tid, NULL, (void *)(intptr_t)signal_held(status));
}

/* Whether the thread is ours no more. */
static bool thread_poll(struct dump *dump, struct dump_thread *thread)
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

/* TracerPid is the number of a thread: one of ours stays with those that were late. It may have let
 * go of this one and ended since we looked. */
static enum dump_stack_fate tracer_fate(const struct dump *dump, uint32_t tid, uint32_t tracer)
{
    char path[64];
    struct dump_thread now = {.tid = tid};
    snprintf(path, sizeof path, "/proc/self/task/%" PRIu32, tracer);
    if (access(path, F_OK) == 0)
        return DUMP_STACK_LATE;
    if (!dump_look(dump, &now) || now.fate == DUMP_STACK_ENDED)
        return DUMP_STACK_ENDED;
    return now.tracer == tracer ? DUMP_STACK_TRACED : DUMP_STACK_LATE;
}

/* EPERM is also said of one that just ends, or is traced since we looked. */
static enum dump_stack_fate seize_fate(const struct dump *dump, const struct dump_thread *thread,
                                       int error)
{
    struct dump_thread now = {.tid = thread->tid};
    if (error == ESRCH || !dump_look(dump, &now) || now.fate == DUMP_STACK_ENDED)
        return DUMP_STACK_ENDED;
    return now.tracer != 0 ? tracer_fate(dump, thread->tid, now.tracer) : DUMP_STACK_REFUSED;
}

static bool thread_seize(const struct dump *dump, struct dump_thread *thread)
{
    if (thread->tracer != 0)
        thread->fate = tracer_fate(dump, thread->tid, thread->tracer);
    else if (ptrace(PTRACE_SEIZE, (pid_t)thread->tid, NULL, NULL) != 0)
        thread->fate = seize_fate(dump, thread, errno);
    else
        return true;
    /* A thread of ours may have let go of it between the two. */
    return thread->fate == DUMP_STACK_REFUSED &&
           ptrace(PTRACE_SEIZE, (pid_t)thread->tid, NULL, NULL) == 0;
}

/* Those that are to be stopped. */
static bool is_wanted(const struct dump_thread *thread)
{
    return thread->runs && thread->fate == DUMP_STACK_NONE;
}

/* Phase two: of those that were late nothing is taken, but their system call is made again. */
static bool late_poll(pid_t tid)
{
    int status;
    struct user_regs_struct regs;
    struct iovec all = {.iov_base = &regs, .iov_len = sizeof regs};
    pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR))
        return false;
    if (got < 0 || !WIFSTOPPED(status))
        return true;
    if (is_interrupt(status) && ptrace(PTRACE_GETREGSET, tid, 1 /* NT_PRSTATUS */, &all) == 0 &&
        all.iov_len == sizeof regs)
        call_remake((uint32_t)tid, &regs);
    (void)ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)signal_held(status));
    return true;
}

static void pause_for(long ns)
{
    const struct timespec pause = {.tv_nsec = ns};
    nanosleep(&pause, NULL);
}

/* Phase one. Those that are left are late. */
static void threads_stop(struct dump *dump)
{
    size_t asked = 0, count = dump->count < DUMP_STACKS_MAX ? dump->count : DUMP_STACKS_MAX;
    struct dump_thread *waiting[DUMP_STACKS_MAX];
    uint64_t began_ns = clock_monotonic_ns(), until_ns = began_ns + DUMP_STOP_NS - dump->stop_ns;
    until_ns = until_ns < dump->deadline_ns ? until_ns : dump->deadline_ns;
    for (size_t i = 0; i < count && clock_monotonic_ns() < until_ns; i++) {
        struct dump_thread *thread = &dump->threads[i];
        /* One that sleeps by now would be woken by it. */
        if (!is_wanted(thread) || !dump_runs(dump, thread) || !thread_seize(dump, thread))
            continue;
        thread->fate = DUMP_STACK_LATE;
        if (ptrace(PTRACE_INTERRUPT, (pid_t)thread->tid, NULL, NULL) == 0)
            waiting[asked++] = thread;
    }
    dump->stopped += asked;
    const bool asked_any = asked > 0;
    while (asked > 0 && clock_monotonic_ns() < until_ns) {
        size_t left = 0;
        for (size_t i = 0; i < asked; i++)
            if (!thread_poll(dump, waiting[i]))
                waiting[left++] = waiting[i];
        asked = left;
        if (asked > 0)
            pause_for(PAUSE_NS);
    }
    uint64_t took_ns = clock_monotonic_ns() - began_ns;
    dump->stop_ns += asked_any ? took_ns : 0;
    for (size_t i = 0; i < asked; i++)
        dump->late[dump->late_count++] = (pid_t)waiting[i]->tid;
}

void dump_copy_running(struct dump *dump)
{
    bool wanted = false;
    if (dump->stop_ns >= DUMP_STOP_NS)
        return;
    for (size_t i = 0; i < dump->count && i < DUMP_STACKS_MAX; i++)
        wanted = wanted || is_wanted(&dump->threads[i]);
    if (!wanted)
        return;
    /* Others stand still until this thread gets a CPU, and dumps are taken where these are scarce. Where
     * the agent may not, it waits its turn. */
    int nice_before = getpriority(PRIO_PROCESS, (id_t)gettid());
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), NICE);
    threads_stop(dump);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), nice_before);
}

void dump_stay_with_late(const pid_t *late, size_t count)
{
    pid_t waiting[DUMP_STACKS_MAX];
    uint64_t until_ns = clock_monotonic_ns() + LATE_NS;
    memcpy(waiting, late, count * sizeof *late);
    while (count > 0 && clock_monotonic_ns() < until_ns) {
        size_t left = 0;
        for (size_t i = 0; i < count; i++)
            if (!late_poll(waiting[i]))
                waiting[left++] = waiting[i];
        count = left;
        if (count > 0)
            pause_for(LATE_PAUSE_NS);
    }
}

#else

void dump_copy_running(struct dump *dump)
{
    for (size_t i = 0; i < dump->count && i < DUMP_STACKS_MAX; i++)
        if (dump->threads[i].runs && dump->threads[i].fate == DUMP_STACK_NONE)
            dump->threads[i].fate = DUMP_STACK_UNREADABLE; /* its registers are not known here */
}

void dump_stay_with_late(const pid_t *late, size_t count)
{
    (void)late;
    (void)count;
}

#endif
