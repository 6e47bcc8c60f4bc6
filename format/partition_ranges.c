/* SPDX-License-Identifier: Apache-2.0
 *
 * Follows, for the partition writer, which ranges each thread has open behind its last batch, as a
 * reader will (docs/format.md F-28), and notes for each block how far what it tells of reaches
 * beyond it (F-42). Owns struct pack_thread. Entered with each batch that goes out, never for an
 * event.
 */
#include <stdlib.h>

#include "array.h"
#include "partition_batch_int.h"

struct pack_thread *pack_thread_at(struct batch_packer *p, uint32_t thread)
{
    while (p->thread_count <= thread) {
        if (!array_grow(p->threads, p->thread_count + 1, &p->thread_cap))
            return NULL;
        p->threads[p->thread_count++] = (struct pack_thread){.block = UINT32_MAX};
    }
    return &p->threads[thread];
}

void ranges_free(struct batch_packer *p)
{
    for (size_t i = 0; i < p->thread_count; i++)
        free(p->threads[i].frames);
    free(p->threads);
}

/* F-28 */
static bool batch_continues(const struct batch_rows *b, const struct pack_thread *t)
{
    return b->opens == 0 && t->has_sequence && b->sequence - t->last_sequence <= 1;
}

size_t ranges_to_list(const struct batch_packer *p, const struct batch_rows *rows,
                      const struct pack_thread *t)
{
    bool first = t->block != p->block_count;
    return first && t->deeper == 0 && batch_continues(rows, t) ? t->depth : 0;
}

static struct partition_block *block_at(struct batch_packer *p, uint32_t block)
{
    return block < p->block_count ? &p->blocks[block] : &p->block;
}

static void range_open(struct batch_packer *p, struct pack_thread *t, uint32_t type, uint64_t since)
{
    if (t->depth == WRITER_BATCH_OPENS || t->deeper > 0) {
        t->deeper++;
        return;
    }
    if (!array_grow(t->frames, t->depth + 1, &t->cap)) {
        p->status = SKEIN_NO_MEMORY;
        return;
    }
    t->frames[t->depth++] = (struct pack_frame){type, (uint32_t)p->block_count, since};
    if (since < p->block.since_ticks)
        p->block.since_ticks = since;
}

/* The innermost range ends here, by its record or for want of one. */
static void range_close(struct batch_packer *p, struct pack_thread *t, uint64_t until)
{
    if (t->deeper > 0 || t->depth == 0) {
        t->deeper -= t->deeper > 0;
        return;
    }
    const struct pack_frame *frame = &t->frames[--t->depth];
    struct partition_block *begin = block_at(p, frame->block);
    if (until > begin->until_ticks)
        begin->until_ticks = until;
    if (frame->since < p->block.since_ticks)
        p->block.since_ticks = frame->since;
}

/* F-28: the listed ranges take the place of the open ones. */
static void ranges_restate(struct batch_packer *p, const struct batch_rows *b,
                           struct pack_thread *t)
{
    uint32_t same = 0;
    while (same < b->opens && same < t->depth &&
           t->frames[same].since == b->opens_listed[same].since_ticks &&
           (b->opens_listed[same].type == 0 || t->frames[same].type == b->opens_listed[same].type))
        same++;
    t->deeper = 0;
    while (t->depth > same)
        range_close(p, t, b->base);
    for (uint32_t i = same; i < b->opens; i++)
        range_open(p, t, b->opens_listed[i].type, b->opens_listed[i].since_ticks);
}

/* The tick of the record at `place`, by that of one before it. */
static uint64_t ticks_at(const struct batch_rows *b, uint32_t *at, uint64_t *ticks, uint32_t place)
{
    while (*at <= place)
        *ticks += b->times[(*at)++];
    return *ticks;
}

/* What begins and ends inside the batch reaches no further than the batch itself, whose bounds the
 * block has. So the records count that end what was open before, and that begin what stays open. All
 * of the first come before all of the second. */
void ranges_follow(struct batch_packer *p, const struct batch_rows *b, struct pack_thread *t)
{
    if (!batch_continues(b, t))
        ranges_restate(p, b, t);
    t->has_sequence = true;
    t->last_sequence = b->last_sequence;
    t->block = (uint32_t)p->block_count;
    uint64_t ticks = b->base;
    uint32_t at = 0;
    for (uint32_t i = 0; i < b->end_count && t->depth > 0; i++)
        range_close(p, t, ticks_at(b, &at, &ticks, b->ends[i]));
    for (uint32_t i = 0; i < b->begin_count; i++)
        range_open(p, t, b->types[b->codes[b->begins[i]] - 1].type + 1,
                   ticks_at(b, &at, &ticks, b->begins[i]));
}

struct partition_open *ranges_finish(struct batch_packer *p, size_t *count)
{
    size_t n = 0;
    for (size_t i = 0; i < p->thread_count; i++)
        n += p->threads[i].depth;
    n = n < OPENS_MAX ? n : OPENS_MAX;
    struct partition_open *open = calloc(n + 1, sizeof *open);
    *count = 0;
    for (size_t i = 0; open != NULL && i < p->thread_count; i++)
        for (size_t d = 0; d < p->threads[i].depth; d++) {
            const struct pack_frame *frame = &p->threads[i].frames[d];
            block_at(p, frame->block)->until_ticks = UINT64_MAX;
            if (*count < n)
                open[(*count)++] = (struct partition_open){
                    .thread = (uint32_t)i, .type = frame->type, .since_ticks = frame->since};
        }
    return open;
}
