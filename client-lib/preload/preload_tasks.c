/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that count their threads, by the links or the entries of /proc/self/task or the number
 * in /proc/self/stat and status, because they may do something only while there is one (Chromium's
 * sandbox ends where there are more; Rust's `time` knows no local time). The
 * visitor is none of theirs: it leaves before they count. The path is looked at when the kernel has
 * read it, for it may be bad. Any thread; every call keeps its result and errno.
 */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "attach_client.h"
#include "preload_wait.h"

/* As programs of before glibc 2.33 call them. */
int __xstat(int version, const char *path, struct stat *out);
int __xstat64(int version, const char *path, struct stat64 *out);
int __fxstatat(int version, int folder, const char *path, struct stat *out, int flags);
int __fxstatat64(int version, int folder, const char *path, struct stat64 *out, int flags);

static bool ends_with(const char *path, size_t bytes, const char *tail)
{
    size_t of_tail = strlen(tail);
    return bytes >= of_tail && memcmp(path + bytes - of_tail, tail, of_tail) == 0;
}

bool tasks_leave(const char *path)
{
    size_t bytes = path != NULL ? strlen(path) : 0; /* NULL: with AT_EMPTY_PATH */
    if (bytes && path[bytes - 1] == '/')
        bytes--;
    if (!ends_with(path, bytes, "/task") && !ends_with(path, bytes, "/self/stat") &&
        !ends_with(path, bytes, "/self/status"))
        return false;
    attach_client_leave();
    return true;
}

#define STAT_LIST(X)                                                                               \
    X(stat, (const char *restrict path, struct stat *restrict out), (path, out))                   \
    X(stat64, (const char *restrict path, struct stat64 *restrict out), (path, out))               \
    X(fstatat, (int folder, const char *restrict path, struct stat *restrict out, int flags),      \
      (folder, path, out, flags))                                                                  \
    X(fstatat64, (int folder, const char *restrict path, struct stat64 *restrict out, int flags),  \
      (folder, path, out, flags))                                                                  \
    X(statx,                                                                                       \
      (int folder, const char *restrict path, int flags, unsigned mask,                            \
       struct statx *restrict out),                                                                \
      (folder, path, flags, mask, out))                                                            \
    X(__xstat, (int version, const char *path, struct stat *out), (version, path, out))            \
    X(__xstat64, (int version, const char *path, struct stat64 *out), (version, path, out))        \
    X(__fxstatat, (int version, int folder, const char *path, struct stat *out, int flags),        \
      (version, folder, path, out, flags))                                                         \
    X(__fxstatat64, (int version, int folder, const char *path, struct stat64 *out, int flags),    \
      (version, folder, path, out, flags))

#define X(function, parameters, arguments)                                                         \
    EXPORT int function parameters                                                                 \
    {                                                                                              \
        int result = REAL(function) arguments;                                                     \
        if (result == 0 && tasks_leave(path))                                                      \
            result = REAL(function) arguments;                                                     \
        return result;                                                                             \
    }
STAT_LIST(X)
#undef X

/* The entries are read later. */
EXPORT DIR *opendir(const char *path)
{
    DIR *folder = REAL(opendir)(path);
    if (folder != NULL)
        (void)tasks_leave(path);
    return folder;
}
