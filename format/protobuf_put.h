/* SPDX-License-Identifier: Apache-2.0
 *
 * Protobuf's wire format, written by hand: fields into a buf, nested messages by their own buf.
 * Pure; failures stay in the buf.
 */
#ifndef PROTOBUF_PUT_H
#define PROTOBUF_PUT_H

#include <string.h>

#include "buf.h"

static inline void pb_varint(struct buf *b, unsigned field, uint64_t v)
{
    buf_put_uleb(b, (uint64_t)field << 3);
    buf_put_uleb(b, v);
}

static inline void pb_fixed64(struct buf *b, unsigned field, uint64_t v)
{
    buf_put_uleb(b, (uint64_t)field << 3 | 1);
    buf_put_u64(b, v);
}

static inline void pb_f64(struct buf *b, unsigned field, double v)
{
    buf_put_uleb(b, (uint64_t)field << 3 | 1);
    buf_put_f64(b, v);
}

static inline void pb_bytes(struct buf *b, unsigned field, const void *bytes, size_t n)
{
    buf_put_uleb(b, (uint64_t)field << 3 | 2);
    buf_put_text(b, bytes, n);
}

static inline void pb_text(struct buf *b, unsigned field, const char *text)
{
    pb_bytes(b, field, text, strlen(text));
}

/* message is taken in and emptied. */
static inline void pb_message(struct buf *b, unsigned field, struct buf *message)
{
    if (message->status != SKEIN_OK)
        b->status = message->status;
    pb_bytes(b, field, message->data, message->len);
    buf_clear(message);
}

#endif
