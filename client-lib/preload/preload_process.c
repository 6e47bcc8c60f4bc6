/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for a child to end, for a signal, and for another process by a System V queue or semaphore.
 * Any thread.
 */
#include <mqueue.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/wait.h>
#include <wordexp.h>

#include "attach_client.h"
#include "preload_asked.h"
#include "preload_exec.h"
#include "preload_wait.h"

/* Result, function, event, argument 0, parameters, arguments. Signals: the time that was asked for,
 * -1 where it is for ever. */
#define PROCESS_LIST(X)                                                                            \
    X(int, sigwaitinfo, sigwait, -1,                                                               \
      (const sigset_t *restrict signals, siginfo_t *restrict about), (signals, about))             \
    X(int, sigtimedwait, sigwait, asked_ns(timeout),                                               \
      (const sigset_t *restrict signals, siginfo_t *restrict about,                                \
       const struct timespec *restrict timeout),                                                   \
      (signals, about, timeout))                                                                   \
    X(int, sigsuspend, sigwait, -1, (const sigset_t *signals), (signals))                          \
    X(int, pause, sigwait, -1, (void), ())                                                         \
    X(int, semop, semop, set, (int set, struct sembuf *changes, size_t count),                     \
      (set, changes, count))                                                                       \
    X(int, semtimedop, semop, set,                                                                 \
      (int set, struct sembuf *changes, size_t count, const struct timespec *timeout),             \
      (set, changes, count, timeout))                                                              \
    X(ssize_t, msgrcv, message, queue, (int queue, void *to, size_t bytes, long kind, int flags),  \
      (queue, to, bytes, kind, flags))                                                             \
    X(int, msgsnd, message, queue, (int queue, const void *from, size_t bytes, int flags),         \
      (queue, from, bytes, flags))                                                                 \
    X(ssize_t, mq_receive, message, queue,                                                         \
      (mqd_t queue, char *to, size_t bytes, unsigned *priority), (queue, to, bytes, priority))     \
    X(ssize_t, mq_timedreceive, message, queue,                                                    \
      (mqd_t queue, char *restrict to, size_t bytes, unsigned *restrict priority,                  \
       const struct timespec *restrict until),                                                     \
      (queue, to, bytes, priority, until))                                                         \
    X(int, mq_send, message, queue,                                                                \
      (mqd_t queue, const char *from, size_t bytes, unsigned priority),                            \
      (queue, from, bytes, priority))                                                              \
    X(int, mq_timedsend, message, queue,                                                           \
      (mqd_t queue, const char *from, size_t bytes, unsigned priority,                             \
       const struct timespec *until),                                                              \
      (queue, from, bytes, priority, until))

#define X(type, function, event, detail, parameters, arguments)                                    \
    EXPORT type function parameters                                                                \
    {                                                                                              \
        WAIT(event, detail);                                                                       \
        return RESULT_##type(&wait, REAL(function) arguments);                                     \
    }
PROCESS_LIST(X)
#undef X

EXPORT int sigwait(const sigset_t *restrict signals, int *restrict number)
{
    WAIT(sigwait, -1);
    return wait_error(&wait, REAL(sigwait)(signals, number));
}

/* ---- children ---- */

/* How a child has ended, or was stopped, by what wait() says of it. */
static void ended_by(struct wait *wait, int status)
{
    wait->more[0].i64 = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    wait->more[1].i64 = WIFSIGNALED(status)  ? WTERMSIG(status)
                        : WIFSTOPPED(status) ? WSTOPSIG(status)
                                             : 0;
}

/* more[0].u64: where the kernel has put the status, if a child was found; NULL: nowhere. */
static void words_of_status(struct wait *wait, struct words *words)
{
    const int *status = (const int *)(uintptr_t)wait->more[0].u64;
    (void)words;
    wait->more[0].i64 = -1;
    if (wait->result > 0 && status != NULL)
        ended_by(wait, *status);
}

