/* SPDX-License-Identifier: Apache-2.0
 *
 * What a cut does not hold, placed in time: chunks overwritten before it, records that threads
 * counted as lost, bytes that do not decode. Entered by the thread that cuts. Says nothing twice
 * for the same marks, and nothing that lies wholly outside the asked window.
 */
#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "cut_int.h"
#include "ring_loss.h"

/* ---- telling ---- */

static void gap_add(struct cut_work *work, uint8_t reason, uint64_t from_ticks, uint64_t to_ticks)
{
    struct cut_result *result = work->result;
    if (!array_grow(result->gaps, result->gap_count + 1, &work->gap_cap)) {
        work->status = SKEIN_NO_MEMORY;
        return;
    }
    result->gaps[result->gap_count++] =
        (struct cut_gap){clock_snapshot_realtime(&work->begin, &work->end, from_ticks),
                         clock_snapshot_realtime(&work->begin, &work->end, to_ticks), reason};
}

void cut_loss_add(struct cut_work *work, uint32_t thread, enum partition_loss_reason reason,
                  uint64_t events, uint64_t from_ticks, uint64_t to_ticks)
{
    if (to_ticks < from_ticks)
        from_ticks = to_ticks;
    if (events > RING_LOST_MAX)
        events = RING_LOST_MAX;
    uint64_t to_window = work->to_ticks < work->end.ticks ? work->to_ticks : work->end.ticks;
    if (to_ticks < work->from_ticks || from_ticks > to_window || to_window < work->start_ticks)
        return;
    uint64_t first = work->start_ticks > work->from_ticks ? work->start_ticks : work->from_ticks;
    uint64_t from = from_ticks > first ? from_ticks : first;
    uint64_t to = to_ticks < to_window ? to_ticks : to_window;
    from = from < to ? from : to;
    const struct partition_loss loss = {thread, (uint8_t)reason, events, from, to};
    partition_writer_loss(work->writer, &loss);
    work->result->lost[reason] += events;
    work->lost_known_total += events;
    if (reason != PARTITION_LOSS_NAME || events == 0) /* those events only lack a text */
        gap_add(work, (uint8_t)reason, from, to);
}

static int gap_compare(const void *left, const void *right)
{
    const struct cut_gap *a = left, *b = right;
    if (a->reason != b->reason)
        return a->reason < b->reason ? -1 : 1;
    if (a->from_ns != b->from_ns)
        return a->from_ns < b->from_ns ? -1 : 1;
    return a->to_ns < b->to_ns ? -1 : a->to_ns > b->to_ns;
}

/* Many threads miss the same time: overlapping gaps of one reason become one. */
void cut_gaps_merge(struct cut_result *result)
{
    if (result->gap_count == 0)
        return;
    qsort(result->gaps, result->gap_count, sizeof *result->gaps, gap_compare);
    size_t n = 0;
    for (size_t i = 1; i < result->gap_count; i++) {
        const struct cut_gap *next = &result->gaps[i];
        struct cut_gap *gap = &result->gaps[n];
        if (next->reason == gap->reason && next->from_ns <= gap->to_ns)
            gap->to_ns = next->to_ns > gap->to_ns ? next->to_ns : gap->to_ns;
        else
            result->gaps[++n] = *next;
    }
    result->gap_count = n + 1;
}

/* The writer's index of the thread; UINT32_MAX, the process, beyond CUT_THREADS_MAX. */
static int64_t thread_known(struct cut_work *work, const struct stream_key *key)
{
    return work->thread_count < CUT_THREADS_MAX ? cut_thread(work, key) : UINT32_MAX;
}

void cut_loss_piece(struct cut_work *work, const struct cut_piece *piece,
                    enum partition_loss_reason reason, uint64_t events, uint64_t from_ticks,
                    uint64_t to_ticks)
{
    int64_t thread = thread_known(work, &piece->key);
    if (thread >= 0)
        cut_loss_add(work, (uint32_t)thread, reason, events, from_ticks, to_ticks);
}

