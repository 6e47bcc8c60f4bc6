/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip by zlib: files in one go, and members piece by piece.
 */
#include "pack_zlib.h"

#include <stdlib.h>

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

struct gzip_member {
    z_stream stream;
};

struct gzip_member *gzip_member_new(void)
{
    struct gzip_member *member = calloc(1, sizeof *member);
    if (member != NULL && inflateInit2(&member->stream, GZIP_WINDOW) != Z_OK) {
        free(member);
        member = NULL;
    }
    return member;
}

void gzip_member_free(struct gzip_member **member)
{
    if (*member == NULL)
        return;
    inflateEnd(&(*member)->stream);
    free(*member);
    *member = NULL;
}

int gzip_member_unpack(struct gzip_member *member, const uint8_t *in, size_t *in_n, uint8_t *out,
                       size_t *out_n)
{
    z_stream *stream = &member->stream;
    stream->next_in = in;
    stream->avail_in = (uInt)*in_n;
    stream->next_out = out;
    stream->avail_out = (uInt)*out_n;
    int result = inflate(stream, Z_NO_FLUSH);
    *in_n = stream->avail_in;
    *out_n = stream->avail_out;
    if (result == Z_STREAM_END)
        return inflateReset(stream) == Z_OK ? 1 : SKEIN_NO_MEMORY;
    if (result == Z_OK || result == Z_BUF_ERROR)
        return 0;
    return result == Z_MEM_ERROR ? SKEIN_NO_MEMORY : SKEIN_CORRUPT;
}
