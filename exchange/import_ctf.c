/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_ctf.h: the metadata, and the streams by time.
 */
#include "import_ctf.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "import_ctf_int.h"
#include "import_id.h"

#define METADATA_HEAD_BYTES 37

/* ---- metadata ---- */

/* As text, or in packets with a head each: the text of all. */
static int metadata_text(struct ctf_import *i, const uint8_t *bytes, size_t n, struct buf *text)
{
    struct cursor c;
    bool packets = n >= 4 && (memcmp(bytes, "\x57\x1d\xd1\x75", 4) == 0 ||
                              memcmp(bytes, "\x75\xd1\x1d\x57", 4) == 0);
    if (!packets) {
        buf_put(text, bytes, n);
        return text->status;
    }
    bool big = bytes[0] == 0x75;
    for (size_t at = 0; at < n;) {
        cursor_init(&c, bytes + at, n - at);
        (void)cursor_bytes(&c, 24); /* magic, uuid, checksum */
        uint32_t content = cursor_u32(&c), size = cursor_u32(&c);
        uint8_t compressed = cursor_u8(&c), encrypted = cursor_u8(&c);
        (void)cursor_bytes(&c, 3);
        if (big) {
            content = __builtin_bswap32(content);
            size = __builtin_bswap32(size);
        }
        if (c.status != SKEIN_OK || size % 8 != 0 || content % 8 != 0 || content > size ||
            content / 8 < METADATA_HEAD_BYTES || size / 8 > n - at) {
            import_why(i->told, "its metadata has a packet of a size that it cannot have");
            return SKEIN_CORRUPT;
        }
        if (compressed != 0 || encrypted != 0) {
            import_why(i->told, "its metadata is compressed or encrypted");
            return SKEIN_UNSUPPORTED;
        }
        buf_put(text, bytes + at + METADATA_HEAD_BYTES, content / 8 - METADATA_HEAD_BYTES);
        at += size / 8;
    }
    return text->status;
}

/* Its metadata are JSON objects, each with a record separator in front, which many writers leave out. */
static bool is_of_ctf_2(const struct buf *text)
{
    size_t at = 0;
    while (at < text->len && (text->data[at] == 0x1e || isspace(text->data[at])))
        at++;
    return at < text->len && text->data[at] == '{';
}

static int metadata_read(struct ctf_import *i, const struct skein_trace_source *source)
{
    struct buf bytes = {0}, text = {0};
    char error[IMPORT_ERROR_BYTES] = "";
    int status = SKEIN_UNSUPPORTED;
    if (source->bytes > CTF_METADATA_BYTES_MAX) {
        import_why(i->told, "its metadata is larger than 16 MiB");
        return status;
    }
    uint8_t *room = buf_reserve(&bytes, (size_t)source->bytes + 1);
    status = room == NULL ? SKEIN_NO_MEMORY
                          : source->read(source->context, 0, room, (size_t)source->bytes);
    if (status == SKEIN_OK) {
        i->seed ^= checksum64(room, (size_t)source->bytes);
        status = metadata_text(i, room, (size_t)source->bytes, &text);
    }
    if (status == SKEIN_OK && is_of_ctf_2(&text)) {
        import_why(i->told,
                   "it is of CTF 2, which is not read; babeltrace2 2.1 makes CTF 1.8 of it: "
                   "babeltrace2 FOLDER -c sink.ctf.fs -p 'path=\"OUT\",ctf-version=\"1\"'");
        status = SKEIN_UNSUPPORTED;
    }
    if (status == SKEIN_OK)
        status = tsdl_read((const char *)text.data, text.len, &i->t, error, sizeof error);
    if (error[0] != '\0')
        import_why(i->told, "%s", error);
    buf_fini(&bytes);
    buf_fini(&text);
    return status;
}

static int events_number(struct ctf_import *i)
{
    for (size_t k = 0; k < i->t.event_count; k++)
        if (!import_map_set(&i->events, i->t.events[k].id ^ i->t.events[k].stream << 32,
                            (uint32_t)k))
            return SKEIN_NO_MEMORY;
    return SKEIN_OK;
}

/* ---- streams by time ---- */

static bool earlier(const struct ctf_import *i, size_t a, size_t b)
{
    return i->streams[a].time_ns < i->streams[b].time_ns;
}

static void heap_down(struct ctf_import *i, size_t at)
{
    for (;;) {
        size_t least = at, child = at * 2 + 1;
        for (size_t k = child; k < child + 2 && k < i->heap_count; k++)
            if (earlier(i, i->heap[k], i->heap[least]))
                least = k;
        if (least == at)
            return;
        size_t moved = i->heap[at];
        i->heap[at] = i->heap[least];
        i->heap[least] = moved;
        at = least;
    }
}

