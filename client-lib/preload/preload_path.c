/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that look at files by their paths, rename and remove them: soon over, but on a disk or a
 * server that hangs. Any thread; each wrapper does what the real function does, once, unless a
 * program looks how many threads it has (preload_tasks.c).
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload_words.h"

/* As programs of before glibc 2.33 call them. */
int __xstat(int version, const char *path, struct stat *out);
int __xstat64(int version, const char *path, struct stat64 *out);
int __lxstat(int version, const char *path, struct stat *out);
int __lxstat64(int version, const char *path, struct stat64 *out);
int __fxstat(int version, int folder, struct stat *out);
int __fxstat64(int version, int folder, struct stat64 *out);
int __fxstatat(int version, int folder, const char *path, struct stat *out, int flags);
int __fxstatat64(int version, int folder, const char *path, struct stat64 *out, int flags);

/* Function, folder, parameters, arguments. */
#define STAT_LIST(X)                                                                               \
    X(stat, AT_FDCWD, (const char *restrict path, struct stat *restrict out), (path, out))         \
    X(stat64, AT_FDCWD, (const char *restrict path, struct stat64 *restrict out), (path, out))     \
    X(lstat, AT_FDCWD, (const char *restrict path, struct stat *restrict out), (path, out))        \
    X(lstat64, AT_FDCWD, (const char *restrict path, struct stat64 *restrict out), (path, out))    \
    X(fstatat, folder,                                                                             \
      (int folder, const char *restrict path, struct stat *restrict out, int flags),               \
      (folder, path, out, flags))                                                                  \
    X(fstatat64, folder,                                                                           \
      (int folder, const char *restrict path, struct stat64 *restrict out, int flags),             \
      (folder, path, out, flags))                                                                  \
    X(statx, folder,                                                                               \
      (int folder, const char *restrict path, int flags, unsigned mask,                            \
       struct statx *restrict out),                                                                \
      (folder, path, flags, mask, out))                                                            \
    X(__xstat, AT_FDCWD, (int version, const char *path, struct stat *out), (version, path, out))  \
    X(__xstat64, AT_FDCWD, (int version, const char *path, struct stat64 *out),                    \
      (version, path, out))                                                                        \
    X(__lxstat, AT_FDCWD, (int version, const char *path, struct stat *out), (version, path, out)) \
    X(__lxstat64, AT_FDCWD, (int version, const char *path, struct stat64 *out),                   \
      (version, path, out))                                                                        \
    X(__fxstatat, folder,                                                                          \
      (int version, int folder, const char *path, struct stat *out, int flags),                    \
      (version, folder, path, out, flags))                                                         \
    X(__fxstatat64, folder,                                                                        \
      (int version, int folder, const char *path, struct stat64 *out, int flags),                  \
      (version, folder, path, out, flags))

#define X(function, folder_, parameters, arguments)                                                \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(stat, folder_);                                                                       \
        int result = REAL(function) arguments;                                                     \
        if (result == 0 && tasks_leave(path))                                                      \
            result = REAL(function) arguments;                                                     \
        wait.more[0].str = path;                                                                   \
        wait.words_of = words_of_path;                                                             \
        return wait_int(&wait, result);                                                            \
    }
STAT_LIST(X)
#undef X

/* Without a path. */
#define FSTAT_LIST(X)                                                                              \
    X(fstat, (int folder, struct stat *out), (folder, out))                                        \
    X(fstat64, (int folder, struct stat64 *out), (folder, out))                                    \
    X(__fxstat, (int version, int folder, struct stat *out), (version, folder, out))               \
    X(__fxstat64, (int version, int folder, struct stat64 *out), (version, folder, out))

#define X(function, parameters, arguments)                                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(stat, folder);                                                                        \
        return wait_int(&wait, REAL(function) arguments);                                          \
    }
FSTAT_LIST(X)
#undef X

/* Function, event, folder, parameters, arguments. */
#define PATH_LIST(X)                                                                               \
    X(access, stat, AT_FDCWD, (const char *path, int mode), (path, mode))                          \
    X(faccessat, stat, folder, (int folder, const char *path, int mode, int flags),                \
      (folder, path, mode, flags))                                                                 \
    X(unlink, unlink, AT_FDCWD, (const char *path), (path))                                        \
    X(unlinkat, unlink, folder, (int folder, const char *path, int flags), (folder, path, flags))  \
    X(rmdir, unlink, AT_FDCWD, (const char *path), (path))                                         \
    X(remove, unlink, AT_FDCWD, (const char *path), (path))

#define X(function, event, folder_, parameters, arguments)                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(event, folder_);                                                                      \
        wait.more[0].str = path;                                                                   \
        wait.words_of = words_of_path;                                                             \
        return wait_int(&wait, REAL(function) arguments);                                          \
    }
PATH_LIST(X)
#undef X

#define RENAME_LIST(X)                                                                             \
    X(rename, AT_FDCWD, (const char *path, const char *to), (path, to))                            \
    X(renameat, folder, (int folder, const char *path, int to_folder, const char *to),             \
      (folder, path, to_folder, to))                                                               \
    X(renameat2, folder,                                                                           \
      (int folder, const char *path, int to_folder, const char *to, unsigned flags),               \
      (folder, path, to_folder, to, flags))

#define X(function, folder_, parameters, arguments)                                                \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        WAIT(rename, folder_);                                                                     \
        wait.more[0].str = path;                                                                   \
        wait.more[1].str = to;                                                                     \
        wait.words_of = words_of_paths;                                                            \
        return wait_int(&wait, REAL(function) arguments);                                          \
    }
RENAME_LIST(X)
#undef X
