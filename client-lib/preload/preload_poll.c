/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that wait for many descriptors at once. Besides the wait itself they tell the loop
 * tracker when a batch of work begins and ends. Any thread.
 */
#include "attach_client.h"
#include "preload_quiet.h"
#include "preload_wait.h"

/* result is int; argument 0 of the event is `detail`; the wait is for `left` milliseconds (-1 for
 * ever, 0: nobody looks, for a pointer may be bad) with the signals of `given` (NULL: as they are).
 * The same wait for `ms` or `time` with the signals of `mask` is `masked`, with these arguments.
 */
#define LEFT_OF_TIME (timeout ? 0 : -1)
#define POLL_LIST(X)                                                                               \
    X(poll, poll, count, (struct pollfd * fds, nfds_t count, int timeout), (fds, count, timeout),  \
      timeout, NULL, ppoll, (fds, count, time, mask))                                              \
    X(ppoll, poll, count,                                                                          \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout,                          \
       const sigset_t *signals),                                                                   \
      (fds, count, timeout, signals), LEFT_OF_TIME, signals, ppoll, (fds, count, time, mask))      \
    X(__poll_chk, poll, count, (struct pollfd * fds, nfds_t count, int timeout, size_t room),      \
      (fds, count, timeout, room), timeout, NULL, __ppoll_chk, (fds, count, time, mask, room))     \
    X(__ppoll_chk, poll, count,                                                                    \
      (struct pollfd * fds, nfds_t count, const struct timespec *timeout, const sigset_t *signals, \
       size_t room),                                                                               \
      (fds, count, timeout, signals, room), LEFT_OF_TIME, signals, __ppoll_chk,                    \
      (fds, count, time, mask, room))                                                              \
    X(epoll_wait, epoll_wait, fd, (int fd, struct epoll_event *events, int room, int timeout),     \
      (fd, events, room, timeout), timeout, NULL, epoll_pwait, (fd, events, room, ms, mask))       \
    X(epoll_pwait, epoll_wait, fd,                                                                 \
      (int fd, struct epoll_event *events, int room, int timeout, const sigset_t *signals),        \
      (fd, events, room, timeout, signals), timeout, signals, epoll_pwait,                         \
      (fd, events, room, ms, mask))                                                                \
    X(epoll_pwait2, epoll_wait, fd,                                                                \
      (int fd, struct epoll_event *events, int room, const struct timespec *timeout,               \
       const sigset_t *signals),                                                                   \
      (fd, events, room, timeout, signals), LEFT_OF_TIME, signals, epoll_pwait,                    \
      (fd, events, room, ms, mask))

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
 * so early are soon over: it waits until it is old, attaches, and waits on. This is for how long,
 * in milliseconds, the next part of a wait is; `left` where it is the last.
 */
static int part_ms(int left)
{
    int64_t due = attach_client_due_ns();
    int part = due < 0 ? -1 : (int)(due / MS_NS) + CLOCK_MS;
    return part < 0 || (left >= 0 && left <= part) ? left : part;
}

static const struct timespec *time_of(int ms, struct timespec *out)
{
    *out = (struct timespec){ms / 1000, ms % 1000 * MS_NS};
    return ms < 0 ? NULL : out;
}

/* The wait ends with the inner block, before the batch of work begins. A signal between two parts
 * has to end the second: none is let in there. */
#define X(function, event, detail, parameters, arguments, left, given, masked, again)              \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int ready = 0, rest = left;                                                                \
        loop_before_poll(CALLER);                                                                  \
        {                                                                                          \
            WAIT(event, detail);                                                                   \
            if (part_ms(rest) == rest) {                                                           \
                ready = REAL(function) arguments;                                                  \
            } else {                                                                               \
                struct quiet quiet __attribute__((cleanup(quiet_end)));                            \
                quiet_begin(&quiet);                                                               \
                const sigset_t *const mask = (given) ? (given) : &quiet.before;                    \
                for (;;) {                                                                         \
                    struct timespec room_for_time;                                                 \
                    const int ms = part_ms(rest);                                                  \
                    const struct timespec *const time = time_of(ms, &room_for_time);               \
                    (void)time;                                                                    \
                    ready = REAL(masked) again;                                                    \
                    if (ready != 0 || ms == rest)                                                  \
                        break;                                                                     \
                    rest -= rest < 0 ? 0 : ms;                                                     \
                    attach_client_event();                                                         \
                }                                                                                  \
            }                                                                                      \
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
