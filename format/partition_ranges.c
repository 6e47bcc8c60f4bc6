/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows, for the partition writer, which ranges each thread has open behind its last batch, as a
 * reader will (docs/format.md F-28), and notes for each block how far what it tells of reaches
 * beyond it (F-42). Owns struct writer_thread. Entered with each batch that goes out, never for an
 * event.
 */
#include <stdlib.h>

#include "array.h"
#include "partition_writer_int.h"

struct writer_thread *writer_thread_at(struct partition_writer *w, uint32_t thread)
{
    while (w->thread_count <= thread) {
        if (!array_grow(w->threads, w->thread_count + 1, &w->thread_cap))
            return NULL;
        w->threads[w->thread_count++] = (struct writer_thread){.block = UINT32_MAX};
    }
    return &w->threads[thread];
}

void ranges_free(struct partition_writer *w)
{
    for (size_t i = 0; i < w->thread_count; i++)
        free(w->threads[i].frames);
    free(w->threads);
}

/* F-28 */
static bool batch_continues(const struct writer_batch *b, const struct writer_thread *t)
{
    return b->opens == 0 && t->has_sequence && b->sequence - t->last_sequence <= 1;
}

size_t ranges_to_list(const struct partition_writer *w, const struct writer_thread *t)
{
    bool first = t->block != w->block_count;
    return first && t->deeper == 0 && batch_continues(&w->batch, t) ? t->depth : 0;
}

static struct partition_block *block_at(struct partition_writer *w, uint32_t block)
{
    return block < w->block_count ? &w->blocks[block] : &w->block;
}

static void range_open(struct partition_writer *w, struct writer_thread *t, uint32_t type,
                       uint64_t since)
{
    if (t->depth == WRITER_BATCH_OPENS || t->deeper > 0) {
        t->deeper++;
        return;
    }
    if (!array_grow(t->frames, t->depth + 1, &t->cap)) {
        writer_fail(w, SKEIN_NO_MEMORY);
        return;
    }
    t->frames[t->depth++] = (struct writer_frame){type, (uint32_t)w->block_count, since};
    if (since < w->block.since_ticks)
        w->block.since_ticks = since;
}

/* The innermost range ends here, by its record or for want of one. */
static void range_close(struct partition_writer *w, struct writer_thread *t, uint64_t until)
{
    if (t->deeper > 0 || t->depth == 0) {
        t->deeper -= t->deeper > 0;
        return;
    }
    const struct writer_frame *frame = &t->frames[--t->depth];
    struct partition_block *begin = block_at(w, frame->block);
    if (until > begin->until_ticks)
        begin->until_ticks = until;
    if (frame->since < w->block.since_ticks)
        w->block.since_ticks = frame->since;
}

/* F-28: the listed ranges take the place of the open ones. */
static void ranges_restate(struct partition_writer *w, struct writer_thread *t)
{
    const struct writer_batch *b = &w->batch;
    uint32_t same = 0;
    while (same < b->opens && same < t->depth &&
           t->frames[same].since == w->opens_listed[same].since_ticks &&
           (w->opens_listed[same].type == 0 || t->frames[same].type == w->opens_listed[same].type))
        same++;
    t->deeper = 0;
    while (t->depth > same)
        range_close(w, t, b->base);
    for (uint32_t i = same; i < b->opens; i++)
        range_open(w, t, w->opens_listed[i].type, w->opens_listed[i].since_ticks);
}

void ranges_follow(struct partition_writer *w, struct writer_thread *t)
{
    const struct writer_batch *b = &w->batch;
    if (!batch_continues(b, t))
        ranges_restate(w, t);
    t->has_sequence = true;
    t->last_sequence = b->last_sequence;
    t->block = (uint32_t)w->block_count;
    bool begins = false;
    for (uint32_t i = 1; i <= b->local_types && !begins; i++)
        begins = w->begins[i] != 0;
    if (!begins && t->depth == 0 && t->deeper == 0)
        return;
    uint64_t ticks = b->base;
    for (uint32_t i = 0; i < b->events; i++) {
        uint32_t code = w->codes[i];
        ticks += w->times[i];
        if (code == 0)
            range_close(w, t, ticks);
        else if (w->begins[code] != 0)
            range_open(w, t, w->begins[code], ticks);
    }
}

struct partition_open *ranges_finish(struct partition_writer *w, size_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < w->thread_count; i++)
        n += w->threads[i].depth;
    n = n < OPENS_MAX ? n : OPENS_MAX;
    struct partition_open *open = calloc(n + 1, sizeof *open);
    *count = 0;
    for (size_t i = 0; open != NULL && i < w->thread_count; i++)
        for (size_t d = 0; d < w->threads[i].depth; d++) {
            const struct writer_frame *frame = &w->threads[i].frames[d];
            block_at(w, frame->block)->until_ticks = UINT64_MAX;
            if (*count < n)
                open[(*count)++] = (struct partition_open){
                    .thread = (uint32_t)i, .type = frame->type, .since_ticks = frame->since};
        }
    return open;
}
