/* SPDX-License-Identifier: Apache-2.0
 *
 * pack_lz4.h for WebAssembly: reading is lz4_frame.h's, writing there is none. No state.
 */
#include "lz4_frame.h"
#include "pack_lz4.h"

void lz4_pack(struct buf *b, const void *bytes, size_t n)
{
    (void)bytes;
    (void)n;
    b->status = SKEIN_UNSUPPORTED;
}

int lz4_unpack(const void *frame, size_t n, uint8_t *out, size_t raw_bytes)
{
    return lz4_frame_unpack(frame, n, out, raw_bytes);
}
