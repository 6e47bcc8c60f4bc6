/* SPDX-License-Identifier: Apache-2.0
 * Owns the ports of a test: see port.h. */
#include "port.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Below the range from which connections get their own ports: who dials a port of that range while
 * nobody listens there may get connected to itself, and the port is taken. Demos draw from 20000.
 */
enum { PORT_FIRST = 10000, PORT_COUNT = 10000 };

/* Nobody but tests knows of the addresses, so a program may listen there all the same. */
static bool is_unused(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool unused = fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0;
    if (fd >= 0)
        close(fd);
    return unused;
}

/* The descriptor that keeps it, -1 where another process does. */
static int port_keep(uint16_t port)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "skein-port-%u", port);
    socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, bytes) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

uint16_t port_take(void)
{
    /* Each process begins elsewhere: a port that was just given back is not taken at once. */
    unsigned start = (unsigned)getpid() * 7;
    for (unsigned i = 0; i < PORT_COUNT; i++) {
        uint16_t port = (uint16_t)(PORT_FIRST + (start + i) % PORT_COUNT);
        int fd = port_keep(port);
        if (fd < 0)
            continue;
        if (is_unused(port))
            return port; /* fd stays open */
        close(fd);
    }
    return 0;
}
