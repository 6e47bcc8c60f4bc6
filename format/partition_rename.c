/* SPDX-License-Identifier: Apache-2.0
 *
 * New names for a partition; see partition_rename.h. F-11 says where SYMBOLS stand: behind the
 * tables, in front of the first block.
 */
#include "partition_rename.h"

#include <string.h>

#include "partition_entries_int.h"
#include "partition_writer_int.h"
#include "trace_file.h"

static bool is_in_front(uint16_t kind)
{
    return kind == SECTION_INFO || kind == SECTION_TYPES || kind == SECTION_STRINGS ||
           kind == SECTION_THREADS || kind == SECTION_STACKS || kind == SECTION_MAPPINGS;
}

/* Copies all sections but the footer. *grown: by how much what stands behind the names has moved. */
static int sections_copy(const uint8_t *bytes, size_t end, struct partition_writer *names,
                         struct buf *out, size_t start, int64_t *grown)
{
    struct cursor c;
    bool named = false;
    cursor_init(&c, bytes + HEAD_BYTES, end - HEAD_BYTES);
    for (;;) {
        const uint8_t *head = c.pos;
        struct section section;
        bool last = cursor_left(&c) == 0;
        if (!last && section_get(&c, (uint64_t)(head - bytes), &section) != SKEIN_OK)
            return SKEIN_CORRUPT;
        if (!last && section.kind == SECTION_SYMBOLS)
            continue;
        if (!named && (last || !is_in_front(section.kind))) {
            symbols_put(out, names);
            *grown = (int64_t)(out->len - start) - (int64_t)(head - bytes);
            named = true;
        }
        if (last)
            return out->status;
        buf_put(out, head, (size_t)(c.pos - head));
    }
}

static int footer_copy(struct partition_footer *footer, int64_t grown, struct buf *out,
                       size_t start)
{
    for (size_t i = 0; i < footer->block_count; i++)
        footer->blocks[i].offset += (uint64_t)grown;
    size_t at = section_begin(out, SECTION_FOOTER);
    footer_put(out, footer);
    section_end(out, at);
    tail_put(out, start, at, HEAD_PARTITION);
    return out->status;
}

static int partition_copy(const uint8_t *bytes, size_t n, const struct tail *tail,
                          struct partition_footer *footer, struct partition_writer *names,
                          struct buf *out)
{
    size_t start = out->len;
    int64_t grown = 0;
    if (tail->last_bytes > n - HEAD_BYTES)
        return SKEIN_CORRUPT;
    buf_put(out, bytes, HEAD_BYTES);
    int status = sections_copy(bytes, n - (size_t)tail->last_bytes, names, out, start, &grown);
    if (status == SKEIN_OK)
        status = footer_copy(footer, grown, out, start);
    if (status != SKEIN_OK)
        return status;
    uint64_t length = out->len - start;
    if (length > PARTITION_BYTES_MAX)
        return SKEIN_TOO_LARGE;
    struct buf head = {0};
    head_put(&head, HEAD_PARTITION, length);
    if (head.status == SKEIN_OK)
        memcpy(out->data + start, head.data, HEAD_BYTES);
    status = head.status;
    buf_fini(&head);
    return status;
}

int partition_rename(const uint8_t *bytes, size_t n, struct partition_writer *names,
                     struct buf *out)
{
    uint64_t length;
    bool is_table;
    struct partition_footer footer;
    struct tail tail;
    const uint8_t *last;
    size_t need, before = out->len;
    int status = trace_head_get(bytes, n, &length, &is_table);
    if (status != SKEIN_OK)
        return status;
    if (is_table || length != n)
        return SKEIN_CORRUPT;
    if (bytes[9] > FORMAT_MINOR)
        return SKEIN_VERSION;
    status = partition_footer_get(bytes, n, &footer, &need);
    if (status != SKEIN_OK)
        return status;
    status = tail_get(bytes, n, &tail, &last, &need);
    if (status == SKEIN_OK)
        status = partition_copy(bytes, n, &tail, &footer, names, out);
    partition_footer_free(&footer);
    if (status != SKEIN_OK && out->status == SKEIN_OK)
        out->len = before;
    return status;
}
