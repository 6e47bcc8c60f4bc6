/* SPDX-License-Identifier: Apache-2.0
 *
 * Health checks of skein-agent, as a process, where something is in their way: a loop that is held
 * up, and users who name their processes as others' services.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_daemon.h"
#include "clock.h"

#define TIMEOUT_MS 300

static int http_listen(uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    ck_assert_int_eq(listen(fd, 100), 0);
    return fd;
}

/* The connection of a check that has asked, and waits. */
static int check_accept(int listener)
{
    char text[1024];
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_gt((int)read(fd, text, sizeof text), 0);
    return fd;
}

static void check_answer(int fd, const char *status)
{
    char text[128];
    int n = snprintf(text, sizeof text,
                     "HTTP/1.1 %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", status);
    ck_assert_int_eq((int)write(fd, text, (size_t)n), n);
    close(fd);
}

static void push_http_rule(uint16_t port)
{
    char text[1024];
    snprintf(text, sizeof text,
             "{\"command\":\"rules-1\",\"kind\":\"rules\",\"generation\":4,\"rules\":[{\"name\":"
             "\"alive\",\"selector\":\"service=redis\",\"enabled\":true,\"when\":{\"health\":{"
             "\"every_ms\":20,\"timeout_ms\":%d,\"failures\":1,\"http\":{\"url\":"
             "\"http://127.0.0.1:%u/\"}}},\"capture\":{\"pre_ms\":5000,\"post_ms\":0},"
             "\"limits\":{\"cooldown_ms\":60000}}]}",
             TIMEOUT_MS, port);
    ck_assert_uint_ne(fake_command(fake, text), 0);
    FAKE_WAIT(fake, command_acks, 1);
}

static bool is_past(void *context)
{
    return clock_monotonic_ns() > *(const uint64_t *)context;
}

/* The agent's first thread, which runs the loop, stands still; its checks go on. False: the kernel does
 * not let us. */
static bool loop_hold(void)
{
    if (ptrace(PTRACE_SEIZE, agent, NULL, NULL) != 0)
        return errno != EPERM;
    ck_assert_int_eq(ptrace(PTRACE_INTERRUPT, agent, NULL, NULL), 0);
    ck_assert_int_eq(waitpid(agent, NULL, __WALL), agent);
    return true;
}

/* A check that was answered in time has not failed because the agent came to it late, and leaves no
 * timer behind that would say so later. */
START_TEST(a_check_that_is_answered_while_the_loop_is_held_up_has_not_failed)
{
    char id[ID_TEXT_BYTES];
    uint16_t port = free_port();
    int listener = http_listen(port);
    start_subject();
    wait_attached(id);
    push_http_rule(port);
    check_answer(check_accept(listener), "200 well");
    free(fake_wait_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"passing\"")));
    int fd = check_accept(listener);
    if (!loop_hold())
        return;
    uint64_t late_ns = clock_monotonic_ns() + (TIMEOUT_MS + 50) * NS_PER_MS;
    check_answer(fd, "200 well");
    ck_assert(wait_until(is_past, &late_ns, 0));
    ck_assert_int_eq(ptrace(PTRACE_DETACH, agent, NULL, NULL), 0);
    for (int i = 0; i < 3; i++)
        check_answer(check_accept(listener), "200 well");
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"fired\"")));
    ck_assert_ptr_null(fake_report(fake, WORDS("\"kind\":\"rule\"", "\"health\":\"failing\"")));
    check_answer(check_accept(listener), "500 not well"); /* what does fail is told as before */
    char *fired = fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"rule\":\"alive\""));
    ck_assert_ptr_nonnull(strstr(fired, "answered 500 instead of 200"));
    free(fired);
    close(listener);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_checks");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, agent_setup, agent_teardown);
    suite_add_tcase(suite, tc);
    tcase_add_test(tc, a_check_that_is_answered_while_the_loop_is_held_up_has_not_failed);
    return suite_run(suite);
}
