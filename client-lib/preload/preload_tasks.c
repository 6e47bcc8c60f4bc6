/* SPDX-License-Identifier: Apache-2.0
 *
 * Programs that count their threads, by the links or the entries of /proc/self/task or the number
 * in /proc/self/stat and status, because they may do something only while there is one (Chromium's
 * sandbox ends where there are more; Rust's `time` knows no local time). The
 * visitor is none of theirs: it leaves before they count. The path is looked at when the kernel has
 * read it, for it may be bad. Any thread; every call keeps its result and errno.
 */
#include <dirent.h>
#include <limits.h>
#include <string.h>

#include "attach_client.h"
#include "preload_wait.h"

static bool ends_with(const char *path, size_t bytes, const char *tail)
{
    size_t of_tail = strnlen(tail, PATH_MAX);
    return bytes >= of_tail && memcmp(path + bytes - of_tail, tail, of_tail) == 0;
}

bool tasks_leave(const char *path)
{
    size_t bytes = path != NULL ? strnlen(path, PATH_MAX) : 0; /* NULL: with AT_EMPTY_PATH */
    if (bytes && path[bytes - 1] == '/')
        bytes--;
    if (!ends_with(path, bytes, "/task") && !ends_with(path, bytes, "/self/stat") &&
        !ends_with(path, bytes, "/self/status"))
        return false;
    attach_client_leave();
    return true;
}

/* The entries are read later. */
EXPORT DIR *opendir(const char *path)
{
    DIR *folder = REAL(opendir)(path);
    if (folder != NULL)
        (void)tasks_leave(path);
    return folder;
}
