/* SPDX-License-Identifier: Apache-2.0
 *
 * The store on files: a folder of segments (docs/store.md); store_scan.c is the reading half. Owns
 * the folder's lock, the list of segments and the open one. One writer appends and syncs; any
 * thread scans, reads and removes; `lock` guards the list and the durable end. Never overwrites a
 * byte that was synced, and never acknowledges: only what lies before the durable end is durable.
 *
 *                 store_append: writer_begin          store_append
 *   store_open ──▶ NONE ──────────────────▶ CLEAN ───────────────────▶ DIRTY ──┐ store_append
 *        │          ▲ ▲                     ▲ │ ▲                       │ │ ▲  │
 *        │          │ └── writer_close: ────┼─┘ └────── store_sync ─────┘ │ └──┘
 *        │          │     it is full        │                             │
 *        │          └── writer_abandon: a write or a sync failed ─────────┘
 *        └── segment_take_over: the last segment was not closed ─▶ CLEAN
 *
 *   CLEAN goes to NONE through writer_abandon, too, where a close or an append fails. store_copy
 *   and store_append_tombstones append as store_append does.
 *
 * Invariants, checked by store_assert at each change, in every build:
 *   I-1  NONE: no descriptor is open for writing.
 *   I-2  CLEAN: end == durable_end. DIRTY: end > durable_end.
 *   I-3  The open segment is the last of the list, and not closed. Numbers rise strictly; a number
 *        whose segment held a record is never used again.
 *   I-4  Only the open segment changes. A failed one is abandoned at its durable end, and the next
 *        one's header says where that is (S-6).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "clock.h"
#include "metrics.h"
#include "segment_io.h"
#include "skein_check.h"
#include "store_int.h"

#define SEGMENT_BYTES_DEFAULT (UINT64_C(64) << 20)
#define TAIL_BYTES_CLOSE      (SEGMENT_TAIL_MAX / 4)

static void store_assert(struct store *store)
{
    const struct segment_writer *w = &store->writer;
    skein_check((store->state == STORE_NONE) == (w->fd < 0));
    if (store->state == STORE_NONE)
        return;
    skein_check(store->state == STORE_CLEAN ? w->end == w->durable_end : w->end > w->durable_end);
    pthread_mutex_lock(&store->lock);
    skein_check(store->count > 0);
    const struct segment_info *last = &store->segments[store->count - 1];
    skein_check(last->number == w->number && !last->closed);
    skein_check(w->number == store->last_number);
    pthread_mutex_unlock(&store->lock);
}

/* ---- the list ---- */

static void totals_publish(const struct store *store)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < store->count; i++)
        bytes += store->segments[i].bytes;
    metrics_set(store_segments, store->count);
    metrics_set(store_bytes, bytes);
}

struct segment_info *store_segment_find(struct store *store, uint64_t number)
{
    size_t at;
    array_find(at, 0, store->count, store->segments[at].number < number);
    return at < store->count && store->segments[at].number == number ? &store->segments[at] : NULL;
}

static int list_reserve(struct store *store)
{
    return array_grow(store->segments, store->count + 1, &store->room) ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static void list_update(struct store *store, uint64_t number, uint64_t bytes, bool closed)
{
    pthread_mutex_lock(&store->lock);
    struct segment_info *info = store_segment_find(store, number);
    skein_check(info != NULL);
    info->bytes = bytes;
    info->closed = closed;
    totals_publish(store);
    pthread_mutex_unlock(&store->lock);
}

static void list_remove(struct store *store, uint64_t number)
{
    pthread_mutex_lock(&store->lock);
    struct segment_info *info = store_segment_find(store, number);
    if (info != NULL) {
        size_t behind = store->count - (size_t)(info - store->segments) - 1;
        memmove(info, info + 1, behind * sizeof *info);
        store->count--;
    }
    totals_publish(store);
    pthread_mutex_unlock(&store->lock);
}

static int file_remove(struct store *store, uint64_t number)
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(number, name);
    int status = segment_io_remove(store->folder, name);
    return status < 0 ? status : segment_io_sync_folder(store->folder);
}

/* ---- opening ---- */

