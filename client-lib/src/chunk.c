/* SPDX-License-Identifier: Apache-2.0
 *
 * Chunks of the rolling areas: claims one for a lane or takes over one of a thread that has ended,
 * writes a segment's start, retires it. Owns the shelf of chunks that ended
 * threads have left. Entered by the thread that owns the lane while it holds the lane, also in
 * signal handlers. Never waits for a chunk, never claims one that another thread writes or the
 * agent reads.
 */
#include <string.h>

#include "writer_int.h"

#define PROBES_MAX   64  /* of one claim in one pool: bounds a claim's time; the cursor goes on */
#define CLAIM_TRIES  8   /* where others are faster */
#define OLD_SHARE    16  /* of the time that the ring reaches back */
#define OPEN_NEED    16  /* bytes of one open range: type, delta, id */
#define SHELF_SHARE  16  /* of the chunks: so many may lie on the shelf */
#define SEGMENT_ROOM 256 /* bytes of records without which a segment is not worth its header */

struct pool {
    uint64_t *cursor;
    uint32_t all, count, bytes; /* count: of all those that have memory */
    bool big;
};

/* What a lane asks a chunk for. */
struct wish {
    struct session *session;
    struct thread_cold *cold;
    struct skein_lane *lane;
    struct lane_cold *lane_cold;
    const struct skein_view *view;
    uint64_t now;
    size_t room; /* bytes of records */
    bool either; /* small or big, whichever is free or older */
};

/* `word`: what the agent says of memory; 0: nothing, then all chunks have it. R-35. */
static struct pool pool_of(const struct session *session, bool big, uint64_t word)
{
    const struct ring_geometry *g = &session->geometry;
    uint32_t backed = (uint32_t)(big ? word >> 32 : word);
    struct pool pool = {
        .cursor = big ? &session->header->big_cursor : &session->header->small_cursor,
        .all = big ? ring_big_count(g) : ring_small_count(g),
        .bytes = big ? RING_BIG_CHUNK : RING_SMALL_CHUNK,
        .big = big,
    };
    pool.count = word == 0 || backed > pool.all ? pool.all : backed;
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
    uint32_t area = i / (pool->all / session->geometry.areas);
    uint64_t end = (uint64_t)((uint8_t *)pool_chunk(session, pool, i) - session->base) +
                   pool->bytes - session->geometry.area_off[area];
    if (skein_load64(&session->header->rolling_data_end[area]) < end)
        skein_store64(&session->header->rolling_data_end[area],
                      end); /* a hint: races may lower it */
}

/* What a claim of a chunk would take: what was seen of it, and the time of the last record that
 * would go; 0: none. */
struct candidate {
    const struct pool *pool;
    struct ring_chunk *chunk;
    uint64_t claim;         /* state and ticket */
    uint32_t index, passed; /* passed: chunks from the cursor, `at`, up to it */
    uint64_t at, end;
};

static uint32_t claim_state(uint64_t claim)
{
    const struct ring_chunk seen = {.claim = claim};
    return seen.state;
}

/* a chunk that is free or, in circular mode, full and not pinned. */
static bool chunk_look(const struct session *session, struct ring_chunk *chunk,
                       struct candidate *out)
{
    uint64_t claim = skein_claim_load(&chunk->claim);
    uint32_t state = claim_state(claim), kind = state & RING_CHUNK_STATE_MASK;
    if (state & RING_CHUNK_PIN)
        return false;
    out->chunk = chunk;
    out->claim = claim;
    out->end = 0;
    if (kind == RING_CHUNK_FREE)
        return true;
    if (kind != RING_CHUNK_FULL || session->geometry.mode != SKEIN_MODE_CIRCULAR)
        return false;
    out->end = skein_load64(&chunk->end_ticks);
    return skein_chunk_load(&chunk->state) == state; /* else it may be another one's */
}