/* The same for waitid(). */
static void words_of_about(struct wait *wait, struct words *words)
{
    const siginfo_t *about = (const siginfo_t *)(uintptr_t)wait->more[0].u64;
    (void)words;
    wait->more[0].i64 = -1;
    if (wait->result != 0 || about == NULL || about->si_pid == 0)
        return;
    bool exited = about->si_code == CLD_EXITED;
    wait->more[exited ? 0 : 1].i64 = about->si_status;
}

#define CHILD_LIST(X)                                                                              \
    X(waitpid, pid, (pid_t pid, int *status, int options), (pid, status, options))                 \
    X(wait3, -1, (int *status, int options, struct rusage *usage), (status, options, usage))       \
    X(wait4, pid, (pid_t pid, int *status, int options, struct rusage *usage),                     \
      (pid, status, options, usage))

#define X(function, detail, parameters, arguments)                                                 \
    EXPORT pid_t function parameters                                                               \
    {                                                                                              \
        WAIT(wait_child, detail);                                                                  \
        wait.more[0].u64 = (uintptr_t)status;                                                      \
        wait.words_of = words_of_status;                                                           \
        return wait_int(&wait, REAL(function) arguments);                                          \
    }
CHILD_LIST(X)
#undef X

EXPORT pid_t wait(int *status)
{
    __typeof__(&wait) real = REAL(wait); /* the name is the region's from here on */
    WAIT(wait_child, -1);
    wait.more[0].u64 = (uintptr_t)status;
    wait.words_of = words_of_status;
    return wait_int(&wait, real(status));
}

EXPORT int waitid(idtype_t kind, id_t id, siginfo_t *about, int options)
{
    WAIT(wait_child, id);
    wait.more[0].u64 = (uintptr_t)about;
    wait.words_of = words_of_about;
    return wait_int(&wait, REAL(waitid)(kind, id, about, options));
}

EXPORT int pclose(FILE *stream)
{
    WAIT(wait_child, -1);
    wait.more[0].i64 = -1;
    int status = wait_int(&wait, REAL(pclose)(stream));
    if (status >= 0)
        ended_by(&wait, status);
    return status;
}

/* The visitor is a task. If no more tasks are allowed, a child is tried again without it. */

/* Of children that have ended: grows by each. */
static long children_faults(void)
{
    struct rusage used = {0};
    (void)getrusage(RUSAGE_CHILDREN, &used);
    return used.ru_minflt;
}

/* The error number alone does not tell that the command has not run: a signal handler may have left
 * it, while the command ran and ended with 127 itself. */
EXPORT int system(const char *command)
{
    WAIT(wait_child, -1);
    wait.more[0].i64 = -1;
    SHELL_CALL;
    if (attach_client_is_barred())
        return wait_int(&wait, REAL(system)(command));
    int saved = errno;
    long faults = children_faults();
    errno = 0;
    int status = REAL(system)(command);
    if (status == W_EXITCODE(127, 0) && errno == EAGAIN && children_faults() == faults) {
        errno = 0;
        attach_client_hold();
        status = REAL(system)(command);
        attach_client_release();
    }
    errno = errno ? errno : saved;
    if (status >= 0 && command != NULL)
        ended_by(&wait, status);
    return wait_int(&wait, status);
}

/* glibc says ENOMEM, whatever was missing. */
EXPORT FILE *popen(const char *command, const char *mode)
{
    SHELL_CALL;
    FILE *stream = REAL(popen)(command, mode);
    if (stream == NULL && (errno == ENOMEM || errno == EAGAIN)) {
        attach_client_hold();
        stream = REAL(popen)(command, mode);
        attach_client_release();
    }
    return stream;
}

/* The shell is one for each "$(command)". Tasks that are not allowed look like memory that is short, and
 * what has been expanded until then stays: so the visitor goes before. */
EXPORT int wordexp(const char *restrict words, wordexp_t *restrict out, int flags)
{
    if (flags & WRDE_NOCMD)
        return REAL(wordexp)(words, out, flags);
    SHELL_CALL;
    attach_client_hold();
    int result = REAL(wordexp)(words, out, flags);
    attach_client_release();
    return result;
}
