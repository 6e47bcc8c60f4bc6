/* SPDX-License-Identifier: Apache-2.0
 *
 * The full check of a partition: opens every block, reads every record, and holds the footer's
 * figures against what was found (docs/format.md F-34). One thread; allocates what a reader does
 * and a counter for each event type.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_blocks_int.h"
#include "partition_reader_int.h"
#include "partition_tables_int.h"
#include "trace_file.h"

/* ---- places in the footer (F-33) ---- */

/* How many fields are passed over, one after the other, to reach the next of enum footer_field. */
static const struct {
    uint8_t bytes, numbers, texts, lists, words;
} footer_steps[] = {
    [FOOTER_KEY] = {.bytes = 16, .numbers = 2}, /* epoch, sequence */
    [FOOTER_PID] = {.numbers = 1},
    [FOOTER_TIMES] = {.numbers = 4},
    [FOOTER_EVENTS] = {.numbers = 1},
    [FOOTER_LOST] = {.numbers = 1},
    [FOOTER_THREADS] = {.numbers = 2}, /* and fixed up */
    [FOOTER_NAMES] = {.texts = 4},
    [FOOTER_BLOCKS] = {.lists = 1},
    [FOOTER_TYPES] = {.lists = 1},
    [FOOTER_LOSSES] = {.lists = 1, .words = 1}, /* the filter, and the mark of a slice (F-38) */
    [FOOTER_OPEN_RANGES] = {.lists = 1},
    [FOOTER_EVIDENCE] = {.bytes = 1}};

static void entries_pass(struct cursor *c, uint64_t count)
{
    for (uint64_t i = 0; i < count && c->status == SKEIN_OK; i++)
        cursor_bytes(c, cursor_uleb(c));
}

const uint8_t *footer_field(const struct partition_reader *r, enum footer_field field, size_t entry)
{
    struct cursor c;
    const uint8_t *from = r->footer_section + SECTION_HEAD_BYTES;
    cursor_init(&c, from, (size_t)(r->bytes + r->n - TAIL_BYTES - from));
    for (unsigned f = 0; f < field; f++) {
        cursor_bytes(&c, footer_steps[f].bytes);
        for (unsigned i = 0; i < footer_steps[f].numbers; i++)
            cursor_uleb(&c);
        entries_pass(&c, footer_steps[f].texts);
        if (footer_steps[f].lists > 0)
            entries_pass(&c, cursor_uleb(&c));
        if (footer_steps[f].words > 0) {
            cursor_bytes(&c, cursor_uleb(&c) * 8);
            cursor_u8(&c);
            cursor_uleb(&c);
            cursor_uleb(&c);
        }
    }
    if (entry > 0) {
        cursor_uleb(&c);
        entries_pass(&c, entry - 1);
    }
    return c.pos;
}

/* ---- figures ---- */

struct sums {
    uint64_t events, from_ticks, to_ticks;
    uint64_t *by_type;
};

/* Walks one batch by itself: its codes say what it holds. */
static int batch_count(struct partition_reader *r, struct lane *lane,
                       const struct reader_batch *batch, struct sums *sums)
{
    if (batch_enter(r, lane, batch) != SKEIN_OK)
        return r->status;
    sums->events += batch->events;
    if (batch->events > 0 || r->footer.slice) { /* F-40: a slice has the bounds of its blocks */
        sums->from_ticks = batch->base < sums->from_ticks ? batch->base : sums->from_ticks;
        sums->to_ticks = batch->last > sums->to_ticks ? batch->last : sums->to_ticks;
    }
    for (uint32_t i = 0; i < batch->types; i++)
        sums->by_type[lane->types[i].type] += lane->types[i].left;
    return SKEIN_OK;
}

/* Batches lie in the order of their blocks: *at is the first of block i, and then of the next. */
static int block_compare(struct partition_reader *r, size_t i, size_t *at)
{
    const struct partition_block *block = &r->footer.blocks[i];
    uint64_t events = 0, from = UINT64_MAX, to = 0;
    const struct reader_block *told = &r->blocks[i];
    uint32_t batches = 0;
    for (; *at < r->batch_count && r->batches[*at].block == i; (*at)++) {
        const struct reader_batch *batch = &r->batches[*at];
        batches++;
        events += batch->events;
        from = batch->base < from ? batch->base : from;
        to = batch->last > to ? batch->last : to;
    }
    bool reaches = r->footer.slice || !r->footer.reaches || r->frames_full || /* F-40 */
                   (block->since_ticks == (told->since < from ? told->since : from) &&
                    block->until_ticks == (told->until > to ? told->until : to));
    if (batches == block->threads && events == block->events && from == block->from_ticks &&
        to == block->to_ticks && reaches)
        return SKEIN_OK;
    bool figures = batches == block->threads && events == block->events &&
                   from == block->from_ticks && to == block->to_ticks;
    return reader_fail(r, SKEIN_CORRUPT, figures ? F_42 : F_34,
                       footer_field(r, FOOTER_BLOCKS, i + 1),
                       "the footer is wrong about the %s of the block at byte %" PRIu64,
                       figures ? "reach" : "figures", block->offset);
}

