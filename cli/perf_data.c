/* SPDX-License-Identifier: Apache-2.0
 *
 * Header, attributes and features of perf.data, as perf's own perf.data-file-format.txt has them.
 */
#include "perf_data.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checksum.h"
#include "perf_data_int.h"
#include "skein/status.h"

#define MAGIC              "PERFILE2"
#define HEADER_BYTES       104
#define ATTR_BYTES_MIN     96 /* up to clockid */
#define TYPE_TRACEPOINT    2
#define SAMPLE_READ        (1u << 4)
#define USE_CLOCKID        (UINT64_C(1) << 25)
#define SAMPLE_ID_ALL      (UINT64_C(1) << 18)
#define CLOCKID_MONOTONIC  1
#define FEATURE_TRACING    1
#define FEATURE_HOSTNAME   3
#define FEATURE_CLOCK_DATA 29
#define FORMAT_BYTES_MAX   (1u << 20)

int perf_fail(struct perf_reader *r, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->error, r->error_bytes, format, args);
    va_end(args);
    return status;
}

/* A cursor over a section; false: it leads out of the file. */
static bool section_open(const struct perf_reader *r, uint64_t offset, uint64_t bytes,
                         struct cursor *c)
{
    if (offset > r->n || bytes > r->n - offset)
        return false;
    cursor_init(c, r->bytes + offset, (size_t)bytes);
    return true;
}

/* ---- tracing data: layouts ---- */

static void text_skip(struct cursor *c)
{
    while (c->status == SKEIN_OK && cursor_u8(c) != 0)
        ;
}

/* Texts with their lengths in front; those of events that are read are taken. */
static int formats_take(struct perf_reader *r, struct cursor *c, uint32_t count)
{
    for (uint32_t i = 0; i < count && c->status == SKEIN_OK; i++) {
        uint64_t n = cursor_u64(c);
        const uint8_t *text = n <= FORMAT_BYTES_MAX ? cursor_bytes(c, n) : NULL;
        if (text == NULL)
            return perf_fail(r, SKEIN_CORRUPT, "its formats are cut");
        if (sched_layout_add(&r->layout, (const char *)text, (size_t)n) == SKEIN_CORRUPT)
            return perf_fail(r, SKEIN_UNSUPPORTED, "its kernel's records are not known");
    }
    return SKEIN_OK;
}

