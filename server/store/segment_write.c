/* SPDX-License-Identifier: Apache-2.0
 *
 * The open segment. Owns its descriptor and the tail that its close will write. Only the store's
 * one writer enters; never reads what it wrote, never reuses a file whose sync failed.
 */
#include "segment.h"

#include <string.h>

#include "checksum.h"
#include "segment_io.h"
#include "skein_check.h"

static const uint8_t zeros[8];

/* iov_base is not const, though writing only reads it. */
static struct iovec part(const void *bytes, size_t n)
{
    union {
        const void *in;
        void *out;
    } u = {bytes};
    return (struct iovec){u.out, n};
}

/* Closed; or open, its header durable and its end behind whole records. store_files.c draws the
 * states. */
static void writer_assert(const struct segment_writer *w)
{
    if (w->fd < 0)
        skein_check(w->entries == 0 && w->tail.len == 0);
    else
        skein_check(w->durable_end >= SEGMENT_HEADER_BYTES && w->durable_end <= w->end &&
                    w->end % 8 == 0);
}

void segment_writer_init(struct segment_writer *w)
{
    memset(w, 0, sizeof *w);
    w->fd = -1;
    buf_init(&w->tail);
}

void segment_writer_fini(struct segment_writer *w)
{
    segment_io_close(&w->fd);
    buf_fini(&w->tail);
    w->entries = 0;
    writer_assert(w);
}

int segment_create(struct segment_writer *w, int folder, const struct segment_header *header)
{
    skein_check(w->fd < 0);
    char name[SEGMENT_NAME_BYTES];
    segment_name(header->number, name);
    uint8_t bytes[SEGMENT_HEADER_BYTES];
    segment_header_put(bytes, header);
    struct iovec parts[] = {part(bytes, sizeof bytes)};

    int fd;
    int status = segment_io_create(folder, name, &fd);
    if (status < 0)
        return status;
    status = segment_io_write(fd, parts, 1, 0);
    if (status == SKEIN_OK)
        status = segment_io_sync(fd);
    if (status == SKEIN_OK)
        status = segment_io_sync_folder(folder);
    if (status < 0) {
        segment_io_close(&fd);
        (void)segment_io_remove(folder, name); /* it holds nothing; recovery removes it too (S-7) */
        return status;
    }
    w->fd = fd;
    w->number = header->number;
    w->end = w->durable_end = SEGMENT_HEADER_BYTES;
    w->entries = 0;
    buf_clear(&w->tail);
    writer_assert(w);
    return SKEIN_OK;
}

/* Undoes a write that found no space. If that fails too, the end is unknown. */
static int append_undo(struct segment_writer *w, int status)
{
    if (status != SKEIN_FULL)
        return SKEIN_IO;
    return segment_io_truncate(w->fd, w->end) < 0 ? SKEIN_IO : SKEIN_FULL;
}

int segment_append(struct segment_writer *w, const struct segment_record *record,
                   const void *payload, uint64_t *offset)
{
    skein_check(w->fd >= 0);
    writer_assert(w);
    size_t footer_bytes = 0;
    size_t length = (size_t)record->length;
    if (record->kind == SEGMENT_PARTITION) {
        int status = segment_footer_size(payload, length, &footer_bytes);
        if (status < 0)
            return status;
    }
    /* Take room for the tail entry first: after the write nothing may fail. */
    if (buf_reserve(&w->tail, SEGMENT_ENTRY_BYTES + footer_bytes + 8) == NULL) {
        w->tail.status = SKEIN_OK; /* the entries it has are whole */
        return SKEIN_NO_MEMORY;
    }
    uint8_t header[SEGMENT_RECORD_BYTES];
    segment_record_put(header, record, w->number, w->end);
    struct iovec parts[3] = {part(header, sizeof header)};
    int count = 1;
    if (length > 0)
        parts[count++] = part(payload, length);
    size_t pad = (size_t)(segment_pad(length) - length);
    if (pad > 0)
        parts[count++] = part(zeros, pad);
    int status = segment_io_write(w->fd, parts, count, w->end);
    if (status < 0)
        return append_undo(w, status);
    const uint8_t *bytes = payload;
    segment_entry_put(&w->tail, record, w->number, w->end,
                      footer_bytes > 0 ? bytes + (length - footer_bytes) : NULL, footer_bytes);
    w->entries++;
    *offset = w->end;
    w->end += SEGMENT_RECORD_BYTES + segment_pad(length);
    writer_assert(w);
    return SKEIN_OK;
}

int segment_sync(struct segment_writer *w)
{
    int status = segment_io_sync(w->fd);
    if (status == SKEIN_OK)
        w->durable_end = w->end;
    writer_assert(w);
    return status;
}

int segment_finish(struct segment_writer *w)
{
    struct segment_record tail = {.kind = SEGMENT_TAIL, .length = w->tail.len};
    tail.checksum = checksum64(w->tail.data, w->tail.len);
    uint8_t header[SEGMENT_RECORD_BYTES], trailer[SEGMENT_TRAILER_BYTES];
    segment_record_put(header, &tail, w->number, w->end);
    segment_trailer_put(trailer, &(struct segment_trailer){w->end, w->entries}, w->number);
    /* Entries are padded, so the tail needs no padding of its own. */
    struct iovec parts[3] = {part(header, sizeof header)};
    int count = 1;
    if (w->tail.len > 0)
        parts[count++] = part(w->tail.data, w->tail.len);
    parts[count++] = part(trailer, sizeof trailer);
    int status = segment_io_write(w->fd, parts, count, w->end);
    if (status == SKEIN_OK)
        status = segment_io_sync(w->fd);
    if (status < 0)
        return status;
    w->end += sizeof header + w->tail.len + sizeof trailer;
    w->durable_end = w->end;
    segment_io_close(&w->fd);
    buf_fini(&w->tail);
    w->entries = 0;
    writer_assert(w);
    return SKEIN_OK;
}

void segment_abandon(struct segment_writer *w)
{
    if (w->fd >= 0)
        (void)segment_io_truncate(w->fd, w->durable_end); /* the next header says it too (S-6) */
    segment_writer_fini(w);
}
