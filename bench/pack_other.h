/* SPDX-License-Identifier: Apache-2.0
 *
 * The ways to pack a block that the format does not use, to be measured beside the one it does.
 */
#ifndef PACK_OTHER_H
#define PACK_OTHER_H

#include "buf.h"

/* Appends what n bytes are packed to, with a checksum of the content. False: it failed, or is not in this build. */
bool lz4hc_pack(struct buf *b, const void *bytes, size_t n);
bool zstd_pack(struct buf *b, const void *bytes, size_t n);      /* level 1 */
bool zstd_slow_pack(struct buf *b, const void *bytes, size_t n); /* level 3, its default */

/* Back into exactly n bytes. */
bool zstd_unpack(const void *packed, size_t packed_bytes, uint8_t *out, size_t n);

#endif
