/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the kernel by descriptor; see kept_file.h. Waits for nothing but the kernel's answer.
 */
#include "kept_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "descriptor.h"
#include "text_whole.h"

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

size_t text_fill(int fd, char *text, size_t bytes)
{
    ssize_t n = fd >= 0 ? bytes_read_at(fd, text, bytes - 1, 0) : 0;
    size_t used = n > 0 ? (size_t)n : 0;
    text[used] = '\0';
    return used;
}

bool kept_read(int fd, char *text, size_t bytes)
{
    size_t used = text_fill(fd, text, bytes);
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
    fd_close(&fd);
    return there;
}
