/* SPDX-License-Identifier: Apache-2.0
 *
 * The only code of the agent that touches a live ring's chunks, tables and slots. Owns the pins:
 * each is set and cleared inside one function. Entered by the thread that cuts. Never waits: what
 * does not hold still after a few tries is left and counted.
 */
#include "ring_reader.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "skein_atomic.h"

#define PIN_TRIES  8
#define SLOT_TRIES 4

void ring_copy_init(struct ring_copy *copy, uint8_t *ring, const struct ring_geometry *geometry,
                    int fd)
{
    *copy = (struct ring_copy){.ring = ring, .geometry = geometry, .fd = fd};
}

void ring_copy_fini(struct ring_copy *copy)
{
    for (size_t i = 0; i < copy->table_count; i++)
        free(copy->tables[i].records);
    free(copy->pieces);
    free(copy->states);
    free(copy->slots);
    free(copy->arena);
    *copy = (struct ring_copy){0};
}

/* ---- places ---- */

static uint64_t chunk_offset(const struct ring_geometry *g, uint32_t index)
{
    uint32_t small = ring_small_count(g);
    return index < small ? ring_small_offset(g, index) : ring_big_offset(g, index - small);
}

uint64_t ring_chunk_bytes(const struct ring_geometry *geometry, uint32_t index)
{
    return index < ring_small_count(geometry) ? RING_SMALL_CHUNK : RING_BIG_CHUNK;
}

static struct ring_chunk *chunk_at(const struct ring_copy *copy, uint32_t index)
{
    return (struct ring_chunk *)(void *)(copy->ring + chunk_offset(copy->geometry, index));
}

/* Where the ring's memory has pages. Reading a page that was never written would make one, so a
 * survey of an idle process would cost it its whole ring. */
struct extent {
    int fd;
    int64_t data, hole;
};

static bool extent_holds(struct extent *extent, uint64_t offset)
{
    if (extent->fd < 0)
        return true;
    if ((int64_t)offset >= extent->hole) {
        extent->data = lseek(extent->fd, (off_t)offset, SEEK_DATA);
        extent->hole = extent->data < 0 ? INT64_MAX : lseek(extent->fd, extent->data, SEEK_HOLE);
        if (extent->data < 0)
            extent->data = INT64_MAX; /* no data from here on */
        if (extent->hole < 0)
            extent->hole = INT64_MAX;
    }
    return (int64_t)(offset + RING_CHUNK_HEADER_BYTES) > extent->data;
}

/* ---- pins ---- */

/* Pins the chunk, if it still has `epoch` or that is UINT32_MAX. *state is its word before. */
static enum ring_read chunk_pin(struct ring_chunk *chunk, uint32_t epoch, uint32_t *state)
{
    uint32_t word = skein_chunk_load(&chunk->state);
    for (int tries = 0; tries < PIN_TRIES; tries++) {
        uint32_t kind = word & RING_CHUNK_STATE_MASK;
        *state = word;
        if (kind == RING_CHUNK_FREE)
            return epoch == UINT32_MAX ? RING_READ_END : RING_READ_OVERRUN;
        if (kind > RING_CHUNK_FULL || (word & RING_CHUNK_PIN) != 0)
            return RING_READ_ABANDONED;
        if (epoch != UINT32_MAX && word >> RING_CHUNK_EPOCH_SHIFT != epoch)
            return RING_READ_OVERRUN;
        if (skein_chunk_cas(&chunk->state, &word, word | RING_CHUNK_PIN))
            return RING_READ_MORE;
    }
    return RING_READ_ABANDONED;
}

/* The word may have gone from WRITING to FULL meanwhile; the pin alone is ours to clear. */
static void chunk_unpin(struct ring_chunk *chunk)
{
    uint32_t word = skein_chunk_load(&chunk->state);
    for (int tries = 0; tries < PIN_TRIES && (word & RING_CHUNK_PIN) != 0; tries++)
        if (skein_chunk_cas(&chunk->state, &word, word & ~RING_CHUNK_PIN))
            return;
}

/* Where the committed bytes of a pinned chunk end, from its begin. 0: it has none, as the epochs of
 * its two words differ. */
