/* SPDX-License-Identifier: Apache-2.0
 *
 * Owns the growing of byte buffers and the bounded reading of bytes: the only place where the tree
 * turns integers into bytes and back. No threads of its own, no locks; a buf or cursor belongs to
 * one thread at a time. Never prints, never aborts, never reads past `end`.
 */
#include "buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 64, ULEB_MAX_BYTES = 10 };

void buf_init(struct buf *b)
{
    memset(b, 0, sizeof *b);
}

void buf_fini(struct buf *b)
{
    free(b->data);
    buf_init(b);
}

void buf_clear(struct buf *b)
{
    b->len = 0;
    b->status = SKEIN_OK;
}

/* Doubles until n more bytes fit; false leaves the buf as it was, but failed. */
static bool buf_grow(struct buf *b, size_t n)
{
    if (n > SIZE_MAX / 2 - b->len) {
        b->status = SKEIN_NO_MEMORY;
        return false;
    }
    size_t cap = b->cap ? b->cap : FIRST_CAP;
    while (cap - b->len < n)
        cap *= 2;
    uint8_t *data = realloc(b->data, cap);
    if (data == NULL) {
        b->status = SKEIN_NO_MEMORY;
        return false;
    }
    b->data = data;
    b->cap = cap;
    return true;
}

uint8_t *buf_reserve(struct buf *b, size_t n)
{
    if (b->status != SKEIN_OK)
        return NULL;
    /* An empty buf grows also for n == 0: NULL means failure alone. */
    if ((b->data == NULL || n > b->cap - b->len) && !buf_grow(b, n))
        return NULL;
    return b->data + b->len;
}

void buf_put(struct buf *b, const void *bytes, size_t n)
{
    uint8_t *to = buf_reserve(b, n);
    if (to == NULL || n == 0)
        return;
    memcpy(to, bytes, n);
    b->len += n;
}

static void le_store(uint8_t *to, uint64_t v, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        to[i] = (uint8_t)(v >> (8 * i));
}

static uint64_t le_load(const uint8_t *from, unsigned bytes)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes; i++)
        v |= (uint64_t)from[i] << (8 * i);
    return v;
}

static void le_put(struct buf *b, uint64_t v, unsigned bytes)
{
    uint8_t *to = buf_reserve(b, bytes);
    if (to == NULL)
        return;
    le_store(to, v, bytes);
    b->len += bytes;
}

void buf_put_u8(struct buf *b, uint8_t v)
{
    le_put(b, v, 1);
}

void buf_put_u16(struct buf *b, uint16_t v)
{
    le_put(b, v, 2);
}

void buf_put_u32(struct buf *b, uint32_t v)
{
    le_put(b, v, 4);
}

void buf_put_u64(struct buf *b, uint64_t v)
{
    le_put(b, v, 8);
}

void buf_put_f64(struct buf *b, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    le_put(b, bits, 8);
}

void buf_put_uleb(struct buf *b, uint64_t v)
{
    uint8_t *to = buf_reserve(b, ULEB_MAX_BYTES);
    if (to == NULL)
        return;
    size_t n = 0;
    while (v >= 0x80) {
        to[n++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    to[n++] = (uint8_t)v;
    b->len += n;
}

void buf_put_sleb(struct buf *b, int64_t v)
{
    uint64_t sign = v < 0 ? UINT64_MAX : 0;
    buf_put_uleb(b, ((uint64_t)v << 1) ^ sign);
}

void buf_put_text(struct buf *b, const char *text, size_t n)
{
    buf_put_uleb(b, n);
    buf_put(b, text, n);
}

void buf_set_u32(struct buf *b, size_t at, uint32_t v)
{
    if (b->status == SKEIN_OK && at <= b->len && b->len - at >= 4)
        le_store(b->data + at, v, 4);
}

void buf_set_u64(struct buf *b, size_t at, uint64_t v)
{
    if (b->status == SKEIN_OK && at <= b->len && b->len - at >= 8)
        le_store(b->data + at, v, 8);
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0) {
        if (b->status == SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        return;
    }
    /* One more for the NUL that vsnprintf writes and len does not count. */
    char *to = (char *)buf_reserve(b, (size_t)n + 1);
    if (to == NULL)
        return;
    va_start(args, format);
    vsnprintf(to, (size_t)n + 1, format, args);
    va_end(args);
    b->len += (size_t)n;
}

void cursor_init(struct cursor *c, const void *bytes, size_t n)
{
    /* A pointer that is not NULL, so that an empty cursor still hands out empty ranges. */
    static const uint8_t nothing[1];
    c->pos = bytes != NULL ? bytes : nothing;
    c->end = c->pos + (bytes != NULL ? n : 0);
    c->status = SKEIN_OK;
}

size_t cursor_left(const struct cursor *c)
{
    return (size_t)(c->end - c->pos);
}

int cursor_fail(struct cursor *c, int status)
{
    if (c->status == SKEIN_OK)
        c->status = status;
    return c->status;
}

const uint8_t *cursor_bytes(struct cursor *c, uint64_t n)
{
    if (c->status != SKEIN_OK)
        return NULL;
    if (n > (size_t)(c->end - c->pos)) {
        cursor_fail(c, SKEIN_TRUNCATED);
        return NULL;
    }
    const uint8_t *at = c->pos;
    c->pos += n;
    return at;
}

static uint64_t le_take(struct cursor *c, unsigned bytes)
{
    const uint8_t *at = cursor_bytes(c, bytes);
    return at != NULL ? le_load(at, bytes) : 0;
}

uint8_t cursor_u8(struct cursor *c)
{
    return (uint8_t)le_take(c, 1);
}

uint16_t cursor_u16(struct cursor *c)
{
    return (uint16_t)le_take(c, 2);
}

uint32_t cursor_u32(struct cursor *c)
{
    return (uint32_t)le_take(c, 4);
}

uint64_t cursor_u64(struct cursor *c)
{
    return le_take(c, 8);
}

double cursor_f64(struct cursor *c)
{
    uint64_t bits = le_take(c, 8);
    double v;
    memcpy(&v, &bits, sizeof v);
    return v;
}

uint64_t cursor_uleb(struct cursor *c)
{
    if (c->status != SKEIN_OK)
        return 0;
    uint64_t v = 0;
    const uint8_t *at = c->pos;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (at == c->end) {
            cursor_fail(c, SKEIN_TRUNCATED);
            return 0;
        }
        uint8_t byte = *at++;
        /* The tenth byte has room for one bit only. */
        if (shift == 63 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            c->pos = at;
            return v;
        }
    }
    cursor_fail(c, SKEIN_CORRUPT);
    return 0;
}

int64_t cursor_sleb(struct cursor *c)
{
    uint64_t v = cursor_uleb(c);
    return (int64_t)((v >> 1) ^ (0 - (v & 1)));
}

const char *cursor_text(struct cursor *c, size_t max, size_t *n)
{
    *n = 0;
    uint64_t length = cursor_uleb(c);
    if (c->status == SKEIN_OK && length > max)
        cursor_fail(c, SKEIN_CORRUPT);
    const uint8_t *at = cursor_bytes(c, length);
    if (at == NULL)
        return NULL;
    *n = (size_t)length;
    return (const char *)at;
}

unsigned uleb_size(uint64_t v)
{
    unsigned n = 1;
    while (v >>= 7)
        n++;
    return n;
}
