/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins stored partitions, or slices of them, to one download; see trace_stream_int.h for its state.
 * Reads the store piece by piece; keeps no lock between reads.
 */
#include "trace_stream_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "trace_file.h"

/* ---- which ---- */

/* Whether partition_slice_plan would give any byte; known without a read. */
static bool concerns(const struct trace_stream *s, const struct stored_piece *p)
{
    return p->spans_from_ns <= s->to_ns && p->spans_to_ns >= s->from_ns;
}

static int pieces_find(struct trace_stream *s, struct index *index,
                       const struct trace_stream_query *q)
{
    if (q->partition != NULL) {
        struct partition_row row;
        int found = index_find(index, q->partition, &row);
        if (found != 1)
            return found == 0 ? SKEIN_NOT_FOUND : found;
        return stored_list_add(&s->list, &row);
    }
    struct partition_query query = {
        .ranges = q->ranges, .process = q->process, .selector = q->selector, .to_ns = UINT64_MAX};
    int status = stored_list_query(&s->list, index, &query);
    return status == SKEIN_OK && s->list.count == 0 ? SKEIN_NOT_FOUND : status;
}

/* ---- whether they are what was stored ---- */

static int piece_verify(struct trace_stream *s, struct stored_piece *p)
{
    return index_verify(s->index, &p->key, &p->place);
}

/* Each time the download comes to it: a slow download may outlive its bytes. */
int trace_stream_enter(struct trace_stream *s, size_t i)
{
    if (s->source || s->entered == i)
        return SKEIN_OK;
    int status = piece_verify(s, &s->list.pieces[i]);
    s->entered = status == SKEIN_OK ? i : SIZE_MAX;
    return status;
}

int trace_stream_leave_out(struct trace_stream *s, const struct partition_key *key)
{
    if (!array_grow(s->damaged, s->damaged_count + 1, &s->damaged_cap))
        return SKEIN_NO_MEMORY;
    s->damaged[s->damaged_count++] = *key;
    return SKEIN_OK;
}

/* Verifies the first bytes, so that a small download is refused before anything is sent. With
 * skip_damaged, and for a source, verifies all; removes what is damaged. */
static int first_piece_verify(struct trace_stream *s, const struct trace_stream_query *q)
{
    uint64_t bytes = 0;
    size_t kept = 0;
    for (size_t i = 0; i < s->list.count; i++) {
        struct stored_piece *p = &s->list.pieces[i];
        int status = SKEIN_OK;
        if (q->stop != NULL && q->stop(q->context))
            return SKEIN_CLOSED;
        if (q->skip_damaged || q->source || bytes < TRACE_VERIFY_FIRST)
            status = piece_verify(s, p);
        if (status == SKEIN_CORRUPT && q->damaged != NULL)
            *q->damaged = p->key;
        bool skipped = status == SKEIN_CORRUPT && q->skip_damaged;
        if (skipped)
            status = trace_stream_leave_out(s, &p->key);
        if (status != SKEIN_OK)
            return status;
        bytes += p->place.bytes;
        if (!skipped)
            s->list.pieces[kept++] = *p;
    }
    s->list.count = kept;
    return kept > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

/* ---- slices ---- */

/* The plan of a piece's slice, kept until another piece's is asked for. */
static int slice_of(struct trace_stream *s, size_t i)
{
    struct stored stored = {s, i};
    struct partition_source source = {trace_stored_read, &stored, s->parts[i].whole};
    if (s->sliced == i)
        return SKEIN_OK;
    s->sliced = SIZE_MAX;
    partition_slice_fini(&s->slice);
    int status = partition_slice_plan(&source, s->from_ns, s->to_ns, &s->slice);
    if (status == SKEIN_OK)
        s->sliced = i;
    return status;
}

static void unconcerned_drop(struct trace_stream *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->list.count; i++)
        if (concerns(s, &s->list.pieces[i]))
            s->list.pieces[kept++] = s->list.pieces[i];
    s->list.count = kept;
}

