/* SPDX-License-Identifier: Apache-2.0
 *
 * Heads, sections and tails of partitions and tables (docs/format.md, section 2): how bytes are
 * framed and how a changed bit is noticed. Pure functions; never allocates but through buf.
 */
#include <inttypes.h>
#include <string.h>

#include "checksum.h"
#include "pack_lz4.h"
#include "partition_int.h"
#include "trace_file.h"

static const uint8_t head_magic[8] = {0x73, 0x6b, 0x65, 0x69, 0x6e, 0x0d, 0x0a, 0x1a};
static const uint8_t tail_magic[7] = {0x6e, 0x69, 0x65, 0x6b, 0x73, 0x0a, 0x0d};
#define TAIL_MAGIC_PARTITION 0x1a
#define TAIL_MAGIC_TABLE     0x1b

_Static_assert(TRACE_HEAD_BYTES == HEAD_BYTES, "F-8");

static uint64_t u64_load(const uint8_t *p)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 8; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static void u64_store(uint8_t *p, uint64_t v)
{
    for (unsigned i = 0; i < 8; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

/* F-9, F-13: 16 bytes of fields and what they describe. */
static uint64_t framed_checksum(const uint8_t fields[16], const void *bytes, size_t n)
{
    uint8_t both[24];
    memcpy(both, fields, 16);
    u64_store(both + 16, checksum64(bytes, n));
    return checksum64(both, sizeof both);
}

void head_put(struct buf *b, uint8_t kind, uint64_t length)
{
    uint8_t head[HEAD_BYTES] = {0};
    memcpy(head, head_magic, sizeof head_magic);
    head[8] = FORMAT_MAJOR;
    head[9] = FORMAT_MINOR;
    head[10] = kind;
    u64_store(head + 16, length);
    u64_store(head + 24, checksum64(head, 24));
    buf_put(b, head, sizeof head);
}

/* The first of the n bytes that differs. */
static size_t difference_find(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t i = 0;
    while (i < n && a[i] == b[i])
        i++;
    return i;
}

/* F-5, F-8: what a sound head says that this reader does not know. */
static int head_version(const uint8_t *bytes, struct partition_fault *fault)
{
    if (bytes[8] != FORMAT_MAJOR)
        partition_fault_set(fault, F_5, 8, "major version %u needs another reader", bytes[8]);
    else if (bytes[10] != HEAD_PARTITION && bytes[10] != HEAD_TABLE)
        partition_fault_set(fault, F_8, 10, "kind %u needs a newer reader", bytes[10]);
    else if ((bytes[11] & 0xf0) != 0)
        partition_fault_set(fault, F_8, 11, "flags %#x need a newer reader", bytes[11]);
    else
        return SKEIN_OK;
    return SKEIN_VERSION;
}

/* F-8 */
int head_explain(const uint8_t *bytes, size_t n, uint64_t *length, bool *is_table,
                 struct partition_fault *fault)
{
    size_t known = n < sizeof head_magic ? n : sizeof head_magic;
    size_t same = difference_find(bytes, head_magic, known);
    if (same < known) {
        partition_fault_set(fault, F_8, same, "no partition begins here: its magic is another");
        return SKEIN_CORRUPT;
    }
    if (n < HEAD_BYTES) {
        partition_fault_set(fault, F_8, n, "the bytes end inside the head");
        return SKEIN_TRUNCATED;
    }
    if (u64_load(bytes + 24) != checksum64(bytes, 24)) {
        partition_fault_set(fault, F_8, 0, "the head fails its checksum");
        return SKEIN_CORRUPT;
    }
    if (head_version(bytes, fault) != SKEIN_OK)
        return SKEIN_VERSION;
    uint64_t len = u64_load(bytes + 16);
    if (len < HEAD_BYTES + TAIL_BYTES || len > PARTITION_BYTES_MAX) {
        partition_fault_set(fault, len > PARTITION_BYTES_MAX ? F_4 : F_8, 16,
                            "the head says %" PRIu64 " bytes, which no partition has", len);
        return SKEIN_CORRUPT;
    }
    *length = len;
    *is_table = bytes[10] == HEAD_TABLE;
    return SKEIN_OK;
}

int trace_head_get(const uint8_t *bytes, size_t n, uint64_t *length, bool *is_table)
{
    return head_explain(bytes, n, length, is_table, NULL);
}

static void section_seal(struct buf *b, size_t at, uint8_t packing, uint32_t raw_bytes)
{
    if (b->status != SKEIN_OK)
        return;
    uint8_t *head = b->data + at;
    size_t length = b->len - at - SECTION_HEAD_BYTES;
    head[2] = packing;
    for (unsigned i = 0; i < 4; i++)
        head[4 + i] = (uint8_t)(raw_bytes >> (8 * i));
    u64_store(head + 8, length);
    u64_store(head + 16, framed_checksum(head, head + SECTION_HEAD_BYTES, length));
}

size_t section_begin(struct buf *b, uint16_t kind)
{
    size_t at = b->len;
    uint8_t head[SECTION_HEAD_BYTES] = {(uint8_t)kind, (uint8_t)(kind >> 8)};
    buf_put(b, head, sizeof head);
    return at;
}

void section_end(struct buf *b, size_t at)
{
    if (b->status == SKEIN_OK)
        section_seal(b, at, PACKING_RAW, (uint32_t)(b->len - at - SECTION_HEAD_BYTES));
}

void section_put(struct buf *b, uint16_t kind, const struct buf *payload)
{
    size_t at = section_begin(b, kind);
    if (payload->status != SKEIN_OK)
        b->status = payload->status;
    buf_put(b, payload->data, payload->len);
    section_end(b, at);
}

void section_put_packed(struct buf *b, uint16_t kind, const uint8_t *raw, size_t raw_bytes)
{
    size_t at = section_begin(b, kind);
    lz4_pack(b, raw, raw_bytes);
    section_seal(b, at, PACKING_LZ4, (uint32_t)raw_bytes);
}

void tail_put_length(struct buf *b, size_t last, uint64_t length, uint8_t kind)
{
    if (b->status != SKEIN_OK)
        return;
    uint8_t tail[TAIL_BYTES];
    u64_store(tail, b->len - last + TAIL_BYTES);
    u64_store(tail + 8, length);
    u64_store(tail + 16, framed_checksum(tail, b->data + last, b->len - last));
    memcpy(tail + 24, tail_magic, sizeof tail_magic);
    tail[31] = kind == HEAD_TABLE ? TAIL_MAGIC_TABLE : TAIL_MAGIC_PARTITION;
    buf_put(b, tail, sizeof tail);
}

void tail_put(struct buf *b, size_t start, size_t last, uint8_t kind)
{
    tail_put_length(b, last, b->len - start + TAIL_BYTES, kind);
}

int section_get(struct cursor *c, uint64_t offset, struct section *section)
{
    struct cursor head = *c;
    struct section s = {.offset = offset};
    s.kind = cursor_u16(&head);
    s.packing = cursor_u8(&head);
    s.flags = cursor_u8(&head);
    s.raw_bytes = cursor_u32(&head);
    s.length = cursor_u64(&head);
    s.checksum = cursor_u64(&head);
    s.payload = cursor_bytes(&head, s.length);
    if (head.status != SKEIN_OK)
        return head.status;
    bool raw = s.packing == PACKING_RAW && s.raw_bytes == s.length;
    bool packed = s.packing == PACKING_LZ4 && s.raw_bytes <= PARTITION_BLOCK_RAW_MAX;
    if (!raw && !packed)
        return SKEIN_CORRUPT;
    *c = head;
    *section = s;
    return SKEIN_OK;
}

bool section_sound(const struct section *section, const uint8_t *head)
{
    return section->checksum == framed_checksum(head, section->payload, (size_t)section->length);
}

/* Tail and last section disagree by the tail's checksum: whose fault is it? */
static void tail_blame(const uint8_t *bytes, const uint8_t *last, size_t last_bytes, size_t tail_at,
                       struct partition_fault *fault)
{
    struct cursor c;
    struct section section;
    cursor_init(&c, last, last_bytes - TAIL_BYTES);
    bool whole = section_get(&c, 0, &section) == SKEIN_OK && cursor_left(&c) == 0;
    if (whole && !section_sound(&section, last))
        partition_fault_set(fault, F_9, (uint64_t)(last - bytes),
                            "the last section fails its checksum");
    else
        partition_fault_set(fault, F_13, tail_at, "the tail fails its checksum");
}

/* F-13 */
int tail_explain(const uint8_t *bytes, size_t n, struct tail *tail, const uint8_t **last,
                 size_t *need, struct partition_fault *fault)
{
    *need = 0;
    if (n < TAIL_BYTES) {
        *need = TAIL_BYTES;
        partition_fault_set(fault, F_13, n, "the bytes end inside the tail");
        return SKEIN_TRUNCATED;
    }
    size_t at = n - TAIL_BYTES;
    const uint8_t *t = bytes + at;
    size_t same = difference_find(t + 24, tail_magic, sizeof tail_magic);
    if (same < sizeof tail_magic || (t[31] != TAIL_MAGIC_PARTITION && t[31] != TAIL_MAGIC_TABLE)) {
        partition_fault_set(fault, F_13, at + 24 + same, "no tail ends here: its magic is another");
        return SKEIN_CORRUPT;
    }
    struct tail got = {u64_load(t), u64_load(t + 8),
                       t[31] == TAIL_MAGIC_TABLE ? HEAD_TABLE : HEAD_PARTITION};
    if (got.length > PARTITION_BYTES_MAX || got.length < HEAD_BYTES + TAIL_BYTES ||
        got.last_bytes < SECTION_HEAD_BYTES + TAIL_BYTES ||
        got.last_bytes > got.length - HEAD_BYTES) {
        partition_fault_set(fault, F_13, at, "the tail's lengths are impossible");
        return SKEIN_CORRUPT;
    }
    if (got.last_bytes > n) {
        *need = (size_t)got.last_bytes;
        partition_fault_set(fault, F_13, at, "the last section is longer than the bytes");
        return SKEIN_TRUNCATED;
    }
    const uint8_t *section = bytes + (n - (size_t)got.last_bytes);
    if (u64_load(t + 16) != framed_checksum(t, section, (size_t)got.last_bytes - TAIL_BYTES)) {
        tail_blame(bytes, section, (size_t)got.last_bytes, at, fault);
        return SKEIN_CORRUPT;
    }
    *tail = got;
    *last = section;
    return SKEIN_OK;
}

int tail_get(const uint8_t *bytes, size_t n, struct tail *tail, const uint8_t **last, size_t *need)
{
    return tail_explain(bytes, n, tail, last, need, NULL);
}
