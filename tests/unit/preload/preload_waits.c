/* SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary program, built with -fomit-frame-pointer, that knows nothing of Skein: it sleeps in
 * threads of several kinds, and prints how long and, by the C library's own backtrace(), where:
 * "NS ADDRESS...", from the caller of the function that slept on.
 */
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define FRAMES 100

static pthread_mutex_t print_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) static void sleep_and_tell(long ns)
{
    void *frames[FRAMES];
    const struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
    int count = backtrace(frames, FRAMES);
    pthread_mutex_lock(&print_lock);
    printf("%ld", ns);
    for (int i = 1; i < count; i++)
        printf(" %lx", (unsigned long)frames[i]);
    printf("\n");
    pthread_mutex_unlock(&print_lock);
}

__attribute__((noinline)) static unsigned deep(unsigned depth, long ns)
{
    volatile unsigned kept = depth;
    if (depth == 0)
        sleep_and_tell(ns);
    else
        kept += deep(depth - 1, ns);
    return kept;
}

static void *posix_thread(void *ns)
{
    deep(7, (long)ns);
    return NULL;
}

static int c11_thread(void *ns)
{
    deep(3, (long)ns);
    return 0;
}

static void thread_run(const pthread_attr_t *attributes, long ns)
{
    pthread_t thread;
    if (pthread_create(&thread, attributes, posix_thread, (void *)ns))
        exit(1);
    pthread_join(thread, NULL);
}

static ucontext_t home, other;
static long coroutine_ns;

static void coroutine(void)
{
    deep(2, coroutine_ns);
    swapcontext(&other, &home);
}

static void *coroutine_run(void *ns)
{
    static char stack[64 << 10];
    coroutine_ns = (long)ns;
    getcontext(&other);
    other.uc_stack.ss_sp = stack;
    other.uc_stack.ss_size = sizeof stack;
    makecontext(&other, coroutine, 0);
    swapcontext(&home, &other);
    return NULL;
}

static void handler(int number)
{
    (void)number;
    deep(1, 3700000);
}

static void handler_run(void)
{
    static char stack[64 << 10];
    const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&alternate, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
}

int main(void)
{
    void *warm[2];
    backtrace(warm, 2);
    deep(4, 3100000);
    thread_run(NULL, 3200000);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 96 << 10);
    thread_run(&attributes, 3300000);
    thrd_t thread;
    if (thrd_create(&thread, c11_thread, (void *)3400000) != thrd_success)
        return 1;
    thrd_join(thread, NULL);
    coroutine_run((void *)3500000);
    pthread_t runner;
    if (pthread_create(&runner, NULL, coroutine_run, (void *)3600000))
        return 1;
    pthread_join(runner, NULL);
    handler_run();
    return 0;
}
