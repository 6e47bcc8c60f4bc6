/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace files (docs/format.md F-36, F-37): finds the whole partitions of a file and reads one at a
 * time, through a source; one is here for files. Owns an open descriptor and the footers. One thread; never maps the file, because another
 * program may cut it while we look.
 */
#include "trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "array.h"
#include "clock.h"
#include "partition_int.h"
#include "partition_slice.h"

enum { SEARCH_BYTES = 64 << 10, MAGIC_BYTES = 8 };

struct trace_file {
    bool closed;
    struct skein_trace_source source;
    char *name;
    int fd; /* of a file that was opened here; else -1 */
    uint64_t size, torn;
    struct trace_torn *torn_list;
    size_t torn_count, torn_cap;
    struct trace_entry *entries;
    size_t count, cap;
    struct buf scratch;
    int first_failure; /* why bytes that look like a partition are none */
    uint64_t failed_at;
};

int partition_trace_order(const struct partition_key *a, uint64_t a_from_ns,
                          const struct partition_key *b, uint64_t b_from_ns)
{
    int order = memcmp(a->process.bytes, b->process.bytes, sizeof a->process.bytes);
    if (order == 0)
        order = a_from_ns < b_from_ns ? -1 : a_from_ns > b_from_ns;
    if (order == 0)
        order = a->epoch < b->epoch ? -1 : a->epoch > b->epoch;
    if (order == 0)
        order = a->sequence < b->sequence ? -1 : a->sequence > b->sequence;
    return order;
}

/* ---- bytes ---- */

/* The source of a file: SKEIN_TRUNCATED where it has become shorter. */
static int descriptor_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct trace_file *file = context;
    for (size_t have = 0; have < n;) {
        ssize_t got = pread(file->fd, (uint8_t *)out + have, n - have, (off_t)(offset + have));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return SKEIN_IO;
        if (got == 0)
            return SKEIN_TRUNCATED;
        have += (size_t)got;
    }
    return SKEIN_OK;
}

/* SKEIN_OK only with all n bytes; SKEIN_TRUNCATED at the end of the file. */
static int bytes_read(struct trace_file *file, uint64_t offset, size_t n, struct buf *out)
{
    buf_clear(out);
    if (offset > file->size || n > file->size - offset)
        return SKEIN_TRUNCATED;
    uint8_t *to = buf_reserve(out, n);
    if (to == NULL) {
        buf_fini(out); /* it may be tried again */
        return SKEIN_NO_MEMORY;
    }
    int status = file->source.read(file->source.context, offset, to, n);
    if (status == SKEIN_OK)
        out->len = n;
    return status;
}

/* The footer of the partition of this length at offset, which lies inside the file. */
static int footer_read(struct trace_file *file, uint64_t offset, uint64_t length,
                       struct partition_footer *footer)
{
    size_t take = length < 4096 ? (size_t)length : 4096;
    for (;;) {
        int status = bytes_read(file, offset + length - take, take, &file->scratch);
        size_t need = 0;
        if (status == SKEIN_OK)
            status = partition_footer_get(file->scratch.data, take, footer, &need);
        if (status == SKEIN_TRUNCATED && need > take && need <= length) {
            take = need;
            continue;
        }
        if (status == SKEIN_OK && footer->partition_bytes != length) {
            partition_footer_free(footer);
            status = SKEIN_CORRUPT;
        }
        return status == SKEIN_TRUNCATED ? SKEIN_CORRUPT : status;
    }
}

/* Where a partition lies in the file. */
struct place {
    struct trace_file *file;
    uint64_t offset;
};

static int place_read(void *context, uint64_t offset, void *out, size_t n)
{
    const struct place *place = context;
    int status = bytes_read(place->file, place->offset + offset, n, &place->file->scratch);
    if (status == SKEIN_OK)
        memcpy(out, place->file->scratch.data, n);
    return status;
}

/* F-42: how far what it tells reaches, in the collector's time. */
static void told_set(struct trace_entry *entry, const struct tick_scale *scale)
{
    const struct partition_footer *f = &entry->footer;
    uint64_t since = UINT64_MAX, until = 0;
    entry->told_to_ns = UINT64_MAX;
    if (!f->reaches || f->slice || scale->factor == 0)
        return;
    for (size_t i = 0; i < f->block_count; i++) {
        since = f->blocks[i].since_ticks < since ? f->blocks[i].since_ticks : since;
        until = f->blocks[i].until_ticks > until ? f->blocks[i].until_ticks : until;
    }
    for (size_t i = 0; i < f->loss_count; i++) {
        since = f->losses[i].from_ticks < since ? f->losses[i].from_ticks : since;
        until = f->losses[i].to_ticks > until ? f->losses[i].to_ticks : until;
    }
    if (until == UINT64_MAX)
        return;
    entry->told_from_ns = tick_scale_ns(scale, since);
    entry->told_to_ns = tick_scale_ns(scale, until);
}

