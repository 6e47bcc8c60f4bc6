/* SPDX-License-Identifier: Apache-2.0
 *
 * How much of a ring has memory; see ring_backing.h. Never touches a page that is not made.
 */
#include "ring_backing.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/falloc.h>
#include <stdio.h>

#include "skein/skein.h"
#include "skein_atomic.h"

#define WHOLE_BYTES  (UINT64_C(1) << 20) /* a ring up to that has all its memory at once */
#define START_SMALL  64                  /* a thread's first chunk is small: so many threads */
#define START_BIG    4
#define PLENTY_SMALL 256 /* where there is plenty */
#define PLENTY_BIG   32  /* 10 ms of a writer that fills 100 MB/s, for an agent that comes late */
#define ONCE_BYTES   (UINT64_C(4) << 20) /* of one that fills once; of a larger one */
#define ONCE_BIG     96
#define AHEAD        4   /* times of what was claimed since the last look, */
#define AHEAD_MS     200 /* or as much as would be in so long */
#define HURRY        8
#define START_TABLE  (UINT64_C(32) << 10)
#define CLAIM_TRIES  8
#define PAGE_BYTES   UINT64_C(4096)

static uint64_t fewer(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* ---- why ---- */

static void size_put(char *text, size_t bytes, uint64_t size)
{
    uint64_t kib = size / 1024;
    if (kib < 1024)
        snprintf(text, bytes, "%" PRIu64 " KiB", kib);
    else
        snprintf(text, bytes, "%" PRIu64 ".%" PRIu64 " MiB", kib / 1024, kib % 1024 * 10 / 1024);
}

void ring_choice_text(const struct ring_choice *choice, char *text, size_t bytes)
{
    static const char *const held[] = {
        [RING_BOUND_NONE] = "",
        [RING_BOUND_CGROUP] = "",
        [RING_BOUND_TOTAL] = "it gets no more memory: ring.total_max_bytes is reached",
        [RING_BOUND_MEMORY] = "it gets no more memory: what the agent may use is short",
        [RING_BOUND_USER] = "it gets no more memory: its user's share is used up"};
    char size[96] = "", limit[32];
    size_put(limit, sizeof limit, choice->limit_bytes);
    if (choice->size == RING_BOUND_CGROUP)
        snprintf(size, sizeof size, "smaller than wished: its cgroup may use %s", limit);
    else if (choice->size == RING_BOUND_TOTAL)
        snprintf(size, sizeof size, "smaller than wished: ring.total_max_bytes is near");
    else if (choice->size == RING_BOUND_USER)
        snprintf(size, sizeof size, "smaller than wished: its user's share is nearly used up");
    else if (choice->size == RING_BOUND_MEMORY)
        snprintf(size, sizeof size, "smaller than wished: what the agent may use is short");
    const char *more = held[choice->held];
    snprintf(text, bytes, "%s%s%s", size, size[0] != '\0' && more[0] != '\0' ? "; " : "", more);
}

struct ring_backing ring_backing_whole(const struct ring_geometry *geometry)
{
    return (struct ring_backing){.small = ring_small_count(geometry),
                                 .big = ring_big_count(geometry),
                                 .table = geometry->table_bytes};
}

struct ring_backing ring_backing_start(const struct ring_geometry *geometry, bool plenty)
{
    const struct ring_backing whole = ring_backing_whole(geometry);
    const bool once =
        geometry->mode == SKEIN_MODE_ONESHOT; /* what finds no room is lost for good */
    if (geometry->total <= (once ? ONCE_BYTES : WHOLE_BYTES))
        return whole;
    if (once)
        return (struct ring_backing){.small = (uint32_t)fewer(PLENTY_SMALL, whole.small),
                                     .big = (uint32_t)fewer(ONCE_BIG, whole.big),
                                     .table = fewer(START_TABLE, whole.table)};
    return (struct ring_backing){
        .small = (uint32_t)fewer(plenty ? PLENTY_SMALL : START_SMALL, whole.small),
        .big = (uint32_t)fewer(plenty ? PLENTY_BIG : START_BIG, whole.big),
        .table = fewer(START_TABLE, whole.table)};
}

uint64_t ring_backing_bytes(const struct ring_geometry *geometry,
                            const struct ring_backing *backing)
{
    return geometry->table_off[0] + 2 * backing->table +
           (uint64_t)backing->small * RING_SMALL_CHUNK + (uint64_t)backing->big * RING_BIG_CHUNK;
}

struct ring_backing ring_backing_taken(const struct ring_geometry *geometry,
                                       const uint32_t claimed[2], uint64_t table, uint64_t used)
{
    const struct ring_backing start = ring_backing_start(geometry, false),
                              whole = ring_backing_whole(geometry);
    const uint64_t pages = (fewer(table, whole.table) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    const struct ring_backing taken = {
        .small = (uint32_t)fewer(greater(claimed[0], start.small), whole.small),
        .big = (uint32_t)fewer(greater(claimed[1], start.big), whole.big),
        .table = fewer(greater(pages, start.table), whole.table)};
    uint64_t bytes = ring_backing_bytes(geometry, &taken);
    return bytes <= used + ring_backing_bytes(geometry, &start) ? taken : start;
}

/* ---- how much ---- */

static uint64_t chunks_wish(uint64_t have, uint64_t all, uint64_t claimed, uint64_t fresh,
                            uint64_t ahead)
{
    uint64_t ever = fewer(claimed, all), lately = fewer(fresh, all);
    uint64_t want = greater(2 * ever, fewer(have, all) * (lately > have / 4 ? 2 : 1));
    want = greater(want, ever + ahead * lately);
    return want <= have ? have : fewer(want, all);
}

/* At most `step` bytes more of this kind, and one unit at least where more is wanted. */
static uint64_t step_bound(uint64_t have, uint64_t want, uint64_t unit, uint64_t *step)
{
    uint64_t more = fewer(want - have, greater(*step / unit, 1));
    *step -= fewer(*step, more * unit);
    return have + more;
}

struct ring_backing ring_backing_wish(const struct ring_geometry *geometry,
                                      const struct ring_backing *have, const struct ring_use *use,
                                      uint64_t step_bytes)
{
    const struct ring_backing all = ring_backing_whole(geometry);
    struct ring_backing want = *have;
    uint64_t ahead = greater(AHEAD, AHEAD_MS / greater(use->since_ms, 1));
    uint64_t table = use->table > have->table / 2 ? fewer(2 * have->table, all.table) : have->table;
    want.table = step_bound(have->table, greater(table, have->table), 2, &step_bytes); /* halves */
    want.small = (uint32_t)step_bound(
        have->small, chunks_wish(have->small, all.small, use->small, use->small_new, ahead),
        RING_SMALL_CHUNK, &step_bytes);
    want.big = (uint32_t)step_bound(have->big,
                                    chunks_wish(have->big, all.big, use->big, use->big_new, ahead),
                                    RING_BIG_CHUNK, &step_bytes);
    return want;
}

static bool chunks_hurry(uint64_t have, uint64_t all, uint64_t claimed, uint64_t fresh)
{
    uint64_t left = have - fewer(claimed, have);
    return have < all && fresh > left / HURRY;
}

bool ring_backing_hurries(const struct ring_geometry *geometry, const struct ring_backing *have,
                          const struct ring_use *use)
{
    const struct ring_backing all = ring_backing_whole(geometry);
    return chunks_hurry(have->small, all.small, use->small, use->small_new) ||
           chunks_hurry(have->big, all.big, use->big, use->big_new);
}

/* ---- pages ---- */

static int range_make(int fd, uint64_t from, uint64_t to)
{
    int failed = 0;
    if (from >= to)
        return SKEIN_OK;
    do {
        failed = fallocate(fd, 0, (off_t)from, (off_t)(to - from));
    } while (failed != 0 && errno == EINTR);
    return failed == 0 ? SKEIN_OK : SKEIN_NO_MEMORY;
}

/* Chunks of a kind lie in a row in each area. */
static int chunks_make(int fd, const struct ring_geometry *g, bool big, uint32_t from, uint32_t to)
{
    uint32_t in_area = big ? g->big_per_area : g->small_per_area;
    uint64_t bytes = big ? RING_BIG_CHUNK : RING_SMALL_CHUNK;
    int status = SKEIN_OK;
    while (from < to && status == SKEIN_OK) {
        uint32_t end = (uint32_t)fewer(to, (uint64_t)(from / in_area + 1) * in_area);
        uint64_t at = big ? ring_big_offset(g, from) : ring_small_offset(g, from);
        status = range_make(fd, at, at + (end - from) * bytes);
        from = end;
    }
    return status;
}

int ring_backing_make(int fd, const struct ring_geometry *geometry, const struct ring_backing *have,
                      const struct ring_backing *want)
{
    static const struct ring_backing none;
    int status = have == NULL ? range_make(fd, 0, geometry->table_off[0]) : SKEIN_OK;
    have = have == NULL ? &none : have;
    for (int half = 0; half < 2 && status == SKEIN_OK; half++)
        status = range_make(fd, geometry->table_off[half] + have->table,
                            geometry->table_off[half] + want->table);
    if (status == SKEIN_OK)
        status = chunks_make(fd, geometry, false, have->small, want->small);
    if (status == SKEIN_OK)
        status = chunks_make(fd, geometry, true, have->big, want->big);
    return status;
}

/* ---- what the process is told ---- */

void ring_backing_store(struct process_page *page, const struct ring_backing *backing)
{
    skein_backed_store(&page->backed_table, backing->table);
    skein_backed_store(&page->backed_chunks, (uint64_t)backing->big << 32 | backing->small);
}

void ring_backing_load(const struct ring_geometry *geometry, const struct process_page *page,
                       struct ring_backing *out)
{
    uint64_t word = skein_backed_load(&page->backed_chunks);
    *out = ring_backing_whole(geometry);
    if (word == 0)
        return;
    out->small = (uint32_t)fewer(out->small, (uint32_t)word);
    out->big = (uint32_t)fewer(out->big, word >> 32);
    out->table = fewer(out->table, skein_backed_load(&page->backed_table));
}

/* ---- giving back: R-36 ---- */

static struct ring_chunk *big_chunk(uint8_t *ring, const struct ring_geometry *g, uint32_t i)
{
    return (struct ring_chunk *)(void *)(ring + ring_big_offset(g, i));
}

/* A claim, by all that a reader sees of it: the horizon is raised, then the epoch. */
static bool chunk_take(struct ring_header *header, struct ring_chunk *chunk)
{
    uint32_t state = skein_chunk_load(&chunk->state);
    for (int tries = 0; tries < CLAIM_TRIES; tries++) {
        uint32_t kind = state & RING_CHUNK_STATE_MASK, taken = state | RING_CHUNK_PIN;
        if (kind == RING_CHUNK_WRITING || (state & RING_CHUNK_PIN) != 0)
            return false;
        if (kind != RING_CHUNK_FREE) {
            uint32_t epoch = (state >> RING_CHUNK_EPOCH_SHIFT) + 1;
            skein_horizon_raise(&header->overwritten_ticks, skein_load64(&chunk->end_ticks));
            taken = epoch << RING_CHUNK_EPOCH_SHIFT | RING_CHUNK_PIN | RING_CHUNK_FREE;
        }
        if (skein_chunk_cas(&chunk->state, &state, taken))
            return true;
    }
    return false;
}

uint64_t ring_backing_return(int fd, uint8_t *ring, const struct ring_geometry *geometry,
                             uint32_t from, uint32_t to)
{
    struct ring_header *header = (struct ring_header *)(void *)ring;
    uint64_t given = 0;
    for (uint32_t i = from; i < to; i++) {
        if (!chunk_take(header, big_chunk(ring, geometry, i)))
            continue;
        /* The pages between those of the two heads; the state must stay. */
        uint64_t at = ring_big_offset(geometry, i) + RING_CHUNK_HEADER_BYTES;
        uint64_t begin = (at + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
        uint64_t end = (ring_big_offset(geometry, i) + RING_BIG_CHUNK) & ~(PAGE_BYTES - 1);
        if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)begin,
                      (off_t)(end - begin)) == 0)
            given += end - begin;
    }
    return given;
}

void ring_backing_release(uint8_t *ring, const struct ring_geometry *geometry, uint32_t from,
                          uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
        uint32_t *word = &big_chunk(ring, geometry, i)->state, state = skein_chunk_load(word);
        for (int tries = 0;
             tries < CLAIM_TRIES && (state & RING_CHUNK_STATE_MASK) == RING_CHUNK_FREE &&
             (state & RING_CHUNK_PIN) != 0;
             tries++)
            if (skein_chunk_cas(word, &state, state & ~RING_CHUNK_PIN))
                break;
    }
}
