/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that wait for many descriptors at once. Besides the wait itself they tell the loop
 * tracker when a batch of work begins and ends. Any thread.
 */
#include "preload_wait.h"

/* result is int; argument 0 of the event is `detail`. */
#define POLL_LIST(X)                                                                               \
    X(poll, poll, count, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout))  \
    X(ppoll, poll, count,                                                                          \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout,                          \
       const sigset_t *signals),                                                                   \
      (fds, count, timeout, signals))                                                              \
    X(__poll_chk, poll, count, (struct pollfd * fds, nfds_t count, int timeout, size_t room),      \
      (fds, count, timeout, room))                                                                 \
    X(__ppoll_chk, poll, count,                                                                    \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals, \
       size_t room),                                                                               \
      (fds, count, timeout, signals, room))                                                        \
    X(select, select, count,                                                                       \
      (int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict failed,   \
       struct timeval *restrict timeout),                                                          \
      (count, readable, writable, failed, timeout))                                                \
    X(pselect, select, count,                                                                      \
      (int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict failed,   \
       const struct timespec *restrict timeout, const sigset_t *restrict signals),                 \
      (count, readable, writable, failed, timeout, signals))                                       \
    X(epoll_wait, epoll_wait, fd, (int fd, struct epoll_event *events, int room, int timeout),     \
      (fd, events, room, timeout))                                                                 \
    X(epoll_pwait, epoll_wait, fd,                                                                 \
      (int fd, struct epoll_event *events, int room, int timeout, const sigset_t *signals),        \
      (fd, events, room, timeout, signals))                                                        \
    X(epoll_pwait2, epoll_wait, fd,                                                                \
      (int fd, struct epoll_event *events, int room, const struct timespec *timeout,               \
       const sigset_t *signals),                                                                   \
      (fd, events, room, timeout, signals))

/* The wait ends with the inner block, before the batch of work begins. */
#define X(function, event, detail, parameters, arguments)                                          \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int ready;                                                                                 \
        loop_before_poll(CALLER);                                                                  \
        {                                                                                          \
            WAIT(event, detail);                                                                   \
            ready = wait_int(&wait, REAL(function) arguments);                                     \
        }                                                                                          \
        loop_after_poll(CALLER, ready);                                                            \
        return ready;                                                                              \
    }
POLL_LIST(X)
#undef X
