/* SPDX-License-Identifier: Apache-2.0
 *
 * Frames of zstd, the only module that knows libzstd. One owner, one thread.
 */
#ifndef UNPACK_ZSTD_H
#define UNPACK_ZSTD_H

#include <stddef.h>
#include <stdint.h>

#define ZSTD_WINDOW_LOG_MAX 27 /* 128 MiB: what zstd takes without --long=28 and more */

struct zstd_frame;
/* NULL: no memory. */
struct zstd_frame *zstd_frame_new(void);
void zstd_frame_free(struct zstd_frame **frame);

/* As gzip_member_unpack; and SKEIN_TOO_LARGE: its window is. */
int zstd_frame_unpack(struct zstd_frame *frame, const uint8_t *in, size_t *in_n, uint8_t *out,
                      size_t *out_n);

#endif