static struct trace_entry entry_make(uint64_t offset, const struct partition_footer *footer,
                                     int64_t clock_offset_ns)
{
    bool any = footer->events > 0 || footer->to_ns > 0;
    uint64_t from_ns = any ? footer->from_ns : footer->window_from_ns;
    uint64_t to_ns = any ? footer->to_ns : footer->window_to_ns;
    return (struct trace_entry){.offset = offset,
                                .bytes = footer->partition_bytes,
                                .from_ns = clock_shift_ns(from_ns, clock_offset_ns),
                                .to_ns = clock_shift_ns(to_ns, clock_offset_ns),
                                .footer = *footer};
}

static int entry_add(struct trace_file *file, uint64_t offset, uint64_t length)
{
    struct partition_footer footer;
    struct place place = {file, offset};
    struct partition_source source = {place_read, &place, length};
    int64_t clock_offset_ns = 0;
    struct tick_scale scale = {0};
    int status = footer_read(file, offset, length, &footer);
    if (status != SKEIN_OK)
        return status;
    status = partition_clock(&source, &clock_offset_ns, &scale);
    if (status == SKEIN_IO || status == SKEIN_NO_MEMORY) { /* of others its reader says */
        partition_footer_free(&footer);
        return status;
    }
    if (!array_grow(file->entries, file->count + 1, &file->cap)) {
        partition_footer_free(&footer);
        return SKEIN_NO_MEMORY;
    }
    file->entries[file->count] = entry_make(offset, &footer, clock_offset_ns);
    told_set(&file->entries[file->count++], &scale);
    return SKEIN_OK;
}

/* ---- the closing table ---- */

int trace_table_put(const uint64_t *lengths, size_t count, struct buf *out)
{
    size_t start = out->len;
    head_put(out, HEAD_TABLE, 0);
    size_t last = section_begin(out, SECTION_TABLE);
    buf_put_uleb(out, count);
    for (size_t i = 0; i < count; i++)
        buf_put_uleb(out, lengths[i]);
    section_end(out, last);
    tail_put(out, start, last, HEAD_TABLE);
    size_t end = out->len;
    if (out->status != SKEIN_OK || end - start > PARTITION_BYTES_MAX) {
        out->len = start;
        return out->status != SKEIN_OK ? out->status : SKEIN_TOO_LARGE;
    }
    out->len = start;
    head_put(out, HEAD_TABLE, end - start);
    out->len = end;
    return SKEIN_OK;
}

/* Lengths of a whole table in *lengths (malloc'ed) and their sum. SKEIN_OK, SKEIN_CORRUPT,
 * SKEIN_NO_MEMORY. */
static int table_get(const uint8_t *bytes, size_t n, uint64_t **lengths, size_t *count,
                     uint64_t *sum)
{
    struct tail tail;
    const uint8_t *last;
    size_t need;
    struct cursor c;
    struct section section;
    *lengths = NULL;
    if (tail_get(bytes, n, &tail, &last, &need) != SKEIN_OK || tail.kind != HEAD_TABLE ||
        tail.length != n)
        return SKEIN_CORRUPT;
    cursor_init(&c, last, (size_t)tail.last_bytes - TAIL_BYTES);
    if (section_get(&c, 0, &section) != SKEIN_OK || section.kind != SECTION_TABLE ||
        section.packing != PACKING_RAW || !section_sound(&section, last))
        return SKEIN_CORRUPT;
    cursor_init(&c, section.payload, (size_t)section.length);
    *count = (size_t)count_get(&c, PARTITION_BYTES_MAX, 1);
    *sum = 0;
    uint64_t *found = calloc(*count + 1, sizeof *found);
    if (found == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < *count; i++) {
        found[i] = cursor_uleb(&c);
        if (found[i] < HEAD_BYTES + TAIL_BYTES || found[i] > PARTITION_BYTES_MAX)
            cursor_fail(&c, SKEIN_CORRUPT);
        *sum += found[i];
    }
    if (c.status == SKEIN_OK) {
        *lengths = found;
        return SKEIN_OK;
    }
    free(found);
    return SKEIN_CORRUPT;
}

static void entries_clear(struct trace_file *file)
{
    while (file->count > 0)
        partition_footer_free(&file->entries[--file->count].footer);
}

