/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads segment files, sound or not: walks their records, loads their tails, and takes over what a
 * crash left (docs/store.md, S-5 to S-8). Every byte is hostile. One caller at a time for each
 * struct; keeps no other state. Only segment_recover changes files, and only by cutting off bytes
 * that belong to no whole record.
 */
#include "segment.h"

#include <string.h>

#include "checksum.h"
#include "segment_io.h"

#define RESYNC_BYTES (64u << 10)

void segment_walk_init(struct segment_walk *w, int fd, uint64_t number, uint64_t limit, bool check)
{
    memset(w, 0, sizeof *w);
    w->fd = fd;
    w->number = number;
    w->limit = limit;
    w->check = check;
    w->at = w->end = SEGMENT_HEADER_BYTES;
    buf_init(&w->payload);
}

void segment_walk_fini(struct segment_walk *w)
{
    buf_fini(&w->payload);
}

/* Reads the record header at `at`. 1; 0: there is none, or it reaches over the limit; SKEIN_IO. */
static int record_at(struct segment_walk *w, uint64_t at, struct segment_record *record)
{
    uint8_t bytes[SEGMENT_RECORD_BYTES];
    if (at > w->limit || SEGMENT_RECORD_BYTES > w->limit - at)
        return 0;
    int status = segment_io_read(w->fd, bytes, sizeof bytes, at);
    if (status < 0)
        return status == SKEIN_TRUNCATED ? 0 : status;
    struct segment_record got;
    if (segment_record_get(bytes, w->number, at, &got) < 0 ||
        segment_pad(got.length) > w->limit - at - SEGMENT_RECORD_BYTES)
        return 0;
    *record = got;
    return 1;
}

/* Looks for the next record header behind a damaged place, in steps of 8 bytes, up to
 * SEGMENT_RESYNC_MAX (S-8). 1, 0 or a status. */
static int segment_resync(struct segment_walk *w, uint64_t *found)
{
    uint8_t window[RESYNC_BYTES];
    uint64_t at = w->at + 8;
    while (at < w->limit && at - w->at <= SEGMENT_RESYNC_MAX) {
        uint64_t left = w->limit - at;
        size_t n = left < sizeof window ? (size_t)left : sizeof window;
        int status = segment_io_read(w->fd, window, n, at);
        if (status < 0)
            return status == SKEIN_TRUNCATED ? 0 : status;
        for (size_t i = 0; i + 8 <= n; i += 8) {
            if (memcmp(window + i, "SKR1", 4) != 0)
                continue;
            struct segment_record record;
            status = record_at(w, at + i, &record);
            if (status < 0)
                return status;
            if (status == 1) {
                *found = at + i;
                return 1;
            }
        }
        at += n < sizeof window ? left : n;
    }
    return 0;
}

/* 1: the payload is read and right; 0: it is not; a status. */
static int payload_check(struct segment_walk *w, const struct segment_record *record)
{
    buf_clear(&w->payload);
    size_t n = (size_t)record->length;
    uint8_t *bytes = buf_reserve(&w->payload, n);
    if (bytes == NULL)
        return SKEIN_NO_MEMORY;
    if (n > 0) {
        int status = segment_io_read(w->fd, bytes, n, w->at + SEGMENT_RECORD_BYTES);
        if (status < 0)
            return status == SKEIN_TRUNCATED ? 0 : status;
    }
    w->payload.len = n;
    return record->kind == SEGMENT_TOMBSTONE || checksum64(bytes, n) == record->checksum;
}

int segment_walk_next(struct segment_walk *w, struct segment_record *record, uint64_t *offset)
{
    for (;;) {
        struct segment_record got;
        int status = record_at(w, w->at, &got);
        if (status < 0)
            return status;
        if (status == 0) {
            uint64_t next = 0;
            status = segment_resync(w, &next);
            if (status <= 0)
                return status;
            w->damaged += next - w->at;
            w->at = next;
            continue;
        }
        if (got.kind == SEGMENT_TAIL)
            return 0;
        status = w->check ? payload_check(w, &got) : 1;
        if (status < 0)
            return status;
        uint64_t at = w->at;
        w->at += SEGMENT_RECORD_BYTES + segment_pad(got.length);
        if (status == 0) {
            w->bad_payloads++; /* the header is sound and says where the next record is */
            continue;
        }
        w->end = w->at;
        *record = got;
        *offset = at;
        return 1;
    }
}

