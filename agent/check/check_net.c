/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that connect: tcp "host:port" and Unix sockets. Any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check_place.h"
#include "checks.h"
#include "clock.h"
#include "descriptor.h"

#define MS UINT64_C(1000000)

static void net_fail(const struct check_spec *spec, struct check_result *result, const char *why)
{
    char name[128];
    check_name(spec, name, sizeof name);
    snprintf(result->reason, sizeof result->reason, "check %s failed: %.100s", name, why);
}

static void exchange_fail_late(const struct check_spec *spec, struct check_result *result)
{
    char name[128];
    check_name(spec, name, sizeof name);
    snprintf(result->reason, sizeof result->reason, "check %s did not answer within %" PRIu64 " ms",
             name, spec->timeout_ms);
}

/* 0 once fd is ready for `events`; ETIMEDOUT at the deadline; ECANCELED; another errno. */
static int wait_ready(int fd, short events, const struct check_until *until)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= until->deadline_ns)
            return ETIMEDOUT;
        uint64_t left = until->deadline_ns - now_ns;
        struct timespec wait = {.tv_sec = (time_t)(left / (1000 * MS)),
                                .tv_nsec = (long)(left % (1000 * MS))};
        struct pollfd fds[2] = {{.fd = fd, .events = events},
                                {.fd = until->cancel_fd, .events = POLLIN}};
        int n = ppoll(fds, 2, &wait, NULL);
        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0 && fds[1].revents != 0)
            return ECANCELED;
        if (n > 0 && fds[0].revents != 0)
            return 0;
    }
}

static int wait_connected(int fd, const struct check_until *until)
{
    int error = wait_ready(fd, POLLOUT, until);
    socklen_t len = sizeof error;
    if (error == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    return error;
}

static int connect_try(int family, const struct sockaddr *address, socklen_t len,
                       const struct check_until *until)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    int error = connect(fd, address, len) == 0 ? 0 : errno;
    if (error == EINPROGRESS)
        error = wait_connected(fd, until);
    else if (error == EAGAIN)
        error = ECONNREFUSED; /* a Unix listener whose queue is full */
    close(fd);
    return error;
}

static void net_judge(const struct check_spec *spec, int error, struct check_result *result)
{
    if (error == 0)
        result->passed = true;
    else if (error == ETIMEDOUT)
        exchange_fail_late(spec, result);
    else
        net_fail(spec, result, strerror(error));
}

static void unix_run(const struct check_spec *spec, const struct check_until *until,
                     struct check_result *result)
{
    /* By the descriptor: the path is the service's, and may be long. */
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = check_place_socket(spec, result);
    if (result->not_run)
        return;
    int error = fd < 0 ? errno : 0;
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d", fd);
    if (error == 0)
        error = connect_try(AF_UNIX, (struct sockaddr *)&address, sizeof address, until);
    fd_close(&fd);
    net_judge(spec, error, result);
}

/* Splits "host:port" and "[v6]:port". */
static bool address_split(const char *text, char host[256], char port[16])
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || colon == text || strlen(colon + 1) == 0 || strlen(colon + 1) >= 16)
        return false;
    size_t n = (size_t)(colon - text);
    if (text[0] == '[' && n >= 2 && text[n - 1] == ']') {
        text++;
        n -= 2;
    }
    if (n == 0 || n >= 256)
        return false;
    memcpy(host, text, n);
    host[n] = '\0';
    snprintf(port, 16, "%s", colon + 1);
    return true;
}

/* The resolver cannot be told a deadline: it works in a thread of its own, which keeps the memory
 * when nobody waits any more. */
#define LOOKUPS_MAX 64   /* of all checks, forgotten ones too */
static uint32_t lookups; /* atomic */

struct lookup {
    uint32_t references; /* atomic */
    int done_fd;         /* readable once failed and found are set */
    int failed;
    struct addrinfo *found;
    char host[256], port[16];
};