/* ---- holes in a stream ---- */

/* The chunk before in its thread's row, if it is still in the ring. */
static const struct cut_piece *piece_before(const struct cut_work *work, size_t i)
{
    if (i == 0 || stream_compare(&work->pieces[i - 1].key, &work->pieces[i].key) != 0)
        return NULL;
    return &work->pieces[i - 1];
}

/* Whether records are missing before a chunk. *from: when the first of them may have been. */
static bool hole_before(const struct cut_work *work, size_t i, uint64_t *from)
{
    const struct cut_piece *piece = &work->pieces[i], *before = piece_before(work, i);
    uint64_t sequence = piece->ring->head.sequence;
    const struct stream_mark *mark = cut_marks_stream(work->marks, &piece->key);
    if (sequence == 0)
        return false;
    if (before != NULL && (mark == NULL || before->ring->head.sequence >= mark->sequence)) {
        *from = before->fate == CUT_TAKEN ? before->last_ticks : before->ring->head.base_ticks;
        return before->ring->head.sequence + 1 != sequence;
    }
    /* What went before the last cut looked was told by that cut, or waits. The window clips it. */
    *from = work->marks != NULL ? work->marks->looked_ticks : 0;
    if (mark == NULL)
        return true;
    *from = mark->ticks > *from ? mark->ticks : *from;
    return mark->sequence + 1 != sequence || !mark->complete;
}

/* Whether the window reaches beyond what earlier cuts by the marks have covered. It compares ns as
 * they were asked for: one time may be a few ticks apart in two cuts. */
static bool is_new(const struct cut_work *work)
{
    return work->marks == NULL || work->request->to_ns > work->marks->covered_ns;
}

/* Tells of a hole up to the horizon: nothing later was overwritten. */
static void hole_tell(struct cut_work *work, const struct cut_piece *piece, uint64_t from,
                      uint64_t to, uint64_t horizon)
{
    to = to < horizon ? to : horizon;
    if (from <= to && is_new(work))
        cut_loss_piece(work, piece, PARTITION_LOSS_OVERWRITTEN, 0, from, to);
}

static void stream_holes_find(struct cut_work *work)
{
    for (size_t i = 0; i < work->piece_count; i++) {
        const struct cut_piece *piece = &work->pieces[i];
        uint64_t base = piece->ring->head.base_ticks, from = 0;
        if (piece->fate == CUT_OVERRUN)
            hole_tell(work, piece, piece->skip > 0 ? work->from_ticks : base, piece->end_ticks,
                      work->copy.horizon_copied);
        bool behind = piece->fate == CUT_LEFT && base > work->to_ticks; /* the window */
        if ((piece->fate != CUT_TAKEN && !behind) || piece->skip > 0)
            continue;
        if (hole_before(work, i, &from))
            hole_tell(work, piece, from, base, work->copy.horizon_surveyed);
        if (piece->ring->head.lost_before > 0 && !behind) {
            const struct cut_piece *before = piece_before(work, i);
            from = before != NULL && before->fate == CUT_TAKEN ? before->last_ticks : base;
            cut_loss_note(work, piece, piece->ring->head.lost_before, from, base);
        }
    }
}

/* ---- what no thread can be named for ---- */

/* Whether a chunk held records that neither the cut before nor this one saw. Either an owner came
 * and went between the two, or the owner that the cut before saw went on writing. */
