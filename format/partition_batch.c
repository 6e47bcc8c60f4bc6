/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns the rows of a batch into columns and batches into LZ4 blocks (docs/format.md F-23 to F-27).
 * Owns struct batch_packer. Entered with whole batches, in their order, by one thread at a time.
 * Never allocates for an event; fails only for want of memory for the packed bytes.
 */
#include "array.h"
#include "partition_batch_int.h"

#include <string.h>

static void pack_fail(struct batch_packer *p, int status)
{
    if (p->status == SKEIN_OK)
        p->status = status;
}

/* Codes, times and the types' columns, one behind the other; the list of types goes into *header. */
static uint8_t *columns_write(uint8_t *to, const struct batch_rows *rows, size_t lengths[2],
                              struct buf *header)
{
    uint8_t *start = to;
    to = codes_write(to, rows->codes, rows->events, (uint16_t)rows->type_count);
    lengths[0] = (size_t)(to - start);
    start = to;
    to = ulebs_write(to, rows->times, rows->events);
    lengths[1] = (size_t)(to - start);
    for (uint32_t i = 0; i < rows->type_count; i++) {
        const struct rows_type *t = &rows->types[i];
        buf_put_uleb(header, t->type);
        buf_put_uleb(header, t->rows);
        buf_put_uleb(header, t->columns);
        for (unsigned c = 0; c < t->columns; c++) {
            uint8_t encoding;
            start = to;
            to = column_write(to, t->values + (size_t)c * t->cap, t->rows, t->column_types[c],
                              &encoding);
            buf_put_u8(header, encoding);
            buf_put_uleb(header, (uint64_t)(to - start));
        }
    }
    return to;
}

/* F-24 up to the list of types, with the outermost `list` of the thread's ranges, or those that the
 * batch was given. */
static void header_put(const struct batch_rows *b, const size_t lengths[2],
                       const struct pack_thread *t, size_t list, struct buf *header)
{
    buf_put_uleb(header, b->thread);
    buf_put_uleb(header, b->late ? BATCH_LATE : 0);
    buf_put_uleb(header, b->generation);
    buf_put_uleb(header, b->sequence);
    buf_put_uleb(header, b->last_sequence - b->sequence);
    buf_put_uleb(header, b->base);
    buf_put_uleb(header, b->last - b->base);
    buf_put_uleb(header, b->events);
    buf_put_uleb(header, lengths[0]);
    buf_put_uleb(header, lengths[1]);
    buf_put_uleb(header, b->opens + list);
    for (uint32_t i = 0; i < b->opens; i++) {
        buf_put_uleb(header, b->opens_listed[i].type);
        buf_put_sleb(header, (int64_t)(b->base - b->opens_listed[i].since_ticks));
    }
    for (size_t i = 0; i < list; i++) {
        buf_put_uleb(header, t->frames[i].type);
        buf_put_sleb(header, (int64_t)(b->base - t->frames[i].since));
    }
    buf_put_uleb(header, b->type_count);
}

/* Times rise within a batch, as edges do. */
static void counts_add(struct partition_counts *counts, const struct batch_rows *b)
{
    uint64_t at = b->base;
    size_t edge = 0;
    for (uint32_t i = 0; i < b->events && edge < counts->count; i++) {
        at += b->times[i];
        while (edge < counts->count && counts->edges[edge] <= at)
            counts->before[edge++] += i;
    }
    while (edge < counts->count)
        counts->before[edge++] += b->events;
}

static void totals_add(struct batch_packer *p, const struct batch_rows *b)
{
    if (p->counts != NULL)
        counts_add(p->counts, b);
    struct partition_block *block = &p->block;
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
    p->events += b->events;
    p->sequences += b->sequences;
    p->batches++;
    if (b->events == 0)
        return;
    p->from_ticks = b->base < p->from_ticks ? b->base : p->from_ticks;
    p->to_ticks = b->last > p->to_ticks ? b->last : p->to_ticks;
}

static uint8_t *bytes_append(uint8_t *to, const void *bytes, size_t n)
{
    if (n > 0)
        memcpy(to, bytes, n);
    return to + n;
}

/* The batch with its list of types and its columns, which are made; the front of its header depends
 * on the block that it goes to. */
static void batch_append(struct batch_packer *p, const struct batch_rows *b, struct pack_thread *t,
                         const size_t lengths[2], const struct buf *types, size_t columns_len)
{
    size_t lists = (b->opens > t->depth ? b->opens : t->depth) * BATCH_OPEN_BYTES;
    size_t need = BATCH_HEADER_BYTES + lists + types->len + columns_len;
    if (need > PARTITION_BLOCK_RAW_MAX - p->filling->raw_len)
        block_flush(p);
    if (p->status != SKEIN_OK) /* the block may be as full as it was */
        return;
    struct buf front = {0};
    uint8_t prefix[10];
    header_put(b, lengths, t, ranges_to_list(p, b, t), &front);
    if (front.status != SKEIN_OK) {
        pack_fail(p, SKEIN_NO_MEMORY);
    } else {
        struct raw_block *block = p->filling;
        uint8_t *to = block->raw + block->raw_len;
        to =
            bytes_append(to, prefix, (size_t)(uleb_write(prefix, front.len + types->len) - prefix));
        to = bytes_append(to, front.data, front.len);
        to = bytes_append(to, types->data, types->len);
        to = bytes_append(to, p->scratch, columns_len);
        block->raw_len = (size_t)(to - block->raw);
        totals_add(p, b);
        ranges_follow(p, b, t);
    }
    buf_fini(&front);
}

void batch_pack(struct batch_packer *p, const struct batch_rows *rows)
{
    if (p->status != SKEIN_OK)
        return;
    struct buf types = {0};
    size_t lengths[2];
    struct pack_thread *t = pack_thread_at(p, rows->thread);
    uint8_t *end = columns_write(p->scratch, rows, lengths, &types);
    if (types.status != SKEIN_OK || t == NULL)
        pack_fail(p, SKEIN_NO_MEMORY);
    else
        batch_append(p, rows, t, lengths, &types, (size_t)(end - p->scratch));
    buf_fini(&types);
}

static bool figures_add(struct batch_packer *p)
{
    bool shared = p->pipe.shared; /* the helper fills in what it has packed */
    if (shared)
        pipe_lock(&p->pipe);
    bool room = array_grow(p->blocks, p->block_count + 1, &p->block_cap);
    if (room)
        p->blocks[p->block_count++] = p->block;
    if (shared)
        pthread_mutex_unlock(&p->pipe.mutex);
    return room;
}

void block_flush(struct batch_packer *p)
{
    size_t raw_len = p->filling->raw_len;
    if (raw_len == 0 || p->status != SKEIN_OK)
        return;
    p->block.raw_bytes = (uint32_t)raw_len;
    if (!figures_add(p)) {
        pack_fail(p, SKEIN_NO_MEMORY);
        return;
    }
    p->raw_bytes += raw_len;
    p->block = (struct partition_block){0};
    pipe_put(p);
    if (p->raw_bytes > RAW_BYTES_MAX || p->block_count == BLOCKS_MAX || p->batches > BATCHES_MAX ||
        p->sequences > SEQUENCES_MAX)
        pack_fail(p, SKEIN_TOO_LARGE);
}
