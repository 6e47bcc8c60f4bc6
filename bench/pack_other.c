/* SPDX-License-Identifier: Apache-2.0
 *
 * LZ4's slow compressor and zstd. Owns zstd's contexts, for the life of the program; one thread.
 */
#include "pack_other.h"

#include <lz4frame.h>
#include <lz4hc.h>

bool lz4hc_pack(struct buf *b, const void *bytes, size_t n)
{
    LZ4F_preferences_t options = {.frameInfo = {.blockSizeID = LZ4F_max256KB,
                                                .blockMode = LZ4F_blockIndependent,
                                                .contentChecksumFlag = LZ4F_contentChecksumEnabled,
                                                .contentSize = n},
                                  .compressionLevel = LZ4HC_CLEVEL_DEFAULT};
    size_t bound = LZ4F_compressFrameBound(n, &options);
    uint8_t *to = buf_reserve(b, bound);
    size_t used = to == NULL ? 0 : LZ4F_compressFrame(to, bound, bytes, n, &options);
    if (to == NULL || LZ4F_isError(used))
        return false;
    b->len += used;
    return true;
}

#ifdef BENCH_ZSTD
#include <zstd.h>

static bool zstd_level_pack(struct buf *b, const void *bytes, size_t n, int level)
{
    static ZSTD_CCtx *context;
    if (context == NULL)
        context = ZSTD_createCCtx();
    if (context != NULL) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
    }
    size_t bound = ZSTD_compressBound(n);
    uint8_t *to = buf_reserve(b, bound);
    if (to == NULL || context == NULL)
        return false;
    size_t used = ZSTD_compress2(context, to, bound, bytes, n);
    if (ZSTD_isError(used))
        return false;
    b->len += used;
    return true;
}

bool zstd_pack(struct buf *b, const void *bytes, size_t n)
{
    return zstd_level_pack(b, bytes, n, 1);
}

bool zstd_slow_pack(struct buf *b, const void *bytes, size_t n)
{
    return zstd_level_pack(b, bytes, n, 3);
}

bool zstd_unpack(const void *packed, size_t packed_bytes, uint8_t *out, size_t n)
{
    static ZSTD_DCtx *context;
    if (context == NULL)
        context = ZSTD_createDCtx();
    return context != NULL && ZSTD_decompressDCtx(context, out, n, packed, packed_bytes) == n;
}
#else
bool zstd_pack(struct buf *b, const void *bytes, size_t n)
{
    (void)b, (void)bytes, (void)n;
    return false;
}

bool zstd_slow_pack(struct buf *b, const void *bytes, size_t n)
{
    return zstd_pack(b, bytes, n);
}

bool zstd_unpack(const void *packed, size_t packed_bytes, uint8_t *out, size_t n)
{
    (void)packed, (void)packed_bytes, (void)out, (void)n;
    return false;
}
#endif
