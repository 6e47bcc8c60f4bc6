/* SPDX-License-Identifier: Apache-2.0
 *
 * How a check's program is begun; see check_spawn.h. posix_spawn() changes no user, and fork() would
 * copy the agent's tables of pages for each check; so this is vfork(), and what happens between it and
 * execve() is system calls on memory that was made ready before. The C library's own setuid() would
 * change the agent's other threads, so the calls are made without it.
 */
#include "check_spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "log.h"

#define MEMORY_BYTES ((rlim_t)1 << 30) /* private and writable */
#define FILE_BYTES   ((rlim_t)16 << 20)
#define FILES_MAX    1024
#define RECORD_BYTES 4096 /* of the table of users */

struct start {
    const char *program;
    char *const *argv, *const *environment;
    int null, output;
    bool changes_user;
    uid_t uid;
    gid_t gid;
    rlim_t processor_s;
    int failed; /* errno; 0: the program runs */
    const char *what;
};

/* ---- before ---- */

/* 0: the user is in `start`; ENOENT: there is none of that name; or what else the system says. */
static int user_look(const char *name, struct start *start)
{
    struct passwd user, *found = NULL;
    char record[RECORD_BYTES];
    int failed = getpwnam_r(name, &user, record, sizeof record, &found);
    if (failed != 0 || found == NULL)
        return failed != 0 ? failed : ENOENT;
    start->changes_user = true;
    start->uid = user.pw_uid;
    start->gid = user.pw_gid;
    return 0;
}

static void stand_in_say(void)
{
    static atomic_bool said; /* relaxed: it leads to nothing */
    if (!atomic_exchange_explicit(&said, true, memory_order_relaxed))
        log_warn("checks",
                 "there is no user " CHECK_USER ", so programs of checks run as " CHECK_STAND_IN
                 ", whom other services may be, too; systemd-sysusers makes the user, as does "
                 "useradd --system " CHECK_USER,
                 NULL);
}

/* Who runs it. 0; or why that is not known, as user_look. */
static int user_find(const char *name, struct start *start)
{
    if (geteuid() != 0 || name == NULL || *name == '\0')
        return 0;
    int failed = user_look(name, start);
    if (failed != ENOENT || strcmp(name, CHECK_USER) != 0)
        return failed;
    stand_in_say();
    return user_look(CHECK_STAND_IN, start);
}

/* Who may become another user and may not signal one could begin a check, and never end it. */
static bool may_end(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct has[2] = {{0}};
    return syscall(SYS_capget, &head, has) == 0 && (has[0].effective & (1u << CAP_KILL)) != 0;
}

/* ---- in the child: system calls alone ---- */

static bool limit_set(__rlimit_resource_t resource, rlim_t most)
{
    struct rlimit limit;
    if (getrlimit(resource, &limit) != 0)
        return false;
    most = most < limit.rlim_max ? most : limit.rlim_max;
    limit = (struct rlimit){most, most};
    return setrlimit(resource, &limit) == 0;
}

static bool limits_set(const struct start *start)
{
    return limit_set(RLIMIT_CORE, 0) && limit_set(RLIMIT_DATA, MEMORY_BYTES) &&
           limit_set(RLIMIT_FSIZE, FILE_BYTES) && limit_set(RLIMIT_NOFILE, FILES_MAX) &&
           limit_set(RLIMIT_CPU, start->processor_s);
}

static bool user_set(const struct start *start)
{
    return !start->changes_user ||
           (syscall(SYS_setgroups, 0, NULL) == 0 &&
            syscall(SYS_setresgid, start->gid, start->gid, start->gid) == 0 &&
            syscall(SYS_setresuid, start->uid, start->uid, start->uid) == 0);
}

/* Without new rights, execve() gives root none back either. Who was root and is not any more has
 * none left, also where a filter of system calls bars capset(). */
static bool powers_drop(const struct start *start)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {{0}};
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    return (syscall(SYS_capset, &head, none) == 0 || (start->changes_user && start->uid != 0)) &&
           prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

static bool descriptors_set(const struct start *start)
{
    if (dup2(start->null, 0) < 0 || dup2(start->output, 1) < 0 || dup2(start->output, 2) < 0)
        return false;
    if (syscall(SYS_close_range, 3, ~0u, 0) != 0) /* before Linux 5.9 */
        for (int fd = 3; fd < 65536; fd++)
            close(fd);
    return true;
}

static void signals_set(void)
{
    const struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;
    for (int number = 1; number < NSIG; number++)
        (void)sigaction(number, &by_default, NULL);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Returns where the program could not be begun. */
static void program_begin(struct start *start)
{
    start->failed = EPERM;
    (void)setpgid(0, 0);
    start->what = "its bounds";
    if (!limits_set(start)) {
        start->failed = errno;
        return;
    }
    start->what = "becoming the user of checks.user (CAP_SETUID, CAP_SETGID)";
    if (!user_set(start)) {
        start->failed = errno;
        return;
    }
    start->what = "giving up the agent's rights";
    if (!powers_drop(start) || !descriptors_set(start) || chdir("/") != 0) {
        start->failed = errno;
        return;
    }
    signals_set();
    start->what = "the program itself";
    start->failed = 0; /* the parent sees this memory */
    (void)execve(start->program, start->argv, start->environment);
    start->failed = errno;
}

/* ---- beginning ---- */

/* Apart, so that nothing of it lives over the vfork(). */
static __attribute__((noinline)) pid_t child_make(struct start *start)
{
    pid_t pid = vfork(); /* NOLINT: the head of this file says why */
    if (pid == 0) {
        program_begin(start); /* NOLINT(clang-analyzer-unix.Vfork): system calls alone */
        _exit(127);
    }
    return pid;
}

int check_program_begin(const struct check_spec *spec, char *const *environment, int output,
                        pid_t *pid, const char **what)
{
    struct start start = {.program = spec->program,
                          .argv = spec->argv,
                          .environment = environment,
                          .output = output,
                          .processor_s = (rlim_t)((spec->timeout_ms + CHECK_HOLD_MS) / 1000 + 1)};
    sigset_t all, before;
    int failed = user_find(spec->user, &start);
    *what = failed == ENOENT ? "there is no user that checks.user names"
                             : "asking who the user of checks.user is";
    if (failed != 0)
        return failed;
    *what = "ending what another user runs (CAP_KILL)";
    if (start.changes_user && !may_end())
        return EPERM;
    *what = "/dev/null";
    start.null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (start.null < 0)
        return errno;
    sigfillset(&all); /* no handler of the agent runs in the child */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    *pid = child_make(&start);
    failed = *pid < 0 ? errno : start.failed;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(start.null);
    *what = *pid < 0 ? "a process" : start.what;
    if (*pid >= 0 && failed != 0) /* it has ended without a program */
        while (waitpid(*pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    return failed;
}