/* R-28, then R-7: one CAS, which leaves the lane's ticket with the chunk. */
static bool chunk_claim(struct session *session, struct lane_cold *lane_cold,
                        const struct candidate *candidate)
{
    uint32_t epoch = (claim_state(candidate->claim) >> RING_CHUNK_EPOCH_SHIFT) + 1;
    const struct ring_chunk claimed = {.state = epoch << RING_CHUNK_EPOCH_SHIFT |
                                                RING_CHUNK_WRITING, /* drops the carry */
                                       .ticket = lane_cold->ticket};
    skein_horizon_raise(&session->header->overwritten_ticks, candidate->end);
    SKEIN_TEST_POINT("horizon_raised");
    skein_reach_raise(&session->reach[candidate->pool->big], candidate->index + 1);
    lane_cold->claimed = candidate->chunk;
    skein_signal_fence();
    return skein_claim_cas(&candidate->chunk->claim, candidate->claim, claimed.claim);
}

/* A chunk whose records end before this may go: hardly younger than what is gone already. */
static uint64_t old_enough(const struct session *session, uint64_t now)
{
    uint64_t horizon = skein_horizon_load(&session->header->overwritten_ticks);
    return horizon && now > horizon ? horizon + (now - horizon) / OLD_SHARE : horizon;
}

static bool is_oneshot(const struct session *session)
{
    return session->geometry.mode == SKEIN_MODE_ONESHOT;
}

/* Where the cursor stands. A round ends with the last chunk that has memory by then, so that what
 * gets it meanwhile comes next, and the order of the chunks is that of their times. */
static uint32_t cursor_place(struct session *session, const struct pool *pool, uint64_t at)
{
    uint64_t *lap = &session->lap[pool->big];
    uint64_t begun = skein_load64(lap), passed = at - begun;
    bool leading = pool->big || ring_big_count(&session->geometry) == 0;
    if (is_oneshot(session))
        return (uint32_t)(at % pool->count); /* one round, and no chunk of it comes again */
    if (passed > INT64_MAX)
        return 0; /* another thread has just begun a round */
    if (passed >= pool->count && skein_cursor_cas(lap, begun, at - passed % pool->count) && leading)
        skein_add32(&session->header->wrapped_count, 1);
    return (uint32_t)(passed % pool->count);
}

/* The first chunk behind the cursor that is old, else the oldest of the next ones: where threads
 * end in another order than they began, the next one may hold records of just now, while others
 * hold none but old ones. */
static void pool_look(struct session *session, const struct pool *pool, uint64_t old,
                      struct candidate *best)
{
    uint32_t probes = pool->count < PROBES_MAX ? pool->count : PROBES_MAX;
    *best = (struct candidate){
        .pool = pool, .at = skein_load64(pool->cursor), .passed = probes, .end = UINT64_MAX};
    uint32_t first = cursor_place(session, pool, best->at);
    for (uint32_t n = 0; n < probes; n++) {
        struct candidate next = *best;
        next.index = (first + n) % pool->count;
        next.passed = n + 1;
        if (!chunk_look(session, pool_chunk(session, pool, next.index), &next) ||
            (best->chunk != NULL && next.end >= best->end))
            continue;
        *best = next;
        if (next.end <= old)
            break;
    }
}

/* What was passed is younger than what was taken, and for the next lap. Of several that claim at
 * once one moves the cursor. */
static void cursor_move(const struct candidate *candidate)
{
    (void)skein_cursor_cas(candidate->pool->cursor, candidate->at,
                           candidate->at + candidate->passed);
}

/* The best of the pools: one that is free, else of the pool that has the oldest. */
static bool pools_look(const struct wish *wish, const struct pool *pools, unsigned count,
                       struct candidate *best)
{
    uint64_t old = old_enough(wish->session, wish->now);
    best->chunk = NULL;
    for (unsigned i = 0; i < count; i++) {
        struct candidate next;
        if (!pools[i].count || wish->room > pools[i].bytes - sizeof(struct ring_chunk))
            continue;
        pool_look(wish->session, &pools[i], old, &next);
        if (next.chunk == NULL && (pools[i].count == pools[i].all || !is_oneshot(wish->session)))
            cursor_move(&next); /* but where chunks behind these will have memory, and are free */
        if (next.chunk != NULL && (best->chunk == NULL || next.end < best->end))
            *best = next;
    }
    return best->chunk != NULL;
}

