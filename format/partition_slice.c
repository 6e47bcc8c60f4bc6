/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans and reads time slices of a partition (docs/format.md F-38 to F-42). Owns nothing but the
 * plan that it hands out. No threads; never unpacks a block.
 */
#include "partition_slice.h"
#include "partition_entries_int.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "partition_int.h"
#include "trace_file.h"

/* More is no INFO that a writer makes: four names and some numbers. */
#define INFO_BYTES_MAX (64u << 10)
/* A footer is read in one piece if it is no longer than this. */
#define FOOTER_FIRST_BYTES (16u << 10)
/* OPEN, LOSS and kinds from the future; each costs a read. */
#define BACK_SECTIONS_MAX 64u

/* What is known of the partition that is being planned. */
struct plan {
    const struct partition_source *source;
    struct partition_footer footer;
    uint64_t footer_at;         /* of the FOOTER section */
    uint64_t loss_at, loss_end; /* of the LOSS section; equal: it has none */
    struct tick_scale host, aligned;
    int64_t clock_offset_ns;
    uint64_t from_ns, to_ns;
    struct partition_slice *slice;
    size_t run_cap;
};

/* ---- what is read ---- */

static int bytes_read(const struct partition_source *source, uint64_t offset, size_t n,
                      uint8_t **out)
{
    *out = NULL;
    if (offset > source->bytes || n > source->bytes - offset)
        return SKEIN_CORRUPT;
    uint8_t *bytes = malloc(n + 1);
    if (bytes == NULL)
        return SKEIN_NO_MEMORY;
    int status = source->read(source->context, offset, bytes, n);
    if (status != SKEIN_OK) {
        free(bytes);
        return status;
    }
    *out = bytes;
    return SKEIN_OK;
}

int partition_footer_read(const struct partition_source *source, struct partition_footer *footer,
                          uint64_t *footer_at)
{
    const uint64_t all = source->bytes;
    size_t need = all < FOOTER_FIRST_BYTES ? (size_t)all : FOOTER_FIRST_BYTES;
    *footer = (struct partition_footer){0};
    for (;;) {
        size_t got = need;
        uint8_t *bytes;
        const uint8_t *last;
        struct tail tail;
        int status = bytes_read(source, all - got, got, &bytes);
        if (status != SKEIN_OK)
            return status;
        status = partition_footer_get(bytes, got, footer, &need);
        if (status == SKEIN_OK && footer_at != NULL &&
            tail_get(bytes, got, &tail, &last, &need) == SKEIN_OK)
            *footer_at = all - tail.last_bytes;
        free(bytes);
        if (status == SKEIN_OK && footer->partition_bytes != all) {
            partition_footer_free(footer);
            return SKEIN_CORRUPT;
        }
        if (status != SKEIN_TRUNCATED)
            return status;
        if (need <= got || need > all)
            return SKEIN_CORRUPT;
    }
}

/* F-15 to F-17: the numbers in front of INFO's texts. */
static int info_get(struct plan *p, const struct section *section)
{
    struct cursor c;
    struct partition_info info = {0};
    cursor_init(&c, section->payload, (size_t)section->length);
    cursor_bytes(&c, sizeof info.key.process.bytes);
    for (unsigned i = 0; i < 5; i++) /* epoch to process start */
        cursor_uleb(&c);
    cursor_bytes(&c, 3); /* clock, shift, mode */
    struct clock_snapshot *snapshots[] = {&info.begin, &info.end};
    for (unsigned i = 0; i < 2; i++) {
        snapshots[i]->ticks = cursor_uleb(&c);
        snapshots[i]->monotonic_ns = cursor_uleb(&c);
        snapshots[i]->boottime_ns = cursor_uleb(&c);
        snapshots[i]->realtime_ns = cursor_uleb(&c);
    }
    info.clock_offset_ns = cursor_sleb(&c);
    if (c.status != SKEIN_OK || tick_scale_init(&p->host, &info) != SKEIN_OK)
        return SKEIN_CORRUPT;
    p->clock_offset_ns = info.clock_offset_ns;
    p->aligned = tick_scale_shift(&p->host, info.clock_offset_ns);
    return SKEIN_OK;
}

