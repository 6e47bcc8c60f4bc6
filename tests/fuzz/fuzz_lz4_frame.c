/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of LZ4 frames beside liblz4: what one takes the other takes, with the same bytes. The first
 * byte chooses: 0: the rest is a frame; else it is one block, and a sound frame is made around it, with
 * the flags of that byte and the sum of what liblz4 makes of the block.
 */
#include <lz4.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "buf.h"
#include "checksum.h"
#include "fuzz_target.h"
#include "lz4_frame.h"
#include "pack_lz4.h"

#define RAW_MOST (1u << 20)
#define BLOCK    (1u << 16)

static void require(bool fine)
{
    if (!fine)
        abort();
}

/* Whether a match of the block is at offset 0, which liblz4 takes. */
static bool has_offset_0(const uint8_t *block, size_t n)
{
    for (size_t at = 0; at < n;) {
        size_t literals = block[at] >> 4, match = block[at] & 15;
        at++;
        for (uint8_t more = 255; literals >= 15 && more == 255 && at < n; literals += more)
            more = block[at++];
        if (literals > n - at || n - at - literals < 2)
            return false;
        at += literals;
        if (block[at] == 0 && block[at + 1] == 0)
            return true;
        at += 2;
        for (uint8_t more = 255; match == 15 && more == 255 && at < n;)
            more = block[at++];
    }
    return false;
}

static void both_read(const uint8_t *frame, size_t n, size_t raw_bytes)
{
    uint8_t *exact = malloc(n > 0 ? n : 1);
    uint8_t *ours = calloc(1, raw_bytes + 1), *theirs = calloc(1, raw_bytes + 1);
    require(exact != NULL && ours != NULL && theirs != NULL);
    if (n > 0)
        memcpy(exact, frame, n);
    int mine = lz4_frame_unpack(exact, n, ours, raw_bytes);
    int peer = lz4_unpack(exact, n, theirs, raw_bytes);
    require(mine == peer && ours[raw_bytes] == 0);
    require(mine != SKEIN_OK || memcmp(ours, theirs, raw_bytes) == 0);
    free(exact);
    free(ours);
    free(theirs);
}

static void block_read(uint8_t flags, const uint8_t *block, size_t n)
{
    static char raw[BLOCK];
    bool sums = (flags & 0x10) != 0;
    int made = LZ4_decompress_safe((const char *)block, raw, (int)n, BLOCK);
    size_t length = made > 0 ? (size_t)made : 0;
    struct buf b = {0};
    buf_put_u32(&b, 0x184D2204);
    buf_put_u8(&b, (uint8_t)(0x40 | 0x0C | (flags & 0x30)));
    buf_put_u8(&b, 0x40); /* blocks of 64 KiB */
    buf_put_u64(&b, length);
    require(b.status == SKEIN_OK);
    buf_put_u8(&b, (uint8_t)(checksum_xxh32(b.data + 4, b.len - 4) >> 8));
    buf_put_u32(&b, (uint32_t)n);
    buf_put(&b, block, n);
    if (sums)
        buf_put_u32(&b, checksum_xxh32(block, n));
    buf_put_u32(&b, 0);
    buf_put_u32(&b, checksum_xxh32(raw, length));
    require(b.status == SKEIN_OK);
    both_read(b.data, b.len, length);
    buf_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    if (n < 4)
        return 0;
    if (bytes[0] == 0)
        both_read(bytes + 4, n - 4,
                  ((size_t)bytes[1] << 12 | (size_t)bytes[2] << 4 | bytes[3]) % RAW_MOST);
    else if (n - 1 < BLOCK && !has_offset_0(bytes + 1, n - 1))
        block_read(bytes[0], bytes + 1, n - 1);
    return 0;
}
