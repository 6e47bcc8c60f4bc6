/* SPDX-License-Identifier: Apache-2.0
 *
 * LZ4 frames, read alone: for WebAssembly, for which Debian has no liblz4 and no source that is
 * installed. It takes and refuses what pack_lz4.c does with liblz4, but for matches at offset 0, which
 * LZ4's block format forbids and liblz4 takes as bytes that nobody wrote. Any thread, each call on its
 * own; never allocates.
 */
#ifndef LZ4_FRAME_H
#define LZ4_FRAME_H

#include <stddef.h>
#include <stdint.h>

/* As lz4_unpack of pack_lz4.h. SKEIN_OK; SKEIN_CORRUPT: the contents of out are undefined. */
int lz4_frame_unpack(const void *frame, size_t n, uint8_t *out, size_t raw_bytes);

#endif
