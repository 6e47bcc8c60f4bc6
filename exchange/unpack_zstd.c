/* SPDX-License-Identifier: Apache-2.0
 * See unpack_zstd.h. */
#include "unpack_zstd.h"

#include <stdlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "skein/status.h"

struct zstd_frame {
    ZSTD_DCtx *context;
};

struct zstd_frame *zstd_frame_new(void)
{
    struct zstd_frame *frame = calloc(1, sizeof *frame);
    if (frame == NULL)
        return NULL;
    frame->context = ZSTD_createDCtx();
    if (frame->context == NULL || ZSTD_isError(ZSTD_DCtx_setParameter(
                                      frame->context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX)))
        zstd_frame_free(&frame);
    return frame;
}

void zstd_frame_free(struct zstd_frame **frame)
{
    if (*frame == NULL)
        return;
    ZSTD_freeDCtx((*frame)->context);
    free(*frame);
    *frame = NULL;
}

int zstd_frame_unpack(struct zstd_frame *frame, const uint8_t *in, size_t *in_n, uint8_t *out,
                      size_t *out_n)
{
    ZSTD_inBuffer from = {.src = in, .size = *in_n};
    ZSTD_outBuffer to = {.dst = out, .size = *out_n};
    size_t result = ZSTD_decompressStream(frame->context, &to, &from);
    *in_n = from.size - from.pos;
    *out_n = to.size - to.pos;
    if (!ZSTD_isError(result))
        return result == 0; /* the frame has ended, and all of it was given */
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return SKEIN_NO_MEMORY;
    case ZSTD_error_frameParameter_windowTooLarge:
        return SKEIN_TOO_LARGE;
    default:
        return SKEIN_CORRUPT;
    }
}
