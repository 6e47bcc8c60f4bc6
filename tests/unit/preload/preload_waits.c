/* SPDX-License-Identifier: Apache-2.0
 *
 * An ordinary program, built with -fomit-frame-pointer, that knows nothing of Skein: it sleeps in
 * threads of several kinds, and prints how long and, by the C library's own backtrace(), where:
 * "NS ADDRESS...", from the caller of the function that slept on.
 */
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
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

static sigjmp_buf back;

static void jump_back(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void jump_soon(void)
{
    const struct itimerval soon = {.it_value.tv_usec = 3000};
    struct sigaction action = {.sa_handler = jump_back};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
}

/* Their stacks are gone when these waits are over. */
__attribute__((noinline)) static void left(long ns)
{
    const struct timespec time = {.tv_nsec = ns};
    if (!sigsetjmp(back, 1)) {
        jump_soon();
        for (;;)
            nanosleep(&time, NULL);
    }
    printf("%ld\n", ns);
    if (!sigsetjmp(back, 1)) {
        struct pollfd none = {.fd = -1};
        jump_soon();
        poll(&none, 1, -1);
    }
}

/* ---- storm: waits whose time says how deep their stack is, interrupted by handlers that wait ---- */

#define STORM_DEPTHS  24
#define STORM_ROUNDS  12
#define STORM_THREADS 4
#define HANDLER_NS    777

/* The time says how deep. */
__attribute__((noinline)) static unsigned storm_deep(unsigned left_of_it, long ns)
{
    volatile unsigned kept = left_of_it;
    const struct timespec time = {.tv_nsec = ns};
    if (left_of_it == 0)
        nanosleep(&time, NULL);
    else
        kept += storm_deep(left_of_it - 1, ns);
    return kept;
}

static __thread sigjmp_buf storm_back;
static __thread volatile sig_atomic_t storm_jumps;

static void storm_handler(int number)
{
    const struct timespec time = {.tv_nsec = HANDLER_NS};
    nanosleep(&time, NULL);
    if (number == SIGUSR2 && storm_jumps) {
        storm_jumps = 0;
        siglongjmp(storm_back, 1);
    }
}

static void *storm_thread(void *unused)
{
    for (unsigned round = 0; round < STORM_ROUNDS; round++) {
        for (unsigned depth = 1; depth <= STORM_DEPTHS; depth++) {
            storm_deep(depth, 1000L * depth);
            if (!sigsetjmp(storm_back, 1)) {
                storm_jumps = 1;
                pthread_kill(pthread_self(), depth % 3 ? SIGUSR1 : SIGUSR2);
                storm_jumps = 0;
            }
        }
    }
    return unused;
}

static int storm(void)
{
    pthread_t threads[STORM_THREADS];
    const struct itimerval often = {{.tv_usec = 400}, {.tv_usec = 400}}, never = {{0, 0}, {0, 0}};
    struct sigaction action = {.sa_handler = storm_handler};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    action.sa_flags = SA_NODEFER;
    sigaction(SIGUSR2, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < STORM_THREADS; i++)
        if (pthread_create(&threads[i], NULL, storm_thread, NULL))
            return 1;
    for (int i = 0; i < STORM_THREADS; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_REAL, &never, NULL);
    return 0;
}

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1)
        return storm();
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
    left(900000000);
    return 0;
}
