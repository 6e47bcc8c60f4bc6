/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls that move bytes, and those that wait for a disk or a peer. Any thread; each wrapper
 * does exactly what the real function does, and keeps its errno and its cancellation.
 *
 * A row of the table is one wrapper: result, function, event, parameters, arguments.
 */
#include <fcntl.h>

#include "preload_asked.h"
#include "preload_words.h"

#define IO_LIST(X)                                                                                 \
    X(ssize_t, read, read, (int fd, void *buffer, size_t bytes), (fd, buffer, bytes))              \
    X(ssize_t, write, write, (int fd, const void *buffer, size_t bytes), (fd, buffer, bytes))      \
    X(ssize_t, readv, read, (int fd, const struct iovec *parts, int count), (fd, parts, count))    \
    X(ssize_t, writev, write, (int fd, const struct iovec *parts, int count), (fd, parts, count))  \
    X(ssize_t, pread, read, (int fd, void *buffer, size_t bytes, off_t offset),                    \
      (fd, buffer, bytes, offset))                                                                 \
    X(ssize_t, pwrite, write, (int fd, const void *buffer, size_t bytes, off_t offset),            \
      (fd, buffer, bytes, offset))                                                                 \
    X(ssize_t, pread64, read, (int fd, void *buffer, size_t bytes, off64_t offset),                \
      (fd, buffer, bytes, offset))                                                                 \
    X(ssize_t, pwrite64, write, (int fd, const void *buffer, size_t bytes, off64_t offset),        \
      (fd, buffer, bytes, offset))                                                                 \
    X(ssize_t, preadv, read, (int fd, const struct iovec *parts, int count, off_t offset),         \
      (fd, parts, count, offset))                                                                  \
    X(ssize_t, pwritev, write, (int fd, const struct iovec *parts, int count, off_t offset),       \
      (fd, parts, count, offset))                                                                  \
    X(ssize_t, preadv64, read, (int fd, const struct iovec *parts, int count, off64_t offset),     \
      (fd, parts, count, offset))                                                                  \
    X(ssize_t, pwritev64, write, (int fd, const struct iovec *parts, int count, off64_t offset),   \
      (fd, parts, count, offset))                                                                  \
    X(ssize_t, preadv2, read,                                                                      \
      (int fd, const struct iovec *parts, int count, off_t offset, int flags),                     \
      (fd, parts, count, offset, flags))                                                           \
    X(ssize_t, pwritev2, write,                                                                    \
      (int fd, const struct iovec *parts, int count, off_t offset, int flags),                     \
      (fd, parts, count, offset, flags))                                                           \
    X(ssize_t, preadv64v2, read,                                                                   \
      (int fd, const struct iovec *parts, int count, off64_t offset, int flags),                   \
      (fd, parts, count, offset, flags))                                                           \
    X(ssize_t, pwritev64v2, write,                                                                 \
      (int fd, const struct iovec *parts, int count, off64_t offset, int flags),                   \
      (fd, parts, count, offset, flags))                                                           \
    X(ssize_t, recv, recv, (int fd, void *buffer, size_t bytes, int flags),                        \
      (fd, buffer, bytes, flags))                                                                  \
    X(ssize_t, send, send, (int fd, const void *buffer, size_t bytes, int flags),                  \
      (fd, buffer, bytes, flags))                                                                  \
    X(ssize_t, recvfrom, recv,                                                                     \
      (int fd, void *restrict buffer, size_t bytes, int flags, __SOCKADDR_ARG from,                \
       socklen_t *restrict from_bytes),                                                            \
      (fd, buffer, bytes, flags, from, from_bytes))                                                \
    X(ssize_t, sendto, send,                                                                       \
      (int fd, const void *buffer, size_t bytes, int flags, __CONST_SOCKADDR_ARG to,               \
       socklen_t to_bytes),                                                                        \
      (fd, buffer, bytes, flags, to, to_bytes))                                                    \
    X(ssize_t, recvmsg, recv, (int fd, struct msghdr *message, int flags), (fd, message, flags))   \
    X(ssize_t, sendmsg, send, (int fd, const struct msghdr *message, int flags),                   \
      (fd, message, flags))                                                                        \
    X(int, recvmmsg, recv,                                                                         \
      (int fd, struct mmsghdr *messages, unsigned count, int flags, struct timespec *timeout),     \
      (fd, messages, count, flags, timeout))                                                       \
    X(int, sendmmsg, send, (int fd, struct mmsghdr *messages, unsigned count, int flags),          \
      (fd, messages, count, flags))                                                                \
    X(int, fsync, fsync, (int fd), (fd))                                                           \
    X(int, fdatasync, fsync, (int fd), (fd))                                                       \
    X(int, syncfs, fsync, (int fd), (fd))                                                          \
    X(int, sync_file_range, fsync, (int fd, off64_t offset, off64_t bytes, unsigned flags),        \
      (fd, offset, bytes, flags))                                                                  \
    X(ssize_t, __read_chk, read, (int fd, void *buffer, size_t bytes, size_t room),                \
      (fd, buffer, bytes, room))                                                                   \
    X(ssize_t, __pread_chk, read, (int fd, void *buffer, size_t bytes, off_t offset, size_t room), \
      (fd, buffer, bytes, offset, room))                                                           \
    X(ssize_t, __pread64_chk, read,                                                                \
      (int fd, void *buffer, size_t bytes, off64_t offset, size_t room),                           \
      (fd, buffer, bytes, offset, room))                                                           \
    X(ssize_t, __recv_chk, recv, (int fd, void *buffer, size_t bytes, size_t room, int flags),     \
      (fd, buffer, bytes, room, flags))                                                            \
    X(ssize_t, __recvfrom_chk, recv,                                                               \
      (int fd, void *restrict buffer, size_t bytes, size_t room, int flags, __SOCKADDR_ARG from,   \
       socklen_t *restrict from_bytes),                                                            \
      (fd, buffer, bytes, room, flags, from, from_bytes))