/* Of what is being taken or given nothing is left to be done. */
static void lane_settle(struct lane_cold *lane_cold)
{
    lane_cold->claimed = NULL;
    if (lane_cold->place != NULL)
        skein_share_put(lane_cold->place, 0);
    skein_signal_fence();
    lane_cold->place = NULL;
}

/* A chunk that the lane has claimed, or that it holds on the shelf, is its own from here on. */
static void lane_hold(struct lane_cold *lane_cold, struct ring_chunk *chunk)
{
    lane_cold->epoch = skein_chunk_load(&chunk->state) >> RING_CHUNK_EPOCH_SHIFT;
    skein_signal_fence();
    lane_cold->chunk = chunk;
    skein_signal_fence();
    lane_settle(lane_cold);
}

static bool pools_claim(const struct wish *wish, const struct pool *pools, unsigned count)
{
    struct lane_cold *lane_cold = wish->lane_cold;
    struct candidate best;
    lane_cold->ticket = skein_add32(&wish->session->tickets, 1);
    for (int turn = 0; turn < CLAIM_TRIES && pools_look(wish, pools, count, &best); turn++) {
        if (!chunk_claim(wish->session, lane_cold, &best))
            continue;
        SKEIN_TEST_POINT("chunk_claimed");
        lane_cold->segment = &best.chunk->first;
        wish->lane->limit = (uint8_t *)best.chunk + best.pool->bytes;
        lane_hold(lane_cold, best.chunk);
        cursor_move(&best);
        data_end_raise(wish->session, best.pool, best.index);
        return true;
    }
    lane_settle(lane_cold);
    return false;
}

/* Oneshot: cursors pass only chunks that are taken, so past both ends none is left. */
static void exhausted_note(struct session *session)
{
    struct pool small = pool_of(session, false, 0), big = pool_of(session, true, 0);
    if (is_oneshot(session) && skein_load64(small.cursor) >= small.all &&
        skein_load64(big.cursor) >= big.all)
        skein_store32(&session->exhausted, 1);
}

/* ---- letting go ---- */

/* No more records. R-28: the times of a chunk never fall, over all threads that write to it. */
static void lane_close(struct skein_lane *lane, const struct lane_cold *lane_cold)
{
    struct ring_chunk *chunk = lane_cold->chunk;
    if (chunk != NULL && lane->write > (uint8_t *)(lane_cold->segment + 1)) {
        skein_store64(&chunk->end_ticks, lane->last);
        SKEIN_TEST_POINT("end_written");
    }
    skein_signal_fence();
    lane->write = lane->limit = lane->soft_limit = NULL;
    lane->committed = NULL;
    skein_signal_fence();
}

/* a CAS, because the agent may set PIN at any time; it changes nothing else here. Under
 * another epoch the chunk is another's: this was done before a handler jumped away. */
static void chunk_fill(struct ring_chunk *chunk, uint32_t epoch)
{
    uint32_t state = skein_chunk_load(&chunk->state);
    while (state >> RING_CHUNK_EPOCH_SHIFT == epoch &&
           !skein_chunk_cas(&chunk->state, &state,
                            (state & ~RING_CHUNK_STATE_MASK) | RING_CHUNK_FULL)) {
    }
    SKEIN_TEST_POINT("chunk_retired");
}

static void chunk_retire(struct skein_lane *lane, struct lane_cold *lane_cold)
{
    lane_close(lane, lane_cold);
    if (lane_cold->chunk != NULL)
        chunk_fill(lane_cold->chunk, lane_cold->epoch);
    lane_cold->chunk = NULL;
}

/* ---- the shelf ---- */

/* A chunk without an owner. In one word: where it lies / 8, bit 31 whether it is a big one; 16 bits
 * where its last segment begins / 8, and 16 where that ends, which is never 0. Private: a program
 * that damages its own ring does not lead the tracer astray. */
struct shared {
    struct ring_chunk *chunk;
    struct ring_segment *last, *next;
    uint8_t *end, *limit;
    ptrdiff_t room; /* of the next segment's records */
};

