/* SPDX-License-Identifier: Apache-2.0
 *
 * Durable whole-file replacement; see durable.h. Owns nothing between calls.
 */
#include "durable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "descriptor.h"
#include "errno_status.h"
#include "text_whole.h"

int durable_folder(const char *path, int *fd)
{
    *fd = -1;
    char partial[PATH_MAX];
    size_t n = strlen(path);
    if (n == 0 || n >= sizeof partial)
        return SKEIN_INVALID;
    memcpy(partial, path, n + 1);
    for (size_t i = 1; i <= n; i++) {
        if (partial[i] != '/' && partial[i] != '\0')
            continue;
        char kept = partial[i];
        partial[i] = '\0';
        if (mkdir(partial, 0700) != 0 && errno != EEXIST && errno != EISDIR)
            return status_of_errno(errno) == SKEIN_DENIED ? SKEIN_DENIED : SKEIN_IO;
        partial[i] = kept;
    }
    *fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*fd < 0)
        return errno == EACCES ? SKEIN_DENIED : SKEIN_IO;
    return SKEIN_OK;
}

static int temp_write(int folder, const char *temp, const struct durable_part *parts, size_t count)
{
    int fd = openat(folder, temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return status_of_errno(errno);
    int status = SKEIN_OK;
    for (size_t i = 0; i < count && status == SKEIN_OK; i++)
        status = whole_write(fd, parts[i].bytes, parts[i].len);
    if (status == SKEIN_OK && fsync(fd) != 0)
        status = status_of_errno(errno);
    if (close(fd) != 0 && status == SKEIN_OK)
        status = status_of_errno(errno);
    return status;
}

int durable_write(int folder, const char *name, const struct durable_part *parts, size_t count)
{
    char temp[NAME_MAX + 1];
    int n = snprintf(temp, sizeof temp, DURABLE_TEMP_PREFIX "%s", name);
    if (n < 0 || (size_t)n >= sizeof temp)
        return SKEIN_INVALID;
    int status = temp_write(folder, temp, parts, count);
    if (status == SKEIN_OK && renameat(folder, temp, folder, name) != 0)
        status = status_of_errno(errno);
    if (status != SKEIN_OK) {
        unlinkat(folder, temp, 0);
        return status == SKEIN_FULL ? SKEIN_FULL : SKEIN_IO;
    }
    return fsync(folder) == 0 ? SKEIN_OK : SKEIN_IO;
}

int durable_read(int folder, const char *name, size_t max_bytes, struct buf *out)
{
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    int status = text_whole_read(fd, max_bytes, out);
    close(fd);
    if (status == SKEIN_OK)
        out->len--; /* the NUL */
    return status == SKEIN_OK || status == SKEIN_NO_MEMORY || status == SKEIN_TOO_LARGE ? status
                                                                                        : SKEIN_IO;
}

int durable_move(int from, int into, const char *name)
{
    if (renameat(from, name, into, name) != 0)
        return errno == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO;
    if (fsync(into) != 0 || fsync(from) != 0)
        return SKEIN_IO;
    return SKEIN_OK;
}

int durable_sweep(int folder)
{
    DIR *dir = folder_list(folder);
    if (dir == NULL)
        return SKEIN_IO;
    int removed = 0;
    for (struct dirent *entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
        if (strncmp(entry->d_name, DURABLE_TEMP_PREFIX, strlen(DURABLE_TEMP_PREFIX)) == 0 &&
            unlinkat(folder, entry->d_name, 0) == 0)
            removed++;
    }
    closedir(dir);
    return removed;
}
