/* SPDX-License-Identifier: Apache-2.0
 *
 * The last step of the partition writer: head, tables, blocks, footer and tail in one piece
 * (docs/format.md, sections 2, 3 and 5). Entered through partition_writer_finish alone.
 */
#include "partition_entries_int.h"
#include "partition_writer_int.h"

#include <stdlib.h>
#include <string.h>

#include "checksum.h"

enum { STRINGS_PACK_FROM = 512 }; /* below that a frame's own bytes eat what it saves */

static void snapshot_put(struct buf *b, const struct clock_snapshot *snapshot)
{
    buf_put_uleb(b, snapshot->ticks);
    buf_put_uleb(b, snapshot->monotonic_ns);
    buf_put_uleb(b, snapshot->boottime_ns);
    buf_put_uleb(b, snapshot->realtime_ns);
}

/* F-15 */
static void info_put(struct buf *b, const struct partition_info *info)
{
    size_t at = section_begin(b, SECTION_INFO);
    buf_put(b, info->key.process.bytes, sizeof info->key.process.bytes);
    buf_put_uleb(b, info->key.epoch);
    buf_put_uleb(b, info->key.sequence);
    buf_put_uleb(b, info->generation);
    buf_put_uleb(b, info->pid);
    buf_put_uleb(b, info->process_start_ns);
    buf_put_u8(b, info->clock);
    buf_put_u8(b, info->shift);
    buf_put_u8(b, info->mode);
    snapshot_put(b, &info->begin);
    snapshot_put(b, &info->end);
    buf_put_sleb(b, info->clock_offset_ns);
    buf_put_uleb(b, info->window_from_ticks);
    buf_put_uleb(b, info->window_to_ticks);
    buf_put_text(b, info->host, strlen(info->host));
    buf_put_text(b, info->service, strlen(info->service));
    buf_put_text(b, info->labels, strlen(info->labels));
    buf_put_text(b, info->exe, strlen(info->exe));
    buf_put_u8(b, info->death.known);
    buf_put_sleb(b, info->death.known ? info->death.signal : 0);
    buf_put_sleb(b, info->death.known ? info->death.status : 0);
    buf_put_u8(b, info->evidence);
    section_end(b, at);
}

/* Entries that were interned in their stored form (F-18, F-21). */
static void entries_put(struct buf *b, uint16_t kind, const struct intern_table *table)
{
    size_t at = section_begin(b, kind);
    buf_put_uleb(b, table->count);
    for (size_t i = 0; i < table->count; i++)
        buf_put_text(b, (const char *)intern_table_bytes(table, i), table->entries[i].len);
    section_end(b, at);
}

static void strings_section(struct buf *b, uint64_t count, const struct buf *texts,
                            struct buf *whole)
{
    buf_clear(whole);
    buf_put_uleb(whole, count);
    buf_put(whole, texts->data, texts->len);
    if (whole->status != SKEIN_OK || texts->status != SKEIN_OK)
        b->status = SKEIN_NO_MEMORY;
    else if (whole->len < STRINGS_PACK_FROM)
        section_put(b, SECTION_STRINGS, whole);
    else
        section_put_packed(b, SECTION_STRINGS, whole->data, whole->len);
}

/* F-20 */
static void strings_put(struct buf *b, struct partition_writer *w)
{
    struct buf texts = {0}, whole = {0};
    uint64_t count = 0;
    const size_t room = PARTITION_BLOCK_RAW_MAX - 16 - PARTITION_NAME_MAX;
    for (size_t i = 0; i < w->strings.count; i++) {
        buf_put_text(&texts, (const char *)intern_table_bytes(&w->strings, i),
                     w->strings.entries[i].len);
        count++;
        if (texts.len > room || i + 1 == w->strings.count) {
            strings_section(b, count, &texts, &whole);
            w->pack.raw_bytes += whole.len;
            buf_clear(&texts);
            count = 0;
        }
    }
    buf_fini(&texts);
    buf_fini(&whole);
}

/* F-30 */
static void opens_put(struct buf *b, const struct partition_writer *w)
{
    struct buf entry = {0};
    size_t at = section_begin(b, SECTION_OPEN);
    buf_put_uleb(b, w->open_count);
    for (size_t i = 0; i < w->open_count; i++) {
        buf_clear(&entry);
        buf_put_uleb(&entry, w->opens[i].thread);
        buf_put_uleb(&entry, w->opens[i].type);
        buf_put_uleb(&entry, w->opens[i].since_ticks);
        buf_put_sleb(&entry, w->opens[i].detail);
        if (entry.status != SKEIN_OK)
            b->status = SKEIN_NO_MEMORY;
        buf_put_text(b, (const char *)entry.data, entry.len);
    }
    buf_fini(&entry);
    section_end(b, at);
}

/* F-35; NULL with *words 0 where there is no id, or no memory (*failed). */
static uint64_t *filter_make(const struct intern_table *ids, size_t *words, bool *failed)
{
    *words = 0;
    if (ids->count == 0)
        return NULL;
    size_t n = 1;
    while (n < FILTER_WORDS_MAX && n * 64 < ids->count * 10)
        n *= 2;
    uint64_t *filter = calloc(n, sizeof *filter);
    if (filter == NULL) {
        *failed = true;
        return NULL;
    }
    for (size_t i = 0; i < ids->count; i++)
        trace_id_add(filter, n, checksum64(intern_table_bytes(ids, i), ids->entries[i].len));
    *words = n;
    return filter;
}

