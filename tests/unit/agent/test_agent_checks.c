/* SPDX-License-Identifier: Apache-2.0
 *
 * Health checks of skein-agent, as a process, where something is in their way: a loop that is held
 * up, and users who name their processes as others' services.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent_daemon.h"
#include "clock.h"

#define TIMEOUT_MS 300

static int http_listen(uint16_t port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
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
             "\"http://127.0.0.1:%u/{pid}\"}}},\"capture\":{\"pre_ms\":5000,\"post_ms\":0},"
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

/* ---- others who call themselves so ---- */

/* The pid that the check names in its address. */
static pid_t checked_pid(int listener, int *fd)
{
    char text[1024];
    *fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(*fd, 0);
    ssize_t n = read(*fd, text, sizeof text - 1);
    ck_assert_int_gt((int)n, 0);
    text[n] = '\0';
    ck_assert_int_eq(strncmp(text, "GET /", 5), 0);
    return (pid_t)strtol(text + 5, NULL, 10);
}

/* A service of the same name, whose program nobody in particular has begun. */
static pid_t start_as_nobody(void)
{
    int program = open(AGENT_SUBJECT, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(program, 0);
    ck_assert_int_eq(chmod(folder, 0711), 0);
    pid_t pid = fork();
    if (pid == 0) {
        char *const arguments[] = {"subject", socket_path, "redis", NULL};
        if (setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0)
            fexecve(program, arguments, environ);
        _exit(127);
    }
    close(program);
    return pid;
}

static char *wait_pid_listed(pid_t pid)
{
    char words[32];
    snprintf(words, sizeof words, "\"pid\":%d,", (int)pid);
    return fake_wait_report(fake, WORDS("\"kind\":\"processes\"", words, "\"state\":\"live\""));
}

/* He was there first, and his process is well: that of the service is checked all the same, and its
 * failure captured. */
START_TEST(who_names_a_process_as_anothers_service_does_not_stand_for_it)
{
    char id[ID_TEXT_BYTES], text[64];
    uint16_t port = free_port();
    int listener = http_listen(port), fd;
    if (geteuid() != 0)
        return; /* nobody else can be made */
    pid_t other = start_as_nobody();
    free(wait_pid_listed(other));
    start_subject();
    wait_attached(id);
    free(wait_pid_listed(subject));
    push_http_rule(port);
    bool others = false, own = false;
    for (int i = 0; i < 100 && (!others || !own); i++) {
        pid_t pid = checked_pid(listener, &fd);
        others |= pid == other;
        own |= pid == subject;
        check_answer(fd, pid == subject ? "500 not well" : "200 well");
    }
    ck_assert(others);
    ck_assert(own);
    snprintf(text, sizeof text, "/%d answered 500", (int)subject);
    char *fired = fake_wait_report(fake, WORDS("\"kind\":\"fired\"", text));
    ck_assert_ptr_null(strstr(fired, "\"with\":[\""));
    free(fired);
    ck_assert_int_eq(kill(other, SIGKILL), 0);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
    close(listener);
}
END_TEST

static void crash_captured(pid_t pid)
{
    char words[32];
    snprintf(words, sizeof words, "\"pid\":%d,", (int)pid);
    ck_assert_int_eq(kill(pid, SIGSEGV), 0);
    ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
    free(fake_wait_report(fake, WORDS("\"kind\":\"fired\"", "\"trigger\":\"crash\"", words)));
}

/* The same program, under the same name, within its cooldown. */
START_TEST(who_crashes_anothers_program_does_not_use_up_its_cooldown)
{
    if (geteuid() != 0)
        return;
    pid_t other = start_as_nobody();
    free(wait_pid_listed(other));
    crash_captured(other);
    start_subject();
    free(wait_pid_listed(subject));
    crash_captured(subject);
    subject = 0;
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("agent_checks");
    TCase *tc = tcase_create("all");
    tcase_set_timeout(tc, 0);
    tcase_add_checked_fixture(tc, agent_setup, agent_teardown);
    tcase_add_test(tc, a_check_that_is_answered_while_the_loop_is_held_up_has_not_failed);
    tcase_add_test(tc, who_names_a_process_as_anothers_service_does_not_stand_for_it);
    tcase_add_test(tc, who_crashes_anothers_program_does_not_use_up_its_cooldown);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
