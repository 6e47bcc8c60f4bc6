/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors, of which -1 is none. No state; any thread.
 */
#ifndef DESCRIPTOR_H
#define DESCRIPTOR_H

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
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

/* Takes the descriptors out of a message that has come: the first into fds, those without room
 * closed. Returns how many there were. */
static inline size_t message_fds_take(struct msghdr *message, int *fds, size_t room)
{
    size_t count = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (count < room)
                fds[count] = fd;
            else
                close(fd);
            count++;
        }
    }
    return count;
}

#endif