static uint64_t chunk_end(const struct ring_chunk *chunk, uint32_t state, uint64_t bytes)
{
    uint64_t word = skein_commit_load(&chunk->committed);
    if (word >> 32 != state >> RING_CHUNK_EPOCH_SHIFT)
        return 0;
    uint64_t end = RING_CHUNK_HEADER_BYTES + (uint64_t)(uint32_t)word;
    return end < bytes ? end : bytes;
}

/* ---- segments: R-29 ---- */

static const struct ring_segment *segment_at(const struct ring_chunk *chunk, uint64_t records)
{
    const uint8_t *at = (const uint8_t *)chunk + records - RING_SEGMENT_BYTES;
    return (const struct ring_segment *)(const void *)at;
}

/* Where a segment ends whose records begin at `records`. *next: where the records of the segment
 * behind it begin; 0: it is the last. Only what lies before `limit` is committed. */
static uint64_t segment_end(const struct ring_chunk *chunk, uint64_t records, uint64_t limit,
                            uint64_t *next)
{
    uint64_t end = skein_load32(&segment_at(chunk, records)->end);
    uint64_t behind = ring_segment_behind(end) + RING_SEGMENT_BYTES;
    *next = end >= records && behind <= limit ? behind : 0;
    return *next ? end : limit;
}

static size_t pieces_max(const struct ring_copy *copy)
{
    return (size_t)ring_small_count(copy->geometry) + ring_big_count(copy->geometry) +
           RING_PIECES_MORE;
}

static int piece_add(struct ring_copy *copy, const struct ring_piece *piece)
{
    if (copy->piece_count == copy->piece_cap) {
        size_t cap = 2 * copy->piece_cap + 1, most = pieces_max(copy);
        cap = cap < most ? cap : most;
        struct ring_piece *pieces = realloc(copy->pieces, cap * sizeof *pieces);
        if (pieces == NULL)
            return SKEIN_NO_MEMORY;
        copy->pieces = pieces;
        copy->piece_cap = cap;
    }
    copy->pieces[copy->piece_count++] = *piece;
    return SKEIN_OK;
}

/* ---- survey ---- */

/* There is no room to list a segment. Its chunk counts as being written: whoever claims that later
 * may overwrite records that nobody saw. */
static void piece_leave_out(struct ring_copy *copy, const struct ring_chunk *chunk,
                            const struct ring_piece *piece)
{
    uint32_t *state = &copy->states[piece->index];
    uint64_t to = piece->bound_ticks;
    if (to == 0)
        to = piece->full ? skein_load64(&chunk->end_ticks) : UINT64_MAX;
    *state = (*state & ~RING_CHUNK_STATE_MASK) | RING_CHUNK_WRITING;
    if (!copy->left_out || piece->head.base_ticks < copy->left_from)
        copy->left_from = piece->head.base_ticks;
    copy->left_to = to > copy->left_to ? to : copy->left_to;
    copy->left_out = true;
}

/* Lists the segments of a chunk. Each begins behind the one before, so there are few. The first
 * commit of each published its head; `end` still moves, so it is not copied. */
static int segments_survey(struct ring_copy *copy, const struct ring_chunk *chunk, uint32_t index,
                           uint32_t state, uint64_t limit)
{
    uint64_t next;
    int status = SKEIN_OK;
    for (uint64_t at = RING_CHUNK_HEADER_BYTES; at != 0 && status == SKEIN_OK; at = next) {
        uint64_t end = segment_end(chunk, at, limit, &next);
        if (end == at)
            continue;
        struct ring_piece piece = {
            .index = index,
            .epoch = state >> RING_CHUNK_EPOCH_SHIFT,
            .offset = (uint32_t)at,
            .full = next != 0 || (state & RING_CHUNK_STATE_MASK) == RING_CHUNK_FULL,
            .bound_ticks = next != 0 ? segment_at(chunk, next)->base_ticks : 0,
            .committed = end - at};
        const size_t from = offsetof(struct ring_segment, flags);
        memcpy((uint8_t *)&piece.head + from, (const uint8_t *)segment_at(chunk, at) + from,
               sizeof piece.head - from);
        if (copy->piece_count < pieces_max(copy))
            status = piece_add(copy, &piece);
        else
            piece_leave_out(copy, chunk, &piece);
    }
    return status;
}

