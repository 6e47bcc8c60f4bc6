/* SPDX-License-Identifier: Apache-2.0
 *
 * From "host:port" to a listening socket. No state; any thread.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "http_int.h"

int http_listen(const char *address, int *out, unsigned *port, char *error, size_t error_bytes)
{
    char host[256];
    const char *colon = strrchr(address, ':');
    size_t n = colon != NULL ? (size_t)(colon - address) : 0;
    if (colon == NULL || n >= sizeof host) {
        snprintf(error, error_bytes, "\"%s\" is no HOST:PORT", address);
        return SKEIN_INVALID;
    }
    memcpy(host, address, n);
    host[n] = '\0';
    char *name = host;
    if (n >= 2 && host[0] == '[' && host[n - 1] == ']') {
        host[n - 1] = '\0';
        name++;
    }
    bool all = strcmp(name, "*") == 0;
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(all ? "0.0.0.0" : name, colon + 1, &hints, &found);
    if (failed != 0) {
        snprintf(error, error_bytes, "\"%s\": %s", address, gai_strerror(failed));
        return SKEIN_INVALID;
    }
    int status = SKEIN_OK, one = 1;
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 1024) != 0) {
        status = errno == EADDRINUSE ? SKEIN_BUSY : SKEIN_IO;
        snprintf(error, error_bytes, "\"%s\": %s", address, strerror(errno));
    }
    freeaddrinfo(found);
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } bound = {.v6 = {0}};
    socklen_t bound_bytes = sizeof bound;
    if (status == SKEIN_OK && getsockname(fd, &bound.any, &bound_bytes) == 0)
        *port = ntohs(bound.any.sa_family == AF_INET6 ? bound.v6.sin6_port : bound.v4.sin_port);
    if (status != SKEIN_OK && fd >= 0)
        close(fd);
    else
        *out = fd;
    return status;
}