/* The footer's type k, or its list where there is none. */
static size_t type_entry(const struct partition_reader *r, size_t k)
{
    return k < r->footer.type_count ? k + 1 : 0;
}

/* F-40: a slice names the types of the whole, with at least the records that are here. */
static int types_cover(struct partition_reader *r, const struct sums *sums)
{
    size_t k = 0;
    for (size_t i = 0; i < r->type_count; i++) {
        while (sums->by_type[i] > 0 && k < r->footer.type_count &&
               strcmp(r->footer.types[k].name, r->types[i].name) != 0)
            k++;
        if (sums->by_type[i] == 0)
            continue;
        if (k == r->footer.type_count || r->footer.types[k].events < sums->by_type[i])
            return reader_fail(r, SKEIN_CORRUPT, F_40,
                               footer_field(r, FOOTER_TYPES, type_entry(r, k)),
                               "the footer is wrong about event type \"%.64s\"", r->types[i].name);
        k++;
    }
    return SKEIN_OK;
}

static int types_compare(struct partition_reader *r, const struct sums *sums)
{
    size_t k = 0;
    if (r->footer.slice)
        return types_cover(r, sums);
    for (size_t i = 0; i < r->type_count; i++) {
        if (sums->by_type[i] == 0)
            continue;
        const struct partition_type_count *told = &r->footer.types[k];
        bool same = k < r->footer.type_count && told->events == sums->by_type[i] &&
                    told->klass == r->types[i].klass && strcmp(told->name, r->types[i].name) == 0;
        if (!same)
            return reader_fail(r, SKEIN_CORRUPT, F_34,
                               footer_field(r, FOOTER_TYPES, type_entry(r, k)),
                               "the footer is wrong about event type \"%.64s\"", r->types[i].name);
        k++;
    }
    if (k != r->footer.type_count)
        return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_TYPES, k + 1),
                           "the footer lists %zu event types, %zu occur", r->footer.type_count, k);
    return SKEIN_OK;
}

/* F-42: what is open behind the last record, when all of it has been read. */
static int open_ranges_compare(struct partition_reader *r)
{
    const struct partition_footer *f = &r->footer;
    size_t at = 0;
    bool same = true;
    if (f->slice || !f->reaches || r->frames_full)
        return SKEIN_OK;
    for (size_t i = 0; i < r->thread_count && same; i++)
        for (size_t d = 0; d < r->lanes[i].depth && d < RANGES_FOLLOWED_MAX && same; d++) {
            const struct reader_frame *frame = &r->lanes[i].stack[d];
            uint32_t type = frame->type == NULL ? 0 : (uint32_t)(frame->type - r->types) + 1;
            r->blocks[frame->block].until = UINT64_MAX;
            if (at == OPENS_MAX)
                continue;
            same = at < f->open_range_count && f->open_ranges[at].thread == i &&
                   f->open_ranges[at].type == type &&
                   f->open_ranges[at].since_ticks == frame->recorded;
            at++;
        }
    if (same && at == f->open_range_count)
        return SKEIN_OK;
    at -= same ? 0 : 1;
    return reader_fail(r, SKEIN_CORRUPT, F_42,
                       footer_field(r, FOOTER_OPEN_RANGES, at < f->open_range_count ? at + 1 : 0),
                       "the footer is wrong about open range %zu", at);
}

