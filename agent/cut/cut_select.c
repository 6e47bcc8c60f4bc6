/* SPDX-License-Identifier: Apache-2.0
 *
 * Which chunks a cut takes: sorts the survey into the streams of its threads, bounds each chunk's
 * time, leaves what was taken or lies outside the window, stops at the size limit, copies oldest
 * first. Entered by the thread that cuts; touches the ring through ring_reader alone.
 */
#include <stdlib.h>
#include <string.h>

#include "cut_int.h"

static int piece_compare(const void *left, const void *right)
{
    const struct cut_piece *a = left, *b = right;
    int order = stream_compare(&a->key, &b->key);
    if (order != 0)
        return order;
    if (a->ring->head.sequence != b->ring->head.sequence)
        return a->ring->head.sequence < b->ring->head.sequence ? -1 : 1;
    if (a->ring->index != b->ring->index)
        return a->ring->index < b->ring->index ? -1 : 1;
    return a->ring->offset < b->ring->offset ? -1 : a->ring->offset > b->ring->offset;
}

static bool same_stream(const struct cut_work *work, size_t i, size_t j)
{
    return i < work->piece_count && j < work->piece_count &&
           stream_compare(&work->pieces[i].key, &work->pieces[j].key) == 0;
}

/* A segment ends at the latest where its thread began the next one, or where the next owner of its
 * chunk did. Without either its end is not known: its thread may have gone on since we looked. */
static void ends_find(struct cut_work *work)
{
    for (size_t i = 0; i < work->piece_count; i++) {
        struct cut_piece *piece = &work->pieces[i];
        bool last = !same_stream(work, i, i + 1);
        piece->last = last;
        piece->end_ticks = last ? UINT64_MAX : work->pieces[i + 1].ring->head.base_ticks;
        if (piece->ring->bound_ticks != 0 && piece->ring->bound_ticks < piece->end_ticks)
            piece->end_ticks = piece->ring->bound_ticks;
    }
}

/* The segments of a chunk are taken in their order, so one mark tells of all of them. */
static void skips_find(struct cut_work *work)
{
    for (size_t i = 0; i < work->piece_count && work->marks != NULL; i++) {
        struct cut_piece *piece = &work->pieces[i];
        const struct chunk_mark *mark = &work->marks->chunks[piece->ring->index];
        if (mark->epoch == piece->ring->epoch && mark->taken > piece->ring->offset)
            piece->skip = mark->taken - piece->ring->offset;
        if (piece->skip > piece->ring->committed)
            piece->skip = (uint32_t)piece->ring->committed;
        piece->restated = work->request->restate && piece->last && piece->skip > 0 &&
                          piece->ring->committed <= piece->skip;
    }
}

/* Oldest first. */
static int order_compare(const void *left, const void *right, void *context)
{
    const size_t *a = left, *b = right;
    const struct cut_piece *pieces = context;
    uint64_t base_a = pieces[*a].ring->head.base_ticks, base_b = pieces[*b].ring->head.base_ticks;
    if (base_a != base_b)
        return base_a < base_b ? -1 : 1;
    return *a < *b ? -1 : *a > *b;
}

static int order_find(struct cut_work *work)
{
    work->order = calloc(work->piece_count + 1, sizeof *work->order);
    if (work->order == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < work->piece_count; i++)
        work->order[i] = i;
    qsort_r(work->order, work->piece_count, sizeof *work->order, order_compare, work->pieces);
    return SKEIN_OK;
}

int cut_arrange(struct cut_work *work)
{
    struct ring_copy *copy = &work->copy;
    work->piece_count = copy->piece_count;
    work->pieces = calloc(work->piece_count + 1, sizeof *work->pieces);
    if (work->pieces == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < copy->piece_count; i++) {
        struct ring_piece *ring = &copy->pieces[i];
        work->pieces[i] =
            (struct cut_piece){.ring = ring,
                               .key = {ring->head.slot, ring->head.incarnation, ring->head.tid,
                                       (ring->head.flags & RING_SEGMENT_SIGNAL) != 0}};
    }
    qsort(work->pieces, work->piece_count, sizeof *work->pieces, piece_compare);
    ends_find(work);
    skips_find(work);
    return order_find(work);
}

/* ---- choosing ---- */

/* Whether it is new and reaches the window. What an earlier cut has not taken is wanted however
 * old: it may be of a later generation than that cut's and yet older than its clock. */
static bool select_wanted(const struct cut_work *work, const struct cut_piece *piece)
{
    const struct ring_piece *ring = piece->ring;
    if (ring->head.generation > work->generation)
        return false;
    if (piece->skip > 0 && ring->committed <= piece->skip && !piece->restated)
        return false;
    return ring->head.base_ticks <= work->to_ticks && piece->end_ticks >= work->keep_ticks;
}

void cut_choose(struct cut_work *work)
{
    uint64_t max = work->request->max_bytes;
    if (max == 0 || max > CUT_BYTES_MAX)
        max = CUT_BYTES_MAX;
    uint64_t used = 0;
    size_t chosen = 0;
    bool closed = false;
    for (size_t i = 0; i < work->piece_count; i++) {
        struct cut_piece *piece = &work->pieces[work->order[i]];
        if (!select_wanted(work, piece))
            continue;
        uint64_t bytes =
            piece->ring->committed > piece->skip ? piece->ring->committed - piece->skip : 0;
        /* One chunk always goes, however small the limit, so that `more` comes to an end. */
        closed = closed || (used > 0 && bytes > max - (used < max ? used : max)) ||
                 chosen == CUT_PIECES_MAX;
        piece->fate = closed ? CUT_WAITING : CUT_CHOSEN;
        chosen += !closed;
        used += closed ? 0 : bytes;
        work->result->more = work->result->more || (closed && work->marks != NULL);
    }
    work->chosen_bytes = used;
}

int cut_copy(struct cut_work *work)
{
    size_t bytes = 0;
    for (size_t i = 0; i < work->piece_count; i++) {
        const struct cut_piece *piece = &work->pieces[i];
        if (piece->fate == CUT_CHOSEN) /* one that is being written may have grown to its end */
            bytes += piece->ring->full
                         ? piece->ring->committed
                         : ring_chunk_bytes(&work->process->geometry, piece->ring->index) -
                               piece->ring->offset;
    }
    int status = ring_arena_reserve(&work->copy, bytes);
    for (size_t i = 0; status == SKEIN_OK && i < work->piece_count; i++) {
        struct cut_piece *piece = &work->pieces[work->order[i]];
        if (piece->fate != CUT_CHOSEN)
            continue;
        enum ring_read read = ring_piece_copy(&work->copy, piece->ring);
        if (read == RING_READ_MORE && (piece->ring->committed > piece->skip || piece->restated))
            piece->fate = CUT_COPIED;
        else
            piece->fate = read == RING_READ_OVERRUN ? CUT_OVERRUN : CUT_LEFT;
    }
    return status;
}
