/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that wait for many descriptors at once. Besides the wait itself they tell the loop
 * tracker when a batch of work begins and ends. Any thread.
 */
#include "attach_client.h"
#include "preload_asked.h"
#include "preload_words.h"

/* result is int; argument 0 of the event is `detail`; whether there are FDS to be told; `timeout` is of kind MS (milliseconds, below
 * 0 for ever) or TIME (a pointer, NULL for ever). */
#define POLL_LIST(X)                                                                               \
    X(poll, poll, count, FDS, (struct pollfd * fds, nfds_t count, int timeout),                    \
      (fds, count, timeout), MS)                                                                   \
    X(ppoll, poll, count, FDS,                                                                     \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout,                          \
       const sigset_t *signals),                                                                   \
      (fds, count, timeout, signals), TIME)                                                        \
    X(__poll_chk, poll, count, FDS, (struct pollfd * fds, nfds_t count, int timeout, size_t room), \
      (fds, count, timeout, room), MS)                                                             \
    X(__ppoll_chk, poll, count, FDS,                                                               \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals, \
       size_t room),                                                                               \
      (fds, count, timeout, signals, room), TIME)                                                  \
    X(epoll_wait, epoll_wait, fd, NO_FDS,                                                          \
      (int fd, struct epoll_event *events, int room, int timeout), (fd, events, room, timeout),    \
      MS)                                                                                          \
    X(epoll_pwait, epoll_wait, fd, NO_FDS,                                                         \
      (int fd, struct epoll_event *events, int room, int timeout, const sigset_t *signals),        \
      (fd, events, room, timeout, signals), MS)                                                    \
    X(epoll_pwait2, epoll_wait, fd, NO_FDS,                                                        \
      (int fd, struct epoll_event *events, int room, const struct timespec *timeout,               \
       const sigset_t *signals),                                                                   \
      (fd, events, room, timeout, signals), TIME)

/* These overwrite what they are asked, so that they cannot be asked twice. `timeout` is of kind TIME,
 * or VAL: the same in microseconds. */
#define SELECT_LIST(X)                                                                             \
    X(select,                                                                                      \
      (int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict failed,   \
       struct timeval *restrict timeout),                                                          \
      (count, readable, writable, failed, timeout), VAL)                                           \
    X(pselect,                                                                                     \
      (int count, fd_set *restrict readable, fd_set *restrict writable, fd_set *restrict failed,   \
       const struct timespec *restrict timeout, const sigset_t *restrict signals),                 \
      (count, readable, writable, failed, timeout, signals), TIME)

/* How long the wait is for the visitor. */
#define LONG_MS   (timeout < 0 ? INT64_MAX : (int64_t)timeout * INT64_C(1000000))
#define LONG_TIME (timeout ? asked_ns(timeout) : INT64_MAX)
#define LONG_VAL  (timeout ? asked_val_ns(timeout) : INT64_MAX)

/* Which of them: looked for when the wait is over. */
#define ASK_FDS                                                                                    \
    wait.more[0].u64 = (uintptr_t)fds;                                                             \
    wait.words_of = words_of_poll
#define ASK_NO_FDS

/* The wait ends with the inner block, before the batch of work begins. A process that waits for
 * ever before it is old enough would never be attached, but most that wait so early are soon over:
 * the visitor comes beside it when it is old. The wait itself is what the program asked for: cut in
 * two, it would not notice a signal between its parts. */
#define X(function, event, detail, ask, parameters, arguments, kind)                               \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int ready;                                                                                 \
        loop_before_poll(CALLER);                                                                  \
        {                                                                                          \
            attach_client_ahead(LONG_##kind);                                                      \
            WAIT(event, detail);                                                                   \
            ASK_##ask;                                                                             \
            ready = wait_int(&wait, REAL(function) arguments);                                     \
        }                                                                                          \
        loop_after_poll(CALLER, ready);                                                            \
        return ready;                                                                              \
    }
POLL_LIST(X)
#undef X

#define X(function, parameters, arguments, kind)                                                   \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int ready;                                                                                 \
        loop_before_poll(CALLER);                                                                  \
        {                                                                                          \
            attach_client_ahead(LONG_##kind);                                                      \
            WAIT(select, count);                                                                   \
            ready = wait_int(&wait, REAL(function) arguments);                                     \
        }                                                                                          \
        loop_after_poll(CALLER, ready);                                                            \
        return ready;                                                                              \
    }
SELECT_LIST(X)
#undef X
