/* SPDX-License-Identifier: Apache-2.0
 * See unpack.h. */
#include "unpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_stream.h"
#include "pack_zlib.h"
#include "unpack_zstd.h"

#define PIECE_BYTES ((size_t)256 << 10)
#define MAGIC_BYTES 4

struct unpacking {
    struct import_stream stream;
    enum unpack_form form;
    struct gzip_member *gzip;
    struct zstd_frame *zstd;
    uint8_t *out;
    bool full; /* the last piece was: there may be more, without more to read */
    int (*put)(void *context, const uint8_t *bytes, size_t n);
    void *context;
    struct unpack_told *told;
};

static bool begins_with(const uint8_t *bytes, size_t n, const uint8_t *magic, size_t magic_n)
{
    return n >= magic_n && memcmp(bytes, magic, magic_n) == 0;
}

enum unpack_form unpack_form_of(const uint8_t *bytes, size_t n)
{
    static const uint8_t gzip[] = {0x1f, 0x8b, 8}, zstd[] = {0x28, 0xb5, 0x2f, 0xfd};
    if (begins_with(bytes, n, gzip, sizeof gzip))
        return UNPACK_GZIP;
    return begins_with(bytes, n, zstd, sizeof zstd) ? UNPACK_ZSTD : UNPACK_NONE;
}

/* A frame of zstd may also be one to be passed over. */
static bool is_member(const struct unpacking *u, const uint8_t *bytes, size_t n)
{
    static const uint8_t skipped[] = {0x2a, 0x4d, 0x18};
    if (unpack_form_of(bytes, n) == u->form)
        return true;
    return u->form == UNPACK_ZSTD && n >= MAGIC_BYTES && bytes[0] >> 4 == 5 &&
           memcmp(bytes + 1, skipped, sizeof skipped) == 0;
}

static void tell(struct unpacking *u, const char *what)
{
    u->told->left = import_stream_left(&u->stream);
    snprintf(u->told->why, sizeof u->told->why,
             "%s at byte %" PRIu64 "; %" PRIu64 " bytes from there on are left out", what,
             u->stream.at, u->told->left);
}

/* What is behind a member is another one, zeros up to the end (of a tape), or nothing of the file. */
static int next_find(struct unpacking *u, bool *found)
{
    size_t there;
    *found = false;
    while (import_stream_left(&u->stream) > 0) {
        uint64_t left = import_stream_left(&u->stream);
        const uint8_t *bytes =
            import_stream_peek(&u->stream, left < MAGIC_BYTES ? (size_t)left : MAGIC_BYTES, &there);
        if (bytes == NULL)
            return u->stream.status;
        if (is_member(u, bytes, there)) {
            *found = true;
            return SKEIN_OK;
        }
        if (bytes[0] != 0) {
            tell(u, "something else lies behind what is packed,");
            return SKEIN_OK;
        }
        size_t zeros = 0;
        while (zeros < there && bytes[zeros] == 0)
            zeros++;
        import_stream_skip(&u->stream, zeros);
    }
    return SKEIN_OK;
}

static int bounds_check(struct unpacking *u)
{
    uint64_t in = u->stream.at, out = u->told->bytes;
    bool large = out > UNPACK_BYTES_MAX;
    if (!large && (out <= UNPACK_BYTES_FREE || out / UNPACK_RATIO_MAX <= in))
        return SKEIN_OK;
    if (large)
        snprintf(u->told->why, sizeof u->told->why, "it unpacks to more than 64 GiB");
    else
        snprintf(u->told->why, sizeof u->told->why,
                 "it unpacks to more than 256 MiB, and to more than %u times its size: a trace "
                 "does not",
                 UNPACK_RATIO_MAX);
    return SKEIN_TOO_LARGE;
}

/* A piece; *ends: the member does. SKEIN_CORRUPT: what was in front of it is whole. */
static int piece_unpack(struct unpacking *u, bool *ends)
{
    size_t in_n, out_n = PIECE_BYTES, there;
    const uint8_t *in = import_stream_peek(&u->stream, import_stream_left(&u->stream) > 0, &there);
    if (in == NULL)
        return u->stream.status;
    in_n = there = there < PIECE_BYTES ? there : PIECE_BYTES;
    int result = u->form == UNPACK_GZIP ? gzip_member_unpack(u->gzip, in, &in_n, u->out, &out_n)
                                        : zstd_frame_unpack(u->zstd, in, &in_n, u->out, &out_n);
    *ends = result == 1;
    if (result == SKEIN_TOO_LARGE)
        snprintf(u->told->why, sizeof u->told->why,
                 "it was packed with a window of more than 128 MiB (zstd --long)");
    if (result < 0)
        return result;
    if (there > 0 && in_n == there && out_n == PIECE_BYTES && !*ends)
        return SKEIN_CORRUPT; /* it goes nowhere */
    u->full = out_n == 0;
    import_stream_skip(&u->stream, there - in_n);
    u->told->bytes += PIECE_BYTES - out_n;
    int status = bounds_check(u);
    if (status == SKEIN_OK && out_n < PIECE_BYTES)
        status = u->put(u->context, u->out, PIECE_BYTES - out_n);
    return status;
}

/* One member; what is broken or cut ends it all. */
static int member_unpack(struct unpacking *u, bool *goes_on)
{
    bool ends = false;
    int status = SKEIN_OK;
    while (status == SKEIN_OK && !ends && (import_stream_left(&u->stream) > 0 || u->full))
        status = piece_unpack(u, &ends);
    u->told->members += ends;
    *goes_on = ends;
    if (status == SKEIN_CORRUPT)
        tell(u, "what is packed is broken");
    else if (status == SKEIN_OK && !ends)
        tell(u, "what is packed is cut: it ends");
    return status == SKEIN_CORRUPT ? SKEIN_OK : status;
}

int unpack(const struct skein_trace_source *source, enum unpack_form form,
           int (*put)(void *context, const uint8_t *bytes, size_t n), void *context,
           struct unpack_told *told)
{
    struct unpacking u = {.form = form, .put = put, .context = context, .told = told};
    bool found = true, goes_on = true;
    int status = SKEIN_OK;
    *told = (struct unpack_told){.bytes = 0};
    u.out = malloc(PIECE_BYTES);
    u.gzip = form == UNPACK_GZIP ? gzip_member_new() : NULL;
    u.zstd = form == UNPACK_ZSTD ? zstd_frame_new() : NULL;
    import_stream_init(&u.stream, source);
    if (u.out == NULL || (u.gzip == NULL && u.zstd == NULL))
        status = SKEIN_NO_MEMORY;
    while (status == SKEIN_OK && found && goes_on) {
        status = next_find(&u, &found);
        if (status == SKEIN_OK && found)
            status = member_unpack(&u, &goes_on);
    }
    import_stream_fini(&u.stream);
    gzip_member_free(&u.gzip);
    zstd_frame_free(&u.zstd);
    free(u.out);
    return status;
}
