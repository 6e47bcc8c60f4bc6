/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes, bounded: `struct buf` grows to be written, `struct cursor` is read. Every codec of the
 * tree reads and writes through these two and through nothing else. Little-endian on the wire.
 *
 * Both are sticky: after the first failure every further call does nothing, so that a codec checks
 * once, at its end. One owner, no locks.
 */
#ifndef BUF_H
#define BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skein/status.h"

/* ---- writing ---- */

struct buf {
    uint8_t *data;
    size_t len, cap;
    int status; /* SKEIN_OK or SKEIN_NO_MEMORY */
};

/* All-zero is a valid empty buf. buf_fini frees and leaves it empty and reusable. */
void buf_init(struct buf *b);
void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */

/* Makes room for n more bytes and returns where they go, or NULL when out of memory. The caller
 * advances len by what it used. */
uint8_t *buf_reserve(struct buf *b, size_t n);

void buf_put(struct buf *b, const void *bytes, size_t n);
void buf_put_u8(struct buf *b, uint8_t v);
void buf_put_u16(struct buf *b, uint16_t v);
void buf_put_u32(struct buf *b, uint32_t v);
void buf_put_u64(struct buf *b, uint64_t v);
void buf_put_f64(struct buf *b, double v);
void buf_put_uleb(struct buf *b, uint64_t v);
void buf_put_sleb(struct buf *b, int64_t v);                  /* zigzag, then LEB128 */
void buf_put_text(struct buf *b, const char *text, size_t n); /* LEB128 length, bytes */
void buf_set_u32(struct buf *b, size_t at, uint32_t v);       /* overwrites; at + 4 <= len */
void buf_set_u64(struct buf *b, size_t at, uint64_t v);
void buf_printf(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- reading ---- */

struct cursor {
    const uint8_t *pos, *end;
    int status; /* SKEIN_OK, SKEIN_TRUNCATED, SKEIN_CORRUPT; after a failure reads return 0 */
};

void cursor_init(struct cursor *c, const void *bytes, size_t n);
size_t cursor_left(const struct cursor *c);
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
double cursor_f64(struct cursor *c);
uint64_t cursor_uleb(struct cursor *c); /* SKEIN_CORRUPT beyond 64 bits */
int64_t cursor_sleb(struct cursor *c);

/* n bytes that stay where they are, or NULL and a failed cursor. n == 0 does not give NULL. */
const uint8_t *cursor_bytes(struct cursor *c, uint64_t n);

/* LEB128 length and that many bytes, at most max (else SKEIN_TOO_LARGE becomes SKEIN_CORRUPT). */
const char *cursor_text(struct cursor *c, size_t max, size_t *n);

/* Fails the cursor with `status` unless it has failed already; returns its status. */
int cursor_fail(struct cursor *c, int status);

/* Size of v in LEB128, 1 to 10. */
unsigned uleb_size(uint64_t v);

#endif