/* Makes the parts: all of each piece. */
static int parts_make(struct trace_stream *s)
{
    s->parts = calloc(s->list.count, sizeof *s->parts);
    for (size_t i = 0; s->parts != NULL && i < s->list.count; i++)
        s->parts[i].bytes = s->parts[i].whole = s->list.pieces[i].place.bytes;
    return s->parts != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* Removes what the window does not need. A partition that cannot be sliced is sent whole: its
 * reader says what is wrong with it. */
static int window_keep(struct trace_stream *s)
{
    size_t kept = 0;
    for (size_t i = 0; i < s->list.count; i++) {
        int status = slice_of(s, i);
        if (status != SKEIN_OK && status != SKEIN_CORRUPT)
            return status;
        struct part part = s->parts[i];
        s->parts[i].packed = NULL; /* it goes with the part */
        if (status == SKEIN_OK && (!s->source || s->slice.bytes == 0)) {
            part.cut = s->slice.cut;
            part.bytes = s->slice.bytes;
        }
        if (part.bytes > 0) {
            s->list.pieces[kept] = s->list.pieces[i];
            s->parts[kept++] = part;
        } else {
            free(part.packed);
        }
    }
    s->sliced = s->packed_at = SIZE_MAX; /* the pieces have other numbers now */
    s->list.count = kept;
    return kept > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

static int piece_read(struct trace_stream *s, size_t i, uint64_t from, void *out, size_t n)
{
    struct stored stored = {s, i};
    struct partition_source source = {trace_stored_read, &stored, s->parts[i].whole};
    int status = trace_stream_enter(s, i);
    if (status == SKEIN_OK && !s->parts[i].cut)
        return trace_stored_read(&stored, from, out, n);
    if (status == SKEIN_OK)
        status = slice_of(s, i);
    if (status == SKEIN_OK && s->slice.bytes != s->parts[i].bytes)
        status = SKEIN_CORRUPT; /* the disk gave other bytes than at the plan */
    return status == SKEIN_OK ? partition_slice_read(&s->slice, &source, from, out, n) : status;
}

/* ---- the download ---- */

/* Computes the offsets, the closing table and the entity tag. */
static int stream_lay_out(struct trace_stream *s, bool with_table)
{
    struct buf names = {0};
    buf_put_u8(&names, (uint8_t)s->format);
    buf_put_u8(&names, (uint8_t)((s->withhold.names ? 16u : 0u) | (unsigned)s->withhold.words));
    if (s->format != TRACE_SKEIN) {
        buf_put_u64(&names, s->groups);
        buf_put(&names, s->of, sizeof s->of);
    }
    buf_put_u64(&names, s->from_ns);
    buf_put_u64(&names, s->to_ns);
    uint64_t *lengths = malloc(s->list.count * sizeof *lengths);
    if (lengths == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < s->list.count; i++) {
        const struct partition_key *key = &s->list.pieces[i].key;
        struct part *part = &s->parts[i];
        part->offset = s->bytes;
        s->bytes += part->bytes;
        lengths[i] = part->bytes;
        buf_put(&names, key->process.bytes, sizeof key->process.bytes);
        buf_put_u64(&names, key->epoch);
        buf_put_u64(&names, key->sequence);
        buf_put_u64(&names, part->bytes);
    }
    int status = with_table ? trace_table_put(lengths, s->list.count, &s->table) : SKEIN_OK;
    s->bytes += s->table.len;
    if (status == SKEIN_OK)
        status = names.status;
    if (status == SKEIN_OK)
        snprintf(s->etag, sizeof s->etag, "\"%016" PRIx64 "\"", checksum64(names.data, names.len));
    buf_fini(&names);
    free(lengths);
    return status;
}

int trace_stream_open(struct index *index, const struct trace_stream_query *query,
                      struct trace_stream **out)
{
    struct trace_stream *s = calloc(1, sizeof *s);
    *out = s;
    if (s == NULL)
        return SKEIN_NO_MEMORY;
    s->index = index;
    s->sliced = s->entered = s->packed_at = SIZE_MAX;
    s->withhold = query->withhold;
    s->from_ns = query->window ? query->from_ns : 0;
    s->to_ns = query->window ? query->to_ns : UINT64_MAX;
    s->source = query->source;
    s->format = query->format;
    s->groups = query->groups;
    snprintf(s->of, sizeof s->of, "%s", query->of != NULL ? query->of : "");
    int status = pieces_find(s, index, query);
    if (status == SKEIN_OK && query->window)
        unconcerned_drop(s);
    if (status == SKEIN_OK)
        status = first_piece_verify(s, query);
    if (status == SKEIN_OK)
        status = parts_make(s);
    if (status == SKEIN_OK && withhold_any(&s->withhold))
        status = trace_withheld_look(s, query);
    if (status == SKEIN_OK && query->window)
        status = window_keep(s);
    if (status == SKEIN_OK)
        status = stream_lay_out(s, query->partition == NULL);
    if (status == SKEIN_OK && query->format == TRACE_PERFETTO)
        status = perfetto_export_new(query->groups, &s->exporter);
    if (status != SKEIN_OK)
        trace_stream_free(out);
    return status;
}

void trace_stream_free(struct trace_stream **stream)
{
    struct trace_stream *s = *stream;
    if (s == NULL)
        return;
    stored_pair_fini(&s->pair);
    if (s->exporter != NULL)
        perfetto_export_free(&s->exporter);
    partition_slice_fini(&s->slice);
    buf_fini(&s->out);
    buf_fini(&s->packed);
    buf_fini(&s->table);
    for (size_t i = 0; s->parts != NULL && i < s->list.count; i++)
        free(s->parts[i].packed);
    stored_list_fini(&s->list);
    free(s->parts);
    free(s->damaged);
    free(s);
    *stream = NULL;
}

const struct partition_key *trace_stream_damaged(const struct trace_stream *s, size_t *count)
{
    *count = s->damaged_count;
    return s->damaged;
}

uint64_t trace_stream_bytes(const struct trace_stream *s)
{
    return s->format == TRACE_SKEIN ? s->bytes : s->out.len;
}

const char *trace_stream_etag(const struct trace_stream *s)
{
    return s->etag;
}

/* ---- skein ---- */

/* The piece that holds the offset; the caller knows that there is one. */
static size_t piece_at(const struct trace_stream *s, uint64_t offset)
{
    size_t at;
    array_find(at, 1, s->list.count, s->parts[at].offset <= offset);
    return at - 1;
}

static int64_t native_read(struct trace_stream *s, uint64_t offset, void *out, size_t n)
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
    size_t i = piece_at(s, offset);
    uint64_t from = offset - s->parts[i].offset, left = s->parts[i].bytes - from;
    n = n < left ? n : (size_t)left;
    int status = piece_read(s, i, from, out, n);
    return status == SKEIN_OK ? (int64_t)n : status;
}

/* ---- perfetto ---- */

/* Packets are made ahead by so much: a partition's may be a thousand times its own bytes. */
#define EXPORT_STEP_BYTES (256u << 10)

int trace_stream_load(struct trace_stream *s)
{
    uint64_t bytes = s->parts[s->next].bytes;
    uint8_t *room;
    int status = stored_pair_room(&s->pair, bytes, &room);
    if (status == SKEIN_OK)
        status = piece_read(s, s->next, 0, room, (size_t)bytes);
    if (status == SKEIN_OK)
        status = stored_pair_open(&s->pair, &s->list.pieces[s->next].key, bytes);
    s->next += status == SKEIN_OK;
    return status;
}

/* Makes some packets; a step may give none. */
static int export_step(struct trace_stream *s)
{
    if (!s->exporting && s->next == s->list.count) {
        s->finished = true;
        return perfetto_export_finish(s->exporter, &s->out);
    }
    int status = s->exporting ? SKEIN_OK : trace_stream_load(s);
    if (status == SKEIN_OK)
        status = perfetto_export_some(s->exporter, s->pair.reader, EXPORT_STEP_BYTES, &s->out);
    s->exporting = status > 0;
    return status > 0 ? SKEIN_OK : status;
}

static int64_t perfetto_read(struct trace_stream *s, void *out, size_t n)
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

/* ---- what is read ---- */

static int64_t profile_read(const struct trace_stream *s, uint64_t offset, void *out, size_t n)
{
    uint64_t left = offset < s->out.len ? s->out.len - offset : 0;
    n = n < left ? n : (size_t)left;
    if (n > 0)
        memcpy(out, s->out.data + offset, n);
    return (int64_t)n;
}

int64_t trace_stream_read(struct trace_stream *s, uint64_t offset, void *out, size_t n)
{
    if (s->format == TRACE_SKEIN)
        return native_read(s, offset, out, n);
    return s->exporter != NULL ? perfetto_read(s, out, n) : profile_read(s, offset, out, n);
}

int trace_stream_give(void *stream, uint64_t offset, void *out, size_t n)
{
    for (size_t at = 0; at < n;) {
        int64_t got = trace_stream_read(stream, offset + at, (uint8_t *)out + at, n - at);
        if (got <= 0)
            return got < 0 ? (int)got : SKEIN_TRUNCATED;
        at += (size_t)got;
    }
    return SKEIN_OK;
}
