/* SPDX-License-Identifier: Apache-2.0
 *
 * What one cut remembers for the next: how far each chunk was taken, and what was there. Entered by
 * the thread that cuts, and by whoever makes and frees them while no cut runs. Holds copies only,
 * nothing of the ring.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "array.h"
#include "cut_int.h"
#include "skein_atomic.h"

int stream_compare(const struct stream_key *a, const struct stream_key *b)
{
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->incarnation != b->incarnation)
        return a->incarnation < b->incarnation ? -1 : 1;
    if (a->tid != b->tid)
        return a->tid < b->tid ? -1 : 1;
    return (int)a->signal - (int)b->signal;
}

/* ---- marks ---- */

/* A ring is known by its memfd; without one, by its process and size. */
static void ring_identify(const struct process *p, uint64_t *device, uint64_t *inode)
{
    struct stat st;
    *device = *inode = 0;
    if (p->ring_fd >= 0 && fstat(p->ring_fd, &st) == 0) {
        *device = st.st_dev;
        *inode = st.st_ino;
    }
}

static int marks_begin(struct cut_marks *marks, const struct process *p)
{
    free(marks->chunks);
    free(marks->streams);
    free(marks->waiting);
    free(marks->states);
    *marks = (struct cut_marks){.uid = p->uid,
                                .total = p->geometry.total,
                                .mode = p->geometry.mode,
                                .chunk_count =
                                    ring_small_count(&p->geometry) + ring_big_count(&p->geometry)};
    ring_identify(p, &marks->device, &marks->inode);
    marks->chunks = calloc(marks->chunk_count, sizeof *marks->chunks);
    return marks->chunks == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
}

int cut_marks_new(const struct process *p, struct cut_marks **out)
{
    struct cut_marks *marks = calloc(1, sizeof *marks);
    if (marks == NULL)
        return SKEIN_NO_MEMORY;
    int status = marks_begin(marks, p);
    if (status != SKEIN_OK) {
        free(marks);
        return status;
    }
    *out = marks;
    return SKEIN_OK;
}

void cut_marks_free(struct cut_marks **pointer)
{
    struct cut_marks *marks = *pointer;
    *pointer = NULL;
    if (marks == NULL)
        return;
    free(marks->chunks);
    free(marks->streams);
    free(marks->waiting);
    free(marks->states);
    free(marks);
}

bool cut_marks_are_of(const struct cut_marks *marks, const struct process *p)
{
    uint64_t device, inode;
    ring_identify(p, &device, &inode);
    return marks->chunks != NULL && process_uid_equal(&marks->uid, &p->uid) &&
           marks->device == device && marks->inode == inode && marks->total == p->geometry.total &&
           marks->mode == p->geometry.mode;
}

int cut_marks_fit(struct cut_marks *marks, const struct process *p)
{
    return cut_marks_are_of(marks, p) ? SKEIN_OK : marks_begin(marks, p);
}

const struct stream_mark *cut_marks_stream(const struct cut_marks *marks,
                                           const struct stream_key *key)
{
    size_t at, count = marks == NULL ? 0 : marks->stream_count;
    array_find(at, 0, count, stream_compare(&marks->streams[at].key, key) < 0);
    return at < count && stream_compare(&marks->streams[at].key, key) == 0 ? &marks->streams[at]
                                                                           : NULL;
}

/* The streams of this cut, each with its last chunk that was taken, sorted as the pieces are.
 * Returns their number; to NULL: only that. */
static size_t streams_of_cut(const struct cut_work *work, struct stream_mark *to)
{
    size_t count = 0;
    const struct stream_key *last = NULL;
    for (size_t i = 0; i < work->piece_count; i++) {
        const struct cut_piece *piece = &work->pieces[i];
        if (piece->fate != CUT_TAKEN || piece->taken == 0)
            continue;
        count += last == NULL || stream_compare(last, &piece->key) != 0;
        last = &piece->key;
        if (to == NULL)
            continue;
        to[count - 1] = (struct stream_mark){piece->key, piece->ring->head.sequence,
                                             piece->last_ticks, piece->exhausted};
    }
    return count;
}

/* Merges two sorted rows of streams. Of a stream in both, the fresh mark is kept. */
static size_t streams_merge(const struct stream_mark *old, size_t old_count,
                            const struct stream_mark *fresh, size_t fresh_count,
                            struct stream_mark *to)
{
    size_t i = 0, j = 0, n = 0;
    while (i < old_count || j < fresh_count) {
        int order = i == old_count     ? 1
                    : j == fresh_count ? -1
                                       : stream_compare(&old[i].key, &fresh[j].key);
        if (order == 0)
            i++;
        to[n++] = order < 0 ? old[i++] : fresh[j++];
    }
    return n;
}

