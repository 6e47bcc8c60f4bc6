/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's include/linux/ring_buffer.h describes records, its header_event the numbers:
 *
 *   type 0        data; its bytes, these four counted, in the next word
 *   type 1 to 28  data of type * 4 bytes
 *   type 29       padding: to the end where the time is 0, else as long as the next word says
 *   type 30       time: the next word is the upper part of the difference
 *   type 31       time: an absolute one of 59 bits, the upper part in the next word
 */
#include "sched_page.h"

#include <string.h>

#include "sched_layout.h"
#include "skein/status.h"

#define TYPE_PADDING  29u
#define TYPE_EXTEND   30u
#define TYPE_ABSOLUTE 31u
#define WORD          4u
#define TIME_BITS     27
#define ABSOLUTE_BITS 59

#define COMMIT_MISSED (UINT64_C(1) << 31)
#define COMMIT_STORED (UINT64_C(1) << 30) /* how many follows the records */

static uint32_t u32_at(const uint8_t *at)
{
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint64_t u64_at(const uint8_t *at)
{
    return u32_at(at) | (uint64_t)u32_at(at + 4) << 32;
}

int page_shape_parse(const char *text, size_t n, struct page_shape *out)
{
    struct sched_field time, commit, data;
    if (sched_field_find(text, n, "timestamp", &time) != SKEIN_OK ||
        sched_field_find(text, n, "commit", &commit) != SKEIN_OK ||
        sched_field_find(text, n, "data", &data) != SKEIN_OK)
        return SKEIN_CORRUPT;
    if (time.offset != 0 || time.size != 8 || (commit.size != 4 && commit.size != 8) ||
        commit.offset < 8 || data.offset < commit.offset + commit.size || data.offset % 4 != 0)
        return SKEIN_CORRUPT;
    *out = (struct page_shape){.bytes = data.offset + data.size,
                               .commit_offset = commit.offset,
                               .commit_bytes = commit.size,
                               .data_offset = data.offset};
    return SKEIN_OK;
}

int page_open(struct page_cursor *c, const struct page_shape *shape, const uint8_t *page, size_t n)
{
    if (n > PAGE_BYTES_MAX || shape->data_offset > n)
        return SKEIN_TRUNCATED;
    const uint8_t *at = page + shape->commit_offset;
    uint64_t commit = shape->commit_bytes == 8 ? u64_at(at) : u32_at(at);
    size_t bytes = (size_t)(commit & (COMMIT_STORED - 1));
    if (bytes > n - shape->data_offset)
        return SKEIN_TRUNCATED;
    if (bytes % WORD != 0)
        return SKEIN_CORRUPT;
    *c = (struct page_cursor){.pos = page + shape->data_offset,
                              .end = page + shape->data_offset + bytes,
                              .time_ns = u64_at(page),
                              .missed = (commit & COMMIT_MISSED) != 0,
                              .used = shape->data_offset + bytes};
    if (c->missed && (commit & COMMIT_STORED) != 0) {
        if (8 > n - c->used)
            return SKEIN_TRUNCATED;
        c->missed_records = u64_at(c->end);
        c->used += 8;
    }
    return SKEIN_OK;
}

/* Takes what follows a record's first word: false where that is not there. */
static bool word_take(struct page_cursor *c, uint32_t *word)
{
    if (WORD > (size_t)(c->end - c->pos))
        return false;
    *word = u32_at(c->pos);
    c->pos += WORD;
    return true;
}

/* An absolute time has its lower 59 bits; the upper ones are those of the time before. */
static uint64_t time_absolute(uint64_t before, uint64_t lower)
{
    uint64_t mask = (UINT64_C(1) << ABSOLUTE_BITS) - 1;
    return (before & ~mask) | (lower & mask);
}

/* Where `bytes` of payload lie, rounded up to words. */
static int payload_take(struct page_cursor *c, size_t bytes, const uint8_t **payload)
{
    if (bytes > (size_t)(c->end - c->pos))
        return SKEIN_CORRUPT;
    size_t rounded = (bytes + WORD - 1) / WORD * WORD; /* the page ends on a word */
    *payload = c->pos;
    c->pos += rounded;
    return SKEIN_OK;
}

/* What is no data: times and padding. */
static int filler_take(struct page_cursor *c, uint32_t type, uint32_t delta)
{
    uint32_t word;
    const uint8_t *skipped;
    if (type == TYPE_PADDING && delta == 0) {
        c->pos = c->end;
        return SKEIN_OK;
    }
    if (!word_take(c, &word))
        return SKEIN_CORRUPT;
    if (type == TYPE_ABSOLUTE) {
        c->time_ns = time_absolute(c->time_ns, (uint64_t)word << TIME_BITS | delta);
        return SKEIN_OK;
    }
    if (type == TYPE_EXTEND) {
        c->time_ns += (uint64_t)word << TIME_BITS | delta;
        return SKEIN_OK;
    }
    c->time_ns += delta;
    return word < WORD ? SKEIN_CORRUPT : payload_take(c, word - WORD, &skipped);
}

int page_next(struct page_cursor *c, uint64_t *time_ns, const uint8_t **record, size_t *n)
{
    uint32_t head;
    while (word_take(c, &head)) {
        uint32_t type = head & 31, delta = head >> 5, length = type * WORD;
        if (type >= TYPE_PADDING) {
            if (filler_take(c, type, delta) != SKEIN_OK)
                return SKEIN_CORRUPT;
            continue;
        }
        if (type == 0) {
            if (!word_take(c, &length) || length < WORD)
                return SKEIN_CORRUPT;
            length -= WORD;
        }
        c->time_ns += delta;
        *time_ns = c->time_ns;
        *n = length;
        return payload_take(c, length, record) == SKEIN_OK ? 1 : SKEIN_CORRUPT;
    }
    return c->pos == c->end ? 0 : SKEIN_CORRUPT;
}