int segment_trailer_load(int fd, uint64_t number, uint64_t size, struct segment_trailer *trailer)
{
    uint8_t bytes[SEGMENT_TRAILER_BYTES];
    if (size < SEGMENT_HEADER_BYTES + SEGMENT_RECORD_BYTES + sizeof bytes)
        return SKEIN_NOT_FOUND;
    int status = segment_io_read(fd, bytes, sizeof bytes, size - sizeof bytes);
    if (status < 0)
        return status == SKEIN_TRUNCATED ? SKEIN_NOT_FOUND : status;
    return segment_trailer_get(bytes, number, trailer) < 0 ? SKEIN_NOT_FOUND : SKEIN_OK;
}

int segment_tail_load(int fd, uint64_t number, uint64_t size, struct buf *payload)
{
    struct segment_trailer trailer;
    int status = segment_trailer_load(fd, number, size, &trailer);
    if (status < 0)
        return status == SKEIN_NOT_FOUND ? SKEIN_CORRUPT : status;
    struct segment_walk w;
    segment_walk_init(&w, fd, number, size - SEGMENT_TRAILER_BYTES, true);
    w.at = trailer.tail_offset;
    struct segment_record record;
    status = trailer.tail_offset % 8 != 0 ? 0 : record_at(&w, w.at, &record);
    if (status == 1 && record.kind == SEGMENT_TAIL &&
        record.length == w.limit - w.at - SEGMENT_RECORD_BYTES)
        status = payload_check(&w, &record);
    else if (status >= 0)
        status = 0;
    if (status == 1) {
        buf_fini(payload);
        *payload = w.payload;
        return SKEIN_OK;
    }
    segment_walk_fini(&w);
    return status < 0 ? status : SKEIN_CORRUPT;
}

int segment_footer_load(int fd, uint64_t offset, uint64_t bytes, struct buf *scratch,
                        struct partition_footer *footer)
{
    size_t size = bytes < 4096 ? (size_t)bytes : 4096;
    for (;;) {
        buf_clear(scratch);
        uint8_t *at = buf_reserve(scratch, size);
        if (at == NULL)
            return SKEIN_NO_MEMORY;
        int status = segment_io_read(fd, at, size, offset + (bytes - size));
        if (status < 0)
            return status == SKEIN_TRUNCATED ? SKEIN_CORRUPT : status;
        size_t need = 0;
        status = partition_footer_get(at, size, footer, &need);
        if (status == SKEIN_OK || status == SKEIN_NO_MEMORY)
            return status;
        if (status != SKEIN_TRUNCATED || need <= size || need > bytes)
            return SKEIN_CORRUPT;
        size = need;
    }
}

/* Walks all records, and enters them in the tail that segment_finish will write. */
static int tail_collect(struct segment_writer *w, struct segment_walk *walk,
                        struct segment_recovery *found)
{
    struct segment_record record;
    uint64_t offset;
    int status;
    while ((status = segment_walk_next(walk, &record, &offset)) == 1) {
        size_t footer_bytes = 0;
        if (record.kind == SEGMENT_PARTITION) {
            status = segment_footer_size(walk->payload.data, walk->payload.len, &footer_bytes);
            if (status == SKEIN_NO_MEMORY)
                return status;
            if (status < 0) {
                found->bad_payloads++; /* checksum right, not a partition: no store wrote it */
                continue;
            }
        }
        segment_entry_put(&w->tail, &record, w->number, offset,
                          footer_bytes ? walk->payload.data + (walk->payload.len - footer_bytes)
                                       : NULL,
                          footer_bytes);
        w->entries++;
        if (w->tail.status < 0)
            return w->tail.status;
    }
    return status;
}

int segment_recover(struct segment_writer *w, int folder, uint64_t number, uint64_t limit,
                    struct segment_recovery *found)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(number, name);
    memset(found, 0, sizeof *found);
    segment_writer_init(w);
    uint64_t size = 0;
    int status = segment_io_open(folder, name, true, &w->fd);
    if (status == SKEIN_OK)
        status = segment_io_size(w->fd, &size);
    if (status < 0) {
        segment_writer_fini(w);
        return status;
    }
    w->number = number;
    struct segment_walk walk;
    segment_walk_init(&walk, w->fd, number, limit < size ? limit : size, true);
    status = tail_collect(w, &walk, found);
    w->end = walk.end;
    found->damaged_bytes = walk.damaged;
    found->bad_payloads += walk.bad_payloads;
    segment_walk_fini(&walk);
    if (status == SKEIN_OK && size > w->end) {
        found->torn_bytes = size - w->end;
        status = segment_io_truncate(w->fd, w->end);
    }
    /* What a killed collector wrote but did not sync can be read now, and a power failure could
     * still take it. It must be durable before anybody is told that it is stored (S-5). */
    if (status == SKEIN_OK)
        status = segment_io_sync(w->fd);
    if (status < 0) {
        segment_writer_fini(w);
        return status;
    }
    w->durable_end = w->end;
    return SKEIN_OK;
}
