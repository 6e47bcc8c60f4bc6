/* SPDX-License-Identifier: Apache-2.0
 *
 * Segment files on Linux. Keeps no state; any thread; never retries a failed sync.
 */
#include "segment_io.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "errno_status.h"
#include "no_sync.h"
#include "skein_check.h"
#include "text_whole.h"

#define LOCK_TRIES  100
#define LOCK_TRY_US 10000

#define WRITE_PARTS_MAX 8

/* Makes a new folder's name durable in its parent. */
static int parent_sync(const char *path)
{
    char *copy = strdup(path);
    if (copy == NULL)
        return SKEIN_NO_MEMORY;
    size_t n = strlen(copy);
    while (n > 1 && copy[n - 1] == '/')
        copy[--n] = 0;
    char *slash = strrchr(copy, '/');
    const char *parent = ".";
    if (slash == copy)
        parent = "/";
    else if (slash != NULL) {
        *slash = 0;
        parent = copy;
    }
    int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    free(copy);
    if (fd < 0)
        return status_of_errno(errno);
    int status = segment_io_sync_folder(fd);
    close(fd);
    return status;
}

int segment_io_open_folder(const char *path, int *folder)
{
    *folder = -1;
    if (mkdir(path, 0750) == 0) {
        int status = parent_sync(path);
        if (status < 0)
            return status;
    } else if (errno != EEXIST) {
        return errno == ENOENT ? SKEIN_IO : status_of_errno(errno);
    }
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return SKEIN_IO;
    /* A collector that was killed while it began a process leaves the lock to that one until it has
     * begun: a moment. */
    int locked = flock(fd, LOCK_EX | LOCK_NB);
    for (int i = 0; locked < 0 && errno == EWOULDBLOCK && i < LOCK_TRIES; i++) {
        usleep(LOCK_TRY_US);
        locked = flock(fd, LOCK_EX | LOCK_NB);
    }
    if (locked < 0) {
        int status = status_of_errno(errno);
        close(fd);
        return status;
    }
    *folder = fd;
    return SKEIN_OK;
}

int segment_io_list(const char *path, segment_io_name_fn *fn, void *context)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return SKEIN_IO;
    int status = SKEIN_OK;
    const struct dirent *entry;
    errno = 0;
    while (status == SKEIN_OK && (entry = readdir(folder)) != NULL) {
        status = fn(context, entry->d_name);
        errno = 0;
    }
    if (status == SKEIN_OK && errno)
        status = SKEIN_IO;
    closedir(folder);
    return status;
}

int segment_io_create(int folder, const char *name, int *fd)
{
    *fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    return *fd < 0 ? status_of_errno(errno) : SKEIN_OK;
}

int segment_io_open(int folder, const char *name, bool write, int *fd)
{
    *fd = openat(folder, name, (write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    return *fd < 0 ? status_of_errno(errno) : SKEIN_OK;
}

void segment_io_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

int segment_io_size(int fd, uint64_t *bytes)
{
    struct stat st;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
        return SKEIN_IO;
    *bytes = (uint64_t)st.st_size;
    return SKEIN_OK;
}

int segment_io_write(int fd, const struct iovec *parts, int count, uint64_t offset)
{
    struct iovec left[WRITE_PARTS_MAX];
    skein_check(count > 0 && count <= WRITE_PARTS_MAX);
    memcpy(left, parts, (size_t)count * sizeof *parts);
    int first = 0;
    while (first < count) {
        ssize_t n = pwritev(fd, left + first, count - first, (off_t)offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return status_of_errno(errno);
        if (n == 0)
            return SKEIN_IO;
        offset += (uint64_t)n;
        size_t done = (size_t)n;
        while (first < count && done >= left[first].iov_len)
            done -= left[first++].iov_len;
        if (first < count) {
            left[first].iov_base = (uint8_t *)left[first].iov_base + done;
            left[first].iov_len -= done;
        }
    }
    return SKEIN_OK;
}

int segment_io_read(int fd, void *out, size_t n, uint64_t offset)
{
    ssize_t got = bytes_read_at(fd, out, n, offset);
    if (got < 0)
        return SKEIN_IO;
    return (size_t)got == n ? SKEIN_OK : SKEIN_TRUNCATED;
}

int segment_io_sync(int fd)
{
    no_sync_check();
    return fdatasync(fd) < 0 ? status_of_errno(errno) : SKEIN_OK;
}

int segment_io_truncate(int fd, uint64_t bytes)
{
    return ftruncate(fd, (off_t)bytes) < 0 ? status_of_errno(errno) : SKEIN_OK;
}

int segment_io_remove(int folder, const char *name)
{
    return unlinkat(folder, name, 0) < 0 ? status_of_errno(errno) : SKEIN_OK;
}

int segment_io_sync_folder(int folder)
{
    no_sync_check();
    return fsync(folder) < 0 ? status_of_errno(errno) : SKEIN_OK;
}

int segment_io_free_bytes(int folder, uint64_t *bytes)
{
    struct statvfs st;
    if (fstatvfs(folder, &st) < 0)
        return SKEIN_IO;
    *bytes = (uint64_t)st.f_bavail * st.f_frsize;
    return SKEIN_OK;
}
