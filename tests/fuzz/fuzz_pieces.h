/* SPDX-License-Identifier: Apache-2.0
 *
 * Sound frames around hostile pieces, for fuzz targets that read partitions. The input is a row of
 * pieces {kind u8, length u16, bytes}; each becomes a sound section (a BLOCK, and STRINGS of kind
 * 0x83, packed), with head, a footer that lists the blocks, and tail around them, so that mutations
 * reach tables, batches and columns.
 */
#ifndef FUZZ_PIECES_H
#define FUZZ_PIECES_H

#include <stdlib.h>
#include <string.h>

#include "partition_entries_int.h"
#include "partition_int.h"

static inline void require(bool holds)
{
    if (!holds)
        abort();
}

/* Frames one piece; notes a block for the footer. */
static inline void piece_put(struct buf *b, uint8_t kind, const uint8_t *bytes, size_t n,
                             struct partition_footer *footer)
{
    size_t at = b->len;
    if (kind == SECTION_BLOCK || kind == (0x80 | SECTION_STRINGS)) {
        section_put_packed(b, kind & 0x7f, bytes, n);
    } else {
        size_t section = section_begin(b, kind);
        buf_put(b, bytes, n);
        section_end(b, section);
    }
    if (kind == SECTION_BLOCK && footer->block_count < 64)
        footer->blocks[footer->block_count++] = (struct partition_block){
            .offset = at, .stored_bytes = (uint32_t)(b->len - at), .raw_bytes = (uint32_t)n};
}

/* The partition, in memory of exactly its size, so that a read past the end is seen; the caller
 * frees it. */
static inline uint8_t *pieces_assemble(const uint8_t *bytes, size_t n, size_t *length)
{
    struct partition_block blocks[64];
    struct partition_footer footer = {
        .host = (char[]){""}, .service = (char[]){""}, .labels = (char[]){""}, .exe = (char[]){""}};
    struct buf b = {0};
    struct cursor c;
    footer.blocks = blocks;
    cursor_init(&c, bytes, n);
    head_put(&b, HEAD_PARTITION, 0);
    while (cursor_left(&c) > 3 && footer.block_count < 64) {
        uint8_t kind = cursor_u8(&c);
        size_t len = cursor_u16(&c);
        len = len < cursor_left(&c) ? len : cursor_left(&c);
        const uint8_t *piece = cursor_bytes(&c, len);
        if (kind == SECTION_INFO && len > 18) {
            memcpy(footer.key.process.bytes, piece, 16);
            footer.key.epoch = piece[16] & 0x7f;
            footer.key.sequence = piece[17] & 0x7f;
        }
        piece_put(&b, kind, piece, len, &footer);
    }
    size_t last = section_begin(&b, SECTION_FOOTER);
    footer_put(&b, &footer);
    section_end(&b, last);
    tail_put(&b, 0, last, HEAD_PARTITION);
    size_t len = b.len;
    b.len = 0;
    head_put(&b, HEAD_PARTITION, len);
    b.len = len;
    require(b.status == SKEIN_OK);
    uint8_t *exact = malloc(len);
    require(exact != NULL);
    memcpy(exact, b.data, len);
    buf_fini(&b);
    *length = len;
    return exact;
}

#endif
