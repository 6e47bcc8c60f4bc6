/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the rows of a batch into columns and batches into LZ4 blocks (docs/format.md F-23 to F-27).
 * Entered through the partition writer alone. Never allocates for an event; fails only for want of
 * memory for the packed bytes.
 */
#include "array.h"
#include "partition_writer_int.h"

#include <string.h>

/* Column lengths of the batch: known once the columns are written, but told in front of them. */
struct column_place {
    uint8_t encoding;
    uint32_t bytes;
};

/* Codes, times and the types' columns, one behind the other; the list of types goes into *header. */
static uint8_t *columns_write(struct partition_writer *w, uint8_t *to, struct buf *header)
{
    uint8_t *start = to;
    to = codes_write(to, w->codes, w->batch.events, (uint16_t)w->batch.local_types);
    w->batch.codes_len = (size_t)(to - start);
    start = to;
    to = ulebs_write(to, w->times, w->batch.events);
    w->batch.times_len = (size_t)(to - start);
    for (uint32_t i = 0; i < w->batch.local_types; i++) {
        struct writer_type *t = &w->types[w->local_types[i]];
        buf_put_uleb(header, w->local_types[i]);
        buf_put_uleb(header, t->rows);
        buf_put_uleb(header, t->columns);
        for (unsigned c = 0; c < t->columns; c++) {
            struct column_place place;
            start = to;
            to = column_write(to, t->values + (size_t)c * t->cap, t->rows, t->column_types[c],
                              &place.encoding);
            place.bytes = (uint32_t)(to - start);
            buf_put_u8(header, place.encoding);
            buf_put_uleb(header, place.bytes);
        }
        t->events += t->rows;
        w->sequences += (uint64_t)t->sequences * t->rows;
        t->rows = 0;
        t->local = 0;
    }
    return to;
}

/* F-24 up to the list of types, with the outermost `list` of the thread's ranges, or those that the
 * batch was given. */
static void header_put(struct partition_writer *w, const struct writer_thread *t, size_t list,
                       struct buf *header)
{
    const struct writer_batch *b = &w->batch;
    buf_put_uleb(header, b->thread);
    buf_put_uleb(header, b->late ? BATCH_LATE : 0);
    buf_put_uleb(header, b->generation);
    buf_put_uleb(header, b->sequence);
    buf_put_uleb(header, b->last_sequence - b->sequence);
    buf_put_uleb(header, b->base);
    buf_put_uleb(header, b->last - b->base);
    buf_put_uleb(header, b->events);
    buf_put_uleb(header, b->codes_len);
    buf_put_uleb(header, b->times_len);
    buf_put_uleb(header, b->opens + list);
    for (uint32_t i = 0; i < b->opens; i++) {
        buf_put_uleb(header, w->opens_listed[i].type);
        buf_put_sleb(header, (int64_t)(b->base - w->opens_listed[i].since_ticks));
    }
    for (size_t i = 0; i < list; i++) {
        buf_put_uleb(header, t->frames[i].type);
        buf_put_sleb(header, (int64_t)(b->base - t->frames[i].since));
    }
    buf_put_uleb(header, b->local_types);
}

static void totals_add(struct partition_writer *w)
{
    const struct writer_batch *b = &w->batch;
    struct partition_block *block = &w->block;
    if (block->threads++ == 0)
        *block = (struct partition_block){.threads = 1,
                                          .from_ticks = b->base,
                                          .to_ticks = b->last,
                                          .since_ticks = b->base,
                                          .until_ticks = b->last};
    block->events += b->events;
    block->from_ticks = b->base < block->from_ticks ? b->base : block->from_ticks;
    block->to_ticks = b->last > block->to_ticks ? b->last : block->to_ticks;
    uint64_t since = b->since < b->base ? b->since : b->base;
    block->since_ticks = since < block->since_ticks ? since : block->since_ticks;
    block->until_ticks = b->last > block->until_ticks ? b->last : block->until_ticks;
    w->events += b->events;
    w->batches++;
    if (b->events == 0)
        return;
    w->from_ticks = b->base < w->from_ticks ? b->base : w->from_ticks;
    w->to_ticks = b->last > w->to_ticks ? b->last : w->to_ticks;
}

static uint8_t *bytes_append(uint8_t *to, const void *bytes, size_t n)
{
    if (n > 0)
        memcpy(to, bytes, n);
    return to + n;
}

/* The batch with its list of types and its columns, which are made; the front of its header depends
 * on the block that it goes to. */
static void block_append(struct partition_writer *w, struct writer_thread *t,
                         const struct buf *types, size_t columns_len)
{
    const struct writer_batch *b = &w->batch;
    size_t lists = (b->opens > t->depth ? b->opens : t->depth) * BATCH_OPEN_BYTES;
    size_t need = BATCH_HEADER_BYTES + lists + types->len + columns_len;
    if (need > PARTITION_BLOCK_RAW_MAX - w->raw_len)
        block_flush(w);
    struct buf front = {0};
    uint8_t prefix[10];
    header_put(w, t, ranges_to_list(w, t), &front);
    if (front.status != SKEIN_OK) {
        writer_fail(w, SKEIN_NO_MEMORY);
    } else {
        uint8_t *to = w->raw + w->raw_len;
        to =
            bytes_append(to, prefix, (size_t)(uleb_write(prefix, front.len + types->len) - prefix));
        to = bytes_append(to, front.data, front.len);
        to = bytes_append(to, types->data, types->len);
        to = bytes_append(to, w->scratch, columns_len);
        w->raw_len = (size_t)(to - w->raw);
        totals_add(w);
        ranges_follow(w, t);
    }
    buf_fini(&front);
}

void batch_flush(struct partition_writer *w)
{
    struct writer_batch *b = &w->batch;
    if (b->active && (b->events > 0 || b->opens > 0) && w->status == SKEIN_OK) {
        struct buf types = {0};
        struct writer_thread *t = writer_thread_at(w, b->thread);
        if (b->events == 0)
            b->base = b->last = w->opens_listed[b->opens - 1].since_ticks;
        uint8_t *end = columns_write(w, w->scratch, &types);
        if (types.status != SKEIN_OK || t == NULL)
            writer_fail(w, SKEIN_NO_MEMORY);
        else
            block_append(w, t, &types, (size_t)(end - w->scratch));
        buf_fini(&types);
    }
    *b = (struct writer_batch){0};
}

void block_flush(struct partition_writer *w)
{
    if (w->raw_len == 0 || w->status != SKEIN_OK)
        return;
    size_t at = w->packed.len;
    section_put_packed(&w->packed, SECTION_BLOCK, w->raw, w->raw_len);
    bool room = array_grow(w->blocks, w->block_count + 1, &w->block_cap);
    if (w->packed.status != SKEIN_OK || !room) {
        writer_fail(w, SKEIN_NO_MEMORY);
        return;
    }
    w->block.offset = at; /* of the first block, until the tables in front are known */
    w->block.stored_bytes = (uint32_t)(w->packed.len - at);
    w->block.raw_bytes = (uint32_t)w->raw_len;
    w->blocks[w->block_count++] = w->block;
    w->raw_bytes += w->raw_len;
    w->raw_len = 0;
    w->block = (struct partition_block){0};
    if (w->raw_bytes > RAW_BYTES_MAX || w->packed.len > PARTITION_BYTES_MAX ||
        w->block_count == BLOCKS_MAX || w->batches > BATCHES_MAX || w->sequences > SEQUENCES_MAX)
        writer_fail(w, SKEIN_TOO_LARGE);
}
