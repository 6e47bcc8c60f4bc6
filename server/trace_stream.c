/* SPDX-License-Identifier: Apache-2.0
 *
 * Concatenates stored partitions. Owns the list of places and, for Perfetto, the exporter and the
 * partition being exported. Reads the store by pieces; keeps no lock between reads.
 */
#include "trace_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "partition_reader.h"
#include "perfetto_export.h"
#include "trace_file.h"

struct piece {
    struct partition_key key;
    struct store_place place;
    uint64_t offset; /* in the download */
};

/* A partition held in memory with its reader. */
struct held {
    struct partition_reader *reader;
    uint8_t *bytes;
};

struct trace_stream {
    struct store *store;
    struct piece *pieces;
    size_t count, cap;
    struct buf table;
    uint64_t bytes;
    char etag[24];
    /* Perfetto */
    struct perfetto_export *exporter;
    struct held before, now;
    size_t next;
    bool exporting; /* more will come of `now` */
    struct buf out;
    size_t out_read;
    bool finished;
};

/* ---- which ---- */

static int take_row(void *context, const struct partition_row *row)
{
    struct trace_stream *s = context;
    if (s->count == s->cap) {
        size_t cap = s->cap * 2 + 16;
        struct piece *larger = realloc(s->pieces, cap * sizeof *larger);
        if (larger == NULL)
            return SKEIN_NO_MEMORY;
        s->pieces = larger;
        s->cap = cap;
    }
    s->pieces[s->count++] = (struct piece){row->record.key, row->place, 0};
    return 0;
}

static int compare(const void *a, const void *b)
{
    const struct piece *x = a, *y = b;
    int order = memcmp(x->key.process.bytes, y->key.process.bytes, sizeof x->key.process.bytes);
    if (order == 0)
        order = x->key.epoch < y->key.epoch ? -1 : x->key.epoch > y->key.epoch;
    if (order == 0)
        order = x->key.sequence < y->key.sequence ? -1 : x->key.sequence > y->key.sequence;
    return order;
}

static int find_pieces(struct trace_stream *s, struct index *index,
                       const struct trace_stream_query *q)
{
    if (q->partition != NULL) {
        struct partition_row row;
        int found = index_find(index, q->partition, &row);
        if (found != 1)
            return found == 0 ? SKEIN_NOT_FOUND : found;
        return take_row(s, &row);
    }
    struct partition_query query = {
        .capture = q->capture, .process = q->process, .to_ns = UINT64_MAX};
    int64_t rows = index_query(index, &query, take_row, s);
    if (rows < 0)
        return (int)rows;
    if ((uint64_t)rows != s->count)
        return SKEIN_NO_MEMORY;
    return s->count > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* Offsets, closing table, entity tag. */
static int lay_out(struct trace_stream *s, bool with_table)
{
    struct buf names = {0};
    uint64_t *lengths = malloc(s->count * sizeof *lengths);
    if (lengths == NULL)
        return SKEIN_NO_MEMORY;
    qsort(s->pieces, s->count, sizeof *s->pieces, compare);
    for (size_t i = 0; i < s->count; i++) {
        struct piece *p = &s->pieces[i];
        p->offset = s->bytes;
        s->bytes += p->place.bytes;
        lengths[i] = p->place.bytes;
        buf_put(&names, p->key.process.bytes, sizeof p->key.process.bytes);
        buf_put_u64(&names, p->key.epoch);
        buf_put_u64(&names, p->key.sequence);
        buf_put_u64(&names, p->place.bytes);
    }
    int status = with_table ? trace_table_put(lengths, s->count, &s->table) : SKEIN_OK;
    s->bytes += s->table.len;
    if (status == SKEIN_OK)
        status = names.status;
    if (status == SKEIN_OK)
        snprintf(s->etag, sizeof s->etag, "\"%016llx\"",
                 (unsigned long long)checksum64(names.data, names.len));
    buf_fini(&names);
    free(lengths);
    return status;
}

int trace_stream_open(struct store *store, struct index *index,
                      const struct trace_stream_query *query, struct trace_stream **out)
{
    struct trace_stream *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL)
        return SKEIN_NO_MEMORY;
    s->store = store;
    int status = find_pieces(s, index, query);
    if (status == SKEIN_OK)
        status = lay_out(s, query->partition == NULL);
    if (status == SKEIN_OK && query->format == TRACE_PERFETTO)
        status = perfetto_export_new(&s->exporter);
    if (status != SKEIN_OK)
        trace_stream_free(out);
    return status;
}

