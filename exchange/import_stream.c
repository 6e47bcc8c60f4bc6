/* SPDX-License-Identifier: Apache-2.0
 * See import_stream.h. */
#include "import_stream.h"

#include <string.h>

#define PIECE_BYTES ((size_t)1 << 20)

void import_stream_init(struct import_stream *s, const struct skein_trace_source *source)
{
    *s = (struct import_stream){.source = source};
}

void import_stream_fini(struct import_stream *s)
{
    buf_fini(&s->bytes);
}

const uint8_t *import_stream_peek(struct import_stream *s, size_t n, size_t *there)
{
    size_t have = s->bytes.len - s->pos;
    uint64_t left = import_stream_left(s);
    if (s->status == SKEIN_OK && have < n) {
        size_t want = n > PIECE_BYTES ? n : PIECE_BYTES;
        want = want < left ? want : (size_t)left;
        if (have > 0)
            memmove(s->bytes.data, s->bytes.data + s->pos, have);
        s->bytes.len = have;
        s->pos = 0;
        uint8_t *room = buf_reserve(&s->bytes, want - have);
        s->status = room == NULL
                        ? SKEIN_NO_MEMORY
                        : s->source->read(s->source->context, s->at + have, room, want - have);
        if (s->status == SKEIN_OK)
            s->bytes.len = want;
    }
    *there = s->bytes.len - s->pos;
    return s->status == SKEIN_OK ? s->bytes.data + s->pos : NULL;
}

void import_stream_skip(struct import_stream *s, uint64_t n)
{
    size_t have = s->bytes.len - s->pos;
    s->at += n;
    if (n >= have) {
        s->bytes.len = 0;
        s->pos = 0;
    } else {
        s->pos += (size_t)n;
    }
}
