/* SPDX-License-Identifier: Apache-2.0
 *
 * LTTng-UST's figure beside ours: owns a session daemon for the time of the measurement, in a
 * private home, and runs bench_emit_lttng under a snapshot session. One thread; ends only the
 * processes that it started.
 */
#include "emit_loop.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#ifdef SKEIN_HAVE_LTTNG

#define DAEMON_WAIT_S 10

/* Starts a program with its output in `out` (or nowhere). Returns its pid, or -1. */
static pid_t start(const char *const argv[], int out)
{
    posix_spawn_file_actions_t actions;
    pid_t pid;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&actions, out, 1);
    else
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    int failed =
        posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return failed ? -1 : pid;
}

static int finish(pid_t pid)
{
    int status;
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : -1;
}

static int run(const char *const argv[])
{
    return finish(start(argv, -1));
}

/* The daemon tells its parent by SIGUSR1 that it serves. */
static pid_t daemon_start(void)
{
    const char *const argv[] = {"lttng-sessiond", "--no-kernel", "--sig-parent", NULL};
    sigset_t usr1, before;
    struct timespec limit = {.tv_sec = DAEMON_WAIT_S};
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigprocmask(SIG_BLOCK, &usr1, &before);
    pid_t pid = start(argv, -1);
    bool ready = pid > 0 && sigtimedwait(&usr1, NULL, &limit) == SIGUSR1;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (pid > 0 && !ready) {
        kill(pid, SIGTERM);
        finish(pid);
        return -1;
    }
    return pid;
}

static int read_figures(double ns[2])
{
    const char *const argv[] = {SKEIN_LTTNG_SUBJECT, NULL};
    int ends[2];
    char text[128] = "";
    if (pipe2(ends, O_CLOEXEC))
        return -1;
    pid_t pid = start(argv, ends[1]);
    close(ends[1]);
    size_t used = 0;
    ssize_t n;
    while ((n = read(ends[0], text + used, sizeof text - 1 - used)) > 0)
        used += (size_t)n;
    close(ends[0]);
    char *second, *end;
    ns[0] = strtod(text, &second);
    ns[1] = strtod(second, &end);
    return finish(pid) == 0 && second != text && end != second ? 0 : -1;
}

static int measure_in_session(double ns[2], const char **why)
{
    const char *const create[] = {"lttng",      "--no-sessiond", "create",
                                  "skein-emit", "--snapshot",    NULL};
    const char *const channel[] = {"lttng",
                                   "--no-sessiond",
                                   "enable-channel",
                                   "--userspace",
                                   "--session=skein-emit",
                                   "--subbuf-size=1M",
                                   "--num-subbuf=8",
                                   "ring",
                                   NULL};
    const char *const event[] = {"lttng",
                                 "--no-sessiond",
                                 "enable-event",
                                 "--userspace",
                                 "--session=skein-emit",
                                 "--channel=ring",
                                 "skein_bench:two",
                                 NULL};
    const char *const begin[] = {"lttng", "--no-sessiond", "start", "skein-emit", NULL};
    const char *const destroy[] = {"lttng",     "--no-sessiond", "destroy",
                                   "--no-wait", "skein-emit",    NULL};
    int status = -1;
    *why = "is installed, but no snapshot session could be made";
    if (run(create))
        return -1;
    if (run(channel) == 0 && run(event) == 0 && run(begin) == 0) {
        *why = "is installed, but its program gave no figures";
        status = read_figures(ns);
    }
    run(destroy);
    return status;
}

int emit_peer_measure(double ns[2], const char **why)
{
    char home[] = "/tmp/skein-lttng-XXXXXX";
    const char *const probe[] = {"lttng", "--no-sessiond", "list", NULL};
    const char *const remove[] = {"rm", "-rf", home, NULL};
    if (!mkdtemp(home)) {
        *why = "not measured: no temporary folder";
        return -1;
    }
    setenv("LTTNG_HOME", home, 1);
    int status = -1;
    if (run(probe) == 0) {
        *why = "not measured: somebody else's session daemon is running";
    } else {
        *why = "is installed, but its session daemon does not start";
        pid_t daemon = daemon_start();
        if (daemon > 0) {
            status = measure_in_session(ns, why);
            kill(daemon, SIGTERM);
            finish(daemon);
        }
    }
    run(remove);
    return status;
}

#else

int emit_peer_measure(double ns[2], const char **why)
{
    ns[0] = ns[1] = 0;
    *why = "not installed";
    return -1;
}

#endif
