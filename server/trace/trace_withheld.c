/* SPDX-License-Identifier: Apache-2.0
 *
 * What a stream gives of evidence to who may not know all of it: pieces that are made anew
 * (withhold.h), so that their lengths are known before the first byte goes out. They are kept until
 * the stream's end, as many as fit into KEPT_BYTES; those beyond are made again when the reading comes
 * to them, one at a time. One owner.
 */
#include <stdlib.h>
#include <string.h>

#include "trace_stream_int.h"

#define KEPT_BYTES ((uint64_t)32 << 20) /* of a stream */

/* Makes a piece anew, unless it is the one that was made last. */
static int piece_pack(struct trace_stream *s, size_t i)
{
    struct stored_piece *p = &s->list.pieces[i];
    if (s->packed_at == i)
        return SKEIN_OK;
    s->packed_at = SIZE_MAX;
    buf_clear(&s->packed);
    uint8_t *bytes = p->place.bytes <= PARTITION_BYTES_MAX ? malloc((size_t)p->place.bytes) : NULL;
    if (bytes == NULL)
        return p->place.bytes <= PARTITION_BYTES_MAX ? SKEIN_NO_MEMORY : SKEIN_CORRUPT;
    int status = index_read(s->index, &p->key, &p->place, 0, bytes, (size_t)p->place.bytes);
    if (status == SKEIN_OK)
        status = withhold_pack(&s->withhold, bytes, (size_t)p->place.bytes, &s->packed);
    free(bytes);
    if (status == SKEIN_OK)
        s->packed_at = i;
    return status;
}

/* Keeps what was made last, if there is room. */
static void packed_keep(struct trace_stream *s, struct part *part)
{
    if (s->packed.len == 0 || s->packed.len > KEPT_BYTES - s->kept_bytes)
        return;
    part->packed = malloc(s->packed.len);
    if (part->packed == NULL)
        return;
    memcpy(part->packed, s->packed.data, s->packed.len);
    s->kept_bytes += s->packed.len;
}

int trace_stored_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct stored *stored = context;
    struct trace_stream *s = stored->stream;
    struct stored_piece *p = &s->list.pieces[stored->piece];
    const struct part *part = &s->parts[stored->piece];
    if (!part->withheld)
        return index_read(s->index, &p->key, &p->place, offset, out, n);
    int status = part->packed != NULL ? SKEIN_OK : piece_pack(s, stored->piece);
    if (status != SKEIN_OK)
        return status;
    if ((part->packed == NULL && s->packed.len != part->whole) || offset > part->whole ||
        n > part->whole - offset)
        return SKEIN_CORRUPT; /* the disk gave other bytes than before */
    memcpy(out, (part->packed != NULL ? part->packed : s->packed.data) + offset, n);
    return SKEIN_OK;
}

/* Whether the piece is told as it is stored (0), or has to be made anew (1). */
static int piece_concerns(struct trace_stream *s, size_t i)
{
    struct stored stored = {s, i};
    struct partition_source source = {trace_stored_read, &stored, s->parts[i].whole};
    struct partition_footer footer;
    int status = partition_footer_read(&source, &footer, NULL);
    if (status != SKEIN_OK)
        return status;
    bool concerns = withhold_concerns(&s->withhold, &footer);
    partition_footer_free(&footer);
    return concerns;
}

static int piece_look(struct trace_stream *s, size_t i)
{
    struct part *part = &s->parts[i];
    int status = piece_concerns(s, i);
    if (status <= 0)
        return status;
    status = trace_stream_enter(s, i);
    if (status == SKEIN_OK)
        status = piece_pack(s, i);
    if (status != SKEIN_OK)
        return status;
    part->withheld = s->withholds = true;
    part->whole = part->bytes = s->packed.len;
    packed_keep(s, part);
    return SKEIN_OK;
}

int trace_withheld_look(struct trace_stream *s, const struct trace_stream_query *q)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->list.count; i++) {
        if (q->stop != NULL && q->stop(q->context))
            return SKEIN_CLOSED;
        int status = piece_look(s, i);
        bool unread = status == SKEIN_CORRUPT || status == SKEIN_TRUNCATED ||
                      status == SKEIN_VERSION || status == SKEIN_TOO_LARGE;
        if (unread && q->damaged != NULL)
            *q->damaged = s->list.pieces[i].key;
        if (unread && q->skip_damaged)
            status = trace_stream_leave_out(s, &s->list.pieces[i].key);
        else if (unread) /* what was verified is as it came */
            status = s->entered == i ? SKEIN_UNSUPPORTED : SKEIN_CORRUPT;
        if (status != SKEIN_OK)
            return status;
        if (unread)
            continue;
        struct part part = s->parts[i];
        s->parts[i].packed = NULL; /* it goes with the part */
        s->parts[kept] = part;
        s->list.pieces[kept++] = s->list.pieces[i];
    }
    s->packed_at = s->entered = SIZE_MAX; /* the pieces have other numbers now */
    s->list.count = kept;
    return kept > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

bool trace_stream_withholds(const struct trace_stream *s)
{
    return s->withholds;
}
