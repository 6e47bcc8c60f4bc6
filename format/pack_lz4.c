/* SPDX-License-Identifier: Apache-2.0
 *
 * LZ4 frames through liblz4's frame API. Owns nothing between calls; never trusts the sizes that a
 * frame claims.
 */
#include "pack_lz4.h"

#include <lz4frame.h>

void lz4_pack(struct buf *b, const void *bytes, size_t n)
{
    LZ4F_preferences_t options = {.frameInfo = {.blockSizeID = LZ4F_max256KB,
                                                .blockMode = LZ4F_blockIndependent,
                                                .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                                                .contentSize = n}};
    size_t bound = LZ4F_compressFrameBound(n, &options);
    uint8_t *to = buf_reserve(b, bound);
    if (to == NULL)
        return;
    size_t used = LZ4F_compressFrame(to, bound, bytes, n, &options);
    if (LZ4F_isError(used)) {
        b->status = SKEIN_NO_MEMORY; /* the bound is enough, so memory is all that can be missing */
        return;
    }
    b->len += used;
}

int lz4_unpack(const void *frame, size_t n, uint8_t *out, size_t raw_bytes)
{
    LZ4F_dctx *context = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return SKEIN_NO_MEMORY;
    const uint8_t *from = frame;
    LZ4F_frameInfo_t info;
    size_t head = n;
    size_t hint = LZ4F_getFrameInfo(context, &info, from, &head);
    int status = SKEIN_CORRUPT;
    if (LZ4F_isError(hint) || info.frameType != LZ4F_frame || info.contentSize != raw_bytes ||
        info.contentChecksumFlag != LZ4F_contentChecksumEnabled || info.dictID != 0 ||
        info.blockSizeID > LZ4F_max256KB)
        goto out;
    LZ4F_decompressOptions_t stable = {.stableDst = 1};
    size_t in_done = head, out_done = 0;
    while (hint != 0) {
        size_t in = n - in_done, to = raw_bytes - out_done;
        hint = LZ4F_decompress(context, out + out_done, &to, from + in_done, &in, &stable);
        if (LZ4F_isError(hint))
            goto out;
        in_done += in;
        out_done += to;
        if (hint != 0 && in == 0 && to == 0)
            goto out; /* wants more input than there is, or more room than it announced */
    }
    if (in_done == n && out_done == raw_bytes)
        status = SKEIN_OK;
out:
    LZ4F_freeDecompressionContext(context);
    return status;
}
