/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes of a segment file, docs/store.md rules S-1 to S-4 and S-9. Pure functions; hostile
 * input expected; no input or output.
 */
#include "segment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"

/*  header, S-2
 *   0        8       12    16     24         32        40            48       56       64
 *   +--------+-------+-----+------+----------+---------+-------------+--------+--------+
 *   |SKNSEG01|version|flags|number|created_ns|abandoned|abandoned_end|reserved|checksum|
 *   +--------+-------+-----+------+----------+---------+-------------+--------+--------+
 *  record, S-3
 *   0    4    5   8       24    32       40      56    64          72     80       88       96
 *   +----+----+---+-------+-----+--------+-------+-----+-----------+------+--------+--------+
 *   |SKR1|kind|000|process|epoch|sequence|capture|agent|received_ns|length|checksum|checksum|
 *   +----+----+---+-------+-----+--------+-------+-----+-----------+------+-payload+-header-+
 *  trailer, S-4
 *   0             8         16         24
 *   +-------------+---------+----------+----------+
 *   | tail offset | entries | SKNTAIL1 | checksum |
 *   +-------------+---------+----------+----------+
 */
#define HEADER_MAGIC  UINT64_C(0x31304745534e4b53) /* "SKNSEG01" */
#define RECORD_MAGIC  UINT32_C(0x31524b53)         /* "SKR1" */
#define TRAILER_MAGIC UINT64_C(0x314c4941544e4b53) /* "SKNTAIL1" */

static void u32_put(uint8_t *at, uint32_t v)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static void u64_put(uint8_t *at, uint64_t v)
{
    for (unsigned i = 0; i < 8; i++)
        at[i] = (uint8_t)(v >> (8 * i));
}

static uint32_t u32_get(const uint8_t *at)
{
    struct cursor c;
    cursor_init(&c, at, 4);
    return cursor_u32(&c);
}

static uint64_t u64_get(const uint8_t *at)
{
    struct cursor c;
    cursor_init(&c, at, 8);
    return cursor_u64(&c);
}

/* The checksum of n <= 96 bytes, bound to the place where they lie. So bytes of another segment, or
 * a record inside a partition's payload, never pass for a record here. */
static uint64_t checksum_bound(const uint8_t *bytes, size_t n, uint64_t number, uint64_t offset)
{
    uint8_t image[SEGMENT_RECORD_BYTES + 16];
    memcpy(image, bytes, n);
    u64_put(image + n, number);
    u64_put(image + n + 8, offset);
    return checksum64(image, n + 16);
}

void segment_name(uint64_t number, char out[SEGMENT_NAME_BYTES])
{
    (void)snprintf(out, SEGMENT_NAME_BYTES, "%010" PRIu64 ".seg", number);
}

int segment_name_parse(const char *name, uint64_t *number)
{
    char again[SEGMENT_NAME_BYTES];
    if (name[0] < '0' || name[0] > '9')
        return SKEIN_INVALID;
    unsigned long long n = strtoull(name, NULL, 10);
    if (n == 0 || n > INT64_MAX) /* the index keeps numbers in signed columns */
        return SKEIN_INVALID;
    segment_name(n, again);
    if (strcmp(name, again) != 0)
        return SKEIN_INVALID;
    *number = n;
    return SKEIN_OK;
}

void segment_header_put(uint8_t out[SEGMENT_HEADER_BYTES], const struct segment_header *header)
{
    memset(out, 0, SEGMENT_HEADER_BYTES);
    u64_put(out, HEADER_MAGIC);
    u32_put(out + 8, SEGMENT_VERSION);
    u64_put(out + 16, header->number);
    u64_put(out + 24, header->created_ns);
    u64_put(out + 32, header->abandoned);
    u64_put(out + 40, header->abandoned_end);
    u64_put(out + 56, checksum64(out, 56));
}

int segment_header_get(const uint8_t bytes[SEGMENT_HEADER_BYTES], struct segment_header *header)
{
    if (u64_get(bytes) != HEADER_MAGIC || u64_get(bytes + 56) != checksum64(bytes, 56))
        return SKEIN_CORRUPT;
    if (u32_get(bytes + 8) != SEGMENT_VERSION || u32_get(bytes + 12) != 0)
        return SKEIN_VERSION;
    header->number = u64_get(bytes + 16);
    header->created_ns = u64_get(bytes + 24);
    header->abandoned = u64_get(bytes + 32);
    header->abandoned_end = u64_get(bytes + 40);
    return SKEIN_OK;
}

void segment_record_put(uint8_t out[SEGMENT_RECORD_BYTES], const struct segment_record *record,
                        uint64_t number, uint64_t offset)
{
    memset(out, 0, SEGMENT_RECORD_BYTES);
    u32_put(out, RECORD_MAGIC);
    out[4] = record->kind;
    memcpy(out + 8, record->about.key.process.bytes, 16);
    u64_put(out + 24, record->about.key.epoch);
    u64_put(out + 32, record->about.key.sequence);
    memcpy(out + 40, record->about.capture.bytes, 16);
    u64_put(out + 56, record->about.agent);
    u64_put(out + 64, record->about.received_ns);
    u64_put(out + 72, record->length);
    u64_put(out + 80, record->checksum);
    u64_put(out + 88, checksum_bound(out, 88, number, offset));
}