static uint64_t shared_word(const struct session *session, const struct skein_lane *lane,
                            const struct lane_cold *lane_cold)
{
    uint8_t *chunk = (uint8_t *)lane_cold->chunk;
    uint64_t big = lane->limit - chunk == RING_BIG_CHUNK;
    uint64_t last = (uint64_t)((uint8_t *)lane_cold->segment - chunk);
    return (uint64_t)(chunk - session->base) / 8 | big << 31 | last / 8 << 32 |
           (uint64_t)(lane->write - chunk) << 48;
}

static struct shared shared_of(const struct session *session, uint64_t word)
{
    uint8_t *chunk = session->base + (word & INT32_MAX) * 8;
    uint8_t *next = chunk + ring_segment_behind(word >> 48);
    uint8_t *limit = chunk + (word & UINT64_C(1) << 31 ? RING_BIG_CHUNK : RING_SMALL_CHUNK);
    return (struct shared){.chunk = (struct ring_chunk *)(void *)chunk,
                           .last =
                               (struct ring_segment *)(void *)(chunk + (word >> 32 & 0xffff) * 8),
                           .next = (struct ring_segment *)(void *)next,
                           .end = chunk + (word >> 48),
                           .limit = limit,
                           .room = limit - (next + RING_SEGMENT_BYTES)};
}

/* What stands in a place while the lane gives or takes what is there. */
static uint64_t place_mark(const struct lane_cold *lane_cold)
{
    return UINT64_C(1) << 32 | lane_cold->ticket;
}

static bool place_has_chunk(uint64_t word)
{
    return word >> 48 != 0;
}

/* From here on nobody else gives or takes there. False: somebody was faster. */
static bool place_hold(struct session *session, struct lane_cold *lane_cold, uint64_t *place,
                       uint64_t seen, uint64_t word)
{
    lane_cold->ticket = skein_add32(&session->tickets, 1);
    lane_cold->word = word;
    skein_signal_fence();
    lane_cold->place = place;
    skein_signal_fence();
    if (skein_share_hold(place, seen, place_mark(lane_cold))) {
        SKEIN_TEST_POINT("place_held");
        return true;
    }
    lane_cold->place = NULL;
    return false;
}

static uint32_t shelf_places(const struct session *session)
{
    uint32_t places =
        (ring_small_count(&session->geometry) + ring_big_count(&session->geometry)) / SHELF_SHARE;
    return places == 0 ? 1 : places < SHELF_MAX ? places : SHELF_MAX;
}

/* The lane's chunk is the shelf's afterwards. */
static bool shelf_give(struct session *session, struct lane_cold *lane_cold, uint64_t word)
{
    uint32_t places = shelf_places(session), most = skein_load32(&session->backed) / 2;
    for (uint32_t i = 0; i < places && i <= most; i++) {
        uint64_t *place = &session->shelf[i];
        if (skein_share_load(place) || !place_hold(session, lane_cold, place, 0, word))
            continue;
        lane_cold->chunk = NULL;
        skein_signal_fence();
        skein_share_put(place, word);
        skein_signal_fence();
        lane_cold->place = NULL;
        SKEIN_TEST_POINT("chunk_given");
        return true;
    }
    return false;
}

/* What is there is the lane's own afterwards, and has the room that is wished for. */
static bool place_take(const struct wish *wish, uint64_t *place, struct shared *out)
{
    uint64_t word = skein_share_load(place);
    if (!place_has_chunk(word))
        return false;
    *out = shared_of(wish->session, word);
    if (out->room < (ptrdiff_t)wish->room ||
        !place_hold(wish->session, wish->lane_cold, place, word, word))
        return false;
    wish->lane_cold->segment = out->next;
    wish->lane->limit = out->limit;
    lane_hold(wish->lane_cold, out->chunk);
    SKEIN_TEST_POINT("chunk_taken");
    return true;
}

/* what threads left before most of the ring was written would stay there for ever where none
 * begins any more; it goes as chunks of its time do. One place each time, in turns. */
static void shelf_thin(const struct wish *wish)
{
    struct session *session = wish->session;
    uint64_t *place = &session->shelf[skein_add32(&session->shelf_turn, 1) % shelf_places(session)];
    uint64_t word = skein_share_load(place);
    if (session->geometry.mode != SKEIN_MODE_CIRCULAR || !place_has_chunk(word))
        return;
    struct ring_chunk *chunk = shared_of(session, word).chunk;
    if (skein_load64(&chunk->end_ticks) > old_enough(session, wish->now) ||
        !place_hold(session, wish->lane_cold, place, word, word))
        return;
    lane_hold(wish->lane_cold, chunk);
    chunk_retire(wish->lane, wish->lane_cold);
}

