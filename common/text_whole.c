/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole texts; see text_whole.h.
 */
#include "text_whole.h"

#include <errno.h>
#include <unistd.h>

#include "errno_status.h"

#define PIECE ((size_t)64 << 10)

ssize_t bytes_read_at(int fd, void *to, size_t n, uint64_t at)
{
    size_t got = 0;
    while (got < n && at + got <= INT64_MAX) {
        ssize_t some = pread(fd, (char *)to + got, n - got, (off_t)(at + got));
        if (some < 0 && errno == EINTR)
            continue;
        if (some < 0)
            return -1;
        if (some == 0)
            break;
        got += (size_t)some;
    }
    return (ssize_t)got;
}

int whole_write(int fd, const void *bytes, size_t len)
{
    const char *pos = bytes;
    while (len > 0) {
        ssize_t n = write(fd, pos, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return status_of_errno(errno);
        if (n == 0)
            return SKEIN_IO;
        pos += n;
        len -= (size_t)n;
    }
    return SKEIN_OK;
}

int text_whole_read(int fd, size_t max_bytes, struct buf *text)
{
    size_t before = text->len;
    int status = SKEIN_OK;
    while (status == SKEIN_OK) {
        uint8_t *to = buf_reserve(text, PIECE);
        if (to == NULL)
            return SKEIN_NO_MEMORY;
        ssize_t n = read(fd, to, PIECE);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return status_of_errno(errno);
        if (n == 0)
            break;
        text->len += (size_t)n;
        if (text->len - before > max_bytes)
            status = SKEIN_TOO_LARGE;
    }
    buf_put_u8(text, 0);
    return text->status != SKEIN_OK ? text->status : status;
}
