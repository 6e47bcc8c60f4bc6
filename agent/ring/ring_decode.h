/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a copied chunk to a partition writer. Works on private memory only, hostile all the same.
 * One owner, one thread. Decodes a chunk from its start even where a part has been taken before,
 * because times are deltas and ranges nest; what was taken is not written again.
 */
#ifndef RING_DECODE_H
#define RING_DECODE_H

#include "partition_writer.h"
#include "ring_table.h"

/* More lost records than this in one place is no honest count. */
#define RING_LOST_MAX (UINT64_C(1) << 40)

/* Why a chunk's decoding ended. */
enum ring_decode {
    RING_DECODE_END,      /* every committed byte was used */
    RING_DECODE_NEWER,    /* a record behind the cut's generation or time: the rest is the next's */
    RING_DECODE_NAMELESS, /* no table has the type, so its length is unknown: the rest is lost */
    RING_DECODE_CORRUPT   /* bytes that are no record: the rest is lost */
};

struct ring_decoder {
    struct type_sink sink;
    struct ring_names *names; /* of every epoch that was copied */
    size_t name_count;
    uint64_t newest_generation; /* of the cut */
    uint64_t late_generation;   /* records up to this one come late; 0: none does */
    uint64_t ticks_max;         /* a time beyond is no honest one */
    /* The writer's index of a row's thread, or a status below 0, with which the writer has failed.
     * Asked for when there is something to write: a name costs more than a segment of nothing. */
    int64_t (*thread_of)(void *context, const void *stream);
    void *context;
};

/* In: a chunk's copy and what is known of it. Out: how far it went. */
struct ring_rows {
    const uint8_t *bytes;
    size_t n, skip; /* skip: taken by a cut before */
    uint64_t base_ticks, generation, sequence;
    uint32_t string_epoch;
    const void *stream;  /* for thread_of */
    uint64_t from_ticks; /* records that end before are not written; 0: all are */
    bool restate;        /* tell the ranges that are open where it begins */
    bool restate_bare;   /* also if no record of the window follows: nothing else would tell them */
    /* out */
    size_t taken;                     /* first byte that was not used */
    uint64_t events;                  /* written, ends included */
    uint32_t open;                    /* ranges open behind the last record, if none was written */
    uint64_t first_ticks, last_ticks; /* of the records written; last: of all that were decoded */
    uint64_t unnamed;                 /* events written with "#id" in place of a string, or without
                                         the stack that they have */
    uint64_t unplaced;                /* events dropped because the partition takes no more types */
    uint64_t lost;                    /* RING_RECORD_LOST: behind skip */
    uint64_t lost_from, lost_to;      /* where the first and last of them lie */
};

enum ring_decode ring_decode(struct ring_decoder *decoder, struct ring_rows *rows);

/* The names of an epoch, or NULL. */
struct ring_names *ring_decoder_names(struct ring_decoder *decoder, uint64_t epoch);

#endif