#define X(type, function, event, parameters, arguments)                                            \
    EXPORT type function parameters                                                                \
    {                                                                                              \
        WAIT(event, fd);                                                                           \
        return RESULT_##type(&wait, REAL(function) arguments);                                     \
    }
IO_LIST(X)
#undef X

/* How many bytes the caller has for an address, before the call; 0 where it cannot be known. As with
 * asked_ns(). */
static inline socklen_t near_bytes(const socklen_t *bytes)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return (uintptr_t)bytes - here < NEAR_BYTES ? *bytes : 0;
}

#define ACCEPT_LIST(X)                                                                             \
    X(accept, (int fd, __SOCKADDR_ARG peer, socklen_t *restrict peer_bytes),                       \
      (fd, peer, peer_bytes))                                                                      \
    X(accept4, (int fd, __SOCKADDR_ARG peer, socklen_t *restrict peer_bytes, int flags),           \
      (fd, peer, peer_bytes, flags))

#define X(function, parameters, arguments)                                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(accept, fd);                                                                          \
        const socklen_t room = near_bytes(peer_bytes);                                             \
        const int made = REAL(function) arguments;                                                 \
        wait.words_of = words_of_accept;                                                           \
        if (made >= 0 && peer.__sockaddr__ != NULL && room && *peer_bytes <= room) {               \
            wait.more[0].u64 = (uintptr_t)peer.__sockaddr__;                                       \
            wait.more[1].u64 = *peer_bytes;                                                        \
        }                                                                                          \
        return wait_int(&wait, made);                                                              \
    }
ACCEPT_LIST(X)
#undef X

EXPORT int connect(int fd, __CONST_SOCKADDR_ARG peer, socklen_t peer_bytes)
{
    WAIT(connect, fd);
    wait.more[0].u64 = (uintptr_t)peer.__sockaddr__;
    wait.more[1].u64 = peer_bytes;
    wait.words_of = words_of_connect;
    return wait_int(&wait, REAL(connect)(fd, peer, peer_bytes));
}
