/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns key files: one line "skein-key-1 SECRET", 0600. A file is written under another name and
 * linked into place, so that it is there whole or not at all and never replaces another. Refuses to
 * read a file that others than its owner may read. Any thread.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "seal.h"
#include "text_whole.h"

#define FILE_HEAD  "skein-key-1 "
#define FILE_BYTES (sizeof FILE_HEAD - 1 + SEAL_TEXT_BYTES - 1 + 1)

static int key_file_fail(char *error, size_t error_bytes, const char *path, const char *why,
                         int status)
{
    snprintf(error, error_bytes, "%s: %s", path, why);
    return status;
}

static int folder_sync(const char *path)
{
    char copy[4096];
    if (snprintf(copy, sizeof copy, "%s", path) >= (int)sizeof copy)
        return -1;
    int fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    int result = fsync(fd);
    close(fd);
    return result;
}

int seal_file_write(const char *path, const struct seal_pair *pair, char *error, size_t error_bytes)
{
    char beside[4096], secret[SEAL_TEXT_BYTES], line[FILE_BYTES + 1];
    if (snprintf(beside, sizeof beside, "%s.XXXXXX", path) >= (int)sizeof beside)
        return key_file_fail(error, error_bytes, path, strerror(ENAMETOOLONG), SKEIN_IO);
    int fd = mkostemp(beside, O_CLOEXEC); /* 0600 */
    if (fd < 0)
        return key_file_fail(error, error_bytes, path, strerror(errno), SKEIN_IO);
    seal_key_text(pair->secret, secret);
    snprintf(line, sizeof line, FILE_HEAD "%s\n", secret);
    errno = EIO;
    bool ok = whole_write(fd, line, FILE_BYTES) == SKEIN_OK && fsync(fd) == 0;
    seal_wipe(line, sizeof line);
    seal_wipe(secret, sizeof secret);
    close(fd);
    ok = ok && link(beside, path) == 0;
    int why = errno;
    unlink(beside);
    if (ok && folder_sync(path) != 0)
        return key_file_fail(error, error_bytes, path, strerror(errno), SKEIN_IO);
    if (ok)
        return SKEIN_OK;
    return key_file_fail(error, error_bytes, path, strerror(why),
                         why == EEXIST ? SKEIN_EXISTS : SKEIN_IO);
}

static int line_read(int fd, const char *path, struct seal_pair *out, char *error,
                     size_t error_bytes)
{
    char line[FILE_BYTES + 2];
    uint8_t secret[SEAL_KEY_BYTES];
    ssize_t have = bytes_read_at(fd, line, sizeof line - 1, 0);
    if (have < 0)
        return key_file_fail(error, error_bytes, path, strerror(errno), SKEIN_IO);
    const size_t head = sizeof FILE_HEAD - 1;
    int status = SKEIN_INVALID;
    if (have == FILE_BYTES && line[have - 1] == '\n' && memcmp(line, FILE_HEAD, head) == 0) {
        line[have - 1] = '\0';
        status = seal_key_parse(line + head, secret);
    }
    if (status == SKEIN_OK)
        status = seal_pair_from_secret(secret, out);
    seal_wipe(secret, sizeof secret);
    seal_wipe(line, sizeof line);
    return status == SKEIN_OK
               ? SKEIN_OK
               : key_file_fail(error, error_bytes, path, "is no key file", SKEIN_INVALID);
}

int seal_file_read(const char *path, struct seal_pair *out, char *error, size_t error_bytes)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return key_file_fail(error, error_bytes, path, strerror(errno),
                             errno == ENOENT ? SKEIN_NOT_FOUND : SKEIN_IO);
    int status;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        status = key_file_fail(error, error_bytes, path, "is no plain file", SKEIN_IO);
    else if ((st.st_mode & 077) != 0)
        status = key_file_fail(
            error, error_bytes, path,
            "holds a secret key and may be read or changed by others: chmod 600 it", SKEIN_DENIED);
    else
        status = line_read(fd, path, out, error, error_bytes);
    close(fd);
    return status;
}
