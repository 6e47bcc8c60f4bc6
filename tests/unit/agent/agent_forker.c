/* SPDX-License-Identifier: Apache-2.0
 *
 * A service for tests of the agent that forks a process for each connection, as PostgreSQL does,
 * and answers HTTP requests with 200.
 *
 *   agent_forker SOCKET SERVICE PORT FOLDER
 *
 * While FOLDER/lock is there nobody is answered, and a process whose client has left waits on, as
 * one that waits for a row does. FOLDER/counts has three numbers: processes that serve a connection
 * now, the most there were, all so far.
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "skein/skein.h"

static uint32_t *counts; /* atomic, shared with the processes of connections and the test */

static bool counts_open(const char *folder)
{
    char path[256];
    snprintf(path, sizeof path, "%s/counts", folder);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, 3 * sizeof *counts) != 0)
        return false;
    counts = mmap(NULL, 3 * sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return counts != MAP_FAILED;
}

static void count_one(void)
{
    uint32_t now = __atomic_add_fetch(&counts[0], 1, __ATOMIC_RELAXED);
    __atomic_add_fetch(&counts[2], 1, __ATOMIC_RELAXED);
    if (now > __atomic_load_n(&counts[1], __ATOMIC_RELAXED)) /* the listener alone writes it */
        __atomic_store_n(&counts[1], now, __ATOMIC_RELAXED);
}

static void serve(int client, const char *folder)
{
    static const char answer[] = "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n";
    char path[256], request[4096];
    struct timespec pause = {.tv_nsec = 2000000};
    snprintf(path, sizeof path, "%s/lock", folder);
    SKEIN_INSTANT("query");
    ssize_t n = read(client, request, sizeof request);
    while (n > 0 && access(path, F_OK) == 0) {
        SKEIN_INSTANT("wait");
        nanosleep(&pause, NULL);
    }
    n = write(client, answer, strlen(answer));
    close(client);
    skein_stop();
    __atomic_sub_fetch(&counts[0], 1, __ATOMIC_RELAXED);
    _exit(n < 0);
}

int main(int argc, char **argv)
{
    if (argc != 5 || !counts_open(argv[4]))
        return 2;
    struct skein_options options = {
        .size = sizeof options, .service = argv[2], .agent_socket = argv[1]};
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10)),
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(listener, 64) != 0 || skein_start(&options) != SKEIN_OK)
        return 1;
    /* A fork before would send the visitor away, which comes back with an event a second later. */
    if (skein_wait_attached(20000) != SKEIN_OK)
        return 1;
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int client = accept(listener, NULL, NULL);
        if (client < 0)
            continue;
        SKEIN_INSTANT("connection");
        count_one();
        if (fork() == 0)
            serve(client, argv[4]);
        close(client);
    }
}