static void held_fini(struct held *held)
{
    if (held->reader != NULL)
        partition_reader_free(&held->reader);
    free(held->bytes);
    memset(held, 0, sizeof *held);
}

void trace_stream_free(struct trace_stream **stream)
{
    struct trace_stream *s = *stream;
    if (s == NULL)
        return;
    held_fini(&s->before);
    held_fini(&s->now);
    if (s->exporter != NULL)
        perfetto_export_free(&s->exporter);
    buf_fini(&s->out);
    buf_fini(&s->table);
    free(s->pieces);
    free(s);
    *stream = NULL;
}

uint64_t trace_stream_bytes(const struct trace_stream *s)
{
    return s->bytes;
}

const char *trace_stream_etag(const struct trace_stream *s)
{
    return s->etag;
}

/* ---- skein ---- */

/* The piece that holds the offset; the caller knows that one does. */
static const struct piece *piece_at(const struct trace_stream *s, uint64_t offset)
{
    size_t low = 0, high = s->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->pieces[middle].offset <= offset)
            low = middle;
        else
            high = middle;
    }
    return &s->pieces[low];
}

static int64_t read_native(struct trace_stream *s, uint64_t offset, void *out, size_t n)
{
    uint64_t table_at = s->bytes - s->table.len;
    if (offset >= s->bytes)
        return 0;
    if (offset >= table_at) {
        uint64_t left = s->bytes - offset;
        n = n < left ? n : (size_t)left;
        memcpy(out, s->table.data + (offset - table_at), n);
        return (int64_t)n;
    }
    const struct piece *p = piece_at(s, offset);
    uint64_t from = offset - p->offset, left = p->place.bytes - from;
    n = n < left ? n : (size_t)left;
    int status = store_read(s->store, &p->place, from, out, n);
    return status == SKEIN_OK ? (int64_t)n : status;
}

/* ---- perfetto ---- */

/* Packets made ahead of what is sent: a partition's may be a thousand times its own bytes. */
#define EXPORT_STEP_BYTES (256u << 10)

/* Loads the next partition. */
static int export_load(struct trace_stream *s)
{
    const struct piece *p = &s->pieces[s->next];
    char error[256];
    held_fini(&s->before);
    s->before = s->now;
    memset(&s->now, 0, sizeof s->now);
    if (p->place.bytes > PARTITION_BYTES_MAX)
        return SKEIN_CORRUPT;
    s->now.bytes = malloc((size_t)p->place.bytes);
    if (s->now.bytes == NULL)
        return SKEIN_NO_MEMORY;
    int status = store_read(s->store, &p->place, 0, s->now.bytes, (size_t)p->place.bytes);
    if (status == SKEIN_OK)
        status = partition_reader_new(s->now.bytes, (size_t)p->place.bytes, &s->now.reader, error,
                                      sizeof error);
    if (status != SKEIN_OK)
        return status;
    if (s->next > 0 && s->before.reader != NULL &&
        process_uid_equal(&p->key.process, &s->pieces[s->next - 1].key.process))
        partition_reader_continue(s->now.reader, s->before.reader);
    s->next++;
    return SKEIN_OK;
}

/* Makes some packets, or none where a step gives none. */
static int export_step(struct trace_stream *s)
{
    if (!s->exporting && s->next == s->count) {
        s->finished = true;
        return perfetto_export_finish(s->exporter, &s->out);
    }
    int status = s->exporting ? SKEIN_OK : export_load(s);
    if (status == SKEIN_OK)
        status = perfetto_export_some(s->exporter, s->now.reader, EXPORT_STEP_BYTES, &s->out);
    s->exporting = status > 0;
    return status > 0 ? SKEIN_OK : status;
}

static int64_t read_perfetto(struct trace_stream *s, void *out, size_t n)
{
    while (s->out_read == s->out.len && !s->finished) {
        buf_clear(&s->out);
        s->out_read = 0;
        int status = export_step(s);
        if (status != SKEIN_OK)
            return status;
    }
    size_t left = s->out.len - s->out_read;
    n = n < left ? n : left;
    if (n > 0)
        memcpy(out, s->out.data + s->out_read, n);
    s->out_read += n;
    return (int64_t)n;
}

int64_t trace_stream_read(struct trace_stream *s, uint64_t offset, void *out, size_t n)
{
    return s->exporter != NULL ? read_perfetto(s, out, n) : read_native(s, offset, out, n);
}
