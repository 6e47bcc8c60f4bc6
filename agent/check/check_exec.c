/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that run a program (check_spawn.h): no shell, a small environment with a mark, an exact
 * deadline. Any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_spawn.h"
#include "clock.h"
#include "descriptor.h"
#include "proc_info.h"

#define OUTPUT_MAX    (64u << 10) /* looked through for `expect`; more is read and dropped */
#define ANCESTORS_MAX 64          /* looked at */
#define INTERRUPT_MS  500         /* for a program to end when it is asked to */
#define PATH_DEFAULT  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

static const char *path_search(void)
{
    const char *path = getenv("PATH");
    return path != NULL && path[0] != '\0' ? path : PATH_DEFAULT;
}

char *check_program_path(const char *name)
{
    if (strchr(name, '/') != NULL)
        return name[0] == '/' && access(name, X_OK) == 0 ? strdup(name) : NULL;
    for (const char *dir = path_search(); *dir != '\0';) {
        size_t n = strcspn(dir, ":");
        char candidate[PATH_MAX];
        int len = snprintf(candidate, sizeof candidate, "%.*s/%s", (int)n, dir, name);
        if (n > 0 && dir[0] == '/' && len > 0 && (size_t)len < sizeof candidate &&
            access(candidate, X_OK) == 0)
            return strdup(candidate);
        dir += n;
        dir += *dir == ':';
    }
    return NULL;
}

bool check_began(pid_t pid)
{
    for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
        pid = proc_parent(pid);
        if (pid == getpid())
            return true;
    }
    return false;
}

struct child {
    pid_t pid;
    int pidfd, output;
    size_t kept;
    char text[OUTPUT_MAX + 1];
};

/* 0; or an errno, and what failed. */
static int child_spawn(const struct check_spec *spec, struct child *child, const char **what)
{
    *what = "a pipe";
    int pipe_fds[2];
    if (pipe2(pipe_fds, O_CLOEXEC) != 0)
        return errno;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "PATH=%s", path_search());
    char home[] = "HOME=/", language[] = "LANG=C.UTF-8", mark[] = CHECK_ENVIRONMENT "=1";
    char *environment[] = {path, home, language, mark, NULL};
    int failed = check_program_begin(spec, environment, pipe_fds[1], &child->pid, what);
    close(pipe_fds[1]);
    if (failed != 0) {
        close(pipe_fds[0]);
        return failed;
    }
    (void)fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    child->output = pipe_fds[0];
    /* Not yet waited for, so the pid is still the child's. */
    child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
    return 0;
}

/* False at the end of the output. */
static bool output_read(struct child *child)
{
    char rest[4096];
    for (;;) {
        size_t room = OUTPUT_MAX - child->kept;
        ssize_t n = room > 0 ? read(child->output, child->text + child->kept, room)
                             : read(child->output, rest, sizeof rest);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        if (n == 0)
            return false;
        if (room > 0)
            child->kept += (size_t)n;
    }
}

enum wait_end { WAIT_EXITED, WAIT_DEADLINE, WAIT_CANCELLED };

/* Until the program has ended: helpers that it leaves behind with its output are not waited for. */
static enum wait_end wait_child(struct child *child, const struct check_until *until)
{
    bool open = true;
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns();
        if (now_ns >= until->deadline_ns)
            return WAIT_DEADLINE;
        uint64_t left = until->deadline_ns - now_ns;
        struct timespec wait = {.tv_sec = (time_t)(left / NS_PER_S),
                                .tv_nsec = (long)(left % NS_PER_S)};
        struct pollfd fds[3] = {{.fd = child->pidfd, .events = POLLIN},
                                {.fd = open ? child->output : -1, .events = POLLIN},
                                {.fd = until->cancel_fd, .events = POLLIN}};
        if (ppoll(fds, 3, &wait, NULL) < 0 && errno != EINTR)
            return WAIT_CANCELLED;
        if (fds[2].revents != 0)
            return WAIT_CANCELLED;
        if (fds[1].revents != 0)
            open = output_read(child);
        if (fds[0].revents != 0) {
            if (open)
                (void)output_read(child);
            return WAIT_EXITED;
        }
    }
}