void chunk_leave(struct session *session, struct skein_lane *lane, struct lane_cold *lane_cold)
{
    uint64_t word = lane_cold->chunk != NULL && lane->committed != NULL
                        ? shared_word(session, lane, lane_cold)
                        : 0;
    lane_close(lane, lane_cold);
    if (word && shared_of(session, word).room >= SEGMENT_ROOM &&
        shelf_give(session, lane_cold, word))
        return;
    chunk_retire(lane, lane_cold);
}

void chunk_recover(const struct session *session, struct skein_lane *lane,
                   struct lane_cold *lane_cold)
{
    struct ring_chunk *chunk = lane_cold->claimed;
    if (lane_cold->place != NULL && skein_share_load(lane_cold->place) != place_mark(lane_cold))
        lane_cold->place = NULL;
    if (lane_cold->place != NULL)
        chunk = shared_of(session, lane_cold->word).chunk;
    else if (chunk != NULL && skein_load32(&chunk->ticket) != lane_cold->ticket)
        chunk = NULL;
    if (chunk != NULL && lane_cold->chunk == NULL)
        lane_hold(lane_cold, chunk);
    else
        lane_settle(lane_cold);
    chunk_retire(lane, lane_cold);
}

/* ---- beginning ---- */

/* the ranges open now, so that the chunk decodes without those before it. */
static uint8_t *open_ranges_put(const struct skein_lane *lane, uint8_t *p, uint64_t base)
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

/* later than all that the chunk holds, so that segments are in the order of their times. */
static uint64_t segment_base(struct ring_chunk *chunk, const struct shared *shared, uint64_t now)
{
    uint64_t end = shared != NULL ? skein_load64(&chunk->end_ticks) : 0;
    if (shared == NULL)
        skein_store64(&chunk->end_ticks, 0);
    return now > end ? now : end + 1;
}

/* fills in the segment that the lane has, and publishes it with its first commit. */
static void segment_start(const struct wish *wish, const struct shared *shared)
{
    const struct thread_cold *cold = wish->cold;
    struct skein_lane *lane = wish->lane;
    struct lane_cold *lane_cold = wish->lane_cold;
    struct ring_chunk *chunk = lane_cold->chunk;
    struct ring_segment *segment = lane_cold->segment;
    bool named = cold->slot_session == wish->session;
    uint64_t lost = skein_load64(&lane_cold->lost);
    lane->last = segment_base(chunk, shared, ticks_now(wish->view));
    lane->generation = skein_generation_load(&wish->view->generation);
    uint64_t string_epoch = skein_epoch_load(&wish->session->header->string_epoch);
    lane->string_epoch = string_epoch << 32;
    skein_store32(&segment->end, 0);
    segment->flags = lane_cold->flags;
    segment->sequence = lane_cold->sequence++;
    segment->generation = lane->generation;
    segment->base_ticks = lane->last;
    segment->lost_before = lost;
    skein_store32(&segment->string_epoch, (uint32_t)string_epoch);
    segment->slot = named && cold->slot != NULL ? cold->slot_index : RING_SLOT_NONE;
    segment->incarnation = named ? cold->incarnation : 0;
    segment->tid = cold->tid;
    memcpy(segment->name, cold->name, sizeof segment->name);
    uint8_t *p = open_ranges_put(lane, (uint8_t *)(segment + 1), lane->last);
    SKEIN_TEST_POINT("chunk_filled");
    if (shared != NULL) {
        skein_store32(&shared->last->end, (uint32_t)(shared->end - (uint8_t *)chunk));
        SKEIN_TEST_POINT("segment_ended");
    }
    lane->commit_base = ((uint64_t)lane_cold->epoch << 32) - (uint64_t)(uintptr_t)(chunk + 1);
    lane->soft_limit = lane->limit - SKEIN_MARGIN;
    lane->committed = &chunk->committed;
    lane->write = p;
    skein_commit_store(lane->committed, lane->commit_base + (uint64_t)(uintptr_t)p);
    skein_add64(&lane_cold->lost, (uint64_t)0 - lost);
    SKEIN_TEST_POINT("chunk_started");
}

