/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that wait for many descriptors at once. Besides the wait itself they tell the loop
 * tracker when a batch of work begins and ends. Any thread.
 */
#include "attach_client.h"
#include "preload_wait.h"
#include "writer_int.h"

/* result is int; argument 0 of the event is `detail`; `timeout` is of kind MS (milliseconds, below
 * 0 for ever) or TIME (a pointer, NULL for ever), and `first` are the arguments of a wait for
 * `part`.
 */
#define POLL_LIST(X)                                                                               \
    X(poll, poll, count, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout),  \
      MS, (fds, count, part))                                                                      \
    X(ppoll, poll, count,                                                                          \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout,                          \
       const sigset_t *signals),                                                                   \
      (fds, count, timeout, signals), TIME, (fds, count, part, signals))                           \
    X(__poll_chk, poll, count, (struct pollfd * fds, nfds_t count, int timeout, size_t room),      \
      (fds, count, timeout, room), MS, (fds, count, part, room))                                   \
    X(__ppoll_chk, poll, count,                                                                    \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals, \
       size_t room),                                                                               \
      (fds, count, timeout, signals, room), TIME, (fds, count, part, signals, room))               \
    X(epoll_wait, epoll_wait, fd, (int fd, struct epoll_event *events, int room, int timeout),     \
      (fd, events, room, timeout), MS, (fd, events, room, part))                                   \
    X(epoll_pwait, epoll_wait, fd,                                                                 \
      (int fd, struct epoll_event *events, int room, int timeout, const sigset_t *signals),        \
      (fd, events, room, timeout, signals), MS, (fd, events, room, part, signals))                 \
    X(epoll_pwait2, epoll_wait, fd,                                                                \
      (int fd, struct epoll_event *events, int room, const struct timespec *timeout,               \
       const sigset_t *signals),                                                                   \
      (fd, events, room, timeout, signals), TIME, (fd, events, room, part, signals))

/* These overwrite what they are asked, so that they cannot be asked twice. */
#define SELECT_LIST(X)                                                                             \
    X(select,                                                                                      \
      (int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict failed,   \
       struct timeval *restrict timeout),                                                          \
      (count, readable, writable, failed, timeout))                                                \
    X(pselect,                                                                                     \
      (int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict failed,   \
       const struct timespec *restrict timeout, const sigset_t *restrict signals),                 \
      (count, readable, writable, failed, timeout, signals))

#define MS_NS    INT64_C(1000000)
#define CLOCK_MS 11 /* by how much the clock of attach_client_due_ns() may lag, and one */

/* A process that waits for ever before it is old enough would never be attached, but most that wait
 * so early are soon over: it waits until it is old, attaches, and waits on. Returns how long the
 * first part is, in milliseconds; -1: there is none. */
static int part_ms(void)
{
    int64_t due = session_current() ? -1 : attach_client_due_ns();
    return due < 0 ? -1 : (int)(due / MS_NS) + CLOCK_MS;
}

/* The first part of a wait; ends with ready != 0, or with what is left of `timeout`. The kinds
 * differ in how they say "for ever": a pointer is not looked into, for it may be bad. */
#define PART_MS(function, first)                                                                   \
    for (int part; (part = part_ms()) >= 0 && (timeout < 0 || timeout > part);) {                  \
        ready = REAL(function) first;                                                              \
        if (ready != 0)                                                                            \
            break;                                                                                 \
        timeout -= timeout < 0 ? 0 : part;                                                         \
        attach_client_event();                                                                     \
    }
#define PART_TIME(function, first)                                                                 \
    for (int ms; !timeout && (ms = part_ms()) >= 0;) {                                             \
        const struct timespec time = {ms / 1000, ms % 1000 * MS_NS}, *part = &time;                \
        ready = REAL(function) first;                                                              \
        if (ready != 0)                                                                            \
            break;                                                                                 \
        attach_client_event();                                                                     \
    }

/* The wait ends with the inner block, before the batch of work begins. */
#define X(function, event, detail, parameters, arguments, kind, first)                             \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int ready = 0;                                                                             \
        loop_before_poll(CALLER);                                                                  \
        {                                                                                          \
            WAIT(event, detail);                                                                   \
            PART_##kind(function, first);                                                          \
            if (ready == 0)                                                                        \
                ready = REAL(function) arguments;                                                  \
            wait_int(&wait, ready);                                                                \
        }                                                                                          \
        loop_after_poll(CALLER, ready);                                                            \
        return ready;                                                                              \
    }
POLL_LIST(X)
#undef X

#define X(function, parameters, arguments)                                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int ready;                                                                                 \
        loop_before_poll(CALLER);                                                                  \
        {                                                                                          \
            if (!timeout)                                                                          \
                attach_client_block(INT64_MAX);                                                    \
            WAIT(select, count);                                                                   \
            ready = wait_int(&wait, REAL(function) arguments);                                     \
        }                                                                                          \
        loop_after_poll(CALLER, ready);                                                            \
        return ready;                                                                              \
    }
SELECT_LIST(X)
#undef X
