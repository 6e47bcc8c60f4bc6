/* SPDX-License-Identifier: Apache-2.0
 *
 * The small programs of bench_overhead. As a client: asks a server on loopback over a few
 * connections and prints what a second brought. As what is measured itself: mutexes that are free,
 * and threads that live for a moment. Bounded in all it does; prints one number.
 *
 *   overhead_load ask PORT CONNECTIONS REQUESTS PER_CONNECTION TEXT   requests a second; an answer
 *                                                                     ends with "END\r\n"
 *   overhead_load mutex ROUNDS          locks and unlocks a second, beside a second thread
 *   overhead_load threads ROUNDS        threads a second, one after the other
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define CONNECTIONS_MAX 64

static struct {
    uint16_t port;
    long requests, per_connection;
    const char *text;
} load;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static _Noreturn void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int connected(void)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(load.port), .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to))
        fail("connect");
    return fd;
}

static void ask(int fd)
{
    char answer[65536];
    size_t length = 0, bytes = strlen(load.text);
    if (write(fd, load.text, bytes) != (ssize_t)bytes)
        fail("write");
    while (length < 5 || memcmp(answer + length - 5, "END\r\n", 5) != 0) {
        ssize_t n = read(fd, answer + length, sizeof answer - length);
        if (n <= 0)
            fail("read");
        length += (size_t)n;
    }
}

static void *client(void *unused)
{
    int fd = -1;
    for (long i = 0; i < load.requests; i++) {
        if (i % load.per_connection == 0) {
            if (fd >= 0)
                close(fd);
            fd = connected();
        }
        ask(fd);
    }
    if (fd >= 0)
        close(fd);
    return unused;
}

static double ask_all(int connections)
{
    pthread_t threads[CONNECTIONS_MAX];
    double began = now_s();
    for (int i = 0; i < connections; i++)
        if (pthread_create(&threads[i], NULL, client, NULL))
            fail("pthread_create");
    for (int i = 0; i < connections; i++)
        pthread_join(threads[i], NULL);
    return (double)connections * (double)load.requests / (now_s() - began);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t until_end = PTHREAD_MUTEX_INITIALIZER;

static void *second(void *unused)
{
    pthread_mutex_lock(&until_end);
    pthread_mutex_unlock(&until_end);
    return unused;
}

static double mutexes(long rounds)
{
    pthread_t thread;
    pthread_mutex_lock(&until_end);
    if (pthread_create(&thread, NULL, second, NULL))
        fail("pthread_create");
    double began = now_s();
    for (long i = 0; i < rounds; i++) {
        pthread_mutex_lock(&mutex);
        pthread_mutex_unlock(&mutex);
    }
    double a_second = (double)rounds / (now_s() - began);
    pthread_mutex_unlock(&until_end);
    pthread_join(thread, NULL);
    return a_second;
}

static void *nothing(void *unused)
{
    return unused;
}

static double threads(long rounds)
{
    double began = now_s();
    for (long i = 0; i < rounds; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, nothing, NULL))
            fail("pthread_create");
        pthread_join(thread, NULL);
    }
    return (double)rounds / (now_s() - began);
}

int main(int argc, char **argv)
{
    double a_second;
    if (argc == 7 && strcmp(argv[1], "ask") == 0) {
        long connections = strtol(argv[3], NULL, 10);
        load.port = (uint16_t)strtol(argv[2], NULL, 10);
        load.requests = strtol(argv[4], NULL, 10);
        load.per_connection = strtol(argv[5], NULL, 10);
        load.text = argv[6];
        if (connections < 1 || connections > CONNECTIONS_MAX || load.per_connection < 1)
            return 2;
        a_second = ask_all((int)connections);
    } else if (argc == 3 && strcmp(argv[1], "mutex") == 0) {
        a_second = mutexes(strtol(argv[2], NULL, 10));
    } else if (argc == 3 && strcmp(argv[1], "threads") == 0) {
        a_second = threads(strtol(argv[2], NULL, 10));
    } else {
        fprintf(stderr, "usage: overhead_load ask PORT CONNECTIONS REQUESTS PER_CONNECTION TEXT\n"
                        "       overhead_load mutex|threads ROUNDS\n");
        return 2;
    }
    printf("%.1f\n", a_second);
    return 0;
}