static void lookup_unref(struct lookup *lookup)
{
    /* Acquire-release: the last one sees what the other wrote. */
    if (__atomic_sub_fetch(&lookup->references, 1, __ATOMIC_ACQ_REL) != 0)
        return;
    if (lookup->found != NULL)
        freeaddrinfo(lookup->found);
    close(lookup->done_fd);
    free(lookup);
    __atomic_sub_fetch(&lookups, 1, __ATOMIC_RELAXED);
}

static void *lookup_run(void *context)
{
    struct lookup *lookup = context;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    lookup->failed = getaddrinfo(lookup->host, lookup->port, &hints, &lookup->found);
    uint64_t one = 1;
    if (write(lookup->done_fd, &one, sizeof one) < 0)
        lookup->failed = EAI_SYSTEM; /* cannot happen to a fresh eventfd; the deadline tells */
    lookup_unref(lookup);
    return NULL;
}

static struct lookup *lookup_begin(const char *host, const char *port)
{
    struct lookup *lookup = NULL;
    if (__atomic_add_fetch(&lookups, 1, __ATOMIC_RELAXED) <= LOOKUPS_MAX)
        lookup = calloc(1, sizeof *lookup);
    if (lookup == NULL) {
        __atomic_sub_fetch(&lookups, 1, __ATOMIC_RELAXED);
        return NULL;
    }
    lookup->references = 2;
    lookup->done_fd = eventfd(0, EFD_CLOEXEC);
    snprintf(lookup->host, sizeof lookup->host, "%s", host);
    snprintf(lookup->port, sizeof lookup->port, "%s", port);
    pthread_attr_t attr;
    pthread_t thread;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    int failed = lookup->done_fd < 0 ? EMFILE : pthread_create(&thread, &attr, lookup_run, lookup);
    pthread_attr_destroy(&attr);
    if (failed == 0)
        return lookup;
    fd_close(&lookup->done_fd);
    free(lookup);
    __atomic_sub_fetch(&lookups, 1, __ATOMIC_RELAXED);
    return NULL;
}

/* 0 and a list to free; EAI_AGAIN at the deadline or when cancelled; another code of the
 * resolver's. */
static int net_resolve(const char *host, const char *port, const struct check_until *until,
                       struct addrinfo **out)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    int failed = getaddrinfo(host, port, &hints, out);
    if (failed != EAI_NONAME)
        return failed;
    struct lookup *lookup = lookup_begin(host, port);
    if (lookup == NULL)
        return EAI_MEMORY; /* also while too many lookups hang */
    if (wait_ready(lookup->done_fd, POLLIN, until) != 0) {
        lookup_unref(lookup);
        return EAI_AGAIN;
    }
    uint64_t count;
    ssize_t n = read(lookup->done_fd, &count, sizeof count); /* pairs with its write */
    failed = n < 0 ? EAI_SYSTEM : lookup->failed;
    *out = lookup->found;
    lookup->found = NULL;
    lookup_unref(lookup);
    return failed;
}

static void tcp_run(const struct check_spec *spec, const struct check_until *until,
                    struct check_result *result)
{
    char host[256], port[16];
    struct addrinfo *found = NULL;
    if (!address_split(spec->target, host, port)) {
        net_fail(spec, result, "the address must be host:port");
        return;
    }
    int failed = net_resolve(host, port, until, &found);
    if (failed == EAI_AGAIN && clock_monotonic_ns() >= until->deadline_ns) {
        exchange_fail_late(spec, result);
        return;
    }
    if (failed != 0) {
        net_fail(spec, result, gai_strerror(failed));
        return;
    }
    int error = ECONNREFUSED;
    for (struct addrinfo *a = found;
         a != NULL && error != 0 && error != ETIMEDOUT && error != ECANCELED; a = a->ai_next)
        error = connect_try(a->ai_family, a->ai_addr, a->ai_addrlen, until);
    freeaddrinfo(found);
    net_judge(spec, error, result);
}

void check_net_run(const struct check_spec *spec, const struct check_until *until,
                   struct check_result *result)
{
    if (spec->kind == CHECK_UNIX)
        unix_run(spec, until, result);
    else
        tcp_run(spec, until, result);
}
