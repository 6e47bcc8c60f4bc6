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
#include "http_server.h"

/* *out is the caller's: freeaddrinfo. */
static int listen_resolve(const char *address, struct addrinfo **out, char *error,
                          size_t error_bytes)
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
    int failed = getaddrinfo(all ? "0.0.0.0" : name, colon + 1, &hints, out);
    if (failed != 0) {
        snprintf(error, error_bytes, "\"%s\": %s", address, gai_strerror(failed));
        return SKEIN_INVALID;
    }
    return SKEIN_OK;
}

int http_listen(const char *address, int *out, unsigned *port, char *error, size_t error_bytes)
{
    struct addrinfo *found = NULL;
    int resolved = listen_resolve(address, &found, error, error_bytes);
    if (resolved != SKEIN_OK)
        return resolved;
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

bool http_is_loopback(const char *address)
{
    struct addrinfo *found = NULL;
    char error[256];
    if (listen_resolve(address, &found, error, sizeof error) != SKEIN_OK)
        return false;
    bool loopback = false;
    if (found->ai_family == AF_INET) {
        struct sockaddr_in v4;
        memcpy(&v4, found->ai_addr, sizeof v4);
        loopback = ntohl(v4.sin_addr.s_addr) >> 24 == 127;
    } else if (found->ai_family == AF_INET6) {
        struct sockaddr_in6 v6;
        memcpy(&v6, found->ai_addr, sizeof v6);
        loopback = IN6_IS_ADDR_LOOPBACK(&v6.sin6_addr);
    }
    freeaddrinfo(found);
    return loopback;
}
