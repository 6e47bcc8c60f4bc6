/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of the rolling areas: claims one for a lane, writes its start, retires it.
 * Entered by the thread that owns the lane while it holds the lane, also in signal handlers. Never
 * waits for a chunk, never takes one that another thread writes or the agent reads.
 */
#include <string.h>

#include "writer_int.h"

#define PROBES_MAX 64 /* of one claim in one pool: bounds a claim's time; the cursor goes on */
#define OPEN_NEED  16 /* bytes of one open range: type, delta, id */

struct pool {
    uint64_t *cursor;
    uint32_t count, bytes;
    bool big;
};

static struct pool pool_of(const struct session *session, bool big)
{
    const struct ring_geometry *g = &session->geometry;
    struct pool pool = {
        .cursor = big ? &session->header->big_cursor : &session->header->small_cursor,
        .count = big ? ring_big_count(g) : ring_small_count(g),
        .bytes = big ? RING_BIG_CHUNK : RING_SMALL_CHUNK,
        .big = big,
    };
    return pool;
}

static struct ring_chunk *pool_chunk(const struct session *session, const struct pool *pool,
                                     uint32_t i)
{
    uint64_t offset = pool->big ? ring_big_offset(&session->geometry, i)
                                : ring_small_offset(&session->geometry, i);
    return (struct ring_chunk *)(void *)(session->base + offset);
}

static void data_end_raise(const struct session *session, const struct pool *pool, uint32_t i)
{
    uint32_t area = i / (pool->count / session->geometry.areas);
    uint64_t end = (uint64_t)((uint8_t *)pool_chunk(session, pool, i) - session->base) +
                   pool->bytes - session->geometry.area_off[area];
    if (skein_load64(&session->header->rolling_data_end[area]) < end)
        skein_store64(&session->header->rolling_data_end[area],
                      end); /* a hint: races may lower it */
}

/* one CAS on a chunk that is free or, in circular mode, full and not pinned. */
static bool chunk_claim(const struct session *session, struct ring_chunk *chunk)
{
    uint32_t state = skein_chunk_load(&chunk->state);
    uint32_t kind = state & RING_CHUNK_STATE_MASK;
    bool usable = kind == RING_CHUNK_FREE ||
                  (kind == RING_CHUNK_FULL && session->geometry.mode == SKEIN_MODE_CIRCULAR);
    if (!usable || (state & RING_CHUNK_PIN))
        return false;
    uint32_t epoch = (state >> RING_CHUNK_EPOCH_SHIFT) + 1; /* 24 bits: the shift drops the carry */
    return skein_chunk_cas(&chunk->state, &state,
                           epoch << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING);
}

static struct ring_chunk *pool_claim(const struct session *session, const struct pool *pool)
{
    bool leading = pool->big || ring_big_count(&session->geometry) == 0;
    uint32_t probes = pool->count < PROBES_MAX ? pool->count : PROBES_MAX;
    for (uint32_t n = 0; n < probes; n++) {
        uint64_t ticket = skein_add64(pool->cursor, 1);
        uint32_t i = (uint32_t)(ticket % pool->count);
        if (leading && i == 0 && ticket)
            skein_add32(&session->header->wrapped_count, 1);
        struct ring_chunk *chunk = pool_chunk(session, pool, i);
        if (chunk_claim(session, chunk)) {
            SKEIN_TEST_POINT("chunk_claimed");
            data_end_raise(session, pool, i);
            return chunk;
        }
    }
    return NULL;
}

/* Oneshot: each chunk is offered once, so cursors past both ends mean that none is left. */
static void note_exhausted(struct session *session)
{
    struct pool small = pool_of(session, false), big = pool_of(session, true);
    if (session->geometry.mode == SKEIN_MODE_ONESHOT && skein_load64(small.cursor) >= small.count &&
        skein_load64(big.cursor) >= big.count)
        skein_store32(&session->exhausted, 1);
}

void chunk_retire(struct skein_lane *lane, struct lane_cold *lane_cold)
{
    struct ring_chunk *chunk = lane_cold->chunk;
    lane_cold->chunk = NULL;
    lane->write = lane->limit = lane->soft_limit = NULL;
    lane->committed = NULL;
    skein_signal_fence();
    if (!chunk)
        return;
    /* a CAS, because the agent may set PIN at any time; it changes nothing else here. */
    uint32_t state = skein_chunk_load(&chunk->state);
    while (!skein_chunk_cas(&chunk->state, &state,
                            (state & ~RING_CHUNK_STATE_MASK) | RING_CHUNK_FULL)) {
    }
    SKEIN_TEST_POINT("chunk_retired");
}