/* A file, by what its first packet says of itself. */
struct file_about {
    size_t at; /* in the sources */
    uint64_t stream, instance, begin;
    bool chains; /* it says all of that */
};

static int file_look(struct ctf_import *i, size_t at, struct file_about *about)
{
    struct ctf_head head;
    int more = ctf_head_peek(i, &i->sources[at], 0, &head);
    *about = (struct file_about){.at = at};
    if (more == 1 && head.has_instance && head.has_begin)
        *about = (struct file_about){.at = at,
                                     .stream = head.description->id,
                                     .instance = head.instance,
                                     .begin = head.begin,
                                     .chains = true};
    return more < 0 ? more : SKEIN_OK;
}

/* 1: all its packets are whole and one behind the other in time, and the last ends up to `until`. */
static int file_ends(struct ctf_import *i, size_t at, uint64_t until)
{
    struct ctf_head head;
    const struct skein_trace_source *source = &i->sources[at];
    uint64_t offset = 0, end = 0;
    int more = 1;
    while (more == 1 && offset < source->bytes) {
        more = ctf_head_peek(i, source, offset, &head);
        if (more == 1 && (!head.has_begin || !head.has_end || head.begin < end ||
                          head.end < head.begin || head.end > until))
            return 0;
        end = more == 1 ? head.end : end;
        offset += more == 1 ? head.bytes : 0;
    }
    return more;
}

