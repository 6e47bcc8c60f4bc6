/* SPDX-License-Identifier: Apache-2.0
 *
 * gzip files, the only module that knows zlib. Pure.
 */
#ifndef PACK_ZLIB_H
#define PACK_ZLIB_H

#include "buf.h"

/* Appends the bytes as one gzip file. SKEIN_OK, SKEIN_NO_MEMORY, SKEIN_TOO_LARGE (4 GiB). */
int gzip_pack(struct buf *out, const uint8_t *bytes, size_t n);

/* One member of a gzip file after the other. One owner, one thread. */
struct gzip_member;
/* NULL: no memory. */
struct gzip_member *gzip_member_new(void);
void gzip_member_free(struct gzip_member **member);

/* Takes from in, *in_n bytes, and gives to out, with room for *out_n; both become what is left of them.
 * 1: the member ends here, and the next call begins another one; 0: more is to come, or more room is
 * needed; SKEIN_CORRUPT; SKEIN_NO_MEMORY. Either may be of at most 1 GiB. */
int gzip_member_unpack(struct gzip_member *member, const uint8_t *in, size_t *in_n, uint8_t *out,
                       size_t *out_n);

#endif
