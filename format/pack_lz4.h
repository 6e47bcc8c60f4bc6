/* SPDX-License-Identifier: Apache-2.0
 *
 * LZ4 frames (docs/format.md F-10): the only module that knows liblz4. Any thread, each call on its
 * own.
 */
#ifndef PACK_LZ4_H
#define PACK_LZ4_H

#include "buf.h"

/* Appends n bytes as one frame with content size and checksum. b->status tells of failure. */
void lz4_pack(struct buf *b, const void *bytes, size_t n);

/* Unpacks one whole frame of exactly raw_bytes into out. SKEIN_OK; SKEIN_CORRUPT; SKEIN_NO_MEMORY.
 * On failure the contents of out are undefined. */
int lz4_unpack(const void *frame, size_t n, uint8_t *out, size_t raw_bytes);

#endif
