/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that knows nothing of Skein, linked statically and not: one thread of it counts, the
 * others sleep. With "fork N" it is N processes more, which sleep until it ends; with "nap MS" it
 * sleeps again and again; with "listen PORT" it listens there, and so does a child with the same socket.
 *
 *   outside_counter [fork N | exit STATUS | nap MS | listen PORT]
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile unsigned long counted;

static void *count_for_ever(void *context)
{
    for (;;)
        counted++;
    return context;
}

static void children_make(int count)
{
    for (int i = 0; i < count; i++) {
        if (fork() != 0)
            continue;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
}

static int port_listen(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0)
        return -1;
    return listen(fd, 8);
}

int main(int argc, char **argv)
{
    pthread_t thread;
    if (argc > 2 && strcmp(argv[1], "exit") == 0) {
        printf("counted nothing\n");
        return (int)strtol(argv[2], NULL, 10);
    }
    while (argc > 2 && strcmp(argv[1], "nap") == 0)
        usleep((useconds_t)(int)strtol(argv[2], NULL, 10) * 1000);
    bool listens = argc > 2 && strcmp(argv[1], "listen") == 0;
    if (listens && port_listen((uint16_t)strtol(argv[2], NULL, 10)) != 0)
        return 1;
    if (listens)
        children_make(1);
    if (argc > 2 && strcmp(argv[1], "fork") == 0)
        children_make((int)strtol(argv[2], NULL, 10));
    else if (pthread_create(&thread, NULL, count_for_ever, NULL) != 0)
        return 1;
    for (;;)
        pause();
}
