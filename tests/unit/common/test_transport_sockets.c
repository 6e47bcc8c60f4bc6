/* SPDX-License-Identifier: Apache-2.0
 * A program that links transport_sockets listens with a long backlog, keeps connections alive and
 * keeps descriptors for its other parts, also where a library does the listening. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"
#include "transport.h"

enum { DESCRIPTORS = 256 };

static int option(int fd, int level, int name)
{
    int value = 0;
    socklen_t n = sizeof value;
    return getsockopt(fd, level, name, &value, &n) == 0 ? value : -1;
}

/* The descriptor of this process that is bound to the port, and listens or is connected. */
static int find_socket(uint16_t port, bool listens)
{
    for (int fd = 3; fd < DESCRIPTORS; fd++) {
        struct sockaddr_in a = {0};
        socklen_t n = sizeof a;
        if (getsockname(fd, (struct sockaddr *)&a, &n) == 0 && a.sin_family == AF_INET &&
            ntohs(a.sin_port) == port && option(fd, SOL_SOCKET, SO_ACCEPTCONN) == listens)
            return fd;
    }
    return -1;
}

static int kernel_backlog_limit(void)
{
    char *text = file_read("/proc/sys/net/core/somaxconn", NULL);
    int limit = text ? (int)strtol(text, NULL, 10) : 0;
    free(text);
    return limit;
}

START_TEST(library_listens_with_our_backlog_and_keepalive)
{
    struct transport *listener, *dialler;
    struct transport_message m;
    char address[64];
    uint16_t port = free_port();
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    ck_assert_int_eq(transport_listen(address, 1000, &listener), SKEIN_OK);
    ck_assert_int_eq(transport_dial(address, 1000, &dialler), SKEIN_OK);
    ck_assert_int_eq(transport_send(dialler, transport_alloc(4), NULL, (int)support_deadline_ms()),
                     SKEIN_OK);
    ck_assert_int_eq(transport_receive(listener, (int)support_deadline_ms(), &m), SKEIN_OK);
    transport_message_free(&m);

    struct tcp_info info = {0};
    socklen_t n = sizeof info;
    int fd = find_socket(port, true), limit = kernel_backlog_limit();
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n), 0);
    /* Of a listening socket this field is the backlog. */
    ck_assert_uint_eq(info.tcpi_sacked, (unsigned)(limit < 4096 ? limit : 4096));
    fd = find_socket(port, false);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
    transport_free(&dialler);
    transport_free(&listener);
}
END_TEST

enum { LIMIT = 128, STRANGERS = 140 };

/* A process, of the user, that connects so many sockets once a byte comes through the pipe, and holds
 * them until the pipe is closed. */
static pid_t strangers_new(uint16_t port, uid_t user, int *out)
{
    int ends[2];
    char byte;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    *out = ends[1];
    if (child > 0) {
        close(ends[0]);
        return child;
    }
    close(ends[1]);
    if (user != geteuid() && setuid(user) != 0)
        _exit(1);
    (void)!read(ends[0], &byte, 1);
    for (int i = 0; i < STRANGERS; i++) {
        struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        (void)connect(fd, (struct sockaddr *)&to, sizeof to);
        (void)!write(fd, "\0SP\0\0\060\0\0", 8); /* nanomsg's greeting: else it hangs up */
    }
    (void)!read(ends[0], &byte, 1);
    _exit(0);
}

static bool some_are_refused(void *context)
{
    (void)context;
    return transport_refused() > 0;
}

START_TEST(strangers_leave_descriptors_for_others)
{
    struct rlimit before, low;
    struct transport *listener;
    char address[64];
    uint16_t port = free_port();
    int go, files[LIMIT / 8 - 2]; /* all but who knocks, and the question whose that is */
    pid_t child = strangers_new(port, geteuid(), &go);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){LIMIT, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    ck_assert_int_eq(transport_listen(address, 1000, &listener), SKEIN_OK);
    ck_assert_int_eq(write(go, "g", 1), 1);
    ck_assert(wait_until(some_are_refused, NULL, support_deadline_ms()));
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        files[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        ck_assert_int_ge(files[i], 0);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        close(files[i]);
    close(go);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    transport_free(&listener);
    setrlimit(RLIMIT_NOFILE, &before);
}
END_TEST

/* One user holds all that there may be, and goes on to. */
START_TEST(who_holds_most_gives_way_to_another_user)
{
    struct rlimit before, low;
    struct transport *listener, *dialler;
    struct transport_message m;
    char address[64];
    uint16_t port = free_port();
    int go;
    if (geteuid() != 0)
        return; /* nobody else can be made */
    pid_t child = strangers_new(port, 61234, &go);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
    low = (struct rlimit){LIMIT, before.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &low), 0);
    snprintf(address, sizeof address, "tcp://127.0.0.1:%u", port);
    ck_assert_int_eq(transport_listen(address, 1000, &listener), SKEIN_OK);
    ck_assert_int_eq(write(go, "g", 1), 1);
    ck_assert(wait_until(some_are_refused, NULL, support_deadline_ms()));
    ck_assert_int_eq(transport_dial(address, 1000, &dialler), SKEIN_OK);
    ck_assert_int_eq(transport_send(dialler, transport_alloc(4), NULL, (int)support_deadline_ms()),
                     SKEIN_OK);
    ck_assert_int_eq(transport_receive(listener, (int)support_deadline_ms(), &m), SKEIN_OK);
    transport_message_free(&m);
    transport_free(&dialler);
    close(go);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
    transport_free(&listener);
    setrlimit(RLIMIT_NOFILE, &before);
}
END_TEST

START_TEST(unix_sockets_are_accepted_too)
{
    char *folder = temp_dir_new(), *path = path_join(folder, "s");
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_uint_lt(strlen(path), sizeof a.sun_path);
    strcpy(a.sun_path, path);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    int client = unix_connect(path), accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(client, 0);
    ck_assert_int_ge(accepted, 0);
    close(accepted);
    close(client);
    close(fd);
    free(path);
    temp_dir_free(&folder);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("transport_sockets", library_listens_with_our_backlog_and_keepalive,
                              strangers_leave_descriptors_for_others,
                              who_holds_most_gives_way_to_another_user,
                              unix_sockets_are_accepted_too, NULL));
}
