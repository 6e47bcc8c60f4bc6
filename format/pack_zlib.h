/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip files, the only module that knows zlib. Pure.
 */
#ifndef PACK_ZLIB_H
#define PACK_ZLIB_H

#include "buf.h"

/* Appends the bytes as one gzip file. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_TOO_LARGE (4 GiB). */
int gzip_pack(struct buf *out, const uint8_t *bytes, size_t n);

#endif