static int files_compare(const void *a, const void *b)
{
    const struct file_about *x = a, *y = b;
    if (x->chains != y->chains)
        return x->chains ? -1 : 1;
    if (x->stream != y->stream)
        return x->stream < y->stream ? -1 : 1;
    if (x->instance != y->instance)
        return x->instance < y->instance ? -1 : 1;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* A tracer may begin a new file of a stream when one is large: then its counts go on from file to file.
 * Files of one stream that follow each other in time are read as one. */
static int files_chain(struct ctf_import *i, bool *later)
{
    struct file_about *files = calloc(i->stream_count + 1, sizeof *files);
    int status = files != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    for (size_t k = 0; k < i->stream_count && status == SKEIN_OK; k++)
        status = file_look(i, k, &files[k]);
    if (status == SKEIN_OK)
        qsort(files, i->stream_count, sizeof *files, files_compare);
    for (size_t k = 1; k < i->stream_count && status == SKEIN_OK; k++) {
        const struct file_about *a = &files[k - 1], *b = &files[k];
        if (!b->chains || a->stream != b->stream || a->instance != b->instance)
            continue;
        int ends = file_ends(i, a->at, b->begin);
        status = ends < 0 ? ends : SKEIN_OK;
        if (ends == 1) {
            i->streams[a->at].next = b->at + 1;
            later[b->at] = true;
        }
    }
    free(files);
    return status;
}

/* When the first event is, of all streams; what is read for that counts nowhere. */
static int first_find(struct ctf_import *i, const bool *later, ctf_wide *first)
{
    struct import_told told = {.partitions = 0}, *const real_told = i->told;
    struct ctf_told ctf = {.packets = 0}, *const real = i->ctf;
    bool any = false;
    int more = 0;
    *first = 0;
    i->probes = true;
    i->told = &told;
    i->ctf = &ctf;
    for (size_t k = 0; k < i->stream_count && more >= 0; k++) {
        struct ctf_stream s = {.source = &i->sources[k]};
        more = later[k] ? 0 : ctf_stream_next(i, &s);
        ctf_wide ns = ctf_wide_ns(i, &s, s.clock);
        if (more > 0 && (!any || ns < *first))
            *first = ns;
        any |= more > 0;
        buf_fini(&s.packet);
    }
    i->probes = false;
    i->told = real_told;
    i->ctf = real;
    return more < 0 ? more : SKEIN_OK;
}

/* Times that a record cannot take are moved, all of them by as much. Behind 2116 the clock of records is
 * another one than the time of day, which goes up to 2262; in front of 1970 there is none. */
static void times_move(struct ctf_import *i, ctf_wide first)
{
    if (first >= 0 && first <= (ctf_wide)IMPORT_TIME_MAX)
        return;
    i->moved_ns = -first;
    if (first > 0)
        i->ahead_ns = first < (ctf_wide)INT64_MAX ? (int64_t)first : INT64_MAX;
    if (first < 0)
        import_why(i->told,
                   "it begins %" PRIu64
                   " s before 1970, where no trace can; all its times are moved, "
                   "so that it begins with 1970",
                   (uint64_t)(-first / 1000000000));
    else if (first > (ctf_wide)INT64_MAX)
        import_why(i->told,
                   "it begins behind 2262, where no trace can; all its times are moved, so that "
                   "it begins there");
}

static int streams_open(struct ctf_import *i)
{
    bool *later = calloc(i->stream_count + 1, sizeof *later);
    int status = later != NULL ? files_chain(i, later) : SKEIN_NO_MEMORY;
    ctf_wide first = 0;
    if (status == SKEIN_OK)
        status = first_find(i, later, &first);
    if (status == SKEIN_OK)
        times_move(i, first);
    for (size_t k = 0; k < i->stream_count && status == SKEIN_OK; k++) {
        i->streams[k].source = &i->sources[k];
        int more = later[k] ? 0 : ctf_stream_next(i, &i->streams[k]);
        status = more < 0 ? more : SKEIN_OK;
        if (more > 0)
            i->heap[i->heap_count++] = k;
    }
    for (size_t k = i->heap_count / 2; k-- > 0;)
        heap_down(i, k);
    free(later);
    return status;
}

static void progress(struct ctf_import *i, const struct ctf_stream *s)
{
    uint64_t done = 0, total = 0;
    if (i->to->progress == NULL || s->event_at > 4096u * 8)
        return; /* about once a packet */
    for (size_t k = 0; k < i->stream_count; k++) {
        done += i->streams[k].offset;
        total += i->streams[k].source->bytes;
    }
    i->to->progress(i->to->context, done, total);
}

static int streams_merge(struct ctf_import *i)
{
    while (i->heap_count > 0) {
        struct ctf_stream *s = &i->streams[i->heap[0]];
        int status = ctf_event_emit(i, s);
        if (status != SKEIN_OK)
            return status;
        progress(i, s);
        int more = ctf_stream_next(i, s);
        if (more < 0)
            return more;
        if (more == 0)
            i->heap[0] = i->heap[--i->heap_count];
        if (i->heap_count > 0)
            heap_down(i, 0);
    }
    return SKEIN_OK;
}

static int all_flush(struct ctf_import *i)
{
    int status = i->status;
    for (size_t k = 0; k < i->process_count && status == SKEIN_OK; k++)
        status = import_out_flush(i->processes[k].out);
    return status;
}

/* ---- the whole ---- */

static void import_fini(struct ctf_import *i)
{
    for (size_t k = 0; i->streams != NULL && k < i->stream_count; k++)
        buf_fini(&i->streams[k].packet);
    for (size_t k = 0; k < i->process_count; k++)
        import_out_free(&i->processes[k].out);
    tsdl_fini(&i->t);
    free(i->streams);
    free(i->heap);
    free(i->processes);
    free(i->values.items);
    free(i->opens);
    buf_fini(&i->values.texts);
    buf_fini(&i->more);
    import_map_fini(&i->events);
    import_map_fini(&i->process_places);
}

int import_ctf(const struct skein_trace_source *metadata, const struct skein_trace_source *streams,
               size_t count, bool pairs, const struct import_to *to, struct import_told *told,
               struct ctf_told *ctf)
{
    struct ctf_import i = {.to = to,
                           .told = told,
                           .ctf = ctf,
                           .pairs = pairs,
                           .sources = streams,
                           .stream_count = count};
    uint64_t before = told->events;
    if (count > CTF_STREAMS_MAX) {
        import_why(told, "it has more than %u streams", CTF_STREAMS_MAX);
        return SKEIN_UNSUPPORTED;
    }
    i.streams = calloc(count + 1, sizeof *i.streams);
    i.heap = calloc(count + 1, sizeof *i.heap);
    i.values.items = calloc(CTF_FIELDS_MAX, sizeof *i.values.items);
    int status =
        i.streams != NULL && i.heap != NULL && i.values.items != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
    if (status == SKEIN_OK)
        status = import_seed(to, streams, count, &i.seed);
    if (status == SKEIN_OK)
        status = metadata_read(&i, metadata);
    if (status == SKEIN_OK)
        status = events_number(&i);
    if (status == SKEIN_OK)
        status = streams_open(&i);
    if (status == SKEIN_OK)
        status = streams_merge(&i);
    if (status == SKEIN_OK)
        status = all_flush(&i);
    ctf->streams += count;
    if (status == SKEIN_OK && told->events == before) {
        import_why(told, "it holds no event");
        status = SKEIN_NOT_FOUND;
    }
    import_fini(&i);
    return status;
}