static int chunk_survey(struct ring_copy *copy, uint32_t index)
{
    struct ring_chunk *chunk = chunk_at(copy, index);
    uint32_t state = 0;
    enum ring_read read = chunk_pin(chunk, UINT32_MAX, &state);
    copy->states[index] = state;
    copy->abandoned += read == RING_READ_ABANDONED;
    if (read != RING_READ_MORE)
        return SKEIN_OK;
    uint64_t limit = chunk_end(chunk, state, ring_chunk_bytes(copy->geometry, index));
    int status = limit == 0 ? SKEIN_OK : segments_survey(copy, chunk, index, state, limit);
    chunk_unpin(chunk);
    return status;
}

/* HORIZON: loaded after the chunks' states, so that it tells of whatever those did not show. */
static uint64_t horizon_load(const struct ring_copy *copy)
{
    const struct ring_header *header = (const struct ring_header *)(const void *)copy->ring;
    return skein_horizon_load(&header->overwritten_ticks);
}

int ring_survey(struct ring_copy *copy)
{
    const struct ring_geometry *g = copy->geometry;
    uint32_t count = ring_small_count(g) + ring_big_count(g);
    if (copy->pieces == NULL) {
        copy->piece_cap = count;
        copy->pieces = calloc(count, sizeof *copy->pieces);
    }
    if (copy->states == NULL)
        copy->states = calloc(count, sizeof *copy->states);
    if (copy->pieces == NULL || copy->states == NULL)
        return SKEIN_NO_MEMORY;
    copy->piece_count = 0;
    copy->left_out = false;
    copy->left_to = 0;
    struct extent extent = {copy->fd, 0, 0};
    int status = SKEIN_OK;
    for (uint32_t i = 0; i < count && status == SKEIN_OK; i++) {
        if (i == ring_small_count(g))
            extent = (struct extent){copy->fd, 0, 0};
        if (extent_holds(&extent, chunk_offset(g, i)))
            status = chunk_survey(copy, i);
    }
    copy->horizon_surveyed = horizon_load(copy);
    return status;
}

/* ---- copies ---- */

int ring_arena_reserve(struct ring_copy *copy, size_t bytes)
{
    copy->arena = malloc(bytes > 0 ? bytes : 1);
    if (copy->arena == NULL)
        return SKEIN_NO_MEMORY;
    copy->arena_bytes = bytes;
    copy->arena_used = 0;
    return SKEIN_OK;
}

enum ring_read ring_piece_copy(struct ring_copy *copy, struct ring_piece *piece)
{
    struct ring_chunk *chunk = chunk_at(copy, piece->index);
    uint32_t state = 0;
    enum ring_read read = chunk_pin(chunk, piece->epoch, &state);
    copy->horizon_copied = horizon_load(copy);
    if (read != RING_READ_MORE) {
        copy->abandoned += read == RING_READ_ABANDONED;
        return read;
    }
    uint64_t next = 0;
    uint64_t limit = chunk_end(chunk, state, ring_chunk_bytes(copy->geometry, piece->index));
    uint64_t end =
        limit < piece->offset ? piece->offset : segment_end(chunk, piece->offset, limit, &next);
    uint64_t bytes = end - piece->offset;
    bool whole = bytes <= copy->arena_bytes - copy->arena_used;
    if (!whole)
        bytes = copy->arena_bytes - copy->arena_used;
    uint8_t *to = copy->arena + copy->arena_used;
    memcpy(to, (const uint8_t *)chunk + piece->offset, bytes);
    chunk_unpin(chunk);
    copy->arena_used += bytes;
    piece->copy = to;
    piece->committed = bytes;
    piece->full = whole && (next != 0 || (state & RING_CHUNK_STATE_MASK) == RING_CHUNK_FULL);
    return bytes > 0 ? RING_READ_MORE : RING_READ_END;
}

/* A table has no pin: when its half is given to a new epoch while we copy, the bytes are nonsense.
 * The caller finds that out afterwards, by the epoch, and drops them, so the race is one that the
 * thread sanitizer cannot know to be harmless. Volatile loads: each word is read exactly once. */
__attribute__((no_sanitize("thread"))) static void table_bytes_copy(uint8_t *to,
                                                                    const uint8_t *from, size_t n)
{
    const volatile uint64_t *words = (const volatile uint64_t *)(const volatile void *)from;
    size_t i = 0;
    for (; n - i >= sizeof(uint64_t); i += sizeof(uint64_t)) {
        uint64_t word = words[i / sizeof(uint64_t)];
        __builtin_memcpy(to + i, &word, sizeof word);
    }
    const volatile uint8_t *tail = from;
    for (; i < n; i++)
        to[i] = tail[i];
}