static bool chunk_is_unseen(const struct cut_work *work, uint32_t i)
{
    const struct chunk_mark *mark = &work->marks->chunks[i];
    uint32_t then = work->marks->states[i], now = work->copy.states[i];
    uint32_t epoch = then >> RING_CHUNK_EPOCH_SHIFT;
    uint32_t claims = (now >> RING_CHUNK_EPOCH_SHIFT) - epoch; /* 24 bits, the carry falls off */
    bool writing = (then & RING_CHUNK_STATE_MASK) == RING_CHUNK_WRITING;
    uint64_t seen = mark->taken > 0 && mark->epoch == epoch ? mark->last_ticks : 0;
    if ((claims & 0xffffff) == 1 && writing)
        return work->copy.horizon_surveyed >= seen; /* equal: perhaps two records of one tick */
    return (claims & 0xffffff) > 1;
}

static bool is_unseen(const struct cut_work *work)
{
    if (work->marks == NULL || work->marks->states == NULL)
        return true;
    for (uint32_t i = 0; i < work->marks->chunk_count; i++)
        if (chunk_is_unseen(work, i))
            return true;
    return false;
}

/* Tells what was gone when a cut looked, as far as the window reaches. to 0: nothing was. */
static void gone_tell(struct cut_work *work, uint64_t from, uint64_t to)
{
    from = from > work->from_ticks ? from : work->from_ticks;
    if (to != 0 && to >= from && to >= work->start_ticks && is_new(work))
        cut_loss_add(work, UINT32_MAX, PARTITION_LOSS_OVERWRITTEN, 0, from, to);
}

/* Notes the same for the next cut: this one's window may end before it. */
static void gone_note(struct cut_work *work, uint64_t from, uint64_t to)
{
    if (from > to || to == 0)
        return;
    bool first = work->gone_to_ticks == 0;
    work->gone_from_ticks = first || from < work->gone_from_ticks ? from : work->gone_from_ticks;
    work->gone_to_ticks = to > work->gone_to_ticks ? to : work->gone_to_ticks;
}

/* The horizon may lie behind the clock that was read: that part is the next cut's. */
static uint64_t horizon_known(const struct cut_work *work)
{
    uint64_t horizon = work->copy.horizon_surveyed;
    return horizon <= work->decoder.ticks_max ? horizon : work->end.ticks; /* a hostile one */
}

/* docs/verdict.md: what is later than the horizon is there, what is older may not be. The last
 * record at the horizon itself is gone for certain, so a gap up to it is never empty. With marks
 * the gap begins where the cut before looked: that one took what is older, or let it wait. */
static void horizon_tell(struct cut_work *work)
{
    const struct cut_marks *marks = work->marks;
    uint64_t looked = marks != NULL ? marks->looked_ticks : 0;
    uint64_t from = work->from_ticks > looked ? work->from_ticks : looked;
    uint64_t horizon = horizon_known(work);
    if (marks != NULL) /* from covered_ticks on: a look's window begins before what was told */
        gone_tell(work,
                  marks->gone_from_ticks > marks->covered_ticks ? marks->gone_from_ticks
                                                                : marks->covered_ticks,
                  marks->gone_to_ticks);
    if (!is_unseen(work))
        return;
    gone_tell(work, from, horizon);
    gone_note(work, from, horizon);
}

static int index_compare(const void *key, const void *element)
{
    uint32_t index = *(const uint32_t *)key;
    const struct ring_piece *piece = element;
    return index < piece->index ? -1 : index > piece->index;
}

/* Tells of what the cut before left to this one and what is gone now. */
static void waiting_tell(struct cut_work *work)
{
    const struct cut_marks *marks = work->marks;
    for (size_t i = 0; marks != NULL && i < marks->waiting_count; i++) {
        const struct waiting_mark *waiting = &marks->waiting[i];
        const struct ring_piece *piece =
            bsearch(&waiting->index, work->copy.pieces, work->copy.piece_count,
                    sizeof *work->copy.pieces, index_compare);
        if (piece != NULL && piece->epoch == waiting->epoch)
            continue;
        const struct cut_piece gone = {.key = waiting->key};
        uint64_t horizon = horizon_known(work);
        hole_tell(work, &gone, waiting->from_ticks, waiting->end_ticks, horizon);
        gone_note(work, waiting->from_ticks,
                  waiting->end_ticks < horizon ? waiting->end_ticks : horizon);
    }
}

