/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that are packed by gzip or zstd, told by their first bytes, piece by piece. Every byte is hostile:
 * memory is bounded by the window of the format (zstd: 128 MiB), what comes out by UNPACK_BYTES_MAX, and
 * by what went in. No I/O of its own; one thread.
 */
#ifndef UNPACK_H
#define UNPACK_H

#include "buf.h"
#include "skein/trace.h"

#define UNPACK_BYTES_MAX  (UINT64_C(64) << 30)
#define UNPACK_BYTES_FREE (UINT64_C(256) << 20) /* more than so much must be no more than */
#define UNPACK_RATIO_MAX  500u                  /* so many times what it was unpacked from */

enum unpack_form { UNPACK_NONE, UNPACK_GZIP, UNPACK_ZSTD };
enum unpack_form unpack_form_of(const uint8_t *bytes, size_t n); /* of 4, or all there are */

struct unpack_told {
    uint64_t bytes, members; /* that came out; of zstd: frames */
    uint64_t left;           /* bytes of the packed file that nothing was made of */
    char why[160];           /* a sentence on these; or on what failed */
};

/* All members, one after the other. What is cut, broken, or behind the last one, ends it with SKEIN_OK,
 * and *told says it. SKEIN_TOO_LARGE, by the bounds; SKEIN_NO_MEMORY; what `put` and the source return. */
int unpack(const struct skein_trace_source *source, enum unpack_form form,
           int (*put)(void *context, const uint8_t *bytes, size_t n), void *context,
           struct unpack_told *told);

#endif