static int losses_compare(struct partition_reader *r)
{
    uint64_t lost = 0, told = 0;
    for (size_t i = 0; i < r->loss_count; i++)
        lost += r->losses[i].events;
    for (size_t i = 0; i < r->footer.loss_count; i++)
        told += r->footer.losses[i].events;
    if (r->footer.loss_count != r->loss_count || lost != told || lost != r->footer.lost)
        return reader_fail(
            r, SKEIN_CORRUPT, F_34, footer_field(r, lost == told ? FOOTER_LOST : FOOTER_LOSSES, 0),
            "the footer says %" PRIu64 " records lost in %zu places, there are %" PRIu64 " in %zu",
            r->footer.lost, r->footer.loss_count, lost, r->loss_count);
    return SKEIN_OK;
}

static int sums_compare(struct partition_reader *r, const struct sums *sums)
{
    const struct partition_footer *footer = &r->footer;
    uint64_t window_to = tick_scale_ns(&r->host_scale, r->info.window_to_ticks);
    bool any = sums->from_ticks <= sums->to_ticks;
    uint64_t from = any ? tick_scale_ns(&r->host_scale, sums->from_ticks) : window_to;
    uint64_t to = any ? tick_scale_ns(&r->host_scale, sums->to_ticks) : window_to;
    enum format_rule rule = footer->slice ? F_40 : F_34;
    if (footer->events != sums->events)
        return reader_fail(r, SKEIN_CORRUPT, rule, footer_field(r, FOOTER_EVENTS, 0),
                           "the footer says %" PRIu64 " records, there are %" PRIu64,
                           footer->events, sums->events);
    if (footer->from_ns != from || footer->to_ns != to || footer->window_to_ns != window_to ||
        footer->window_from_ns != tick_scale_ns(&r->host_scale, r->info.window_from_ticks))
        return reader_fail(r, SKEIN_CORRUPT, rule, footer_field(r, FOOTER_TIMES, 0),
                           "the footer's times are not those of the records");
    if (footer->pid != r->info.pid)
        return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_PID, 0),
                           "the footer says pid %u, INFO %u", footer->pid, r->info.pid);
    if (footer->threads != r->thread_count)
        return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_THREADS, 0),
                           "the footer says %" PRIu64 " threads, there are %zu", footer->threads,
                           r->thread_count);
    if (strcmp(footer->host, r->info.host) != 0 || strcmp(footer->service, r->info.service) != 0 ||
        strcmp(footer->labels, r->info.labels) != 0 || strcmp(footer->exe, r->info.exe) != 0)
        return reader_fail(r, SKEIN_CORRUPT, F_34, footer_field(r, FOOTER_NAMES, 0),
                           "the footer names another process than INFO");
    size_t at = 0;
    if (open_ranges_compare(r) != SKEIN_OK)
        return r->status;
    for (size_t i = 0; i < r->block_count; i++)
        if (block_compare(r, i, &at) != SKEIN_OK)
            return r->status;
    if (r->info.evidence && (r->footer.open_range_count > 0 || r->open_count > 0)) /* F-50 */
        return reader_fail(r, SKEIN_CORRUPT, F_50, footer_field(r, FOOTER_OPEN_RANGES, 0),
                           "evidence leaves operations open");
    int status = types_compare(r, sums);
    return status == SKEIN_OK ? losses_compare(r) : status;
}

static int contents_compare(struct partition_reader *r)
{
    struct trace_event event;
    int status;
    do {
        status = partition_reader_next(r, &event);
    } while (status == 1);
    if (status != SKEIN_OK)
        return status;
    struct lane scratch = {0};
    struct sums sums = {.from_ticks = UINT64_MAX};
    sums.by_type = calloc(r->type_count + 1, sizeof *sums.by_type);
    if (sums.by_type == NULL)
        return reader_no_memory(r, "the check");
    for (size_t i = 0; status == SKEIN_OK && i < r->batch_count; i++)
        status = batch_count(r, &scratch, &r->batches[i], &sums);
    if (status == SKEIN_OK)
        status = sums_compare(r, &sums);
    free(sums.by_type);
    free(scratch.types);
    free(scratch.columns);
    return status;
}

int partition_fault_find(const uint8_t *bytes, size_t n, struct partition_fault *fault)
{
    struct partition_reader *r;
    int status = partition_reader_make(bytes, n, &r, fault);
    if (status != SKEIN_OK)
        return status;
    status = contents_compare(r);
    *fault = r->fault;
    partition_reader_free(&r);
    return status;
}

int partition_check(const uint8_t *bytes, size_t n, char *error, size_t error_bytes)
{
    struct partition_fault fault;
    int status = partition_fault_find(bytes, n, &fault);
    if (error_bytes > 0)
        partition_fault_print(&fault, 0, error, error_bytes);
    return status;
}