static int segment_list_add(void *context, const char *name)
{
    struct store *store = context;
    uint64_t number;
    if (segment_name_parse(name, &number) < 0)
        return SKEIN_OK; /* somebody else's file */
    int status = list_reserve(store);
    if (status == SKEIN_OK)
        store->segments[store->count++] = (struct segment_info){.number = number};
    return status;
}

static int info_order(const void *a, const void *b)
{
    const struct segment_info *x = a, *y = b;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Applies what a header says about the segment that failed before it (S-6). */
static void abandoned_apply(struct store *store, const struct segment_header *header,
                            uint64_t *limits)
{
    struct segment_info *info = store_segment_find(store, header->abandoned);
    if (info != NULL && header->abandoned < header->number) {
        uint64_t *limit = &limits[info - store->segments];
        if (header->abandoned_end < *limit)
            *limit = header->abandoned_end;
    }
}

/* Reads sizes, headers and trailers of all segments. */
static int segments_inspect(struct store *store, uint64_t *limits)
{
    for (size_t i = 0; i < store->count; i++)
        limits[i] = UINT64_MAX;
    for (size_t i = 0; i < store->count; i++) {
        struct segment_info *info = &store->segments[i];
        char name[SEGMENT_NAME_BYTES];
        segment_name(info->number, name);
        int fd;
        int status = segment_io_open(store->folder, name, false, &fd);
        if (status == SKEIN_OK)
            status = segment_io_size(fd, &info->bytes);
        if (status < 0) {
            segment_io_close(&fd);
            return status;
        }
        uint8_t bytes[SEGMENT_HEADER_BYTES];
        struct segment_header header;
        if (segment_io_read(fd, bytes, sizeof bytes, 0) == SKEIN_OK &&
            segment_header_get(bytes, &header) == SKEIN_OK && header.number == info->number)
            abandoned_apply(store, &header, limits);
        else if (info->bytes >= SEGMENT_HEADER_BYTES)
            metrics_add(store_damaged_total, 1); /* its records do not need it */
        struct segment_trailer trailer;
        info->closed = segment_trailer_load(fd, info->number, info->bytes, &trailer) == SKEIN_OK;
        segment_io_close(&fd);
    }
    return SKEIN_OK;
}

/* Recovers one segment that was not closed. An empty one is removed (S-7). The last one becomes the
 * open one if nothing in it is damaged. Others are closed, so that their tails list what is
 * good. */
static int segment_take_over(struct store *store, struct segment_info *info, uint64_t limit,
                             bool last)
{
    struct segment_writer w;
    struct segment_recovery found;
    int status = segment_recover(&w, store->folder, info->number, limit, &found);
    metrics_add(store_torn_bytes_total, found.torn_bytes);
    metrics_add(store_damaged_total, found.bad_payloads + (found.damaged_bytes > 0));
    if (status == SKEIN_NO_MEMORY)
        return status;
    if (status < 0) { /* unreadable, or the disk is full: keep it, read it as far as possible */
        metrics_add(store_errors_total, 1);
        return SKEIN_OK;
    }
    info->bytes = w.durable_end;
    if (w.entries == 0) {
        segment_writer_fini(&w);
        info->bytes = 0;
        return file_remove(store, info->number);
    }
    if (last && found.bad_payloads == 0 && found.damaged_bytes == 0) {
        store->writer = w;
        store->state = STORE_CLEAN;
        return SKEIN_OK;
    }
    status = segment_finish(&w);
    if (status < 0) {
        metrics_add(store_errors_total, 1);
        segment_abandon(&w);
        return SKEIN_OK;
    }
    info->bytes = w.durable_end;
    info->closed = true;
    return SKEIN_OK;
}

static int segments_recover(struct store *store)
{
    uint64_t *limits = calloc(store->count + 1, sizeof *limits);
    if (limits == NULL)
        return SKEIN_NO_MEMORY;
    int status = segments_inspect(store, limits);
    for (size_t i = 0; status == SKEIN_OK && i < store->count; i++)
        if (!store->segments[i].closed)
            status =
                segment_take_over(store, &store->segments[i], limits[i], i + 1 == store->count);
    free(limits);
    if (status < 0)
        return status;
    size_t kept = 0;
    for (size_t i = 0; i < store->count; i++) {
        store->last_number = store->segments[i].number;
        if (store->segments[i].bytes > 0)
            store->segments[kept++] = store->segments[i];
    }
    store->count = kept;
    return SKEIN_OK;
}

static int store_load(struct store *store, const char **what)
{
    *what = "cannot open or lock the folder";
    int status = segment_io_open_folder(store->path, &store->folder);
    if (status < 0)
        return status;
    store_find_reserve(store);
    *what = "cannot list the folder";
    status = segment_io_list(store->path, segment_list_add, store);
    if (status < 0)
        return status;
    if (store->count > 0)
        qsort(store->segments, store->count, sizeof *store->segments, info_order);
    *what = "cannot read or repair its segments";
    status = segments_recover(store);
    totals_publish(store);
    return status;
}

int store_open(const struct store_settings *settings, struct store **out, char *error,
               size_t error_bytes)
{
    *out = NULL;
    struct store *store = calloc(1, sizeof *store);
    if (store == NULL)
        return SKEIN_NO_MEMORY;
    store->folder = -1;
    store->segment_bytes =
        settings->segment_bytes ? settings->segment_bytes : SEGMENT_BYTES_DEFAULT;
    store->min_free_bytes = settings->min_free_bytes;
    segment_writer_init(&store->writer);
    pthread_mutex_init(&store->lock, NULL);
    store->path = strdup(settings->folder);
    const char *what = "out of memory";
    int status = store->path != NULL ? store_load(store, &what) : SKEIN_NO_MEMORY;
    if (status < 0) {
        if (status == SKEIN_BUSY)
            what = "another collector has it open";
        (void)snprintf(error, error_bytes, "%s: %s (%s)", settings->folder, what,
                       skein_status_text(status));
        store_close(&store);
        return status;
    }
    store_assert(store);
    *out = store;
    return SKEIN_OK;
}

void store_close(struct store **store)
{
    struct store *s = *store;
    if (s == NULL)
        return;
    *store = NULL;
    segment_writer_fini(&s->writer); /* it stays unclosed: the next start goes on with it */
    segment_io_close(&s->folder);
    pthread_mutex_destroy(&s->lock);
    free(s->segments);
    free(s->path);
    free(s);
}

/* ---- writing ---- */

static void writer_abandon(struct store *store)
{
    struct segment_writer *w = &store->writer;
    metrics_add(store_errors_total, 1);
    store->abandoned = w->number;
    store->abandoned_end = w->durable_end;
    uint64_t number = w->number, end = w->durable_end;
    segment_abandon(w);
    store->state = STORE_NONE;
    if (end > SEGMENT_HEADER_BYTES)
        list_update(store, number, end, false);
    else if (file_remove(store, number) == SKEIN_OK)
        list_remove(store, number);
    store_assert(store);
}

static bool writer_full(const struct store *store)
{
    return store->state == STORE_CLEAN && (store->writer.end >= store->segment_bytes ||
                                           store->writer.tail.len >= TAIL_BYTES_CLOSE);
}

/* Closes the open segment. A failure loses nothing: all of it is durable, and the next start closes
 * the file. */
static void writer_close(struct store *store)
{
    uint64_t number = store->writer.number;
    if (segment_finish(&store->writer) < 0) {
        writer_abandon(store);
        return;
    }
    store->state = STORE_NONE;
    list_update(store, number, store->writer.durable_end, true);
    store_assert(store);
}

static int writer_begin(struct store *store)
{
    pthread_mutex_lock(&store->lock);
    int status = list_reserve(store);
    pthread_mutex_unlock(&store->lock);
    if (status < 0)
        return status;
    struct segment_header header = {.number = ++store->last_number,
                                    .created_ns = clock_realtime_ns(),
                                    .abandoned = store->abandoned,
                                    .abandoned_end = store->abandoned_end};
    status = segment_create(&store->writer, store->folder, &header);
    if (status < 0) {
        metrics_add(store_errors_total, 1);
        return status == SKEIN_FULL ? SKEIN_FULL : SKEIN_IO;
    }
    store->abandoned = store->abandoned_end = 0;
    store->state = STORE_CLEAN;
    pthread_mutex_lock(&store->lock);
    store->segments[store->count++] =
        (struct segment_info){.number = header.number, .bytes = SEGMENT_HEADER_BYTES};
    totals_publish(store);
    pthread_mutex_unlock(&store->lock);
    store_assert(store);
    return SKEIN_OK;
}

/* Appends one record if `keep` bytes of the disk are free after it. */
static int record_append(struct store *store, const struct segment_record *record,
                         const void *payload, uint64_t keep, uint64_t *offset)
{
    uint64_t free_bytes = 0;
    int status = segment_io_free_bytes(store->folder, &free_bytes);
    if (status < 0)
        return SKEIN_FULL; /* unknown counts as none: the caller tries again later */
    uint64_t need = record->length + SEGMENT_RECORD_BYTES + 8;
    if (free_bytes < keep || need > free_bytes - keep)
        return SKEIN_FULL;
    if (writer_full(store))
        writer_close(store);
    if (store->state == STORE_NONE) {
        status = writer_begin(store);
        if (status < 0)
            return status;
    }
    status = segment_append(&store->writer, record, payload, offset);
    if (status == SKEIN_IO)
        writer_abandon(store);
    else if (status == SKEIN_OK)
        store->state = STORE_DIRTY;
    store_assert(store);
    return status;
}

int store_append(struct store *store, const struct store_record *record, const void *partition,
                 size_t bytes, uint64_t checksum, struct store_place *place)
{
    store_assert(store);
    if (bytes == 0 || bytes > PARTITION_BYTES_MAX)
        return SKEIN_INVALID;
    struct segment_record r = {
        .kind = SEGMENT_PARTITION, .about = *record, .length = bytes, .checksum = checksum};
    uint64_t offset = 0;
    int status = record_append(store, &r, partition, store->min_free_bytes, &offset);
    if (status < 0)
        return status == SKEIN_CORRUPT ? SKEIN_INVALID : status;
    *place = (struct store_place){store->writer.number, offset + SEGMENT_RECORD_BYTES, bytes};
    return SKEIN_OK;
}

/* The head of the record at `place`. SKEIN_OK, SKEIN_NOT_FOUND, SKEIN_CORRUPT. */
static int record_head_read(struct store *store, const struct store_place *place,
                            struct segment_record *record)
{
    uint8_t header[SEGMENT_RECORD_BYTES];
    if (place->offset < SEGMENT_RECORD_BYTES || place->bytes > PARTITION_BYTES_MAX)
        return SKEIN_CORRUPT;
    const struct store_place before = {place->segment, place->offset - SEGMENT_RECORD_BYTES,
                                       sizeof header};
    int status = store_read(store, &before, 0, header, sizeof header);
    if (status < 0) /* not SKEIN_IO: that would say that the writing side failed */
        return status == SKEIN_NOT_FOUND ? status : SKEIN_CORRUPT;
    bool good = segment_record_get(header, place->segment, before.offset, record) >= 0 &&
                record->kind == SEGMENT_PARTITION && record->length == place->bytes;
    return good ? SKEIN_OK : SKEIN_CORRUPT;
}

int store_checksum(struct store *store, const struct store_place *place, uint64_t *checksum)
{
    struct segment_record record;
    int status = record_head_read(store, place, &record);
    if (status == SKEIN_OK)
        *checksum = record.checksum;
    return status;
}

/* Reads and verifies the record at `place`; its payload goes into `bytes`. */
static int record_read(struct store *store, const struct store_place *place,
                       struct segment_record *record, struct buf *bytes)
{
    int status = record_head_read(store, place, record);
    if (status < 0)
        return status;
    uint8_t *at = buf_reserve(bytes, (size_t)place->bytes);
    if (at == NULL)
        return SKEIN_NO_MEMORY;
    status = store_read(store, place, 0, at, (size_t)place->bytes);
    if (status < 0)
        return status == SKEIN_NOT_FOUND ? status : SKEIN_CORRUPT;
    return record->checksum == checksum64(at, (size_t)place->bytes) ? SKEIN_OK : SKEIN_CORRUPT;
}

int store_copy(struct store *store, const struct partition_key *key, struct store_place *place)
{
    struct segment_record record;
    struct buf bytes;
    buf_init(&bytes);
    int status = record_read(store, place, &record, &bytes);
    if (status == SKEIN_OK && !partition_key_equal(&record.about.key, key))
        status = SKEIN_CORRUPT;
    uint64_t offset = 0;
    if (status == SKEIN_OK)
        status = record_append(store, &record, bytes.data, store->min_free_bytes / 2, &offset);
    if (status == SKEIN_OK)
        *place = (struct store_place){store->writer.number, offset + SEGMENT_RECORD_BYTES,
                                      record.length};
    buf_fini(&bytes);
    return status;
}

int store_sync(struct store *store)
{
    store_assert(store);
    if (store->state != STORE_DIRTY)
        return SKEIN_OK;
    uint64_t begin_ns = clock_monotonic_ns();
    if (segment_sync(&store->writer) < 0) {
        writer_abandon(store);
        return SKEIN_IO;
    }
    metrics_observe(store_sync_seconds, clock_monotonic_ns() - begin_ns);
    store->state = STORE_CLEAN;
    metrics_add(store_commits_total, 1);
    list_update(store, store->writer.number, store->writer.durable_end, false);
    store_assert(store);
    return SKEIN_OK;
}

static int tombstones_write(struct store *store, const struct store_record *records, size_t count,
                            size_t *done)
{
    int status = SKEIN_OK;
    size_t n = 0;
    *done = 0;
    while (status == SKEIN_OK && n < count) {
        struct segment_record r = {.kind = SEGMENT_TOMBSTONE, .about = records[n]};
        r.about.received_ns = clock_realtime_ns();
        r.checksum = checksum64(NULL, 0);
        uint64_t offset;
        /* Deleting must work on a full disk: it is what makes room. */
        status = record_append(store, &r, NULL, 0, &offset);
        n += status == SKEIN_OK;
    }
    if (status == SKEIN_IO) /* the segment is abandoned, with the tombstones before this one */
        return status;
    int synced = store_sync(store); /* if one found no room, those before it are still noted */
    if (synced < 0)
        return synced;
    *done = n;
    return status;
}

int store_append_tombstones(struct store *store, const struct store_record *records, size_t count,
                            size_t *done)
{
    bool alone = store->state != STORE_DIRTY;
    int status = tombstones_write(store, records, count, done);
    if (status == SKEIN_IO && alone) /* else the caller's partitions were lost with the segment */
        status = tombstones_write(store, records, count, done);
    return status;
}

int store_remove_segment(struct store *store, uint64_t segment)
{
    pthread_mutex_lock(&store->lock);
    const struct segment_info *info = store_segment_find(store, segment);
    int status = SKEIN_OK;
    if (info == NULL)
        status = SKEIN_NOT_FOUND;
    else if (info ==
             &store->segments[store->count - 1]) /* open, or I-3: its number must not return */
        status = SKEIN_BUSY;
    pthread_mutex_unlock(&store->lock);
    if (status < 0)
        return status;
    status = file_remove(store, segment);
    if (status == SKEIN_OK || status == SKEIN_NOT_FOUND)
        list_remove(store, segment);
    return status;
}

void store_totals(struct store *store, uint64_t *segments, uint64_t *bytes, uint64_t *end_segment,
                  uint64_t *end_offset)
{
    *bytes = *end_segment = *end_offset = 0;
    pthread_mutex_lock(&store->lock);
    *segments = store->count;
    for (size_t i = 0; i < store->count; i++)
        *bytes += store->segments[i].bytes;
    if (store->count > 0) {
        *end_segment = store->segments[store->count - 1].number;
        *end_offset = store->segments[store->count - 1].bytes;
    }
    pthread_mutex_unlock(&store->lock);
}

int store_space(struct store *store, uint64_t *free_bytes, uint64_t *min_free_bytes)
{
    *free_bytes = 0;
    *min_free_bytes = store->min_free_bytes;
    return segment_io_free_bytes(store->folder, free_bytes) < 0 ? SKEIN_IO : SKEIN_OK;
}

bool store_has_segment(struct store *store, uint64_t segment)
{
    pthread_mutex_lock(&store->lock);
    bool has = store_segment_find(store, segment) != NULL;
    pthread_mutex_unlock(&store->lock);
    return has;
}
