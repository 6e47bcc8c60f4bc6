/* SPDX-License-Identifier: Apache-2.0
 *
 * Trace files (docs/format.md F-36, F-37): finds the whole partitions of a file and reads one at a
 * time, through a source; one is here for files. Owns an open descriptor and the footers. One
 * thread; never maps the file, because another program may cut it while we look.
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
#include "partition_reader.h"
#include "partition_slice.h"
#include "text_whole.h"
#include "trace_table_int.h"

enum { SEARCH_BYTES = 64 << 10, MAGIC_BYTES = 8 };

/* A stretch that belongs to no whole partition, or a table that lies. */
struct stretch {
    uint64_t offset, bytes; /* torn; 0 of a table */
    uint64_t lie;           /* the byte of the table that is wrong; 0: none is */
};

struct trace_file {
    bool closed;
    struct skein_trace_source source;
    char *name;
    int fd; /* of a file that was opened here; else -1 */
    uint64_t size, torn;
    struct trace_entry *entries;
    size_t count, cap;
    size_t untold; /* the first that no table has told of yet */
    uint64_t torn_told;
    struct buf scratch;
    struct stretch *stretches;
    size_t stretch_count, stretch_cap;
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
    ssize_t got = bytes_read_at(file->fd, out, n, offset);
    return got < 0 ? SKEIN_IO : (size_t)got < n ? SKEIN_TRUNCATED : SKEIN_OK;
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

void trace_file_entry_move(struct trace_file *file, size_t i, int64_t ns)
{
    struct trace_entry *entry = &file->entries[i];
    entry->from_ns = clock_shift_ns(entry->from_ns, ns);
    entry->to_ns = clock_shift_ns(entry->to_ns, ns);
    if (entry->told_to_ns == UINT64_MAX) /* unknown */
        return;
    entry->told_from_ns = clock_shift_ns(entry->told_from_ns, ns);
    entry->told_to_ns = clock_shift_ns(entry->told_to_ns, ns);
}

/* ---- opening by the closing table ---- */

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
        status = trace_table_get(bytes.data, bytes.len, &lengths, &count, &sum, NULL);
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

/* Notes that these bytes belong to no whole partition; they prolong the stretch in front of them. */
static int torn_note(struct trace_file *file, uint64_t offset, uint64_t bytes)
{
    struct stretch *last = file->stretches + file->stretch_count - (file->stretch_count > 0);
    file->torn += bytes;
    if (file->stretch_count > 0 && last->lie == 0 && last->offset + last->bytes == offset) {
        last->bytes += bytes;
        return SKEIN_OK;
    }
    if (!array_grow(file->stretches, file->stretch_count + 1, &file->stretch_cap))
        return SKEIN_NO_MEMORY;
    file->stretches[file->stretch_count++] = (struct stretch){offset, bytes, 0};
    return SKEIN_OK;
}

/* F-36: whether the table at offset tells of the partitions from file->untold on, which are those
 * behind the table before it. Where bytes are torn among them, nobody knows. */
static int table_compare(struct trace_file *file, uint64_t offset, const uint64_t *lengths,
                         size_t count)
{
    size_t there = file->count - file->untold, same = 0;
    uint64_t at = HEAD_BYTES + SECTION_HEAD_BYTES;
    uint64_t wrong = at + uleb_size(count);
    for (; same < there && same < count; same++) {
        if (lengths[same] != file->entries[file->untold + same].bytes)
            break;
        wrong += uleb_size(lengths[same]);
    }
    bool torn = file->torn != file->torn_told;
    file->untold = file->count;
    file->torn_told = file->torn;
    if (torn || (same == there && same == count))
        return SKEIN_OK;
    if (!array_grow(file->stretches, file->stretch_count + 1, &file->stretch_cap))
        return SKEIN_NO_MEMORY;
    file->stretches[file->stretch_count++] =
        (struct stretch){offset, 0, offset + (same < there && same < count ? wrong : at)};
    return SKEIN_OK;
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
        status =
            trace_table_get(file->scratch.data, file->scratch.len, &lengths, &count, &sum, NULL);
    if (status == SKEIN_OK) {
        status = table_compare(file, offset, lengths, count);
        free(lengths);
    }
    return status;
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
        status = magic_find(file, offset + 1, &next);
        if (status == SKEIN_OK)
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
    if (file->count > 0 || file->stretch_count > 0)
        return SKEIN_OK;
    status = torn_note(file, 0, 0); /* empty, or tables alone */
    if (status != SKEIN_OK)
        snprintf(error, error_bytes, "%s: %s", name, skein_status_text(status));
    return status;
}

/* ---- what is wrong ---- */

size_t trace_file_faults(const struct trace_file *file)
{
    return file->stretch_count;
}

/* Why no whole partition or table is at offset; *why counts from there. The status of a reader. */
static int item_explain(struct trace_file *file, uint64_t offset, struct partition_fault *why)
{
    uint64_t left = file->size - offset, length, sum;
    uint64_t *lengths = NULL;
    size_t count, n = left < HEAD_BYTES ? (size_t)left : HEAD_BYTES;
    bool is_table = false;
    struct partition_reader *reader = NULL;
    int status = bytes_read(file, offset, n, &file->scratch);
    if (status != SKEIN_OK)
        return status;
    status = head_explain(file->scratch.data, n, &length, &is_table, why);
    if (status != SKEIN_OK)
        return status;
    if (length > left) {
        partition_fault_set(why, F_14, left, "the file ends %" PRIu64 " bytes too early",
                            length - left);
        return SKEIN_TRUNCATED;
    }
    status = bytes_read(file, offset, (size_t)length, &file->scratch);
    if (status == SKEIN_OK && is_table)
        status =
            trace_table_get(file->scratch.data, file->scratch.len, &lengths, &count, &sum, why);
    else if (status == SKEIN_OK)
        status = partition_reader_make(file->scratch.data, file->scratch.len, &reader, why);
    free(lengths);
    partition_reader_free(&reader);
    return status;
}

int trace_file_fault(struct trace_file *file, size_t i, struct trace_fault *fault)
{
    const struct stretch *s = &file->stretches[i];
    *fault = (struct trace_fault){.offset = s->offset, .bytes = s->bytes};
    int status = SKEIN_CORRUPT;
    if (s->lie != 0)
        partition_fault_set(&fault->why, F_36, s->lie - s->offset,
                            "the table tells of other partitions than lie in front of it");
    else if (file->size == 0)
        partition_fault_set(&fault->why, F_37, 0, "the file is empty");
    else if (s->bytes == 0)
        partition_fault_set(&fault->why, F_37, 0, "there is no partition in the file");
    else
        status = item_explain(file, s->offset, &fault->why);
    if (status == SKEIN_OK && fault->why.rule == F_NONE) /* it has changed since it was listed */
        partition_fault_set(&fault->why, F_37, 0, "the file is being changed");
    fault->why.byte += s->offset;
    return status == SKEIN_OK ? SKEIN_CORRUPT : status;
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

/* Where there is not one partition, the file is closed again. */
static int whole_wanted(struct trace_file **file, char *error, size_t error_bytes)
{
    struct trace_fault fault;
    char why[256];
    const char *name = (*file)->name;
    if (trace_file_count(*file) > 0)
        return SKEIN_OK;
    int status = trace_file_fault(*file, 0, &fault);
    partition_fault_print(&fault.why, 0, why, sizeof why);
    if (fault.why.text[0] == 0)
        snprintf(error, error_bytes, "%s: %s", name, skein_status_text(status));
    else if (fault.bytes == 0)
        snprintf(error, error_bytes, "%s: %s", name, why);
    else
        snprintf(error, error_bytes, "%s: no whole partition in %" PRIu64 " bytes: %s", name,
                 (*file)->size, why);
    trace_file_free(file);
    return status == SKEIN_TRUNCATED ? SKEIN_CORRUPT : status;
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
    if (status == SKEIN_OK)
        return whole_wanted(out, error, error_bytes);
    trace_file_free(out);
    return status;
}

static int descriptor_open(struct trace_file *file, char *error, size_t error_bytes)
{
    struct stat facts;
    file->fd = open(file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait */
    if (file->fd < 0 || fstat(file->fd, &facts) != 0) {
        snprintf(error, error_bytes, "%s: %s", file->name, strerror(errno));
        return SKEIN_IO;
    }
    if (!S_ISREG(facts.st_mode) && !S_ISBLK(facts.st_mode)) {
        snprintf(error, error_bytes, "%s: is no regular file", file->name);
        return SKEIN_IO;
    }
    file->size = (uint64_t)facts.st_size;
    file->source = (struct skein_trace_source){descriptor_read, file, file->size, file->name};
    return SKEIN_OK;
}

int trace_file_inspect(const char *path, struct trace_file **out, char *error, size_t error_bytes)
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

int trace_file_open(const char *path, struct trace_file **out, char *error, size_t error_bytes)
{
    int status = trace_file_inspect(path, out, error, error_bytes);
    return status == SKEIN_OK ? whole_wanted(out, error, error_bytes) : status;
}

void trace_file_free(struct trace_file **file)
{
    struct trace_file *f = *file;
    *file = NULL;
    if (f == NULL)
        return;
    entries_clear(f);
    free(f->entries);
    free(f->stretches);
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