/* A file that is exactly what its closing table says; SKEIN_NOT_FOUND for any other. */
static int partition_table_open(struct trace_file *file)
{
    struct buf bytes = {0};
    uint64_t *lengths = NULL, sum = 0, length = 0;
    size_t count = 0, need;
    struct tail tail;
    const uint8_t *last;
    int status = SKEIN_NOT_FOUND;
    if (file->size < HEAD_BYTES + TAIL_BYTES)
        return status;
    status = bytes_read(file, file->size - TAIL_BYTES, TAIL_BYTES, &bytes);
    if (status != SKEIN_OK)
        goto out;
    /* the length is believed only as far as the checksum then bears it out */
    for (unsigned i = 0; i < 8; i++)
        length |= (uint64_t)bytes.data[8 + i] << (8 * i);
    if (length < HEAD_BYTES + TAIL_BYTES || length > PARTITION_BYTES_MAX || length > file->size)
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK)
        status = bytes_read(file, file->size - length, (size_t)length, &bytes);
    if (status == SKEIN_OK && (tail_get(bytes.data, bytes.len, &tail, &last, &need) != SKEIN_OK ||
                               tail.kind != HEAD_TABLE))
        status = SKEIN_NOT_FOUND;
    if (status == SKEIN_OK)
        status = table_get(bytes.data, bytes.len, &lengths, &count, &sum);
    if (status == SKEIN_OK && sum != file->size - length)
        status = SKEIN_NOT_FOUND;
    uint64_t offset = 0;
    for (size_t i = 0; status == SKEIN_OK && i < count; offset += lengths[i++])
        status = entry_add(file, offset, lengths[i]);
out:
    free(lengths);
    buf_fini(&bytes);
    if (status != SKEIN_OK)
        entries_clear(file);
    return status == SKEIN_CORRUPT || status == SKEIN_TRUNCATED ? SKEIN_NOT_FOUND : status;
}

/* ---- walking ---- */

/* Where the next head may start, at `from` or behind; the file's size where there is none. */
static int magic_find(struct trace_file *file, uint64_t from, uint64_t *at)
{
    struct buf head = {0};
    head_put(&head, HEAD_PARTITION, HEAD_BYTES + TAIL_BYTES);
    int status = head.status;
    *at = file->size;
    while (status == SKEIN_OK && *at == file->size && file->size - from >= MAGIC_BYTES) {
        uint64_t left = file->size - from;
        size_t n = left < SEARCH_BYTES ? (size_t)left : SEARCH_BYTES;
        status = bytes_read(file, from, n, &file->scratch);
        const uint8_t *found =
            status == SKEIN_OK ? memmem(file->scratch.data, n, head.data, MAGIC_BYTES) : NULL;
        if (found != NULL)
            *at = from + (uint64_t)(found - file->scratch.data);
        from += n - (MAGIC_BYTES - 1);
    }
    buf_fini(&head);
    return status;
}

/* What lies at offset: *length of a whole partition or table; else why not. */
static int item_open(struct trace_file *file, uint64_t offset, uint64_t *length)
{
    uint64_t left = file->size - offset;
    bool is_table = false;
    size_t n = left < HEAD_BYTES ? (size_t)left : HEAD_BYTES;
    int status = bytes_read(file, offset, n, &file->scratch);
    if (status == SKEIN_OK)
        status = trace_head_get(file->scratch.data, n, length, &is_table);
    if (status != SKEIN_OK)
        return status;
    if (*length > left)
        return SKEIN_TRUNCATED;
    if (!is_table)
        return entry_add(file, offset, *length);
    uint64_t *lengths, sum;
    size_t count;
    status = bytes_read(file, offset, (size_t)*length, &file->scratch);
    if (status == SKEIN_OK)
        status = table_get(file->scratch.data, file->scratch.len, &lengths, &count, &sum);
    if (status == SKEIN_OK)
        free(lengths);
    return status;
}

static int torn_note(struct trace_file *file, uint64_t offset, uint64_t bytes)
{
    struct trace_torn *last = file->torn_count > 0 ? &file->torn_list[file->torn_count - 1] : NULL;
    file->torn += bytes;
    if (last != NULL && last->offset + last->bytes == offset) {
        last->bytes += bytes;
        return SKEIN_OK;
    }
    if (!array_grow(file->torn_list, file->torn_count + 1, &file->torn_cap))
        return SKEIN_NO_MEMORY;
    file->torn_list[file->torn_count++] = (struct trace_torn){offset, bytes};
    return SKEIN_OK;
}

/* F-37 */
static int file_walk(struct trace_file *file)
{
    uint64_t offset = 0;
    while (offset < file->size) {
        uint64_t length = 0, next;
        int status = item_open(file, offset, &length);
        if (status == SKEIN_OK) {
            offset += length;
            continue;
        }
        if (status == SKEIN_IO || status == SKEIN_NO_MEMORY)
            return status;
        if (file->first_failure == SKEIN_OK) {
            file->first_failure = status;
            file->failed_at = offset;
        }
        status = magic_find(file, offset + 1, &next);
        if (status != SKEIN_OK)
            return status;
        status = torn_note(file, offset, next - offset);
        if (status != SKEIN_OK)
            return status;
        offset = next;
    }
    return SKEIN_OK;
}