/* Asks first, as a person at a terminal would: psql and its like then take back what they have
 * asked their server for. */
static void exec_interrupt(struct child *child)
{
    struct check_until until = {.deadline_ns = clock_monotonic_ns() + INTERRUPT_MS * NS_PER_MS,
                                .cancel_fd = -1};
    kill(-child->pid, SIGINT);
    (void)wait_child(child, &until);
}

/* Ends the whole group while the child, a zombie at least, still holds its number. */
static void exec_reap(struct child *child, siginfo_t *info)
{
    kill(-child->pid, SIGKILL);
    memset(info, 0, sizeof *info);
    while (waitid(P_PID, (id_t)child->pid, info, WEXITED) != 0 && errno == EINTR)
        continue;
    close(child->output);
    fd_close(&child->pidfd);
}

static void exec_judge(const struct check_spec *spec, struct child *child, const siginfo_t *info,
                       const char *name, struct check_result *result)
{
    if (info->si_code != CLD_EXITED) {
        snprintf(result->reason, sizeof result->reason, "check %s was killed by signal %d", name,
                 info->si_status);
        return;
    }
    child->text[child->kept] = '\0';
    if (info->si_status != 0) {
        /* The first line of what it said tells more than the number. */
        char line[80];
        size_t n = strcspn(child->text, "\r\n");
        snprintf(line, sizeof line, "%.*s", n < sizeof line ? (int)n : (int)sizeof line - 1,
                 child->text);
        snprintf(result->reason, sizeof result->reason, "check %s ended with status %d%s%s", name,
                 info->si_status, line[0] != '\0' ? ": " : "", line);
        return;
    }
    if (spec->expect != NULL &&
        memmem(child->text, child->kept, spec->expect, strlen(spec->expect)) == NULL) {
        snprintf(result->reason, sizeof result->reason, "check %s did not print \"%.60s\"", name,
                 spec->expect);
        return;
    }
    result->passed = true;
}

static void child_run(const struct check_spec *spec, const struct check_until *until,
                      struct child *child, const char *name, struct check_result *result)
{
    const char *what;
    int failed = child_spawn(spec, child, &what);
    if (failed != 0) {
        result->not_run = true; /* says nothing of the service */
        snprintf(result->reason, sizeof result->reason, "check %s could not be started: %s: %s",
                 name, what, strerror(failed));
        return;
    }
    siginfo_t info;
    enum wait_end end = child->pidfd >= 0 ? wait_child(child, until) : WAIT_CANCELLED;
    if (end != WAIT_EXITED && child->pidfd >= 0)
        exec_interrupt(child);
    exec_reap(child, &info);
    if (end == WAIT_EXITED)
        exec_judge(spec, child, &info, name, result);
    else if (end == WAIT_DEADLINE)
        snprintf(result->reason, sizeof result->reason,
                 "check %s did not answer within %" PRIu64 " ms", name, spec->timeout_ms);
    else
        snprintf(result->reason, sizeof result->reason, "check %s was cancelled", name);
}

/* Names the line that would allow it, as the agent's config has it. */
static void exec_refuse(const struct check_spec *spec, const char *name,
                        struct check_result *result)
{
    result->not_run = true;
    int n = snprintf(result->reason, sizeof result->reason,
                     "not allowed here: checks.exec_allow of this agent would need the line %s",
                     spec->line != NULL ? spec->line : name);
    if (n < 0 || (size_t)n >= sizeof result->reason || spec->line == NULL)
        snprintf(result->reason, sizeof result->reason,
                 "check %s is not allowed here: checks.exec_allow of this agent would need its "
                 "whole command line",
                 name);
}

void check_exec_run(const struct check_spec *spec, const struct check_until *until,
                    struct check_result *result)
{
    char name[128];
    check_name(spec, name, sizeof name);
    if (spec->program == NULL) {
        exec_refuse(spec, name, result);
        return;
    }
    struct child *child = malloc(sizeof *child);
    if (child == NULL) {
        result->not_run = true;
        snprintf(result->reason, sizeof result->reason,
                 "check %s could not be started: out of memory", name);
        return;
    }
    *child = (struct child){.pid = -1, .pidfd = -1, .output = -1};
    child_run(spec, until, child, name, result);
    free(child);
}
