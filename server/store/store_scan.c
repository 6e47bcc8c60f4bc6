/* SPDX-License-Identifier: Apache-2.0
 *
 * The reading half of the store: walks records and reads partitions. Any thread, beside the writer:
 * a call reads only what lay before the durable end when it began. Changes nothing but counters.
 */
#include <stdlib.h>
#include <string.h>

#include "metrics.h"
#include "segment_io.h"
#include "store_int.h"

struct scan {
    struct store *store;
    uint64_t from_offset; /* in the segment that is being walked */
    store_scan_fn *fn;
    store_tombstone_fn *tombstone;
    void *context;
    struct buf scratch;
};

static int record_give(struct scan *s, uint64_t number, const struct segment_record *record,
                       uint64_t offset, const struct partition_footer *footer)
{
    if (record->kind == SEGMENT_TOMBSTONE)
        return s->tombstone != NULL ? s->tombstone(s->context, &record->about, number) : SKEIN_OK;
    struct store_place place = {number, offset + SEGMENT_RECORD_BYTES, record->length};
    return s->fn(s->context, &record->about, &place, footer);
}

/* Whether a decoded footer belongs to the record. */
static bool footer_fits(const struct partition_footer *footer, const struct segment_record *record)
{
    return footer->partition_bytes == record->length &&
           partition_key_equal(&footer->key, &record->about.key);
}

/* Gives all records of a closed segment, from its tail alone. */
static int tail_scan(struct scan *s, uint64_t number, const struct buf *tail)
{
    struct cursor c;
    cursor_init(&c, tail->data, tail->len);
    struct segment_record record;
    const uint8_t *bytes;
    size_t n;
    uint64_t offset;
    int status;
    while ((status = segment_entry_get(&c, number, &record, &offset, &bytes, &n)) == 1) {
        if (offset < s->from_offset)
            continue;
        struct partition_footer footer = {0};
        size_t need;
        if (record.kind == SEGMENT_PARTITION) {
            status = partition_footer_get(bytes, n, &footer, &need);
            if (status == SKEIN_NO_MEMORY)
                return status;
            if (status < 0 || !footer_fits(&footer, &record)) {
                partition_footer_free(&footer);
                metrics_add(store_damaged_total, 1);
                continue;
            }
        }
        status = record_give(s, number, &record, offset, &footer);
        partition_footer_free(&footer);
        if (status != 0)
            return status;
    }
    if (status < 0)
        metrics_add(store_damaged_total, 1);
    return status == SKEIN_CORRUPT ? SKEIN_OK : status;
}

/* Gives all records up to `limit` by walking the file. check: it may be damaged, so verify it. */
static int walk_scan(struct scan *s, int fd, uint64_t number, uint64_t limit, bool check)
{
    struct segment_walk w;
    segment_walk_init(&w, fd, number, limit, check);
    if (!check && s->from_offset > w.at)
        w.at = s->from_offset;
    struct segment_record record;
    uint64_t offset;
    int status;
    while ((status = segment_walk_next(&w, &record, &offset)) == 1) {
        if (offset < s->from_offset)
            continue;
        struct partition_footer footer = {0};
        if (record.kind == SEGMENT_PARTITION) {
            status = segment_footer_load(fd, offset + SEGMENT_RECORD_BYTES, record.length,
                                         &s->scratch, &footer);
            if (status == SKEIN_CORRUPT || (status == SKEIN_OK && !footer_fits(&footer, &record))) {
                partition_footer_free(&footer);
                w.bad_payloads++;
                continue;
            }
            if (status < 0)
                break;
        }
        status = record_give(s, number, &record, offset, &footer);
        partition_footer_free(&footer);
        if (status != 0)
            break;
    }
    metrics_add(store_damaged_total, w.bad_payloads + (w.damaged > 0));
    segment_walk_fini(&w);
    return status;
}

/* open: it is the last segment, which this store has written or verified. Another unclosed one is
 * what recovery could not close. */
static int segment_scan(struct scan *s, const struct segment_info *info, bool open)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(info->number, name);
    int fd;
    int status = segment_io_open(s->store->folder, name, false, &fd);
    if (status < 0)
        return status == SKEIN_NOT_FOUND ? SKEIN_OK : status; /* removed since the scan began */
    if (info->closed) {
        struct buf tail;
        buf_init(&tail);
        status = segment_tail_load(fd, info->number, info->bytes, &tail);
        if (status == SKEIN_OK)
            status = tail_scan(s, info->number, &tail);
        else if (status == SKEIN_CORRUPT) {
            metrics_add(store_damaged_total, 1);
            status = walk_scan(s, fd, info->number, info->bytes, true);
        }
        buf_fini(&tail);
    } else {
        status = walk_scan(s, fd, info->number, info->bytes, !open);
    }
    segment_io_close(&fd);
    if (status == SKEIN_IO) { /* an unreadable segment must not hide the others */
        metrics_add(store_errors_total, 1);
        status = SKEIN_OK;
    }
    return status;
}

int store_scan(struct store *store, uint64_t segment, uint64_t offset, store_scan_fn *fn,
               store_tombstone_fn *tombstone, void *context)
{
    pthread_mutex_lock(&store->lock);
    size_t count = store->count;
    struct segment_info *infos = calloc(count + 1, sizeof *infos);
    if (infos != NULL && count > 0)
        memcpy(infos, store->segments, count * sizeof *infos);
    pthread_mutex_unlock(&store->lock);
    if (infos == NULL)
        return SKEIN_NO_MEMORY;
    struct scan s = {store, 0, fn, tombstone, context, {0}};
    buf_init(&s.scratch);
    int status = SKEIN_OK;
    for (size_t i = 0; status == SKEIN_OK && i < count; i++) {
        if (infos[i].number < segment)
            continue;
        s.from_offset = infos[i].number == segment ? offset : 0;
        status = segment_scan(&s, &infos[i], i + 1 == count);
    }
    buf_fini(&s.scratch);
    free(infos);
    return status;
}

int store_read(struct store *store, const struct store_place *place, uint64_t from, void *out,
               size_t n)
{
    if (from > place->bytes || n > place->bytes - from || place->offset > UINT64_MAX / 2 ||
        place->bytes > PARTITION_BYTES_MAX)
        return SKEIN_INVALID;
    char name[SEGMENT_NAME_BYTES];
    segment_name(place->segment, name);
    int fd;
    int status = segment_io_open(store->folder, name, false, &fd);
    if (status < 0)
        return status == SKEIN_NOT_FOUND ? status : SKEIN_IO;
    status = segment_io_read(fd, out, n, place->offset + from);
    segment_io_close(&fd);
    return status < 0 ? SKEIN_IO : SKEIN_OK;
}
