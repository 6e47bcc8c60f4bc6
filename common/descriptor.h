/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors, of which -1 is none. No state; any thread.
 */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static inline void fd_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* What an open folder holds, read from its beginning; the caller ends it with closedir. NULL, and
 * errno: it cannot be read. */
static inline DIR *folder_list(int folder)
{
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = fd < 0 ? NULL : fdopendir(fd);
    if (list == NULL)
        fd_close(&fd);
    return list;
}

#endif
