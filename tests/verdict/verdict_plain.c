/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of the tracer and keeps an account of the sleeps that it makes, as
 * verdict_subject.c does of its events: sleep n lasts a millisecond and n nanoseconds, by which a
 * trace tells it from all others. The starts of its threads, which are recorded too, are in the
 * account as others: whoever judges does not look for them, but knows when one may be missing. Nothing
 * else that it does is recorded. Runs until its standard input ends.
 *
 *   verdict_plain TRUTH_FILE CAPACITY threads N    threads that sleep
 *                                     brief N      every N ms a thread that makes ten sleeps and
 * ends forks N      every N ms a child that sleeps for half a second again N      every N ms it
 * executes itself anew daemon N     forks twice, and the grandchild is `threads N`
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct truth {
    uint64_t before_ns, after_ns; /* after_ns 0: not finished */
    uint32_t pid, thread;
    uint64_t other; /* 1: the start of a thread */
};

struct account {
    uint64_t magic;
    _Atomic uint64_t next;
    uint64_t capacity;
    uint64_t reserved;
    struct truth events[];
};

static struct account *account;

static uint64_t now_ns(void)
{
    struct timespec t;
    syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct truth *truth_begin(uint64_t other)
{
    uint64_t id = account->next++;
    if (id >= account->capacity)
        _exit(99);
    struct truth *t = &account->events[id];
    t->pid = (uint32_t)getpid();
    t->other = other;
    t->before_ns = now_ns();
    return t;
}

static void event(void)
{
    struct truth *t = truth_begin(0);
    struct timespec time = {0, 1000000 + (long)(t - account->events)};
    nanosleep(&time, NULL);
    t->after_ns = now_ns();
}

static void events_for(uint64_t ms)
{
    for (uint64_t end = now_ns() + ms * 1000000; now_ns() < end;)
        event();
}

static void started(void *context)
{
    struct truth *t = context;
    t->after_ns = now_ns();
}

static void *sleeper(void *context)
{
    started(context);
    for (;;)
        event();
    return context;
}

static void *brief_sleeper(void *context)
{
    started(context);
    for (int i = 0; i < 10; i++)
        event();
    return context;
}

static void thread_start(void *(*run)(void *))
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, truth_begin(1)))
        _exit(98);
    pthread_detach(thread);
}

static void *input_watch(void *context)
{
    char c;
    started(context);
    while (syscall(SYS_read, 0, &c, 1) > 0) {
    }
    _exit(0);
    return context;
}

static void child_start(uint64_t ms)
{
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        events_for(ms);
        exit(0);
    }
    while (waitpid(-1, NULL, WNOHANG) > 0) {
    }
}

static void become_daemon(void)
{
    if (fork())
        _exit(0);
    setsid();
    if (fork())
        _exit(0);
}

int main(int argc, char **argv)
{
    if (argc < 5)
        return 2;
    uint64_t capacity = strtoull(argv[2], NULL, 10), n = strtoull(argv[4], NULL, 10);
    size_t bytes = sizeof *account + capacity * sizeof account->events[0];
    int fd = (int)syscall(SYS_openat, AT_FDCWD, argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || syscall(SYS_ftruncate, fd, (off_t)bytes))
        return 1;
    account = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (account == MAP_FAILED)
        return 1;
    account->capacity = capacity;
    if (!strcmp(argv[3], "daemon"))
        become_daemon();
    thread_start(input_watch);
    if (!strcmp(argv[3], "again")) {
        events_for(n);
        execv("/proc/self/exe", argv);
        return 1;
    }
    bool many = !strcmp(argv[3], "threads") || !strcmp(argv[3], "daemon");
    for (uint64_t i = 0; many && i < n; i++)
        thread_start(sleeper);
    for (;;) {
        if (!strcmp(argv[3], "brief"))
            thread_start(brief_sleeper);
        if (!strcmp(argv[3], "forks"))
            child_start(500);
        events_for(many ? 1000 : n);
    }
}
