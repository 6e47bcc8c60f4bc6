/* SPDX-License-Identifier: Apache-2.0
 *
 * Waits for a child to end, for a signal, for another process by a System V queue or semaphore, and
 * for a name to be looked up. Any thread.
 */
#include <mqueue.h>
#include <netdb.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/msg.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/wait.h>

#include "attach_client.h"
#include "preload_wait.h"

/* Result, function, event, argument 0, parameters, arguments. Signals: the time that was asked for,
 * -1 where it is for ever. */
#define PROCESS_LIST(X)                                                                            \
    X(pid_t, waitpid, wait_child, pid, (pid_t pid, int *status, int options),                      \
      (pid, status, options))                                                                      \
    X(pid_t, wait3, wait_child, -1, (int *status, int options, struct rusage *usage),              \
      (status, options, usage))                                                                    \
    X(pid_t, wait4, wait_child, pid, (pid_t pid, int *status, int options, struct rusage *usage),  \
      (pid, status, options, usage))                                                               \
    X(int, waitid, wait_child, id, (idtype_t kind, id_t id, siginfo_t * about, int options),       \
      (kind, id, about, options))                                                                  \
    X(int, pclose, wait_child, -1, (FILE * stream), (stream))                                      \
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

#define RESULT_pid_t wait_int

#define X(type, function, event, detail, parameters, arguments)                                    \
    EXPORT type function parameters                                                                \
    {                                                                                              \
        WAIT(event, detail);                                                                       \
        return RESULT_##type(&wait, REAL(function) arguments);                                     \
    }
PROCESS_LIST(X)
#undef X

EXPORT pid_t wait(int *status)
{
    __typeof__(&wait) real = REAL(wait); /* the name is the region's from here on */
    WAIT(wait_child, -1);
    return wait_int(&wait, real(status));
}

EXPORT int sigwait(const sigset_t *restrict signals, int *restrict number)
{
    WAIT(sigwait, -1);
    return wait_error(&wait, REAL(sigwait)(signals, number));
}

/* ---- children ---- */

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
    return wait_int(&wait, status);
}

/* glibc says ENOMEM, whatever was missing. */
EXPORT FILE *popen(const char *command, const char *mode)
{
    FILE *stream = REAL(popen)(command, mode);
    if (stream == NULL && (errno == ENOMEM || errno == EAGAIN)) {
        attach_client_hold();
        stream = REAL(popen)(command, mode);
        attach_client_release();
    }
    return stream;
}

#define SPAWN_LIST(X) X(posix_spawn) X(posix_spawnp)
#define X(function)                                                                                \
    EXPORT int function(pid_t *restrict pid, const char *restrict program,                         \
                        const posix_spawn_file_actions_t *restrict actions,                        \
                        const posix_spawnattr_t *restrict attributes,                              \
                        char *const *restrict arguments, char *const *restrict environment)        \
    {                                                                                              \
        int error = REAL(function)(pid, program, actions, attributes, arguments, environment);     \
        if (error == EAGAIN) {                                                                     \
            attach_client_hold();                                                                  \
            error = REAL(function)(pid, program, actions, attributes, arguments, environment);     \
            attach_client_release();                                                               \
        }                                                                                          \
        return error;                                                                              \
    }
SPAWN_LIST(X)
#undef X

/* ---- names: the C library itself reads their arguments; a bad pointer ends the program ---- */

EXPORT int getaddrinfo(const char *restrict host, const char *restrict service,
                       const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
    WAIT(resolve, hints != NULL ? hints->ai_family : AF_UNSPEC);
    wait.text = host != NULL ? host : service;
    int error = REAL(getaddrinfo)(host, service, hints, found);
    wait.result = -error; /* EAI_..., which is below 0: no error number of the system */
    return error;
}

EXPORT int getnameinfo(const struct sockaddr *restrict address, socklen_t bytes,
                       char *restrict host, socklen_t host_room, char *restrict service,
                       socklen_t service_room, int flags)
{
    WAIT(resolve, address != NULL ? address->sa_family : AF_UNSPEC);
    int error = REAL(getnameinfo)(address, bytes, host, host_room, service, service_room, flags);
    wait.result = -error;
    if (error == 0 && host != NULL && host_room)
        wait.text = host;
    return error;
}

EXPORT struct hostent *gethostbyname(const char *name)
{
    WAIT(resolve, AF_INET);
    wait.text = name;
    struct hostent *found = REAL(gethostbyname)(name);
    wait.result = found != NULL ? 0 : h_errno;
    return found;
}