static bool length_fits(uint8_t kind, uint64_t length)
{
    switch (kind) {
    case SEGMENT_PARTITION:
        return length > 0 && length <= PARTITION_BYTES_MAX;
    case SEGMENT_TOMBSTONE:
        return length == 0;
    case SEGMENT_TAIL:
        return length <= SEGMENT_TAIL_MAX;
    default:
        return false;
    }
}

int segment_record_get(const uint8_t bytes[SEGMENT_RECORD_BYTES], uint64_t number, uint64_t offset,
                       struct segment_record *record)
{
    if (u32_get(bytes) != RECORD_MAGIC ||
        u64_get(bytes + 88) != checksum_bound(bytes, 88, number, offset) ||
        !length_fits(bytes[4], u64_get(bytes + 72)) || bytes[5] || bytes[6] || bytes[7])
        return SKEIN_CORRUPT;
    record->kind = bytes[4];
    memcpy(record->about.key.process.bytes, bytes + 8, 16);
    record->about.key.epoch = u64_get(bytes + 24);
    record->about.key.sequence = u64_get(bytes + 32);
    memcpy(record->about.capture.bytes, bytes + 40, 16);
    record->about.agent = u64_get(bytes + 56);
    record->about.received_ns = u64_get(bytes + 64);
    record->length = u64_get(bytes + 72);
    record->checksum = u64_get(bytes + 80);
    return SKEIN_OK;
}

void segment_trailer_put(uint8_t out[SEGMENT_TRAILER_BYTES], const struct segment_trailer *trailer,
                         uint64_t number)
{
    u64_put(out, trailer->tail_offset);
    u64_put(out + 8, trailer->entries);
    u64_put(out + 16, TRAILER_MAGIC);
    u64_put(out + 24, checksum_bound(out, 24, number, 0));
}

int segment_trailer_get(const uint8_t bytes[SEGMENT_TRAILER_BYTES], uint64_t number,
                        struct segment_trailer *trailer)
{
    if (u64_get(bytes + 16) != TRAILER_MAGIC ||
        u64_get(bytes + 24) != checksum_bound(bytes, 24, number, 0))
        return SKEIN_CORRUPT;
    trailer->tail_offset = u64_get(bytes);
    trailer->entries = u64_get(bytes + 8);
    return SKEIN_OK;
}

/*  tail entry, S-9
 *   0               8              16              112
 *   +---------------+--------------+---------------+--------+---------+
 *   | record offset | footer bytes | record header | footer | 0 to 8n |
 *   +---------------+--------------+---------------+--------+---------+
 */
void segment_entry_put(struct buf *tail, const struct segment_record *record, uint64_t number,
                       uint64_t offset, const uint8_t *footer, size_t footer_bytes)
{
    static const uint8_t zeros[8];
    uint8_t header[SEGMENT_RECORD_BYTES];
    segment_record_put(header, record, number, offset);
    buf_put_u64(tail, offset);
    buf_put_u64(tail, footer_bytes);
    buf_put(tail, header, sizeof header);
    if (footer_bytes > 0)
        buf_put(tail, footer, footer_bytes);
    buf_put(tail, zeros, (size_t)(segment_pad(footer_bytes) - footer_bytes));
}

int segment_entry_get(struct cursor *tail, uint64_t number, struct segment_record *record,
                      uint64_t *offset, const uint8_t **footer, size_t *footer_bytes)
{
    if (cursor_left(tail) == 0)
        return 0;
    struct cursor c = *tail;
    uint64_t at = cursor_u64(&c);
    uint64_t n = cursor_u64(&c);
    const uint8_t *header = cursor_bytes(&c, SEGMENT_RECORD_BYTES);
    struct segment_record got;
    if (header == NULL || n > cursor_left(&c) || segment_record_get(header, number, at, &got) < 0 ||
        n > got.length || (got.kind == SEGMENT_PARTITION) != (n > 0))
        return SKEIN_CORRUPT;
    const uint8_t *bytes = cursor_bytes(&c, n);
    (void)cursor_bytes(&c, segment_pad(n) - n);
    if (c.status < 0)
        return SKEIN_CORRUPT;
    *tail = c;
    *record = got;
    *offset = at;
    *footer = bytes;
    *footer_bytes = (size_t)n;
    return 1;
}

int segment_footer_size(const uint8_t *partition, size_t n, size_t *footer_bytes)
{
    size_t size = n < 64 ? n : 64;
    for (;;) {
        struct partition_footer footer;
        size_t need = 0;
        int status = partition_footer_get(partition + (n - size), size, &footer, &need);
        if (status == SKEIN_OK) {
            partition_footer_free(&footer);
            *footer_bytes = size;
            return SKEIN_OK;
        }
        if (status == SKEIN_NO_MEMORY)
            return status;
        if (status != SKEIN_TRUNCATED || need <= size || need > n)
            return SKEIN_CORRUPT;
        size = need;
    }
}
