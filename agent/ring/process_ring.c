/* SPDX-License-Identifier: Apache-2.0
 *
 * What a ring says of itself; see process_ring.h. Reads its words, each once, and touches no page that
 * has no memory.
 */
#include "process.h"
#include "ring_memory.h"
#include "skein_atomic.h"

#define STACKS_MISSED_MAX (UINT64_C(1) << 40) /* more is no honest count */

static const struct ring_process_record *record_of(const struct process *p)
{
    return (const struct ring_process_record *)(const void *)(p->ring + p->geometry.process_off);
}

static const struct ring_header *header_of(const struct process *p)
{
    return (const struct ring_header *)(const void *)p->ring;
}

uint64_t process_stacks_missed(const struct process *p)
{
    uint64_t missed = p->ring != NULL ? skein_load64(&record_of(p)->stacks_missed) : 0;
    return missed < STACKS_MISSED_MAX ? missed : 0;
}

/* It has ended: all that it stored is there. */
bool process_exit_said(const struct process *p, int32_t *status)
{
    if (p->ring == NULL || skein_load32(&record_of(p)->exit_said) != RING_EXIT_SAID)
        return false;
    *status = record_of(p)->exit_status & 0xff;
    return true;
}

/* A hint from one chunk. That is not pinned: if it is just being claimed, this is one chunk off. */
static void usage_add_chunk(const struct process *p, uint64_t offset, struct process_usage *out)
{
    const struct ring_chunk *chunk = (const struct ring_chunk *)(const void *)(p->ring + offset);
    if ((skein_load32(&chunk->state) & RING_CHUNK_STATE_MASK) == RING_CHUNK_FREE)
        return;
    uint64_t base = skein_load64(&chunk->first.base_ticks);
    if (base != 0 && (out->oldest_ticks == 0 || base < out->oldest_ticks))
        out->oldest_ticks = base;
}

/* Chunks are claimed in order, so those at and beyond the cursor of a first round were never
 * touched, nor those without memory; reading their headers would make the ring's pages. */
static uint32_t chunks_touched(uint64_t cursor, uint32_t count)
{
    return cursor < count ? (uint32_t)cursor : count;
}

void process_cursors(const struct process *p, struct process_cursors *out)
{
    *out = (struct process_cursors){0};
    if (p->ring == NULL)
        return;
    const struct ring_header *header = header_of(p);
    struct ring_backing backed = ring_backing_whole(&p->geometry);
    if (p->page != NULL)
        ring_backing_load(&p->geometry, p->page, &backed);
    out->small = skein_load64(&header->small_cursor);
    out->big = skein_load64(&header->big_cursor);
    out->small_count = backed.small;
    out->big_count = backed.big;
}

uint64_t process_memory(const struct process *p)
{
    return p->ring != NULL ? ring_memory_used(p->ring_fd, p->geometry.total) : 0;
}

/* The fewer of two: what got memory in between was claimed after the others' round. */
static bool half_is_over(uint64_t claims, uint32_t then, uint32_t now)
{
    return claims > (then < now ? then : now) / 2;
}

bool process_is_half_over(const struct process *p, const struct process_cursors *since)
{
    struct process_cursors now;
    if (p->ring == NULL)
        return false;
    process_cursors(p, &now);
    return half_is_over(now.small - since->small, since->small_count, now.small_count) ||
           half_is_over(now.big - since->big, since->big_count, now.big_count);
}

static void usage_add_chunks(const struct process *p, struct process_usage *out)
{
    const struct ring_geometry *g = &p->geometry;
    struct process_cursors at;
    process_cursors(p, &at);
    uint32_t small_count = chunks_touched(at.small, at.small_count);
    uint32_t big_count = chunks_touched(at.big, at.big_count);
    for (uint32_t i = 0; i < small_count; i++)
        usage_add_chunk(p, ring_small_offset(g, i), out);
    for (uint32_t i = 0; i < big_count; i++)
        usage_add_chunk(p, ring_big_offset(g, i), out);
    out->written_bytes = at.small * RING_SMALL_CHUNK + at.big * RING_BIG_CHUNK;
}

void process_usage(const struct process *p, struct process_usage *out)
{
    *out = (struct process_usage){0};
    if (p->ring == NULL)
        return;
    const struct ring_header *header = header_of(p);
    const struct ring_geometry *g = &p->geometry;
    out->wrapped = skein_load32(&header->wrapped_count);
    out->lost = skein_total_load(&header->num_records_dropped);
    out->used_bytes = RING_HEADER_BYTES + g->durable;
    for (uint32_t i = 0; i < g->areas; i++) {
        uint64_t end = skein_load64(&header->rolling_data_end[i]);
        out->used_bytes += end > g->rolling ? g->rolling : end;
    }
    usage_add_chunks(p, out);
}
