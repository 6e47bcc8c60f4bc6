/* SPDX-License-Identifier: Apache-2.0
 *
 * Joins stored partitions, or slices of them, to one download. Owns the list of places, the plan of
 * the slice read last and, for exports, the exporter or the profile and the partition being read.
 * Reads the store piece by piece; keeps no lock between reads.
 */
#include "trace_stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "checksum.h"
#include "clock.h"
#include "partition_slice.h"
#include "perfetto_export.h"
#include "stack_profile.h"
#include "stored_walk.h"
#include "trace_file.h"

/* What part of a partition is in the download. */
struct part {
    uint64_t bytes, offset; /* in the download */
    bool cut;               /* a slice, not the whole partition */
};

struct trace_stream {
    struct index *index;
    struct stored_list list;
    struct part *parts; /* one for each piece of the list */
    struct buf table;
    uint64_t bytes;
    char etag[24];
    uint64_t from_ns, to_ns;       /* the window; 0 and UINT64_MAX: none */
    struct partition_slice slice;  /* the plan for piece `sliced` */
    size_t sliced;                 /* SIZE_MAX: there is no plan */
    size_t entered;                /* the piece that is being read; SIZE_MAX: none */
    bool source;                   /* all are verified, and none is again */
    struct partition_key *damaged; /* left out */
    size_t damaged_count, damaged_cap;
    enum trace_format format;
    uint64_t groups; /* that an export shows; 0: all */
    char of[16];     /* TRACE_FOLDED; "": samples where there are any */
    /* exports; of a profile `out` is all of it */
    struct perfetto_export *exporter;
    struct stored_pair pair;
    size_t next;
    bool exporting; /* the pair's reader has more */
    struct buf out;
    size_t out_read;
    bool finished;
};

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

/* Verifies a piece each time the download comes to it: a slow download may outlive its bytes. */
static int piece_enter(struct trace_stream *s, size_t i)
{
    if (s->source || s->entered == i)
        return SKEIN_OK;
    int status = piece_verify(s, &s->list.pieces[i]);
    s->entered = status == SKEIN_OK ? i : SIZE_MAX;
    return status;
}

/* Notes a piece that is left out. */
static int damaged_note(struct trace_stream *s, const struct partition_key *key)
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
            status = damaged_note(s, &p->key);
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

struct stored {
    struct index *index;
    struct stored_piece *piece;
};

static int stored_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct stored *stored = context;
    struct stored_piece *p = stored->piece;
    return index_read(stored->index, &p->key, &p->place, offset, out, n);
}

/* The plan of a piece's slice, kept until another piece's is asked for. */
static int slice_of(struct trace_stream *s, size_t i)
{
    struct stored_piece *p = &s->list.pieces[i];
    struct stored stored = {s->index, p};
    struct partition_source source = {stored_read, &stored, p->place.bytes};
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
        s->parts[i].bytes = s->list.pieces[i].place.bytes;
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
        if (status == SKEIN_OK && (!s->source || s->slice.bytes == 0)) {
            part.cut = s->slice.cut;
            part.bytes = s->slice.bytes;
        }
        if (part.bytes > 0) {
            s->list.pieces[kept] = s->list.pieces[i];
            s->parts[kept++] = part;
        }
    }
    s->sliced = SIZE_MAX; /* the pieces have other numbers now */
    s->list.count = kept;
    return kept > 0 ? SKEIN_OK : SKEIN_NOT_FOUND;
}

