/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip by zlib, in one go. Owns nothing.
 */
#include "pack_zlib.h"

#define ZLIB_CONST
#include <zlib.h>

#define GZIP_WINDOW (15 + 16) /* the largest, and gzip's frame around it */
#define GZIP_MEMORY 8         /* zlib's default */

int gzip_pack(struct buf *out, const uint8_t *bytes, size_t n)
{
    z_stream stream = {0};
    if (n > UINT32_MAX / 2)
        return SKEIN_TOO_LARGE;
    if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, GZIP_MEMORY,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return SKEIN_NO_MEMORY;
    size_t room = deflateBound(&stream, n);
    uint8_t *to = buf_reserve(out, room);
    int status = SKEIN_NO_MEMORY;
    if (to != NULL) {
        stream.next_in = bytes;
        stream.avail_in = (uInt)n;
        stream.next_out = to;
        stream.avail_out = (uInt)room;
        if (deflate(&stream, Z_FINISH) == Z_STREAM_END) {
            out->len += stream.total_out;
            status = SKEIN_OK;
        }
    }
    deflateEnd(&stream);
    return status;
}