static int info_read(struct plan *p)
{
    const size_t fixed = HEAD_BYTES + SECTION_HEAD_BYTES;
    uint8_t *bytes;
    uint64_t length;
    bool is_table;
    struct cursor c;
    int status = bytes_read(p->source, 0, fixed, &bytes);
    if (status != SKEIN_OK)
        return status;
    status = trace_head_get(bytes, fixed, &length, &is_table);
    cursor_init(&c, bytes + HEAD_BYTES + 8, 8);
    uint64_t payload = cursor_u64(&c);
    free(bytes);
    if (status != SKEIN_OK || is_table || length != p->source->bytes || payload > INFO_BYTES_MAX)
        return SKEIN_CORRUPT;
    status = bytes_read(p->source, HEAD_BYTES, SECTION_HEAD_BYTES + (size_t)payload, &bytes);
    if (status != SKEIN_OK)
        return status;
    struct section section;
    cursor_init(&c, bytes, SECTION_HEAD_BYTES + (size_t)payload);
    status = section_get(&c, HEAD_BYTES, &section);
    if (status != SKEIN_OK || section.kind != SECTION_INFO || section.packing != PACKING_RAW ||
        !section_sound(&section, bytes))
        status = SKEIN_CORRUPT;
    else
        status = info_get(p, &section);
    free(bytes);
    return status;
}

int partition_clock(const struct partition_source *source, int64_t *offset_ns,
                    struct tick_scale *scale)
{
    struct plan p = {.source = source};
    int status = info_read(&p);
    *offset_ns = p.clock_offset_ns;
    if (scale != NULL)
        *scale = p.aligned;
    return status;
}

int partition_clock_offset(const struct partition_source *source, int64_t *offset_ns)
{
    return partition_clock(source, offset_ns, NULL);
}

int partition_times(const struct partition_source *source, uint64_t *ticks, size_t count)
{
    struct plan p = {.source = source};
    int status = info_read(&p);
    for (size_t i = 0; i < count && status == SKEIN_OK; i++)
        ticks[i] = tick_scale_ns(&p.aligned, ticks[i]);
    return status;
}

/* F-34: blocks lie one behind the other, between INFO and FOOTER. */
static int blocks_check(const struct plan *p)
{
    uint64_t end = HEAD_BYTES + SECTION_HEAD_BYTES;
    for (size_t i = 0; i < p->footer.block_count; i++) {
        const struct partition_block *block = &p->footer.blocks[i];
        if (block->offset < end || block->stored_bytes < SECTION_HEAD_BYTES ||
            block->offset > p->footer_at || block->stored_bytes > p->footer_at - block->offset)
            return SKEIN_CORRUPT;
        end = block->offset + block->stored_bytes;
    }
    return SKEIN_OK;
}

/* Finds LOSS among the sections behind the last block. */
static int back_walk(struct plan *p, uint64_t at)
{
    p->loss_at = p->loss_end = p->footer_at;
    for (unsigned i = 0; at < p->footer_at; i++) {
        uint8_t *head;
        struct cursor c;
        if (i == BACK_SECTIONS_MAX || SECTION_HEAD_BYTES > p->footer_at - at)
            return SKEIN_CORRUPT;
        int status = bytes_read(p->source, at, SECTION_HEAD_BYTES, &head);
        if (status != SKEIN_OK)
            return status;
        cursor_init(&c, head, SECTION_HEAD_BYTES);
        uint16_t kind = cursor_u16(&c);
        cursor_bytes(&c, 6);
        uint64_t length = cursor_u64(&c);
        free(head);
        if (length > p->footer_at - at - SECTION_HEAD_BYTES || kind == SECTION_BLOCK ||
            kind == SECTION_FOOTER)
            return SKEIN_CORRUPT;
        uint64_t end = at + SECTION_HEAD_BYTES + length;
        if (kind == SECTION_LOSS) {
            if (p->loss_at != p->loss_end)
                return SKEIN_CORRUPT;
            p->loss_at = at;
            p->loss_end = end;
        }
        at = end;
    }
    return SKEIN_OK;
}

/* ---- what is kept ---- */

static bool slice_overlaps(const struct plan *p, uint64_t from_ticks, uint64_t to_ticks)
{
    return tick_scale_ns(&p->aligned, from_ticks) <= p->to_ns &&
           tick_scale_ns(&p->aligned, to_ticks) >= p->from_ns;
}

