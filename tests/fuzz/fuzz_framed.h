/* SPDX-License-Identifier: Apache-2.0
 *
 * A fuzzer's bytes as a partition: as they are, and as INFO and footer in a sound frame. For
 * fuzz_slice.c and fuzz_footer_strip.c.
 */
#ifndef FUZZ_FRAMED_H
#define FUZZ_FRAMED_H

#include <stdlib.h>
#include <string.h>

#include "partition_int.h"

#define WINDOW_BYTES 16u

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

struct memory {
    const uint8_t *bytes;
    size_t n;
};

static inline int memory_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct memory *memory = context;
    require(offset <= memory->n && n <= memory->n - offset);
    memcpy(out, memory->bytes + offset, n);
    return SKEIN_OK;
}

static inline uint64_t number(const uint8_t *bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)bytes[i] << (8 * i);
    return v;
}

/* INFO and footer as the input gives them, in a frame whose checksums hold: length of INFO (u8),
 * a quarter of the middle's (u8), INFO, middle, footer. */
static inline void frame(struct buf *b, const uint8_t *bytes, size_t n)
{
    size_t info = n > 0 ? bytes[0] : 0, middle = n > 1 ? (size_t)bytes[1] * 4 : 0;
    bytes += n < 2 ? n : 2;
    n -= n < 2 ? n : 2;
    info = info < n ? info : n;
    middle = middle < n - info ? middle : n - info;
    head_put(b, HEAD_PARTITION, 0);
    size_t at = section_begin(b, SECTION_INFO);
    buf_put(b, bytes, info);
    section_end(b, at);
    buf_put(b, bytes + info, middle);
    size_t last = section_begin(b, SECTION_FOOTER);
    buf_put(b, bytes + info + middle, n - info - middle);
    section_end(b, last);
    tail_put(b, 0, last, HEAD_PARTITION);
    size_t end = b->len;
    b->len = 0;
    head_put(b, HEAD_PARTITION, end);
    b->len = end;
}

#endif