/* Tells of segments that the survey had no room for: nobody knows whose they are. */
static void left_out_tell(struct cut_work *work)
{
    const struct ring_copy *copy = &work->copy;
    if (!copy->left_out)
        return;
    uint64_t to = copy->left_to < work->end.ticks ? copy->left_to : work->end.ticks;
    cut_loss_add(work, UINT32_MAX, PARTITION_LOSS_SIZE, 0, copy->left_from, to);
    gone_note(work, copy->left_from > work->to_ticks ? copy->left_from : work->to_ticks, to);
}

/* ---- what the writers counted ---- */

/* Takes only what lies wholly in this cut's part of the window; the buckets count the rest. */
void cut_loss_note(struct cut_work *work, const struct cut_piece *piece, uint64_t records,
                   uint64_t from_ticks, uint64_t to_ticks)
{
    enum ring_loss kind = piece->key.signal ? RING_LOSS_SIGNAL : RING_LOSS_FULL;
    int64_t thread = thread_known(work, &piece->key);
    if (thread < 0 || from_ticks < work->from_ticks || to_ticks > work->to_ticks ||
        records > RING_LOST_MAX)
        return;
    const struct partition_loss loss = {(uint32_t)thread, (uint8_t)ring_loss_reason(kind), records,
                                        from_ticks, to_ticks};
    partition_writer_loss(work->writer, &loss);
    work->told[kind] += records;
    work->lost_known_total += records;
}

/* The buckets give the sum. What threads have placed (cut_loss_note) is in the partition already;
 * the rest is told as the process's. */
static void kind_tell(struct cut_work *work, enum ring_loss kind)
{
    struct ring_losses losses;
    uint64_t to = work->to_ticks < work->end.ticks ? work->to_ticks : work->end.ticks;
    if (ring_losses_read(work->process->ring, &work->process->geometry, kind, work->from_ticks, to,
                         &losses) != SKEIN_OK) {
        work->status = SKEIN_NO_MEMORY;
        return;
    }
    uint64_t told = work->told[kind];
    for (size_t i = 0; i < losses.run_count; i++) {
        const struct ring_loss_run *run = &losses.runs[i];
        uint64_t known = told < run->records ? told : run->records;
        told -= known;
        cut_loss_add(work, UINT32_MAX, ring_loss_reason(kind), run->records - known,
                     run->from_ticks, run->to_ticks);
        work->result->lost[ring_loss_reason(kind)] += known;
    }
    ring_losses_fini(&losses);
}

static void counters_find(struct cut_work *work)
{
    for (int kind = 0; kind < RING_LOSS_KINDS; kind++)
        kind_tell(work, (enum ring_loss)kind);
    uint64_t unplaced =
        ring_losses_unplaced(work->process->ring, &work->process->geometry, work->end.ticks);
    if (unplaced > work->from_ticks)
        cut_loss_add(work, UINT32_MAX, PARTITION_LOSS_RING_FULL, 0, work->from_ticks, unplaced);
}

void cut_losses_find(struct cut_work *work)
{
    stream_holes_find(work);
    horizon_tell(work);
    waiting_tell(work);
    left_out_tell(work);
    if (work->copy.abandoned > 0)
        cut_loss_add(work, UINT32_MAX, PARTITION_LOSS_CORRUPT, 0, work->from_ticks,
                     work->end.ticks);
    for (size_t i = 0; i < work->piece_count; i++)
        if (work->pieces[i].fate == CUT_WAITING && work->marks == NULL)
            cut_loss_piece(work, &work->pieces[i], PARTITION_LOSS_SIZE, 0,
                           work->pieces[i].ring->head.base_ticks, work->pieces[i].end_ticks);
    if (!work->result->more)
        counters_find(work);
}