/* the ranges open now, so that the chunk decodes without those before it. */
static uint8_t *put_open_ranges(const struct skein_lane *lane, uint8_t *p, uint64_t base)
{
    uint32_t open = lane->depth < SKEIN_OPEN_MAX ? lane->depth : SKEIN_OPEN_MAX;
    for (uint32_t i = 0; i < open; i++) {
        const struct skein_open_range *range = &lane->open[i];
        bool known = (range->id ^ lane->string_epoch) <= UINT32_MAX;
        p = skein_put_leb(p, RING_RECORD_OPEN);
        p = skein_put_leb(p, base > range->start ? base - range->start : 0);
        p = skein_put_leb(p, known ? (uint32_t)range->id : 0);
    }
    return p;
}

/* fills in the claimed chunk and publishes it with the first commit. */
static void chunk_start(const struct session *session, const struct thread_cold *cold,
                        struct skein_lane *lane, struct lane_cold *lane_cold,
                        struct ring_chunk *chunk, const struct skein_view *view)
{
    uint64_t epoch = skein_chunk_load(&chunk->state) >> RING_CHUNK_EPOCH_SHIFT;
    bool named = cold->slot_session == session;
    uint64_t lost = skein_load64(&lane_cold->lost);
    lane->last = ticks_now(view);
    lane->generation = skein_generation_load(&view->generation);
    uint64_t string_epoch = skein_epoch_load(&session->header->string_epoch);
    lane->string_epoch = string_epoch << 32;
    chunk->flags = lane_cold->flags;
    chunk->sequence = lane_cold->sequence++;
    chunk->generation = lane->generation;
    chunk->base_ticks = lane->last;
    chunk->lost_before = lost;
    skein_store32(&chunk->string_epoch, (uint32_t)string_epoch);
    chunk->slot = named && cold->slot ? cold->slot_index : RING_SLOT_NONE;
    chunk->incarnation = named ? cold->incarnation : 0;
    chunk->tid = cold->tid;
    memcpy(chunk->name, cold->name, sizeof chunk->name);
    uint8_t *payload = (uint8_t *)chunk + sizeof *chunk;
    uint8_t *p = put_open_ranges(lane, payload, lane->last);
    SKEIN_TEST_POINT("chunk_filled");
    lane->commit_base = (epoch << 32) - (uint64_t)(uintptr_t)payload;
    lane->committed = &chunk->committed;
    lane->write = p;
    skein_commit_store(lane->committed, lane->commit_base + (uint64_t)(uintptr_t)p);
    skein_add64(&lane_cold->lost, (uint64_t)0 - lost);
    SKEIN_TEST_POINT("chunk_started");
}

bool chunk_next(struct session *session, struct thread_cold *cold, struct skein_lane *lane,
                struct lane_cold *lane_cold, const struct skein_view *view, size_t need)
{
    if (lane_cold->chunk)
        lane_cold->filled = ticks_now(view) - lane_cold->chunk->base_ticks < view->ticks_per_s;
    chunk_retire(lane, lane_cold);
    if (skein_load32(&session->exhausted))
        return false;
    uint32_t open = lane->depth < SKEIN_OPEN_MAX ? lane->depth : SKEIN_OPEN_MAX;
    size_t room = need + (size_t)open * OPEN_NEED;
    struct pool pools[2] = {pool_of(session, lane_cold->filled),
                            pool_of(session, !lane_cold->filled)};
    for (int i = 0; i < 2; i++) {
        struct ring_chunk *chunk = NULL;
        if (pools[i].count && room <= pools[i].bytes - sizeof *chunk)
            chunk = pool_claim(session, &pools[i]);
        if (!chunk)
            continue;
        lane_cold->chunk = chunk;
        lane->limit = (uint8_t *)chunk + pools[i].bytes;
        lane->soft_limit = lane->limit - SKEIN_MARGIN;
        chunk_start(session, cold, lane, lane_cold, chunk, view);
        return true;
    }
    note_exhausted(session);
    return false;
}

static bool pool_refers(const struct session *session, const struct pool *pool, uint32_t epoch)
{
    for (uint32_t i = 0; i < pool->count; i++) {
        const struct ring_chunk *chunk = pool_chunk(session, pool, i);
        uint32_t state = skein_chunk_load(&chunk->state);
        uint32_t kind = state & RING_CHUNK_STATE_MASK;
        if (kind == RING_CHUNK_FREE)
            continue;
        bool started =
            skein_commit_load(&chunk->committed) >> 32 == state >> RING_CHUNK_EPOCH_SHIFT;
        if (!started && kind == RING_CHUNK_FULL)
            continue;
        /* One that is just being started may yet write any epoch: assume the worst. */
        if (!started || skein_load32(&chunk->string_epoch) <= epoch)
            return true;
    }
    return false;
}

bool chunk_refers(const struct session *session, uint32_t epoch)
{
    struct pool small = pool_of(session, false), big = pool_of(session, true);
    return pool_refers(session, &small, epoch) || pool_refers(session, &big, epoch);
}
