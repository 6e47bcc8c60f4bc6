/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls by which a program changes who it is, or what it may do: the visitor of the client
 * library (visitor.h) leaves before, because some of them fail in a process with two threads, and
 * because a thread that kept what its program gave up would be a way around its sandbox. It comes
 * back from the changed thread, so that it has what that thread has; never after the program has
 * barred system calls to itself. Any thread; every call keeps its result and errno.
 */
#include <grp.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <mqueue.h>
#include <stdarg.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "attach_client.h"
#include "preload_wait.h"
#include "session.h"
#include "start.h"

/* As the C library declares them, where it does. */
int unshare(int flags);
int setns(int fd, int type);
int capset(void *head, const void *data);
pid_t _Fork(void);

#define ALONE_LIST(X)                                                                              \
    X(unshare, (int flags), (flags))                                                               \
    X(setns, (int fd, int type), (fd, type))                                                       \
    X(setuid, (uid_t id), (id))                                                                    \
    X(setgid, (gid_t id), (id))                                                                    \
    X(seteuid, (uid_t id), (id))                                                                   \
    X(setegid, (gid_t id), (id))                                                                   \
    X(setreuid, (uid_t id, uid_t effective), (id, effective))                                      \
    X(setregid, (gid_t id, gid_t effective), (id, effective))                                      \
    X(setresuid, (uid_t id, uid_t effective, uid_t saved), (id, effective, saved))                 \
    X(setresgid, (gid_t id, gid_t effective, gid_t saved), (id, effective, saved))                 \
    X(setgroups, (size_t count, const gid_t *ids), (count, ids))                                   \
    X(initgroups, (const char *user, gid_t id), (user, id))                                        \
    X(setfsuid, (uid_t id), (id))                                                                  \
    X(setfsgid, (gid_t id), (id))                                                                  \
    X(capset, (void *head, const void *data), (head, data))

#define X(function, parameters, arguments)                                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        attach_client_hold();                                                                      \
        int result = REAL(function) arguments;                                                     \
        attach_client_release();                                                                   \
        return result;                                                                             \
    }
ALONE_LIST(X)
#undef X

/* The visitor's first act copies the low descriptors, and closes them: of a message queue this ends
 * the process's notification. So it does not come any more; what is recorded goes on. */
EXPORT int mq_notify(mqd_t queue, const struct sigevent *how)
{
    if (how != NULL) {
        (void)attach_client_now();
        attach_client_hold();
    }
    int result = REAL(mq_notify)(queue, how);
    if (how != NULL && result < 0)
        attach_client_release();
    return result;
}

/* In the child: a process of its own, as after fork(). */
static void forked(void)
{
    start_fork_child();
    wait_forked();
}

/* fork() without the handlers that tell the client library of it. */
EXPORT pid_t _Fork(void)
{
    attach_client_fork_before();
    pid_t pid = REAL(_Fork)();
    if (pid == 0)
        forked();
    else
        attach_client_fork_parent();
    return pid;
}

/* What a call does to the process, as far as the visitor is concerned. */
enum change {
    CHANGE_NONE,
    CHANGE_IDENTITY, /* the visitor leaves for the time of the call */
    CHANGE_FILTER,   /* afterwards a system call may be the program's end */
    CHANGE_STRICT,   /* so may a look at the clock, in this thread */
    CHANGE_CLOCK,    /* in this thread and those that it makes */
    CHANGE_END,      /* of this thread, which may be the last */
    CHANGE_FORK
};

static enum change change_of_prctl(int option, unsigned long value)
{
    switch (option) {
    case PR_SET_SECCOMP:
        return value == SECCOMP_MODE_STRICT ? CHANGE_STRICT : CHANGE_FILTER;
    case PR_SET_TSC:
        return value == PR_TSC_SIGSEGV ? CHANGE_CLOCK : CHANGE_NONE;
    case PR_CAPBSET_DROP:
    case PR_CAP_AMBIENT:
    case PR_SET_SECUREBITS:
        return CHANGE_IDENTITY;
    default:
        return CHANGE_NONE;
    }
}

static enum change change_of_seccomp(unsigned long operation)
{
    return operation == SECCOMP_SET_MODE_STRICT   ? CHANGE_STRICT
           : operation == SECCOMP_SET_MODE_FILTER ? CHANGE_FILTER
                                                  : CHANGE_NONE;
}

static enum change change_of_clone(unsigned long flags)
{
    return flags & CLONE_VM ? CHANGE_NONE : CHANGE_FORK;
}

static enum change change_of(long number, const long a[6])
{
    switch (number) {
    case SYS_unshare:
    case SYS_setns:
    case SYS_setuid:
    case SYS_setgid:
    case SYS_setreuid:
    case SYS_setregid:
    case SYS_setresuid:
    case SYS_setresgid:
    case SYS_setgroups:
    case SYS_setfsuid:
    case SYS_setfsgid:
    case SYS_capset:
#ifdef SYS_landlock_restrict_self
    case SYS_landlock_restrict_self:
#endif
        return CHANGE_IDENTITY;
    case SYS_exit:
        return CHANGE_END;
    case SYS_prctl:
        return change_of_prctl((int)a[0], (unsigned long)a[1]);
    case SYS_seccomp:
        return change_of_seccomp((unsigned long)a[0]);
    case SYS_clone:
        return change_of_clone((unsigned long)a[0]);
#ifdef SYS_fork
    case SYS_fork:
        return CHANGE_FORK;
#endif
    default:
        return CHANGE_NONE;
    }
}

/* Whether system calls are barred from here on. */
static bool change_before(enum change change)
{
    int saved = errno;
    attach_client_hold();
    bool barred = change != CHANGE_IDENTITY && attach_client_bar();
    if (change == CHANGE_CLOCK)
        session_detach();
    errno = saved;
    return barred;
}

/* After a change that was made there may be no system call here, nor where an earlier one holds. */
static void change_after(enum change change, bool barred, bool made)
{
    int saved = errno;
    if (change == CHANGE_STRICT && made)
        wait_ignore_thread();
    if (barred && !made)
        attach_client_unbar();
    attach_client_release();
    errno = saved;
}

/* The calling thread has another name, of which the kernel keeps 15 bytes. */
static void name_take(const char *name)
{
    char kept[16] = "";
    int saved = errno;
    memcpy(kept, name, strnlen(name, sizeof kept - 1));
    if (!attach_client_is_barred() && !attach_client_is_borrower()) /* that renames itself alone */
        skein_thread_name(kept);
    errno = saved;
}

EXPORT int prctl(int option, ...)
{
    unsigned long a[4];
    va_list list;
    va_start(list, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(list, unsigned long);
    va_end(list);
    enum change change = change_of_prctl(option, a[0]);
    if (change == CHANGE_NONE) {
        int done = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
        if (option == PR_SET_NAME && done == 0 && !caller_is_own(CALLER))
            name_take((const char *)a[0]);
        return done;
    }
    bool barred = change_before(change);
    int result = REAL(prctl)(option, a[0], a[1], a[2], a[3]);
    change_after(change, barred, result >= 0);
    return result;
}

long identity_call(long number, const long a[6])
{
    enum change change = change_of(number, a);
    bool barred = false;
    if (change == CHANGE_NONE)
        return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (change == CHANGE_END) /* were the visitor left, the process would be, too, until it looks */
        attach_client_leave();
    else if (change != CHANGE_FORK)
        barred = change_before(change);
    long result = REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (change != CHANGE_FORK)
        change_after(change, barred, result >= 0);
    else if (result == 0)
        forked();
    return result;
}