static int tracing_take(struct perf_reader *r, struct cursor *c)
{
    static const uint8_t magic[10] = {0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g'};
    const uint8_t *found = cursor_bytes(c, sizeof magic);
    if (found == NULL || memcmp(found, magic, sizeof magic) != 0)
        return perf_fail(r, SKEIN_CORRUPT, "its tracing data has no head");
    text_skip(c); /* version */
    if (cursor_u8(c) != 0)
        return perf_fail(r, SKEIN_UNSUPPORTED, "it is of a machine with another order of bytes");
    cursor_u8(c); /* bytes of a long */
    cursor_u32(c);
    for (unsigned i = 0; i < 2; i++) { /* header_page, header_event */
        text_skip(c);
        (void)cursor_bytes(c, cursor_u64(c));
    }
    int status = formats_take(r, c, cursor_u32(c)); /* of ftrace itself */
    uint32_t systems = cursor_u32(c);
    for (uint32_t i = 0; i < systems && c->status == SKEIN_OK && status == SKEIN_OK; i++) {
        text_skip(c);
        status = formats_take(r, c, cursor_u32(c));
    }
    if (status == SKEIN_OK && c->status != SKEIN_OK)
        return perf_fail(r, SKEIN_CORRUPT, "its tracing data is cut");
    return status;
}

/* ---- features ---- */

static void clocks_take(struct perf_data *out, struct cursor *c)
{
    cursor_u32(c); /* version */
    uint32_t clock = cursor_u32(c);
    uint64_t realtime_ns = cursor_u64(c), clock_ns = cursor_u64(c);
    if (c->status != SKEIN_OK || clock != CLOCKID_MONOTONIC)
        return;
    out->has_realtime = true;
    out->realtime_ahead_ns = (int64_t)(realtime_ns - clock_ns);
}

static void host_take(struct perf_data *out, struct cursor *c)
{
    uint32_t n = cursor_u32(c);
    const uint8_t *text = cursor_bytes(c, n);
    if (text == NULL)
        return;
    size_t length =
        strnlen((const char *)text, n < sizeof out->host - 1 ? n : sizeof out->host - 1);
    memcpy(out->host, text, length);
}

static int feature_take(struct perf_reader *r, unsigned bit, struct cursor *c)
{
    if (bit == FEATURE_TRACING)
        return tracing_take(r, c);
    if (bit == FEATURE_HOSTNAME)
        host_take(r->out, c);
    else if (bit == FEATURE_CLOCK_DATA)
        clocks_take(r->out, c);
    return SKEIN_OK;
}

/* A table of sections lies behind the data, one for each bit that is set. */
static int features_read(struct perf_reader *r, const uint64_t flags[4])
{
    struct cursor table, section;
    int status = SKEIN_OK;
    uint64_t at = r->data_offset + r->data_bytes;
    (void)section_open(r, at, r->n - at, &table);
    for (unsigned bit = 0; bit < 256 && status == SKEIN_OK; bit++) {
        if ((flags[bit / 64] >> bit % 64 & 1) == 0)
            continue;
        uint64_t offset = cursor_u64(&table), bytes = cursor_u64(&table);
        if (table.status != SKEIN_OK || !section_open(r, offset, bytes, &section))
            return perf_fail(r, SKEIN_TRUNCATED, "its features are cut: perf had not ended it");
        status = feature_take(r, bit, &section);
    }
    return status;
}

/* ---- attributes ---- */

static int attr_take(struct perf_reader *r, struct cursor c, uint64_t bytes)
{
    struct perf_attr *attr = &r->attrs[r->attr_count++];
    struct cursor ids;
    uint32_t type = cursor_u32(&c);
    cursor_u32(&c);
    uint64_t config = cursor_u64(&c);
    cursor_u64(&c); /* period */
    attr->sample_type = cursor_u64(&c);
    cursor_u64(&c); /* read format */
    uint64_t flags = cursor_u64(&c);
    (void)cursor_bytes(&c, 44); /* up to clockid, at 92 */
    uint32_t clock = cursor_u32(&c);
    (void)cursor_bytes(&c, bytes - ATTR_BYTES_MIN - 16);
    attr->ids_offset = cursor_u64(&c);
    uint64_t ids_bytes = cursor_u64(&c);
    if (c.status != SKEIN_OK || !section_open(r, attr->ids_offset, ids_bytes, &ids))
        return perf_fail(r, SKEIN_CORRUPT, "its list of events is cut");
    attr->ids_count = ids_bytes / 8;
    attr->id_all = (flags & SAMPLE_ID_ALL) != 0;
    attr->sched = type == TYPE_TRACEPOINT && sched_layout_kind(&r->layout, config) != 0;
    if (!attr->sched)
        return SKEIN_OK;
    if ((flags & USE_CLOCKID) == 0 || clock != CLOCKID_MONOTONIC)
        return perf_fail(r, SKEIN_UNSUPPORTED,
                         "its times are not of CLOCK_MONOTONIC: record with --clockid "
                         "CLOCK_MONOTONIC");
    if ((attr->sample_type & SAMPLE_READ) != 0)
        return perf_fail(r, SKEIN_UNSUPPORTED, "its samples hold counters: record without them");
    return SKEIN_OK;
}

static int attrs_read(struct perf_reader *r, uint64_t offset, uint64_t bytes, uint64_t each)
{
    struct cursor c;
    int status = SKEIN_OK;
    if (each < ATTR_BYTES_MIN + 16 || each > 4096 || bytes % each != 0 || bytes == 0 ||
        bytes / each > PERF_ATTRS_MAX || !section_open(r, offset, bytes, &c))
        return perf_fail(r, SKEIN_CORRUPT, "its list of events is none");
    for (uint64_t i = 0; i < bytes / each && status == SKEIN_OK; i++) {
        struct cursor one;
        cursor_init(&one, cursor_bytes(&c, each), (size_t)each);
        status = attr_take(r, one, each);
    }
    for (size_t i = 1; i < r->attr_count && status == SKEIN_OK; i++)
        if (r->attrs[i].sample_type != r->attrs[0].sample_type &&
            (r->attrs[i].sample_type & r->attrs[0].sample_type & 1u << 16) == 0)
            return perf_fail(r, SKEIN_UNSUPPORTED, "its samples cannot be told apart");
    return status;
}

/* ---- */

static int events_compare(const void *a, const void *b)
{
    const struct sched_event *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

static int gaps_compare(const void *a, const void *b)
{
    const struct perf_gap *x = a, *y = b;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int threads_compare(const void *a, const void *b)
{
    const struct perf_thread *x = a, *y = b;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int lives_compare(const void *a, const void *b)
{
    const struct perf_life *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static void all_sort(struct perf_data *d)
{
    if (d->count > 0)
        qsort(d->events, d->count, sizeof *d->events, events_compare);
    if (d->gap_count > 0)
        qsort(d->gaps, d->gap_count, sizeof *d->gaps, gaps_compare);
    if (d->thread_count > 0)
        qsort(d->threads, d->thread_count, sizeof *d->threads, threads_compare);
    if (d->life_count > 0)
        qsort(d->lives, d->life_count, sizeof *d->lives, lives_compare);
}

static int file_read_all(struct perf_reader *r)
{
    struct cursor c;
    uint64_t section[6], flags[4];
    if (r->n < HEADER_BYTES || memcmp(r->bytes, MAGIC, 8) != 0)
        return perf_fail(
            r, SKEIN_UNSUPPORTED,
            "it is no perf.data file of this machine's order; what perf script prints is read by "
            "skein import perf-script");
    cursor_init(&c, r->bytes + 8, r->n - 8);
    if (cursor_u64(&c) != HEADER_BYTES)
        return perf_fail(r, SKEIN_UNSUPPORTED, "it came through a pipe: record to a file (-o)");
    uint64_t attr_bytes = cursor_u64(&c);
    for (unsigned i = 0; i < 6; i++)
        section[i] = cursor_u64(&c);
    for (unsigned i = 0; i < 4; i++)
        flags[i] = cursor_u64(&c);
    r->data_offset = section[2];
    r->data_bytes = section[3];
    struct cursor data;
    if (!section_open(r, r->data_offset, r->data_bytes, &data) || r->data_bytes == 0)
        return perf_fail(r, SKEIN_TRUNCATED, "its data is cut: perf had not ended it");
    int status = features_read(r, flags);
    if (status == SKEIN_OK && !r->layout.shapes[SCHED_EVENT_SWITCH].known)
        status = perf_fail(r, SKEIN_UNSUPPORTED, "sched_switch is not in it: perf sched record");
    if (status == SKEIN_OK)
        status = attrs_read(r, section[0], section[1], attr_bytes);
    return status == SKEIN_OK ? perf_records_read(r) : status;
}

int perf_data_read(const uint8_t *bytes, size_t n, struct perf_data *out, char *error,
                   size_t error_bytes)
{
    *out = (struct perf_data){.count = 0};
    struct perf_reader *r = calloc(1, sizeof *r);
    if (r == NULL)
        return SKEIN_NO_MEMORY;
    r->bytes = bytes;
    r->n = n;
    r->out = out;
    r->error = error;
    r->error_bytes = error_bytes;
    int status = file_read_all(r);
    free(r->cpu_last_ns);
    free(r);
    out->seed = checksum64(bytes, n);
    if (status == SKEIN_OK)
        all_sort(out);
    else
        perf_data_fini(out);
    return status;
}

void perf_data_fini(struct perf_data *data)
{
    free(data->events);
    free(data->threads);
    free(data->lives);
    free(data->gaps);
    *data = (struct perf_data){.count = 0};
}

/* How many rows lie in front of the first that is behind the key. */
static size_t rows_before(const void *rows, size_t count, size_t bytes, const void *key,
                          int (*compare)(const void *a, const void *b))
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare((const char *)rows + middle * bytes, key) <= 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t perf_data_process(const struct perf_data *data, uint32_t tid, uint64_t at_ns)
{
    const struct perf_thread key = {.tid = tid, .from_ns = at_ns};
    size_t at = rows_before(data->threads, data->thread_count, sizeof *data->threads, &key,
                            threads_compare);
    if (at > 0 && data->threads[at - 1].tid == tid)
        return data->threads[at - 1].pid;
    return at < data->thread_count && data->threads[at].tid == tid ? data->threads[at].pid : tid;
}

uint32_t perf_data_life(const struct perf_data *data, uint32_t pid, uint64_t at_ns)
{
    const struct perf_life first = {.pid = pid}, key = {.pid = pid, .from_ns = at_ns};
    size_t from =
        rows_before(data->lives, data->life_count, sizeof *data->lives, &first, lives_compare);
    return (uint32_t)(rows_before(data->lives, data->life_count, sizeof *data->lives, &key,
                                  lives_compare) -
                      from);
}
