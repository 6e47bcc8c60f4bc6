/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks and batches of a partition (docs/format.md F-22 to F-28): unpacks, and checks every header
 * before anything relies on it. Every byte is hostile. Owns the unpacked blocks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "pack_lz4.h"
#include "partition_blocks_int.h"
#include "partition_entries_int.h"
#include "partition_reader_int.h"

/* ---- unpacking and listing ---- */

/* One type of a batch's list: its columns' bytes are added to *columns. */
static void batch_type_check(const struct partition_reader *r, struct cursor *c, uint64_t *records,
                             uint64_t *columns)
{
    const uint8_t *at = c->pos;
    uint64_t type = cursor_uleb(c), rows = cursor_uleb(c), count = cursor_uleb(c);
    if (c->status == SKEIN_OK && type >= r->type_count)
        rule_break(c, F_24, at);
    else if (c->status == SKEIN_OK && count < r->type_facts[type].columns)
        rule_break(c, F_26, at);
    if (rows > BATCH_EVENTS_MAX)
        rule_break(c, F_4, at);
    if (count > cursor_left(c) / 2)
        rule_break(c, F_24, at);
    *records += rows;
    for (uint64_t i = 0; i < count && c->status == SKEIN_OK; i++) {
        cursor_u8(c);
        const uint8_t *length = c->pos;
        uint64_t bytes = cursor_uleb(c);
        if (bytes > PARTITION_BLOCK_RAW_MAX)
            rule_break(c, F_4, length);
        *columns += bytes;
    }
}

/* F-24: reads the fixed fields of a header, and checks that its lists can be walked; *columns gets
 * their bytes. */
static void batch_header_get(const struct partition_reader *r, struct cursor *c,
                             struct reader_batch *batch, uint64_t *columns)
{
    const uint8_t *at = c->pos;
    uint64_t thread = cursor_uleb(c), flags = cursor_uleb(c);
    batch->generation = cursor_uleb(c);
    batch->sequence = cursor_uleb(c);
    batch->last_sequence = batch->sequence + cursor_uleb(c);
    batch->base = cursor_uleb(c);
    batch->last = batch->base + cursor_uleb(c);
    uint64_t events = cursor_uleb(c), codes = cursor_uleb(c), times = cursor_uleb(c);
    if (thread >= r->thread_count || flags > BATCH_FLAGS_IGNORABLE || batch->last < batch->base)
        rule_break(c, F_24, at);
    if (events > BATCH_EVENTS_MAX || codes > PARTITION_BLOCK_RAW_MAX ||
        times > PARTITION_BLOCK_RAW_MAX)
        rule_break(c, F_4, at);
    if (c->status != SKEIN_OK)
        return;
    batch->thread = (uint32_t)thread;
    batch->flags = (uint32_t)flags;
    batch->events = (uint32_t)events;
    batch->codes_len = (uint32_t)codes;
    batch->times_len = (uint32_t)times;
    batch->opens = (uint32_t)count_get(c, PARTITION_BLOCK_RAW_MAX, 2);
    batch->lists = c->pos;
    for (uint32_t i = 0; i < batch->opens && c->status == SKEIN_OK; i++) {
        const uint8_t *range = c->pos;
        uint64_t type = cursor_uleb(c);
        cursor_sleb(c);
        if (type > r->type_count)
            rule_break(c, F_24, range);
        else if (type > 0 && r->type_facts[type - 1].stack)
            rule_break(c, F_45, range);
    }
    batch->types = (uint32_t)count_get(c, TYPES_MAX, 3);
    uint64_t records = 0;
    for (uint32_t i = 0; i < batch->types && c->status == SKEIN_OK; i++)
        batch_type_check(r, c, &records, columns);
    batch->lists_end = c->pos;
    if (records > events)
        rule_break(c, F_25, at);
}

