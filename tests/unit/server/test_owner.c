/* SPDX-License-Identifier: Apache-2.0
 * Who of this machine is answered while there is no token: root and the collector's own user, as the
 * kernel tells of the other end of a connection. Another user can be played by root alone; where the
 * test is somebody else, what is asserted of other users is left to runs as root. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collector_fixture.h"
#include "socket_owner.h"
#include "support.h"

#define NOBODY 65534
#define OTHER  54321

/* ---- the kernel's answer ---- */

struct ends {
    int client, server;
};

static struct ends ends_make(int listen_family, int client_family)
{
    struct ends ends;
    int listener = socket(listen_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_storage at;
    memset(&at, 0, sizeof at); /* all of it, for the analyzer */
    at.ss_family = (sa_family_t)listen_family;
    socklen_t n = sizeof at;
    if (listen_family == AF_INET)
        ((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ((struct sockaddr_in6 *)&at)->sin6_addr = in6addr_loopback;
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&at, n), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&at, &n), 0);
    if (listen_family != client_family) { /* ::ffff:127.0.0.1 */
        in_port_t port = ((struct sockaddr_in *)&at)->sin_port;
        struct sockaddr_in6 mapped = {.sin6_family = AF_INET6, .sin6_port = port};
        ck_assert_int_eq(inet_pton(AF_INET6, "::ffff:127.0.0.1", &mapped.sin6_addr), 1);
        memcpy(&at, &mapped, sizeof mapped);
        n = sizeof mapped;
    }
    ends.client = socket(client_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(connect(ends.client, (struct sockaddr *)&at, n), 0);
    ends.server = accept(listener, NULL, NULL);
    ck_assert_int_ge(ends.server, 0);
    close(listener);
    return ends;
}

START_TEST(user_of_each_kind_of_loopback_connection_is_told)
{
    static const int kinds[][2] = {{AF_INET, AF_INET}, {AF_INET6, AF_INET6}, {AF_INET, AF_INET6}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct ends ends = ends_make(kinds[i][0], kinds[i][1]);
        uint32_t uid = NOBODY;
        ck_assert_int_eq(socket_owner_of(ends.server, &uid), SKEIN_OK);
        ck_assert_uint_eq(uid, geteuid());
        /* who has sent all, and waits for the answer */
        ck_assert_int_eq(shutdown(ends.client, SHUT_WR), 0);
        uid = NOBODY;
        ck_assert_int_eq(socket_owner_of(ends.server, &uid), SKEIN_OK);
        ck_assert_uint_eq(uid, geteuid());
        close(ends.client);
        close(ends.server);
    }
}
END_TEST

/* The kernel goes on with the connection for whoever has closed it, and calls it root's. */
START_TEST(connection_that_its_client_has_left_is_nobodys)
{
    struct ends ends = ends_make(AF_INET, AF_INET);
    uint32_t uid = NOBODY;
    close(ends.client);
    ck_assert_int_eq(socket_owner_of(ends.server, &uid), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(uid, NOBODY);
    close(ends.server);
    ck_assert_int_eq(socket_owner_of(-1, &uid), SKEIN_NOT_FOUND);
}
END_TEST

/* ---- the collector ---- */

/* The status that a request by this user gets; its whole answer in `answer`. */
static int status_as(const struct fixture *f, uid_t user, const char *path, char answer[4096])
{
    int ends[2], status = 0;
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char bytes[4096];
        if (setuid(user) != 0)
            _exit(1);
        int fd = tcp_connect((uint16_t)f->http_port);
        int n = snprintf(bytes, sizeof bytes,
                         "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);
        if (fd < 0 || write(fd, bytes, (size_t)n) != n)
            _exit(1);
        for (ssize_t got; (got = read(fd, bytes, sizeof bytes)) > 0;)
            if (write(ends[1], bytes, (size_t)got) != got)
                _exit(1);
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got; len < 4095 && (got = read(ends[0], answer + len, 4095 - len)) > 0;)
        len += (size_t)got;
    answer[len] = '\0';
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_msg(len > 12, "no answer");
    return (int)strtol(answer + sizeof "HTTP/1.1", NULL, 10);
}

START_TEST(without_a_token_other_users_are_told_to_have_one_made)
{
    struct fixture f;
    char answer[4096];
    static const char *const paths[] = {"/api/v1/whoami", "/api/v1/agents", "/api/v1/captures",
                                        "/api/v1/events"};
    fixture_start(&f);
    ck_assert_int_eq(status_as(&f, geteuid(), "/api/v1/agents", answer), 200);
    for (size_t i = 0; geteuid() == 0 && i < sizeof paths / sizeof *paths; i++) {
        ck_assert_int_eq(status_as(&f, OTHER, paths[i], answer), 401);
        ck_assert_ptr_nonnull(strstr(answer, "urn:skein:problem:token-needed"));
        ck_assert_ptr_nonnull(strstr(answer, "skeind token create"));
        ck_assert_int_eq(status_as(&f, NOBODY, paths[i], answer), 401);
    }
    if (geteuid() == 0)
        ck_assert_int_eq(status_as(&f, OTHER, "/healthz", answer), 200);
    fixture_stop(&f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("owner", user_of_each_kind_of_loopback_connection_is_told,
                              connection_that_its_client_has_left_is_nobodys,
                              without_a_token_other_users_are_told_to_have_one_made, NULL));
}
