/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of the rolling areas: claims one for a lane, writes its start, retires it.
 * Entered by the thread that owns the lane while it holds the lane, also in signal handlers. Never
 * waits for a chunk, never takes one that another thread writes or the agent reads.
 */
#include <string.h>

#include "writer_int.h"

#define PROBES_MAX  64 /* of one claim in one pool: bounds a claim's time; the cursor goes on */
#define CLAIM_TRIES 8  /* where others are faster */
#define OLD_SHARE   16 /* of the time that the ring reaches back */
#define OPEN_NEED   16 /* bytes of one open range: type, delta, id */

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

/* What a claim of a chunk would take: the state word that was seen, and the time of the last record
 * that would go; 0: none. */
struct candidate {
    struct ring_chunk *chunk;
    uint32_t index, state;
    uint64_t end;
};

/* a chunk that is free or, in circular mode, full and not pinned. */
static bool chunk_look(const struct session *session, struct ring_chunk *chunk,
                       struct candidate *out)
{
    uint32_t state = skein_chunk_load(&chunk->state);
    uint32_t kind = state & RING_CHUNK_STATE_MASK;
    if (state & RING_CHUNK_PIN)
        return false;
    out->chunk = chunk;
    out->state = state;
    out->end = 0;
    if (kind == RING_CHUNK_FREE)
        return true;
    if (kind != RING_CHUNK_FULL || session->geometry.mode != SKEIN_MODE_CIRCULAR)
        return false;
    out->end = skein_load64(&chunk->end_ticks);
    return skein_chunk_load(&chunk->state) == state; /* else it may be another one's */
}

/* R-28, then R-7: one CAS. */
static bool chunk_claim(const struct session *session, const struct candidate *candidate)
{
    uint32_t state = candidate->state;
    uint32_t epoch = (state >> RING_CHUNK_EPOCH_SHIFT) + 1; /* 24 bits: the shift drops the carry */
    skein_horizon_raise(&session->header->overwritten_ticks, candidate->end);
    SKEIN_TEST_POINT("horizon_raised");
    return skein_chunk_cas(&candidate->chunk->state, &state,
                           epoch << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_WRITING);
}

/* A chunk whose records end before this may go: hardly younger than what is gone already. */
static uint64_t old_enough(const struct session *session, uint64_t now)
{
    uint64_t horizon = skein_horizon_load(&session->header->overwritten_ticks);
    return horizon && now > horizon ? horizon + (now - horizon) / OLD_SHARE : horizon;
}

/* The first chunk behind the cursor that is old, else the oldest of the next ones: where threads
 * end in another order than they began, the next one may hold records of just now, while others
 * hold none but old ones. Returns how many were passed, up to it. */
static uint32_t pool_look(const struct session *session, const struct pool *pool, uint64_t at,
                          uint64_t old, struct candidate *best)
{
    uint32_t probes = pool->count < PROBES_MAX ? pool->count : PROBES_MAX, passed = probes;
    best->chunk = NULL;
    for (uint32_t n = 0; n < probes; n++) {
        struct candidate next;
        next.index = (uint32_t)((at + n) % pool->count);
        if (!chunk_look(session, pool_chunk(session, pool, next.index), &next) ||
            (best->chunk && next.end >= best->end))
            continue;
        *best = next;
        passed = n + 1;
        if (next.end <= old)
            break;
    }
    return passed;
}

/* What was passed is younger than what was taken, and for the next lap. Of several that claim at
 * once one moves the cursor. */
static void cursor_move(const struct session *session, const struct pool *pool, uint64_t at,
                        uint32_t passed)
{
    bool leading = pool->big || ring_big_count(&session->geometry) == 0;
    if (!skein_cursor_cas(pool->cursor, at, at + passed) || !leading)
        return;
    if ((at + passed - 1) / pool->count > (at ? (at - 1) / pool->count : 0))
        skein_add32(&session->header->wrapped_count, 1);
}

static struct ring_chunk *pool_claim(const struct session *session, const struct pool *pool,
                                     uint64_t now)
{
    for (int turn = 0; turn < CLAIM_TRIES; turn++) {
        struct candidate best;
        uint64_t at = skein_load64(pool->cursor);
        uint32_t passed = pool_look(session, pool, at, old_enough(session, now), &best);
        bool claimed = best.chunk && chunk_claim(session, &best);
        if (claimed || !best.chunk)
            cursor_move(session, pool, at, passed);
        if (claimed) {
            SKEIN_TEST_POINT("chunk_claimed");
            data_end_raise(session, pool, best.index);
            return best.chunk;
        }
        if (!best.chunk)
            break;
    }
    return NULL;
}

/* Oneshot: the cursors pass only what is taken, so cursors past both ends mean that none is left.
 */
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
    bool used = chunk && lane->write > (uint8_t *)chunk + sizeof *chunk;
    lane->write = lane->limit = lane->soft_limit = NULL;
    lane->committed = NULL;
    skein_signal_fence();
    if (!chunk)
        return;
    skein_store64(&chunk->end_ticks, used ? lane->last : 0);
    SKEIN_TEST_POINT("end_written");
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
    uint64_t now = ticks_now(view);
    if (lane_cold->chunk)
        lane_cold->filled = now - lane_cold->chunk->base_ticks < view->ticks_per_s;
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
            chunk = pool_claim(session, &pools[i], now);
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