static int piece_read(struct trace_stream *s, size_t i, uint64_t from, void *out, size_t n)
{
    struct stored_piece *p = &s->list.pieces[i];
    struct stored stored = {s->index, p};
    struct partition_source source = {stored_read, &stored, p->place.bytes};
    int status = piece_enter(s, i);
    if (status == SKEIN_OK && !s->parts[i].cut)
        return index_read(s->index, &p->key, &p->place, from, out, n);
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
    s->sliced = s->entered = SIZE_MAX;
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
    buf_fini(&s->table);
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

/* Loads the next partition. */
static int export_load(struct trace_stream *s)
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
    int status = s->exporting ? SKEIN_OK : export_load(s);
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

/* ---- profiles ---- */

/* Whether the process has no later cut: only that one tells what is still open. */
static bool is_last_cut(const struct trace_stream *s, size_t at)
{
    const struct process_uid *process = &s->list.pieces[at].key.process;
    for (size_t i = at + 1; i < s->list.count; i++) {
        const struct partition_key *key = &s->list.pieces[i].key;
        if (!process_uid_equal(&key->process, process))
            return true;
        if (key->sequence < PARTITION_EVIDENCE_FROM)
            return false;
    }
    return true;
}

/* Cuts the event down to what of it lies in the window; false: nothing does. What is added up must be
 * of the window alone, and not of the blocks that reach into it. */
static bool event_clip(const struct trace_stream *s, struct trace_event *event)
{
    int64_t offset_ns = partition_reader_info(s->pair.reader)->clock_offset_ns;
    if (s->from_ns == 0 && s->to_ns == UINT64_MAX)
        return true;
    uint64_t left_ns = UINT64_MAX - event->time_ns;
    uint64_t end_ns = event->time_ns + (event->dur_ns < left_ns ? event->dur_ns : left_ns);
    uint64_t from_ns = clock_shift_ns(event->time_ns, offset_ns);
    uint64_t to_ns = clock_shift_ns(end_ns, offset_ns);
    if (from_ns > s->to_ns || to_ns < s->from_ns)
        return false;
    uint64_t before_ns = from_ns < s->from_ns ? s->from_ns - from_ns : 0;
    uint64_t behind_ns = to_ns > s->to_ns ? to_ns - s->to_ns : 0;
    event->time_ns += before_ns;
    event->dur_ns = to_ns - from_ns - before_ns - behind_ns;
    return true;
}

static int events_profile(struct trace_stream *s, bool last, struct stack_profile *profile)
{
    struct trace_event event;
    int status = SKEIN_OK, got = 1;
    while (status == SKEIN_OK && got > 0) {
        got = partition_reader_next(s->pair.reader, &event);
        if (got > 0 && (event.kind != TRACE_OPEN || last) &&
            event_type_shown(event.type, s->groups) && event_clip(s, &event))
            status = stack_profile_add(profile, s->pair.reader, &event);
    }
    return status == SKEIN_OK && got < 0 ? got : status;
}

static int profile_put(struct trace_stream *s, const struct stack_profile *profile)
{
    uint64_t samples = stack_profile_samples(profile), waits = stack_profile_waits(profile);
    if (samples + waits == 0)
        return SKEIN_INVALID;
    if (s->format == TRACE_PPROF)
        return stack_profile_pprof(profile, &s->out);
    enum stack_profile_of of = samples > 0 ? STACK_PROFILE_SAMPLES : STACK_PROFILE_WAITS;
    if (s->of[0] != '\0' && !stack_profile_of_find(s->of, &of))
        return SKEIN_INVALID;
    size_t before = s->out.len;
    int status = stack_profile_folded(profile, of, &s->out);
    return status == SKEIN_OK && s->out.len == before ? SKEIN_INVALID : status;
}

/* Takes the piece at s->next. */
static int piece_profile(struct trace_stream *s, struct stack_profile *profile)
{
    size_t at = s->next;
    int status = piece_enter(s, at);
    if (status != SKEIN_OK)
        return status;
    status = export_load(s);
    if (status == SKEIN_OK)
        status = events_profile(s, is_last_cut(s, at), profile);
    if (status == SKEIN_CORRUPT || status == SKEIN_TRUNCATED || status == SKEIN_VERSION)
        status = SKEIN_UNSUPPORTED; /* its bytes are as they came */
    return status;
}

int trace_stream_profile(struct trace_stream *s, const struct trace_profile_bounds *bounds,
                         struct partition_key *damaged)
{
    struct stack_profile *profile = NULL;
    int status = stack_profile_new(bounds->most_bytes, &profile);
    while (status == SKEIN_OK && s->next < s->list.count) {
        *damaged = s->list.pieces[s->next].key;
        if (bounds->stop(bounds->context))
            status = SKEIN_CLOSED;
        else if (clock_monotonic_ns() >= bounds->deadline_ns)
            status = SKEIN_TIMEOUT;
        else
            status = piece_profile(s, profile);
    }
    if (status == SKEIN_OK)
        status = profile_put(s, profile);
    stack_profile_free(&profile);
    stored_pair_fini(&s->pair);
    return status;
}

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
