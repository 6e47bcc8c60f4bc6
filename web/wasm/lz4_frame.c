/* SPDX-License-Identifier: Apache-2.0
 *
 * See lz4_frame.h. Every byte is hostile: lengths are compared with what is left before they are used.
 *
 *   frame:    magic u32 · FLG · BD · [content size u64] · [dictionary u32] · HC · blocks · 0 u32 · XXH32
 *   block:    size u32 (bit 31: stored as it is) · bytes · [XXH32 of them]
 *   sequence: token (literals << 4 | match - 4) · [more literals] · literals · offset u16 · [more match]
 *
 * What ends a block: its last sequence has literals alone; the last 5 bytes of a full block are
 * literals, and none of its matches begins in the last 12.
 */
#include "lz4_frame.h"

#include <stdbool.h>
#include <string.h>

#include "buf.h"
#include "checksum.h"

#define MAGIC          UINT32_C(0x184D2204)
#define STORED         UINT32_C(0x80000000)
#define BLOCK_64KB     4
#define BLOCK_256KB    5
#define LAST_LITERALS  5
#define MATCH_LIMIT    12
#define MATCH_LEAST    4
#define SEQUENCE_LEAST 8 /* bytes of a block behind literals that are not its last */

/* Bits of FLG. */
#define FLG_VERSION        0xC0u
#define FLG_VERSION_1      0x40u
#define FLG_INDEPENDENT    0x20u
#define FLG_BLOCK_SUMS     0x10u
#define FLG_CONTENT_SIZE   0x08u
#define FLG_CONTENT_SUM    0x04u
#define FLG_RESERVED       0x02u
#define FLG_HAS_DICTIONARY 0x01u

struct head {
    bool independent, block_sums;
    size_t block_most;
};

/* ---- blocks ---- */

/* Of a nibble of 15: more bytes follow, up to one below 255. False: the block ends too early. */
static bool length_more(const uint8_t **in, const uint8_t *end, size_t *length)
{
    uint8_t more = 255;
    if (*length != 15)
        return true;
    while (more == 255) {
        if (*in == end)
            return false;
        more = *(*in)++;
        *length += more;
    }
    return true;
}

static void match_copy(uint8_t *to, size_t offset, size_t length)
{
    const uint8_t *from = to - offset;
    if (offset >= length)
        memcpy(to, from, length);
    else
        for (size_t i = 0; i < length; i++)
            to[i] = from[i];
}

/* Unpacks n bytes at `in` to `to`, where `room` bytes may be written; matches reach back to `low`. A
 * full block has `most` bytes. How many were made, or -1. */
static ptrdiff_t block_unpack(const uint8_t *in, size_t n, const uint8_t *low, uint8_t *to,
                              size_t room, size_t most)
{
    const uint8_t *end = in + n;
    size_t made = 0;
    while (in < end) {
        uint8_t token = *in++;
        size_t literals = token >> 4, match = token & 15, offset;
        if (!length_more(&in, end, &literals) || literals > (size_t)(end - in) ||
            literals > room - made || literals > most - made)
            return -1;
        memcpy(to + made, in, literals);
        made += literals;
        in += literals;
        if (in == end)
            return (ptrdiff_t)made;
        if (most - made < MATCH_LIMIT || (size_t)(end - in) < SEQUENCE_LEAST)
            return -1;
        offset = (size_t)in[0] | (size_t)in[1] << 8;
        in += 2;
        if (!length_more(&in, end, &match) || match > SIZE_MAX - MATCH_LEAST)
            return -1;
        match += MATCH_LEAST;
        if (offset == 0 || offset > (size_t)(to + made - low) || match > room - made ||
            match > most - made - LAST_LITERALS)
            return -1;
        match_copy(to + made, offset, match);
        made += match;
    }
    return -1; /* it ends with a match, or is empty */
}

/* ---- frames ---- */

static int head_get(struct cursor *c, size_t raw_bytes, struct head *head)
{
    uint32_t magic = cursor_u32(c);
    const uint8_t *from = c->pos;
    uint8_t flg = cursor_u8(c), bd = cursor_u8(c);
    uint64_t content = (flg & FLG_CONTENT_SIZE) != 0 ? cursor_u64(c) : 0;
    uint32_t dictionary = (flg & FLG_HAS_DICTIONARY) != 0 ? cursor_u32(c) : 0;
    size_t n = (size_t)(c->pos - from);
    uint8_t sum = cursor_u8(c);
    unsigned size = bd >> 4;
    if (c->status != SKEIN_OK || magic != MAGIC || (flg & FLG_VERSION) != FLG_VERSION_1 ||
        (flg & FLG_RESERVED) != 0 || (flg & FLG_CONTENT_SUM) == 0 || (bd & 0x8F) != 0 ||
        size < BLOCK_64KB || size > BLOCK_256KB || content != raw_bytes || dictionary != 0 ||
        sum != (uint8_t)(checksum_xxh32(from, n) >> 8))
        return SKEIN_CORRUPT;
    head->independent = (flg & FLG_INDEPENDENT) != 0;
    head->block_sums = (flg & FLG_BLOCK_SUMS) != 0;
    head->block_most = (size_t)1 << (8 + 2 * size);
    return SKEIN_OK;
}

/* One block at the cursor, of `size` as it stands there. How many bytes were made, or -1. */
static ptrdiff_t block_get(struct cursor *c, const struct head *head, uint32_t size,
                           const uint8_t *low, uint8_t *to, size_t room)
{
    size_t n = size & ~STORED;
    const uint8_t *bytes = n <= head->block_most ? cursor_bytes(c, n) : NULL;
    if (bytes == NULL || (head->block_sums && cursor_u32(c) != checksum_xxh32(bytes, n)) ||
        c->status != SKEIN_OK)
        return -1;
    if ((size & STORED) == 0)
        return block_unpack(bytes, n, low, to, room, head->block_most);
    if (n > room)
        return -1;
    memcpy(to, bytes, n);
    return (ptrdiff_t)n;
}

int lz4_frame_unpack(const void *frame, size_t n, uint8_t *out, size_t raw_bytes)
{
    struct cursor c;
    struct head head;
    size_t made = 0;
    uint32_t size;
    cursor_init(&c, frame, n);
    if (head_get(&c, raw_bytes, &head) != SKEIN_OK)
        return SKEIN_CORRUPT;
    while ((size = cursor_u32(&c)) != 0) {
        uint8_t *to = out + made;
        ptrdiff_t got =
            block_get(&c, &head, size, head.independent ? to : out, to, raw_bytes - made);
        if (got < 0)
            return SKEIN_CORRUPT;
        made += (size_t)got;
    }
    uint32_t sum = cursor_u32(&c);
    bool whole = c.status == SKEIN_OK && cursor_left(&c) == 0 && made == raw_bytes;
    return whole && sum == checksum_xxh32(out, raw_bytes) ? SKEIN_OK : SKEIN_CORRUPT;
}