/* The batch at c: header and the places of its columns; c moves behind it, or fails. */
static void batch_get(const struct partition_reader *r, struct cursor *c,
                      struct reader_batch *batch)
{
    uint64_t columns = 0;
    const uint8_t *at = c->pos;
    uint64_t n = cursor_uleb(c);
    if (n > cursor_left(c))
        rule_break(c, F_23, at);
    const uint8_t *bytes = cursor_bytes(c, n);
    if (bytes == NULL)
        return;
    struct cursor header;
    cursor_init(&header, bytes, (size_t)n);
    batch_header_get(r, &header, batch, &columns);
    if (header.status == SKEIN_TRUNCATED)
        rule_break(&header, F_24, header.pos);
    entry_close(c, &header);
    batch->codes = cursor_bytes(c, batch->codes_len);
    batch->times = cursor_bytes(c, batch->times_len);
    batch->columns = cursor_bytes(c, columns);
}

static int batch_note(struct partition_reader *r, const struct reader_batch *batch)
{
    if (!reader_may(r, sizeof *r->batches) ||
        !array_grow(r->batches, r->batch_count + 1, &r->batch_cap))
        return reader_no_memory(r, "the list of batches");
    if (r->batch_count == BATCHES_MAX)
        return reader_fail(r, SKEIN_CORRUPT, F_4, batch->codes, "more than %u batches",
                           BATCHES_MAX);
    uint32_t at = (uint32_t)r->batch_count++;
    struct lane *lane = &r->lanes[batch->thread];
    r->batches[at] = *batch;
    r->batches[at].next = NO_BATCH;
    if (lane->first_batch == NO_BATCH)
        lane->first_batch = lane->next_batch = at;
    else
        r->batches[lane->last_batch].next = at;
    lane->last_batch = at;
    return SKEIN_OK;
}

static int block_unpack(struct partition_reader *r, struct reader_block *block)
{
    const struct section *section = &block->section;
    const uint8_t *at = r->bytes + section->offset;
    if (!section_sound(section, at))
        return reader_fail(r, SKEIN_CORRUPT, F_9, at, "the block fails its checksum");
    if (section->raw_bytes > RAW_BYTES_MAX - r->raw_bytes)
        return reader_fail(r, SKEIN_CORRUPT, F_4, at,
                           "the block makes it more than %" PRIu64 " bytes unpacked",
                           (uint64_t)RAW_BYTES_MAX);
    r->raw_bytes += section->raw_bytes;
    if (reader_may(r, section->raw_bytes))
        block->raw = malloc((size_t)section->raw_bytes + 1);
    if (block->raw == NULL)
        return reader_no_memory(r, "a block");
    int status =
        lz4_unpack(section->payload, (size_t)section->length, block->raw, section->raw_bytes);
    if (status == SKEIN_NO_MEMORY)
        return reader_no_memory(r, "unpacking a block");
    if (status != SKEIN_OK)
        return reader_fail(r, status, F_10, at, "the block cannot be unpacked");
    return SKEIN_OK;
}

int blocks_open(struct partition_reader *r)
{
    blocks_choose(r);
    for (size_t i = 0; i < r->block_count; i++) {
        if (r->blocks[i].skipped)
            continue;
        int status = block_unpack(r, &r->blocks[i]);
        if (status != SKEIN_OK)
            return status;
        struct cursor c;
        cursor_init(&c, r->blocks[i].raw, r->blocks[i].section.raw_bytes);
        while (cursor_left(&c) > 0) {
            struct reader_batch batch = {.block = (uint32_t)i};
            size_t at = r->blocks[i].section.raw_bytes - cursor_left(&c);
            batch_get(r, &c, &batch);
            if (c.status != SKEIN_OK)
                return reader_fail(r, SKEIN_CORRUPT, cursor_rule(&c, F_23), c.pos,
                                   "the batch at unpacked byte %zu is malformed", at);
            status = batch_note(r, &batch);
            if (status != SKEIN_OK)
                return status;
        }
    }
    return SKEIN_OK;
}
