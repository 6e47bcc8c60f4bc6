/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that ends as it is told, in a thread and a place that it says before, by itself:
 *
 *   crash_subject HOW ──▶ "TID INNER OUTER\n"; a byte on standard input ──▶ its end
 *
 * INNER and OUTER are where the functions are that it is in then, the one called by the other.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static volatile int one = 1;
static volatile uintptr_t nowhere = 0x10;
static const char *how;

static void end_itself(int signal)
{
    struct sigaction action = {.sa_handler = SIG_DFL};
    sigaction(signal, &action, NULL);
    if (strstr(how, "all") != NULL)
        kill(getpid(), signal);
    else
        raise(signal);
    for (;;)
        pause(); /* it may have gone to the other thread */
}

/* Its own frame takes room, so that it is not there again in a moment. */
static void on_fault(int signal, siginfo_t *info, void *context)
{
    volatile char log[512];
    (void)info, (void)context;
    memset((void *)(uintptr_t)log, signal, sizeof log);
    end_itself(signal);
}

static void handle(int flags)
{
    static char stack[1 << 16];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = flags | SA_SIGINFO};
    if ((flags & SA_ONSTACK) != 0)
        sigaltstack(&other, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

__attribute__((noinline)) static int run_deep(int depth)
{
    volatile char room[4096];
    memset((void *)(uintptr_t)room, depth, sizeof room);
    return depth > 0 ? run_deep(depth + 1) + room[0] : 0;
}

__attribute__((noinline)) static int inner(int x)
{
    if (strncmp(how, "say", 3) == 0)
        (void)!write(2, "no room for order 7\n", 20);
    if (strcmp(how, "say_exit") == 0)
        _exit(3);
    if (strcmp(how, "abort") == 0 || strcmp(how, "say_abort") == 0)
        abort();
    if (strcmp(how, "illegal") == 0)
        __builtin_trap();
    if (strcmp(how, "divide") == 0)
        return x / (one - 1);
    if (strcmp(how, "deep") == 0)
        return run_deep(x);
    *(volatile int *)nowhere = x;
    return x + one;
}

__attribute__((noinline)) static int outer(int x)
{
    return inner(x) * 2 + one;
}

static volatile sig_atomic_t went_on;
static void go_on(int signal)
{
    (void)signal;
    went_on = went_on + 1;
}

/* Any thread may get it, and a moment later; two of a kind would be one. */
static void survive(int signal)
{
    int before = went_on;
    kill(getpid(), signal);
    while (went_on == before)
        sched_yield();
}

/* As some runtimes do all day, to stop their threads and let them go on. */
static void raise_and_go_on(void)
{
    struct sigaction action = {.sa_handler = go_on};
    sigaction(SIGXCPU, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
    for (int i = 0; i < 10; i++) {
        survive(SIGXCPU);
        survive(SIGSEGV);
    }
    action.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &action, NULL);
}

static void *run(void *unused)
{
    char byte;
    if (strncmp(how, "survivor", 8) == 0)
        raise_and_go_on();
    if (strcmp(how, "handled") == 0 || strcmp(how, "handled_all") == 0)
        handle(SA_NODEFER);
    if (strcmp(how, "handled_beside") == 0)
        handle(SA_NODEFER | SA_ONSTACK);
    printf("%d %" PRIuPTR " %" PRIuPTR "\n", gettid(), (uintptr_t)inner, (uintptr_t)outer);
    fflush(stdout);
    if (read(0, &byte, 1) == 1 && (strcmp(how, "wait") == 0 || strcmp(how, "survivor") == 0))
        pause();
    if (strcmp(how, "again_later") == 0)
        execl("/proc/self/exe", "crash_subject", "fault", (char *)NULL);
    return (void *)(intptr_t)outer(one);
}

int main(int argc, char **argv)
{
    const struct rlimit no_core = {0, 0};
    pthread_t thread;
    if (argc != 2 || setrlimit(RLIMIT_CORE, &no_core) != 0)
        return 99;
    how = argv[1];
    if (pthread_create(&thread, NULL, run, NULL) != 0)
        return 99;
    pthread_join(thread, NULL);
    return 98;
}