/* F-39 */
static bool block_needed(const struct plan *p, const struct partition_block *block)
{
    return slice_overlaps(p, block->since_ticks, block->until_ticks);
}

/* Whether the partition has a say about the window at all: where it set out to hold it, silence
 * tells something too. */
static bool concerned(const struct plan *p)
{
    const struct partition_footer *f = &p->footer;
    uint64_t from = f->from_ns < f->window_from_ns ? f->from_ns : f->window_from_ns;
    uint64_t to = f->to_ns > f->window_to_ns ? f->to_ns : f->window_to_ns;
    __int128 offset = (__int128)p->aligned.anchor_ns - p->host.anchor_ns;
    return from + offset <= p->to_ns && to + offset >= p->from_ns;
}

/* F-40: losses that touch the window. */
static void losses_keep(struct plan *p)
{
    struct partition_footer *f = &p->footer;
    size_t kept = 0;
    f->lost = 0;
    for (size_t i = 0; i < f->loss_count; i++) {
        if (!slice_overlaps(p, f->losses[i].from_ticks, f->losses[i].to_ticks))
            continue;
        f->losses[kept++] = f->losses[i];
        f->lost += f->losses[i].events;
    }
    f->loss_count = kept;
}

static bool whole_fits(const struct plan *p)
{
    const struct partition_footer *f = &p->footer;
    bool all = true;
    for (size_t i = 0; i < f->block_count && all; i++)
        all = block_needed(p, &f->blocks[i]);
    for (size_t i = 0; i < f->loss_count && all; i++)
        all = slice_overlaps(p, f->losses[i].from_ticks, f->losses[i].to_ticks);
    return all;
}

/* ---- the plan ---- */

static int run_add(struct plan *p, uint64_t from, uint64_t bytes, bool made)
{
    struct partition_slice *s = p->slice;
    struct partition_slice_run *last = s->run_count > 0 ? &s->runs[s->run_count - 1] : NULL;
    if (bytes == 0)
        return SKEIN_OK;
    if (last != NULL && last->made == made && last->from + last->bytes == from) {
        last->bytes += bytes;
        s->bytes += bytes;
        return SKEIN_OK;
    }
    if (!array_grow(s->runs, s->run_count + 1, &p->run_cap))
        return SKEIN_NO_MEMORY;
    s->runs[s->run_count++] = (struct partition_slice_run){s->bytes, from, bytes, made};
    s->bytes += bytes;
    return SKEIN_OK;
}

/* F-39: runs of the blocks that are kept, and of everything between them; the footer's table
 * becomes the slice's. *end: of the last block, kept or not, in the partition. */
static int blocks_keep(struct plan *p, uint64_t *end)
{
    struct partition_footer *f = &p->footer;
    uint64_t at = HEAD_BYTES, events = f->events, from = UINT64_MAX, to = 0;
    uint32_t left_out = 0;
    size_t kept = 0;
    int status = SKEIN_OK;
    f->events = 0;
    for (size_t i = 0; i < f->block_count && status == SKEIN_OK; i++) {
        struct partition_block block = f->blocks[i];
        status = run_add(p, at, block.offset - at, false);
        at = block.offset + block.stored_bytes;
        left_out += block.left_out;
        if (!block_needed(p, &block)) {
            left_out++;
            continue;
        }
        if (status == SKEIN_OK)
            status = run_add(p, block.offset, block.stored_bytes, false);
        block.offset = p->slice->bytes - block.stored_bytes;
        block.left_out = left_out;
        left_out = 0;
        from = block.from_ticks < from ? block.from_ticks : from;
        to = block.to_ticks > to ? block.to_ticks : to;
        f->events += block.events;
        f->blocks[kept++] = block;
    }
    f->block_count = kept;
    f->slice = true;
    f->left_out_behind += left_out;
    f->left_out_events += events > f->events ? events - f->events : 0;
    f->from_ns = kept > 0 ? tick_scale_ns(&p->host, from) : f->window_to_ns;
    f->to_ns = kept > 0 ? tick_scale_ns(&p->host, to) : f->window_to_ns;
    *end = at;
    return status;
}

