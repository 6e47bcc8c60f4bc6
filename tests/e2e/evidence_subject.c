/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows of itself what evidence shall say of it, and writes it into a file that the
 * test maps, too: what its threads have run, by their own clocks, how often they gave way, and what
 * its descriptors are. It knows nothing of Skein.
 *
 *   evidence_subject PAGE_FILE KNOWN_FILE
 */
#include "evidence_subject.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct subject_page *page;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER; /* by main, while it runs */
static uint32_t dice = 12345;

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* 2 to 9 ms: sampling must not fall into step with it. */
static uint64_t some_ns(void)
{
    dice = dice * 1664525u + 1013904223u;
    return 2000000u + (dice >> 8) % 7000000u;
}

static void turn_put(struct subject_turns *turns)
{
    struct rusage use;
    struct subject_turn *turn = &turns->turns[turns->count % SUBJECT_TURNS];
    getrusage(RUSAGE_THREAD, &use);
    turn->process_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    turn->thread_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    turn->gave_way = (uint64_t)use.ru_nvcsw;
    turn->preempted = (uint64_t)use.ru_nivcsw;
    turn->time_ns = clock_ns(CLOCK_REALTIME);
    turns->count++;
}

__attribute__((noinline)) static void burn_here(uint64_t ns)
{
    uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    volatile uint64_t sum = 0;
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin < ns)
        for (unsigned i = 0; i < 20000; i++)
            sum = sum + i;
}

__attribute__((noinline)) static void sleep_here(long ns)
{
    const struct timespec time = {.tv_nsec = ns};
    nanosleep(&time, NULL);
    turn_put(&page->sleeps);
}

__attribute__((noinline)) static void wait_here(void)
{
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

static void *burner(void *context)
{
    pthread_setname_np(pthread_self(), "burner");
    page->burner = (uint32_t)syscall(SYS_gettid);
    while (!page->stop) {
        const struct timespec pause = {.tv_nsec = (long)some_ns()};
        burn_here(some_ns());
        turn_put(&page->burns);
        nanosleep(&pause, NULL);
    }
    return context;
}

static void *sleeper(void *context)
{
    pthread_setname_np(pthread_self(), "sleeper");
    page->sleeper = (uint32_t)syscall(SYS_gettid);
    while (!page->stop)
        sleep_here(20000000);
    return context;
}

static void *waiter(void *context)
{
    pthread_setname_np(pthread_self(), "waiter");
    page->waiter = (uint32_t)syscall(SYS_gettid);
    wait_here();
    return context;
}

static int descriptors_open(const char *file)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t n = sizeof address;
    int ends[2];
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    page->file = open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    page->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (page->file < 0 || pipe2(ends, O_CLOEXEC) != 0 ||
        bind(page->listener, (struct sockaddr *)&address, n) != 0 ||
        listen(page->listener, 7) != 0 ||
        getsockname(page->listener, (struct sockaddr *)&address, &n) != 0)
        return -1;
    page->pipe[0] = ends[0];
    page->pipe[1] = ends[1];
    page->port = ntohs(address.sin_port);
    return 0;
}

int main(int argc, char **argv)
{
    static void *(*const bodies[3])(void *) = {burner, sleeper, waiter};
    pthread_t threads[3];
    int fd = argc == 3 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
    page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (fd < 0 || page == MAP_FAILED || descriptors_open(argv[2]) != 0)
        return 1;
    close(fd);
    page->pid = (uint32_t)getpid();
    pthread_mutex_lock(&held);
    for (unsigned i = 0; i < 3; i++)
        if (pthread_create(&threads[i], NULL, bodies[i], NULL) != 0)
            return 1;
    while (page->burner == 0 || page->sleeper == 0 || page->waiter == 0)
        usleep(1000);
    page->ready = 1;
    while (!page->stop)
        usleep(50000);
    pthread_mutex_unlock(&held);
    for (unsigned i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
