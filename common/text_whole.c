/* SPDX-License-Identifier: Apache-2.0
 *
 * Whole texts; see text_whole.h.
 */
#include "text_whole.h"

#include <errno.h>
#include <unistd.h>

#include "errno_status.h"

#define PIECE ((size_t)64 << 10)

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