static int ticks_compare(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Bounds the streams of a long capture whose threads come and go. Beyond CUT_STREAMS_MAX only the
 * newest three quarters of that stay, so that this is rare. SKEIN_OK, SKEIN_NO_MEMORY. */
static int streams_bound(struct stream_mark *streams, size_t *count)
{
    if (*count <= CUT_STREAMS_MAX)
        return SKEIN_OK;
    uint64_t *ticks = calloc(*count, sizeof *ticks);
    if (ticks == NULL)
        return SKEIN_NO_MEMORY;
    for (size_t i = 0; i < *count; i++)
        ticks[i] = streams[i].ticks;
    qsort(ticks, *count, sizeof *ticks, ticks_compare);
    size_t go = *count - CUT_STREAMS_MAX / 4 * 3, as_old = 0, n = 0;
    const uint64_t oldest = ticks[go]; /* of those that stay */
    while (as_old < go && ticks[go - as_old - 1] == oldest)
        as_old++; /* so many go all the same */
    free(ticks);
    for (size_t i = 0; i < *count; i++) {
        bool goes = streams[i].ticks < oldest || (streams[i].ticks == oldest && as_old > 0);
        as_old -= goes && streams[i].ticks == oldest;
        if (!goes)
            streams[n++] = streams[i];
    }
    *count = n;
    return SKEIN_OK;
}

/* Also marks chunks that brought nothing of the window, so that the next cut skips them. */
static void chunks_advance(struct cut_work *work)
{
    for (size_t i = 0; i < work->piece_count; i++) {
        const struct cut_piece *piece = &work->pieces[i];
        bool looked_at = piece->fate == CUT_LEFT && piece->skip == 0 && piece->taken > 0;
        struct chunk_mark *mark = &work->marks->chunks[piece->ring->index];
        uint32_t taken = piece->ring->offset + piece->taken;
        if ((piece->fate == CUT_TAKEN || looked_at) &&
            (mark->epoch != piece->ring->epoch || mark->taken < taken))
            *mark = (struct chunk_mark){piece->ring->epoch, taken, piece->last_ticks};
    }
}

/* Adds the streams of this cut. SKEIN_OK; SKEIN_NO_MEMORY: the marks are unchanged. */
static int streams_advance(const struct cut_work *work, struct cut_marks *marks)
{
    size_t fresh_count = streams_of_cut(work, NULL), count = marks->stream_count + fresh_count;
    struct stream_mark *fresh = calloc(fresh_count + 1, sizeof *fresh);
    struct stream_mark *streams = calloc(count + 1, sizeof *streams);
    int status = fresh == NULL || streams == NULL ? SKEIN_NO_MEMORY : SKEIN_OK;
    if (status == SKEIN_OK) {
        streams_of_cut(work, fresh);
        count = streams_merge(marks->streams, marks->stream_count, fresh, fresh_count, streams);
        status = streams_bound(streams, &count);
    }
    free(fresh);
    if (status != SKEIN_OK) {
        free(streams);
        return status;
    }
    struct stream_mark *shrunk = realloc(streams, (count + 1) * sizeof *streams);
    free(marks->streams);
    marks->streams = shrunk != NULL ? shrunk : streams;
    marks->stream_count = count;
    return SKEIN_OK;
}

int cut_marks_advance(struct cut_work *work)
{
    struct cut_marks *marks = work->marks;
    int status = marks != NULL ? streams_advance(work, marks) : SKEIN_OK;
    if (marks == NULL || status != SKEIN_OK)
        return status;
    chunks_advance(work);
    marks->generation = work->generation;
    return SKEIN_OK;
}

/* Whether a later generation began inside the piece: the rest is the next cut's. */
static bool is_in_part(const struct cut_piece *piece)
{
    return piece->fate == CUT_TAKEN && piece->taken < piece->ring->committed;
}

/* Whether a later cut has to take it: it was there, not decoded, and not older than the window. */
static bool is_waiting(const struct cut_work *work, const struct cut_piece *piece)
{
    return piece->fate == CUT_WAITING || piece->fate == CUT_OVERRUN || is_in_part(piece) ||
           (piece->fate == CUT_LEFT && piece->skip == 0 && piece->taken == 0 &&
            (piece->ring->head.base_ticks > work->to_ticks ||
             piece->ring->head.generation > work->generation));
}

static struct waiting_mark waiting_of(const struct cut_piece *piece)
{
    return (struct waiting_mark){.key = piece->key,
                                 .index = piece->ring->index,
                                 .epoch = piece->ring->epoch,
                                 .from_ticks = is_in_part(piece) ? piece->last_ticks
                                                                 : piece->ring->head.base_ticks,
                                 .end_ticks = piece->end_ticks};
}

/* Without memory for this, the next cut takes all that was overwritten for unseen. */
static void waiting_note(const struct cut_work *work, struct cut_marks *marks)
{
    size_t count = 0;
    for (size_t i = 0; i < work->piece_count; i++)
        count += is_waiting(work, &work->pieces[i]);
    free(marks->waiting);
    marks->waiting = calloc(count + 1, sizeof *marks->waiting);
    marks->waiting_count = 0;
    for (size_t i = 0; i < work->piece_count && marks->waiting != NULL; i++)
        if (is_waiting(work, &work->pieces[i]))
            marks->waiting[marks->waiting_count++] = waiting_of(&work->pieces[i]);
}

/* What ends before covered_ticks has been told, and is forgotten. */
static void gone_remember(const struct cut_work *work, struct cut_marks *marks)
{
    if (work->gone_to_ticks == 0)
        return;
    bool told = marks->gone_to_ticks <= marks->covered_ticks;
    if (told || work->gone_from_ticks < marks->gone_from_ticks)
        marks->gone_from_ticks = work->gone_from_ticks;
    if (told || work->gone_to_ticks > marks->gone_to_ticks)
        marks->gone_to_ticks = work->gone_to_ticks;
}

void cut_marks_cover(struct cut_work *work)
{
    struct cut_marks *marks = work->marks;
    if (marks == NULL)
        return;
    waiting_note(work, marks);
    free(marks->states);
    marks->states = NULL;
    if (marks->waiting != NULL) {
        marks->states = work->copy.states;
        work->copy.states = NULL;
    }
    bool past = work->to_ticks < work->before_ticks;
    uint64_t to = past ? work->to_ticks : work->before_ticks;
    uint64_t to_ns = past ? work->request->to_ns : work->before_ns;
    if (!work->result->more && to > marks->covered_ticks)
        marks->covered_ticks = to;
    if (!work->result->more && to_ns > marks->covered_ns)
        marks->covered_ns = to_ns;
    if (!work->result->more && marks->waiting != NULL)
        marks->looked_ticks = work->end.ticks;
    gone_remember(work, marks);
}
