/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that crash, and programs that look as if they did: faults are a normal event of many a
 * runtime. Each is old enough for a tracer to be there.
 */
#include "subject_calls.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile int *volatile nowhere = (volatile int *)0x10;
static sigjmp_buf out_of_fault;
static volatile sig_atomic_t handled;
static uint8_t *page;

static void grow_old(void)
{
    struct timespec left = {0, 120 * 1000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static void say(const char *text)
{
    ssize_t n = write(1, text, strlen(text));
    (void)n;
}

static void handler_set(int signal, void (*fn)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {.sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags};
    sigaction(signal, &action, NULL);
}

/* What the kernel has, whatever the C library says: 'd' default, 'i' ignored, 'h' a handler. */
static void dispositions_say(void)
{
    struct {
        void (*handler)(int);
        unsigned long flags;
        void *restorer;
        unsigned long mask;
    } action;
    char line[66] = "";
    for (int i = 1; i < 65; i++) {
        long status = syscall(SYS_rt_sigaction, i, NULL, &action, 8);
        line[i - 1] = status != 0                 ? '-'
                      : action.handler == SIG_DFL ? 'd'
                      : action.handler == SIG_IGN ? 'i'
                                                  : 'h';
    }
    line[64] = '\n';
    say(line);
}

static void caught_say(void)
{
    char line[256];
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "Sig", 3) == 0 && line[3] != 'Q') /* the user's, of all processes */
            say(line);
    if (file != NULL)
        fclose(file);
}

static int fault(void)
{
    *nowhere = 1;
    return 1;
}

int crash_plain(void)
{
    grow_old();
    dispositions_say();
    caught_say();
    return fault();
}

static void *fault_run(void *unused)
{
    fault();
    return unused;
}

int crash_thread(void)
{
    pthread_t thread;
    grow_old();
    pthread_create(&thread, NULL, fault_run, NULL);
    pthread_join(thread, NULL);
    return 1;
}

static void on_jump(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    handled += info->si_addr == (void *)0x10 && info->si_code == SEGV_MAPERR;
    siglongjmp(out_of_fault, 1);
}

/* As runtimes do for null references. */
int crash_caught(void)
{
    char text[64];
    grow_old();
    handler_set(SIGSEGV, on_jump, 0);
    for (int i = 0; i < 500; i++)
        if (sigsetjmp(out_of_fault, 1) == 0)
            fault();
    snprintf(text, sizeof text, "%d handled\n", (int)handled);
    say(text);
    return 4;
}

static void on_barrier(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    handled += info->si_addr == page;
    mprotect(page, 4096, PROT_READ | PROT_WRITE);
}

/* As collectors do to learn who writes: the instruction is made again. */
int crash_barrier(void)
{
    char text[64];
    page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    grow_old();
    handler_set(SIGSEGV, on_barrier, 0);
    for (int i = 0; i < 500; i++) {
        mprotect(page, 4096, PROT_READ);
        *(volatile uint8_t *)page = (uint8_t)i;
    }
    snprintf(text, sizeof text, "%d handled, %d\n", (int)handled, page[0]);
    say(text);
    return 5;
}

static void on_once(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    say("once\n");
    dispositions_say();
}

int crash_once(void)
{
    grow_old();
    handler_set(SIGSEGV, on_once, (int)SA_RESETHAND);
    return fault();
}

static void on_end(int signal, siginfo_t *info, void *context)
{
    (void)info, (void)context;
    say("a log of its own\n");
    sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    raise(signal);
}

int crash_logged(void)
{
    grow_old();
    handler_set(SIGSEGV, on_end, SA_NODEFER);
    return fault();
}

int crash_blocked(void)
{
    sigset_t set;
    grow_old();
    handler_set(SIGSEGV, on_end, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGSEGV);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return fault();
}

int crash_ignored(void)
{
    grow_old();
    signal(SIGSEGV, SIG_IGN);
    raise(SIGSEGV);
    say("ignored\n");
    return fault();
}

__attribute__((noinline)) static int deep(int depth)
{
    volatile char room[1024];
    room[0] = (char)depth;
    return depth >= 0 ? deep(depth + 1) + room[0] : 0;
}

int crash_deep(void)
{
    grow_old();
    return deep(0);
}

static void on_deep(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    say("on the other stack\n");
    _exit(7);
}

int crash_deep_handled(void)
{
    static char other[1 << 16];
    stack_t stack = {.ss_sp = other, .ss_size = sizeof other};
    grow_old();
    sigaltstack(&stack, NULL);
    handler_set(SIGSEGV, on_deep, SA_ONSTACK);
    return deep(0);
}

static void on_deep_again(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    say("too deep here, too\n");
    deep(0);
}

/* The other stack runs over as well. */
int crash_deep_twice(void)
{
    const size_t size = 1 << 16;
    uint8_t *other = mmap(NULL, size + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = {.ss_sp = other + 4096, .ss_size = size};
    mprotect(other + 4096, size, PROT_READ | PROT_WRITE);
    grow_old();
    sigaltstack(&stack, NULL);
    handler_set(SIGSEGV, on_deep_again, SA_ONSTACK);
    return deep(0);
}

int crash_abort(void)
{
    grow_old();
    abort();
}

/* abort() ends a program that has a handler, or ignores it, or blocks it. */
int crash_abort_handled(void)
{
    sigset_t set;
    grow_old();
    handler_set(SIGABRT, on_once, 0);
    sigemptyset(&set);
    sigaddset(&set, SIGABRT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    abort();
}

int crash_trap(void)
{
    grow_old();
    __builtin_trap();
}

int crash_killed(void)
{
    grow_old();
    kill(getpid(), SIGKILL);
    return 1;
}

int crash_bus(void)
{
    FILE *file = tmpfile();
    grow_old();
    page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
    return *(volatile uint8_t *)page;
}

int ends_by_status(void)
{
    grow_old();
    exit(9);
}
