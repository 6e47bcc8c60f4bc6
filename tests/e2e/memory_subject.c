/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that need little memory and say much, for memory_cgroup.py.
 *
 *   memory_subject naps THREADS COUNT     each thread sleeps for a moment, so many times
 *   memory_subject forks CHILDREN EVENTS  each child writes so many events
 *
 * "ready": all have done so. They stay, as large as they are, until a line comes on standard input.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

static void nap(long ns)
{
    const struct timespec moment = {.tv_nsec = ns};
    nanosleep(&moment, NULL);
}

static pthread_barrier_t naps_over, line_came;

static void *naps(void *count)
{
    for (long i = 0; i < (long)(intptr_t)count; i++)
        nap(1000);
    pthread_barrier_wait(&naps_over);
    pthread_barrier_wait(&line_came);
    return NULL;
}

/* False: standard input has failed. */
static bool line_await(void)
{
    char byte = 0;
    printf("ready\n");
    fflush(stdout);
    return read(STDIN_FILENO, &byte, 1) >= 0;
}

static int naps_run(long threads, long count)
{
    pthread_attr_t small;
    pthread_t thread[64];
    threads = threads < 64 ? threads : 64;
    pthread_barrier_init(&naps_over, NULL, (unsigned)threads + 1);
    pthread_barrier_init(&line_came, NULL, (unsigned)threads + 1);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (long i = 0; i < threads; i++)
        if (pthread_create(&thread[i], &small, naps, (void *)(intptr_t)count) != 0)
            return 1;
    pthread_barrier_wait(&naps_over);
    bool told = line_await();
    pthread_barrier_wait(&line_came);
    for (long i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    return !told;
}

/* Recorded or not: alone, nobody listens. */
static int child_run(long events, const char *traced, int done, int go)
{
    char byte = 0;
    while (traced != NULL && !skein_attached()) { /* it is too young at first */
        SKEIN_INSTANT("young");
        nap(1000000);
    }
    for (long i = 0; i < events; i++)
        SKEIN_INSTANT("work", (i64, "n", i));
    return write(done, "x", 1) == 1 && read(go, &byte, 1) == 0 ? 0 : 1;
}

static int forks_run(long children, long events)
{
    int done[2], go[2], status, failed = 0;
    char byte = 0;
    const char *traced = getenv("SKEIN_SOCKET");
    const struct skein_options options = {
        .size = sizeof options, .service = "forks", .agent_socket = traced};
    if (pipe(done) != 0 || pipe(go) != 0 || (traced != NULL && skein_start(&options) != SKEIN_OK))
        return 1;
    for (long i = 0; i < children; i++) {
        pid_t pid = fork();
        if (pid < 0)
            return 1;
        if (pid == 0) {
            close(go[1]);
            _exit(child_run(events, traced, done[1], go[0]));
        }
    }
    close(done[1]);
    for (long i = 0; i < children; i++)
        failed |= read(done[0], &byte, 1) != 1;
    failed |= !line_await();
    close(go[1]);
    for (long i = 0; i < children; i++)
        failed |= wait(&status) < 0 || status != 0;
    return failed;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "naps") == 0)
        return naps_run(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "forks") == 0)
        return forks_run(strtol(argv[2], NULL, 10), strtol(argv[3], NULL, 10));
    return 2;
}
