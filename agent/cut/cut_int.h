/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the cutter share: cutter.c (one cut from switch to partition), cut_select.c
 * (which chunks, in which order), cut_loss.c (what is missing, and where) and cut_marks.c (what is
 * remembered between cuts). Included by those and their tests. One cut has one thread.
 */
#ifndef CUT_INT_H
#define CUT_INT_H

#include "cut_helper.h"
#include "cut_marks_int.h"
#include "cutter.h"
#include "ring_decode.h"
#include "ring_reader.h"

#define CUT_BYTES_MAX (UINT64_C(16) << 20)
/* Pieces of one cut; each may be of another thread. A partition takes 262144 threads, so beyond
 * CUT_THREADS_MAX a loss is told as the process's. */
#define CUT_PIECES_MAX  131072
#define CUT_THREADS_MAX 200000
/* Streams remembered between cuts. Beyond, the oldest are forgotten: the next chunk of such a
 * stream has a possible gap before it. */
#define CUT_STREAMS_MAX 65536

enum cut_fate {
    CUT_LEFT,    /* outside the window, taken already, or of a newer generation */
    CUT_WAITING, /* for the next partition: the size limit */
    CUT_CHOSEN,
    CUT_COPIED,
    CUT_OVERRUN, /* gone while we copied */
    CUT_TAKEN    /* decoded as far as it went */
};

struct cut_piece {
    struct ring_piece *ring;
    struct stream_key key;
    uint64_t end_ticks; /* none of its records is later; UINT64_MAX: not known */
    bool last;          /* of its stream, so no later chunk bounds it */
    uint32_t skip;      /* bytes that an earlier cut took */
    bool restated;      /* only its open ranges are wanted */
    enum cut_fate fate;
    /* after decoding */
    uint32_t taken;
    uint64_t last_ticks;
    bool exhausted; /* no later cut takes more: full and used up, or undecodable */
};

struct cut_work {
    const struct cut_request *request;
    struct process *process;
    struct cut_marks *marks; /* or NULL */
    struct cut_result *result;
    uint64_t generation; /* that this cut ended */
    struct clock_snapshot begin, end;
    uint64_t before_ticks, before_ns; /* just before `end`: later records may be the next cut's */
    uint64_t from_ticks, to_ticks;
    uint64_t start_ticks; /* of the ring: it lost nothing before */
    uint64_t keep_ticks;  /* records that end before are left out */
    struct ring_copy copy;
    struct cut_piece *pieces; /* sorted by stream, then sequence */
    size_t piece_count;
    size_t *order; /* indices of the pieces, oldest first */
    struct ring_decoder decoder;
    struct ring_names names[RING_TABLE_COPIES];
    struct partition_writer *writer;
    struct cut_helper helper; /* that packs, too */
    uint64_t chosen_bytes;    /* of the ring */
    size_t thread_count;      /* that the writer knows */
    uint64_t events, opens, lost_known_total;
    uint64_t told[RING_LOSS_KINDS];          /* lost records that threads placed (cut_loss_note) */
    uint64_t gone_from_ticks, gone_to_ticks; /* gone unseen, also behind the window; 0: nothing */
    size_t gap_cap;
    int status;                     /* first failure of the steps that have no other way to tell */
    struct partition_counts counts; /* of the request's edges */
};

/* cut_select.c: sorts the survey, finds ends and what is new; chooses up to the size limit. */
int cut_arrange(struct cut_work *work);
void cut_choose(struct cut_work *work);
/* Copies what was chosen, oldest first. SKEIN_OK, SKEIN_NO_MEMORY. */
int cut_copy(struct cut_work *work);

/* The writer's index of a stream's thread, or a status below 0. */
int64_t cut_thread(struct cut_work *work, const struct stream_key *key);

/* cut_loss.c: tells the writer and the result of records that are missing, where that touches the
 * window. */
void cut_loss_add(struct cut_work *work, uint32_t thread, enum partition_loss_reason reason,
                  uint64_t events, uint64_t from_ticks, uint64_t to_ticks);
/* The same for records of the piece's thread. */
void cut_loss_piece(struct cut_work *work, const struct cut_piece *piece,
                    enum partition_loss_reason reason, uint64_t events, uint64_t from_ticks,
                    uint64_t to_ticks);
/* Losses that a thread's own chunk tells of, for their place: the ring's buckets count them too. */
void cut_loss_note(struct cut_work *work, const struct cut_piece *piece, uint64_t records,
                   uint64_t from_ticks, uint64_t to_ticks);
void cut_losses_find(struct cut_work *work);
void cut_gaps_merge(struct cut_result *result);

/* cut_marks.c, after success */
int cut_marks_advance(struct cut_work *work);
void cut_marks_cover(struct cut_work *work); /* also where nothing was found */

#endif
