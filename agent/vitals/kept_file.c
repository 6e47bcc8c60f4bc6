/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the kernel by descriptor; see kept_file.h. Waits for nothing but the kernel's answer.
 */
#include "kept_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define PATH_BYTES 4352 /* a cgroup's path and what is around it */

int kept_open(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/%s", folder, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return -1;
    /* Not blocking: where a fifo lies in place of a file, nobody waits for its other end. */
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

void kept_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

bool kept_read(int fd, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    while (fd >= 0 && used + 1 < bytes) {
        ssize_t n = pread(fd, text + used, bytes - 1 - used, (off_t)used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        used += (size_t)n;
    }
    /* Of a text that is cut, the last line may end inside of a number. */
    while (used + 1 == bytes && used > 0 && text[used - 1] != '\n')
        bytes = used--;
    text[used] = '\0';
    return used > 0;
}

bool once_read(const char *folder, const char *name, char *text, size_t bytes)
{
    int fd = kept_open(folder, name);
    bool there = kept_read(fd, text, bytes);
    kept_close(&fd);
    return there;
}