static int file_list(struct trace_file *file, char *error, size_t error_bytes)
{
    const char *name = file->name;
    int status = partition_table_open(file);
    file->closed = status == SKEIN_OK;
    if (status == SKEIN_NOT_FOUND)
        status = file_walk(file);
    if (status != SKEIN_OK) {
        snprintf(error, error_bytes, "%s: %s", name, skein_status_text(status));
        return status;
    }
    if (file->count > 0)
        return SKEIN_OK;
    status = file->first_failure == SKEIN_VERSION ? SKEIN_VERSION : SKEIN_CORRUPT;
    if (file->size == 0)
        snprintf(error, error_bytes, "%s: the file is empty", name);
    else if (file->first_failure == SKEIN_OK)
        snprintf(error, error_bytes, "%s: there is no partition in it", name);
    else
        snprintf(error, error_bytes,
                 "%s: no whole partition in %" PRIu64 " bytes; at byte %" PRIu64 ": %s", name,
                 file->size, file->failed_at, skein_status_text(file->first_failure));
    return status;
}

static int file_new(const char *name, struct trace_file **out, char *error, size_t error_bytes)
{
    struct trace_file *file = calloc(1, sizeof *file);
    *out = NULL;
    if (file != NULL)
        file->name = strdup(name);
    if (file == NULL || file->name == NULL) {
        snprintf(error, error_bytes, "%s: out of memory", name);
        free(file);
        return SKEIN_NO_MEMORY;
    }
    file->fd = -1;
    *out = file;
    return SKEIN_OK;
}

int trace_file_open_source(const struct skein_trace_source *source, struct trace_file **out,
                           char *error, size_t error_bytes)
{
    int status = file_new(source->name != NULL ? source->name : "", out, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    (*out)->source = *source;
    (*out)->source.name = (*out)->name;
    (*out)->size = source->bytes;
    status = file_list(*out, error, error_bytes);
    if (status != SKEIN_OK)
        trace_file_free(out);
    return status;
}

static int descriptor_open(struct trace_file *file, char *error, size_t error_bytes)
{
    struct stat facts;
    file->fd = open(file->name, O_RDONLY | O_CLOEXEC);
    if (file->fd < 0 || fstat(file->fd, &facts) != 0) {
        snprintf(error, error_bytes, "%s: %s", file->name, strerror(errno));
        return SKEIN_IO;
    }
    if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode)) {
        snprintf(error, error_bytes, "%s: not a file", file->name);
        return SKEIN_IO;
    }
    file->size = (uint64_t)facts.st_size;
    file->source = (struct skein_trace_source){descriptor_read, file, file->size, file->name};
    return SKEIN_OK;
}

int trace_file_open(const char *path, struct trace_file **out, char *error, size_t error_bytes)
{
    int status = file_new(path, out, error, error_bytes);
    if (status != SKEIN_OK)
        return status;
    status = descriptor_open(*out, error, error_bytes);
    if (status == SKEIN_OK)
        status = file_list(*out, error, error_bytes);
    if (status != SKEIN_OK)
        trace_file_free(out);
    return status;
}

void trace_file_free(struct trace_file **file)
{
    struct trace_file *f = *file;
    *file = NULL;
    if (f == NULL)
        return;
    entries_clear(f);
    free(f->entries);
    free(f->torn_list);
    free(f->name);
    buf_fini(&f->scratch);
    if (f->fd >= 0)
        close(f->fd);
    free(f);
}

size_t trace_file_count(const struct trace_file *file)
{
    return file->count;
}

const struct trace_entry *trace_file_entry(const struct trace_file *file, size_t i)
{
    return i < file->count ? &file->entries[i] : NULL;
}

uint64_t trace_file_torn(const struct trace_file *file)
{
    return file->torn;
}

size_t trace_file_torn_list(const struct trace_file *file, const struct trace_torn **list)
{
    *list = file->torn_list;
    return file->torn_count;
}

const char *trace_file_name(const struct trace_file *file)
{
    return file->name;
}

bool trace_file_closed(const struct trace_file *file)
{
    return file->closed;
}

int trace_file_read(struct trace_file *file, size_t i, struct buf *bytes)
{
    buf_clear(bytes);
    if (i >= file->count)
        return SKEIN_INVALID;
    int status = bytes_read(file, file->entries[i].offset, (size_t)file->entries[i].bytes, bytes);
    return status == SKEIN_TRUNCATED ? SKEIN_CORRUPT : status;
}