/* Where the copy of `epoch` goes: over a shorter one of it, or behind the others. */
static struct ring_table_copy *table_place(struct ring_copy *copy, uint32_t epoch, uint32_t bytes)
{
    for (size_t i = 0; i < copy->table_count; i++)
        if (copy->tables[i].epoch == epoch)
            return copy->tables[i].bytes < bytes ? &copy->tables[i] : NULL;
    return copy->table_count < RING_TABLE_COPIES ? &copy->tables[copy->table_count] : NULL;
}

static int table_copy(struct ring_copy *copy, int half)
{
    const struct ring_geometry *g = copy->geometry;
    const uint8_t *at = copy->ring + g->table_off[half];
    const struct ring_table *table = (const struct ring_table *)(const void *)at;
    uint64_t room = g->table_bytes - sizeof *table;
    uint64_t word = skein_table_load(&table->committed);
    uint32_t epoch = (uint32_t)(word >> 32);
    uint32_t bytes = (uint32_t)word < room ? (uint32_t)word : (uint32_t)room;
    struct ring_table_copy *to = table_place(copy, epoch, bytes);
    if (bytes == 0 || to == NULL)
        return SKEIN_OK;
    uint8_t *records = malloc(bytes);
    if (records == NULL)
        return SKEIN_NO_MEMORY;
    table_bytes_copy(records, at + sizeof *table, bytes);
    skein_reader_fence();
    if (skein_table_load(&table->committed) >> 32 != epoch) {
        free(records);
        return SKEIN_OK; /* no chunk that we copied refers to it: see docs/ring.md */
    }
    free(to->records);
    if (to == &copy->tables[copy->table_count])
        copy->table_count++;
    *to = (struct ring_table_copy){epoch, bytes, records};
    return SKEIN_OK;
}

int ring_tables_copy(struct ring_copy *copy)
{
    int status = table_copy(copy, 0);
    return status == SKEIN_OK ? table_copy(copy, 1) : status;
}

/* ---- slots ---- */

/* op_start, the rest, op_start again: equal means that the rest belongs to it. */
static void slot_operation(const struct ring_slot *slot, struct ring_slot_copy *to)
{
    for (int tries = 0; tries < SLOT_TRIES; tries++) {
        uint64_t start = skein_slot_load64(&slot->op_start);
        to->op_type = skein_load32(&slot->op_type);
        to->op_detail = (int64_t)skein_load64((const uint64_t *)(const void *)&slot->op_detail);
        to->op_epoch = skein_load64(&slot->op_epoch);
        skein_reader_fence();
        to->op_start = start;
        if (skein_load64(&slot->op_start) == start)
            return;
    }
    to->op_start = 0;
}

static void slot_copy(const struct ring_slot *slot, struct ring_slot_copy *to)
{
    to->state = skein_slot_load32(&slot->state);
    to->incarnation = skein_load32(&slot->incarnation);
    to->tid = skein_load32(&slot->tid);
    slot_operation(slot, to);
    for (size_t i = 0; i < sizeof slot->name; i += sizeof(uint64_t)) {
        const void *at = slot->name + i;
        uint64_t word = skein_load64((const uint64_t *)at);
        memcpy(to->name + i, &word, sizeof word);
    }
    to->name[sizeof to->name - 1] = '\0';
}

int ring_slots_copy(struct ring_copy *copy)
{
    const struct ring_geometry *g = copy->geometry;
    const struct ring_header *header = (const struct ring_header *)(const void *)copy->ring;
    copy->wrapped = skein_load32(&header->wrapped_count);
    if (copy->slots == NULL)
        copy->slots = calloc(g->slots, sizeof *copy->slots);
    if (copy->slots == NULL)
        return SKEIN_NO_MEMORY;
    struct extent extent = {copy->fd, 0, 0};
    for (uint32_t i = 0; i < g->slots; i++) {
        uint64_t offset = g->slots_off + (uint64_t)i * sizeof(struct ring_slot);
        if (extent_holds(&extent, offset))
            slot_copy((const struct ring_slot *)(const void *)(copy->ring + offset),
                      &copy->slots[i]);
    }
    return SKEIN_OK;
}
