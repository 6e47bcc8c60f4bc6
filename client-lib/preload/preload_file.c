/* SPDX-License-Identifier: Apache-2.0
 *
 * Opening files, locking them, and moving bytes between descriptors. Any thread; each wrapper does
 * exactly what the real function does, and keeps its errno and its cancellation.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/sendfile.h>

#include "preload_look.h"
#include "preload_words.h"

static int opened(struct wait *wait, const char *path, int fd)
{
    wait->more[0].str = path;
    wait->words_of = words_of_path;
    if (fd >= 0)
        (void)tasks_leave(path);
    return wait_int(wait, fd);
}

/* Function, folder, parameters, arguments. The mode is there only with these flags. */
#define OPEN_LIST(X)                                                                               \
    X(open, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))                     \
    X(open64, AT_FDCWD, (const char *path, int flags, ...), (path, flags, mode))                   \
    X(openat, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))          \
    X(openat64, dir, (int dir, const char *path, int flags, ...), (dir, path, flags, mode))

#define X(function, folder, parameters, arguments)                                                 \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        mode_t mode = 0;                                                                           \
        if ((flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE) {                               \
            va_list list;                                                                          \
            va_start(list, flags);                                                                 \
            mode = va_arg(list, mode_t);                                                           \
            va_end(list);                                                                          \
        }                                                                                          \
        WAIT(open, folder);                                                                        \
        return opened(&wait, path, REAL(function) arguments);                                      \
    }
OPEN_LIST(X)
#undef X

#define OPEN_FIXED_LIST(X)                                                                         \
    X(creat, AT_FDCWD, (const char *path, mode_t mode), (path, mode))                              \
    X(creat64, AT_FDCWD, (const char *path, mode_t mode), (path, mode))                            \
    X(__open_2, AT_FDCWD, (const char *path, int flags), (path, flags))                            \
    X(__open64_2, AT_FDCWD, (const char *path, int flags), (path, flags))                          \
    X(__openat_2, dir, (int dir, const char *path, int flags), (dir, path, flags))                 \
    X(__openat64_2, dir, (int dir, const char *path, int flags), (dir, path, flags))

#define X(function, folder, parameters, arguments)                                                 \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(open, folder);                                                                        \
        return opened(&wait, path, REAL(function) arguments);                                      \
    }
OPEN_FIXED_LIST(X)
#undef X

#define FOPEN_LIST(X)                                                                              \
    X(fopen, (const char *restrict path, const char *restrict mode), (path, mode))                 \
    X(fopen64, (const char *restrict path, const char *restrict mode), (path, mode))

#define X(function, parameters, arguments)                                                         \
    EXPORT FILE *function parameters                                                               \
    {                                                                                              \
        WAIT(open, AT_FDCWD);                                                                      \
        FILE *stream = REAL(function) arguments;                                                   \
        opened(&wait, path, stream ? stream->_fileno : -1);                                        \
        return stream;                                                                             \
    }
FOPEN_LIST(X)
#undef X

/* Result, function, event, descriptor, parameters, arguments. */
#define FILE_LIST(X)                                                                               \
    X(ssize_t, sendfile, sendfile, to, (int to, int from, off_t *offset, size_t bytes),            \
      (to, from, offset, bytes))                                                                   \
    X(ssize_t, sendfile64, sendfile, to, (int to, int from, off64_t *offset, size_t bytes),        \
      (to, from, offset, bytes))                                                                   \
    X(ssize_t, splice, splice, to,                                                                 \
      (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned flags),          \
      (from, from_at, to, to_at, bytes, flags))                                                    \
    X(ssize_t, tee, splice, to, (int from, int to, size_t bytes, unsigned flags),                  \
      (from, to, bytes, flags))                                                                    \
    X(ssize_t, vmsplice, splice, to,                                                               \
      (int to, const struct iovec *parts, size_t count, unsigned flags),                           \
      (to, parts, count, flags))                                                                   \
    X(ssize_t, copy_file_range, splice, to,                                                        \
      (int from, off64_t *from_at, int to, off64_t *to_at, size_t bytes, unsigned flags),          \
      (from, from_at, to, to_at, bytes, flags))                                                    \
    X(int, flock, file_lock, fd, (int fd, int operation), (fd, operation))

#define X(type, function, event, detail, parameters, arguments)                                    \
    EXPORT type function parameters                                                                \
    {                                                                                              \
        WAIT(event, detail);                                                                       \
        return RESULT_##type(&wait, REAL(function) arguments);                                     \
    }
FILE_LIST(X)
#undef X

#define LOCKF_LIST(X) X(lockf, off_t) X(lockf64, off64_t)

#define X(function, type)                                                                          \
    EXPORT int function(int fd, int command, type bytes)                                           \
    {                                                                                              \
        look_locks_taken();                                                                        \
        WAIT(file_lock, fd);                                                                       \
        return wait_int(&wait, REAL(function)(fd, command, bytes));                                \
    }
LOCKF_LIST(X)
#undef X

/* One argument or none, as glibc itself takes it: a pointer, or a number in its place. */
#define FCNTL_LIST(X) X(fcntl) X(fcntl64)

#define X(function)                                                                                \
    EXPORT int function(int fd, int command, ...)                                                  \
    {                                                                                              \
        va_list list;                                                                              \
        va_start(list, command);                                                                   \
        void *argument = va_arg(list, void *);                                                     \
        va_end(list);                                                                              \
        if (command == F_SETLK || command == F_SETLKW)                                             \
            look_locks_taken();                                                                    \
        if (command != F_SETLKW && command != F_OFD_SETLKW)                                        \
            return REAL(function)(fd, command, argument);                                          \
        WAIT(file_lock, fd);                                                                       \
        return wait_int(&wait, REAL(function)(fd, command, argument));                             \
    }
FCNTL_LIST(X)
#undef X