/* F-33; the footer borrows from the writer all but types and filter. */
static int footer_section(struct buf *b, struct partition_writer *w)
{
    const struct partition_info *info = &w->info;
    bool failed = false;
    size_t words;
    uint64_t *filter = filter_make(&w->trace_ids, &words, &failed);
    size_t type_count = 0, open_count;
    struct partition_open *open = ranges_finish(&w->pack, &open_count);
    struct partition_type_count *types = calloc(w->type_entries.count + 1, sizeof *types);
    if (types == NULL || open == NULL || failed) {
        free(types);
        free(open);
        free(filter);
        return SKEIN_NO_MEMORY;
    }
    for (size_t i = 0; i < w->type_entries.count; i++)
        if (w->types[i].events > 0)
            types[type_count++] = (struct partition_type_count){w->types[i].name, w->types[i].klass,
                                                                w->types[i].events};
    uint64_t lost = 0;
    for (size_t i = 0; i < w->loss_count; i++)
        lost += w->losses[i].events;
    uint64_t window_to = tick_scale_ns(&w->scale, info->window_to_ticks);
    bool any = w->pack.from_ticks <= w->pack.to_ticks;
    struct partition_footer footer = {
        .key = info->key,
        .from_ns = any ? tick_scale_ns(&w->scale, w->pack.from_ticks) : window_to,
        .to_ns = any ? tick_scale_ns(&w->scale, w->pack.to_ticks) : window_to,
        .window_from_ns = tick_scale_ns(&w->scale, info->window_from_ticks),
        .window_to_ns = window_to,
        .events = w->pack.events,
        .lost = lost,
        .threads = w->thread_entries.count,
        .fixed_up = w->fixed_up,
        .pid = info->pid,
        .host = w->texts[0],
        .service = w->texts[1],
        .labels = w->texts[2],
        .exe = w->texts[3],
        .blocks = w->pack.blocks,
        .block_count = w->pack.block_count,
        .types = types,
        .type_count = type_count,
        .losses = w->losses,
        .loss_count = w->loss_count,
        .trace_id_filter = filter,
        .trace_id_filter_words = words,
        .reaches = true,
        .open_ranges = open,
        .open_range_count = open_count,
        .evidence = info->evidence};
    footer_put(b, &footer);
    free(types);
    free(open);
    free(filter);
    return SKEIN_OK;
}

static void tables_put(struct buf *b, struct partition_writer *w)
{
    info_put(b, &w->info);
    entries_put(b, SECTION_TYPES, &w->type_entries);
    strings_put(b, w);
    entries_put(b, SECTION_THREADS, &w->thread_entries);
    stacks_put(b, w);
}

static int partition_put(struct partition_writer *w, struct buf *out, size_t start)
{
    uint8_t *head = buf_reserve(out, HEAD_BYTES + w->pack.packed.len + 4096);
    if (head == NULL)
        return SKEIN_NO_MEMORY;
    head_put(out, HEAD_PARTITION, 0); /* once more when the length is known */
    tables_put(out, w);
    for (size_t i = 0; i < w->pack.block_count; i++)
        w->pack.blocks[i].offset += out->len - start;
    buf_put(out, w->pack.packed.data, w->pack.packed.len);
    opens_put(out, w);
    size_t losses = section_begin(out, SECTION_LOSS);
    losses_put(out, w->losses, w->loss_count);
    section_end(out, losses);
    size_t last = section_begin(out, SECTION_FOOTER);
    int status = footer_section(out, w);
    if (status != SKEIN_OK)
        return status;
    section_end(out, last);
    tail_put(out, start, last, HEAD_PARTITION);
    if (out->status != SKEIN_OK)
        return out->status;
    size_t end = out->len;
    if (end - start > PARTITION_BYTES_MAX || w->pack.raw_bytes > RAW_BYTES_MAX)
        return SKEIN_TOO_LARGE;
    out->len = start;
    head_put(out, HEAD_PARTITION, end - start);
    out->len = end;
    return SKEIN_OK;
}

int partition_writer_finish(struct partition_writer *w, struct buf *out,
                            struct partition_footer *footer)
{
    if (footer != NULL)
        *footer = (struct partition_footer){0};
    batch_flush(w);
    block_flush(&w->pack);
    pipe_drain(&w->pack);
    writer_fail(w, w->pack.status);
    if (w->status != SKEIN_OK)
        return w->status;
    if (out->status != SKEIN_OK)
        return out->status;
    size_t start = out->len;
    int status = partition_put(w, out, start);
    if (status == SKEIN_OK && footer != NULL) {
        size_t need;
        status = partition_footer_get(out->data + start, out->len - start, footer, &need);
    }
    if (status != SKEIN_OK)
        out->len = start;
    writer_fail(w, status == SKEIN_OK ? SKEIN_CLOSED : status);
    return status;
}
