/* SPDX-License-Identifier: Apache-2.0
 *
 * A source read from its begin to its end, in pieces. One owner, one thread.
 */
#ifndef IMPORT_STREAM_H
#define IMPORT_STREAM_H

#include "buf.h"
#include "skein/trace.h"

struct import_stream {
    const struct skein_trace_source *source;
    uint64_t at; /* in the source, of the next byte */
    struct buf bytes;
    size_t pos; /* of the next byte, in `bytes` */
    int status;
};

void import_stream_init(struct import_stream *s, const struct skein_trace_source *source);
void import_stream_fini(struct import_stream *s);

/* How many bytes are left. */
static inline uint64_t import_stream_left(const struct import_stream *s)
{
    return s->source->bytes - s->at;
}

/* At least n bytes from here, n at most what is left, and how many there are at once. They stay where
 * they are, and until the next call. NULL: s->status says why, for good. */
const uint8_t *import_stream_peek(struct import_stream *s, size_t n, size_t *there);

/* Goes on behind n bytes, at most what is left. */
void import_stream_skip(struct import_stream *s, uint64_t n);

#endif