/* LOSS, or none where nothing was lost. */
static int loss_make(struct plan *p)
{
    struct buf *made = &p->slice->made;
    size_t at = made->len;
    if (p->loss_at == p->loss_end)
        return SKEIN_OK;
    size_t section = section_begin(made, SECTION_LOSS);
    losses_put(made, p->footer.losses, p->footer.loss_count);
    section_end(made, section);
    return made->status != SKEIN_OK ? made->status : run_add(p, at, made->len - at, true);
}

/* FOOTER and tail; then the head, whose place is kept since the beginning. */
static int ends_make(struct plan *p)
{
    struct buf *made = &p->slice->made;
    const size_t at = made->len;
    section_begin(made, SECTION_FOOTER);
    footer_put(made, &p->footer);
    section_end(made, at);
    if (made->status != SKEIN_OK)
        return made->status;
    uint64_t length = p->slice->bytes + (made->len - at) + TAIL_BYTES;
    tail_put_length(made, at, length, HEAD_PARTITION);
    if (made->status != SKEIN_OK)
        return made->status;
    size_t end = made->len;
    made->len = 0;
    head_put(made, HEAD_PARTITION, length);
    made->len = end;
    return length > PARTITION_BYTES_MAX ? SKEIN_CORRUPT : run_add(p, at, end - at, true);
}

static int slice_make(struct plan *p)
{
    uint64_t end = HEAD_BYTES;
    head_put(&p->slice->made, HEAD_PARTITION, 0);
    int status = p->slice->made.status;
    if (status == SKEIN_OK)
        status = run_add(p, 0, HEAD_BYTES, true);
    if (status == SKEIN_OK)
        status = blocks_keep(p, &end);
    if (status == SKEIN_OK)
        status = back_walk(p, end);
    if (status != SKEIN_OK)
        return status;
    losses_keep(p);
    status = run_add(p, end, p->loss_at - end, false);
    if (status == SKEIN_OK)
        status = loss_make(p);
    if (status == SKEIN_OK)
        status = run_add(p, p->loss_end, p->footer_at - p->loss_end, false);
    return status == SKEIN_OK ? ends_make(p) : status;
}

int partition_slice_plan(const struct partition_source *source, uint64_t from_ns, uint64_t to_ns,
                         struct partition_slice *slice)
{
    struct plan p = {.source = source, .from_ns = from_ns, .to_ns = to_ns, .slice = slice};
    *slice = (struct partition_slice){0};
    if (source->bytes > PARTITION_BYTES_MAX)
        return SKEIN_CORRUPT;
    int status = partition_footer_read(source, &p.footer, &p.footer_at);
    if (status == SKEIN_OK)
        status = info_read(&p);
    if (status == SKEIN_OK)
        status = blocks_check(&p);
    if (status == SKEIN_OK && concerned(&p)) {
        slice->cut = !whole_fits(&p);
        status = slice->cut ? slice_make(&p) : run_add(&p, 0, source->bytes, false);
    }
    partition_footer_free(&p.footer);
    if (status != SKEIN_OK)
        partition_slice_fini(slice);
    return status;
}

void partition_slice_fini(struct partition_slice *slice)
{
    free(slice->runs);
    buf_fini(&slice->made);
    *slice = (struct partition_slice){0};
}

/* ---- reading ---- */

static size_t run_find(const struct partition_slice *slice, uint64_t offset)
{
    size_t at;
    array_find(at, 1, slice->run_count, slice->runs[at].at <= offset);
    return at - 1;
}

int partition_slice_read(const struct partition_slice *slice, const struct partition_source *source,
                         uint64_t offset, void *out, size_t n)
{
    uint8_t *to = out;
    if (n == 0)
        return SKEIN_OK;
    for (size_t i = run_find(slice, offset); n > 0; i++) {
        const struct partition_slice_run *run = &slice->runs[i];
        uint64_t skip = offset - run->at, left = run->bytes - skip;
        size_t some = n < left ? n : (size_t)left;
        int status = SKEIN_OK;
        if (run->made)
            memcpy(to, slice->made.data + run->from + skip, some);
        else
            status = source->read(source->context, run->from + skip, to, some);
        if (status != SKEIN_OK)
            return status;
        to += some;
        offset += some;
        n -= some;
    }
    return SKEIN_OK;
}