/* Goes on in a chunk of the shelf, in turns, so that none stays for long. */
static bool wish_share(const struct wish *wish)
{
    struct session *session = wish->session;
    uint32_t places = shelf_places(session), start = skein_load32(&session->shelf_hint);
    for (uint32_t n = 0; n < places; n++) {
        uint32_t i = (start + n) % places;
        struct shared shared;
        if (!place_take(wish, &session->shelf[i], &shared))
            continue;
        skein_store32(&session->shelf_hint, i + 1);
        segment_start(wish, &shared);
        return true;
    }
    return false;
}

static bool wish_claim(const struct wish *wish, const struct pool *pools, unsigned count)
{
    if (!pools_claim(wish, pools, count))
        return false;
    segment_start(wish, NULL);
    return true;
}

/* threads that come and go have the whole ring, slow ones that stay have its small chunks. */
static bool wish_fulfil(const struct wish *wish)
{
    struct session *session = wish->session;
    bool filled = wish->lane_cold->filled;
    uint64_t word = skein_backed_load(&wish->view->backed_chunks);
    const struct pool pools[2] = {pool_of(session, filled, word), pool_of(session, !filled, word)};
    skein_store32(&session->backed, pools[0].count + pools[1].count);
    if (!wish->lane_cold->sequence && wish_share(wish))
        return true;
    if (skein_load32(&session->exhausted))
        return wish_share(wish);
    shelf_thin(wish);
    if (wish->either ? wish_claim(wish, pools, 2)
                     : wish_claim(wish, pools, 1) || wish_claim(wish, pools + 1, 1))
        return true;
    if (wish_share(wish) || wish_claim(wish, pools, 2))
        return true;
    exhausted_note(session);
    return false;
}

/* Whether it would fill a chunk like the one it has within a second. */
static bool lane_is_fast(const struct skein_lane *lane, const struct lane_cold *lane_cold,
                         const struct skein_view *view, uint64_t now)
{
    const struct ring_segment *segment = lane_cold->segment;
    uint64_t took = now > segment->base_ticks ? now - segment->base_ticks : 0;
    uint64_t wrote = (uint64_t)(lane->write - (const uint8_t *)(segment + 1));
    return took * (uint64_t)(lane->limit - (const uint8_t *)(lane_cold->chunk + 1)) <
           wrote * view->ticks_per_s;
}

bool chunk_next(struct session *session, struct thread_cold *cold, struct skein_lane *lane,
                struct lane_cold *lane_cold, const struct skein_view *view, size_t need)
{
    uint32_t open = lane->depth < SKEIN_OPEN_MAX ? lane->depth : SKEIN_OPEN_MAX;
    struct wish wish = {.session = session,
                        .cold = cold,
                        .lane = lane,
                        .lane_cold = lane_cold,
                        .view = view,
                        .now = ticks_now(view),
                        .room = need + (size_t)open * OPEN_NEED};
    if (lane_cold->chunk != NULL && lane->committed != NULL) {
        lane_cold->filled = lane_is_fast(lane, lane_cold, view, wish.now);
        lane_cold->settled = lane_cold->segment == &lane_cold->chunk->first;
    }
    wish.either = !lane_cold->filled && !lane_cold->settled;
    chunk_retire(lane, lane_cold);
    return wish_fulfil(&wish);
}

/* Looks at chunks that were ever claimed: the others hold nothing, and may have no memory. */
static bool pool_refers(const struct session *session, const struct pool *pool, uint32_t epoch)
{
    uint32_t count = skein_reach_load(&session->reach[pool->big]);
    for (uint32_t i = 0; i < count; i++) {
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
        if (!started || skein_load32(&chunk->first.string_epoch) <= epoch)
            return true;
    }
    return false;
}

bool chunk_refers(const struct session *session, uint32_t epoch)
{
    struct pool small = pool_of(session, false, 0), big = pool_of(session, true, 0);
    return pool_refers(session, &small, epoch) || pool_refers(session, &big, epoch);
}
