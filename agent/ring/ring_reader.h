/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a ring that another, perhaps hostile, process is writing: surveys the chunks and their
 * segments, copies their committed prefixes, tables, slots and counters into memory of our own.
 * Nothing here decodes. One ring_copy has one owner; the ring itself is shared with its writer, and
 * with no other reader.
 *
 * Every shared word is loaded once and clamped with the geometry, which is ours. Work is bounded by
 * the size of the ring. A chunk is pinned only while it is looked at or copied.
 */
#ifndef RING_READER_H
#define RING_READER_H

#include <stdbool.h>
#include <stddef.h>

#include "ring_layout.h"
#include "skein/status.h"

enum ring_read {
    RING_READ_MORE,     /* committed bytes were there */
    RING_READ_END,      /* nothing committed: free, or claimed and empty */
    RING_READ_OVERRUN,  /* its writer claimed it anew since the survey */
    RING_READ_ABANDONED /* its state is none, or would not hold still: left alone */
};

/* One segment as surveyed, and where its copy lies. Header fields are copies, with any value. */
struct ring_piece {
    uint32_t index;           /* of all chunks: small ones first, then big ones */
    uint32_t epoch;           /* of its state word, 24 bits */
    uint32_t offset;          /* of its records, from the chunk's begin */
    bool full;                /* nothing more will be committed to it */
    struct ring_segment head; /* but for `end` */
    uint64_t bound_ticks;     /* none of its records is later: another segment begins; or 0 */
    uint64_t committed;       /* bytes of records, clamped to the chunk */
    const uint8_t *copy;      /* NULL until copied */
};

struct ring_slot_copy {
    uint32_t state, incarnation, tid, op_type;
    uint64_t op_start, op_epoch; /* op_start 0: no operation, or it would not hold still */
    int64_t op_detail;
    char name[33];
};

struct ring_table_copy {
    uint32_t epoch;
    uint32_t bytes; /* of records */
    uint8_t *records;
};
#define RING_TABLE_COPIES 4 /* both halves before the chunks are copied, and both after */

/* A survey lists as many segments as there are chunks, and so many more. That is all that a ring of
 * 16 MiB can hold; a larger ring holds more only if its threads live for a few records each. */
#define RING_PIECES_MORE 131072

struct ring_copy {
    uint8_t *ring; /* shared: read, and for PIN written */
    const struct ring_geometry *geometry;
    int fd;                    /* of the ring, or -1: then all of it counts as data */
    struct ring_piece *pieces; /* by chunk, then by place in it */
    size_t piece_count, piece_cap;
    bool left_out;               /* some segments had no room in the list: */
    uint64_t left_from, left_to; /* all of their records lie between these */
    uint32_t *states; /* of all chunks as found; WRITING if a segment is left out; 0: untouched */
    struct ring_slot_copy *slots; /* geometry->slots of them */
    struct ring_table_copy tables[RING_TABLE_COPIES];
    size_t table_count;
    uint32_t wrapped;
    uint64_t horizon_surveyed; /* of what was gone when the survey ended, */
    uint64_t horizon_copied;   /* and when the last chunk was copied */
    uint64_t abandoned;        /* chunks whose state was nonsense */
    uint8_t *arena;            /* of the copies */
    size_t arena_used, arena_bytes;
};

/* `ring`, `geometry` and `fd` stay the caller's and must outlive the copy. */
void ring_copy_init(struct ring_copy *copy, uint8_t *ring, const struct ring_geometry *geometry,
                    int fd);
void ring_copy_fini(struct ring_copy *copy);

/* Lists the segments that hold committed bytes. SKEIN_OK, SKEIN_NO_MEMORY. */
int ring_survey(struct ring_copy *copy);

/* Room for the copies of `bytes` bytes of records in all. SKEIN_OK, SKEIN_NO_MEMORY. */
int ring_arena_reserve(struct ring_copy *copy, size_t bytes);

/* Copies the committed prefix of one surveyed piece, which may have grown since; at most the room
 * that is left in the arena. MORE: piece->copy, ->committed and ->full are set. */
enum ring_read ring_piece_copy(struct ring_copy *copy, struct ring_piece *piece);

/* Copies both table halves that hold an epoch which is not copied yet, or that have grown.
 * SKEIN_OK, SKEIN_NO_MEMORY. */
int ring_tables_copy(struct ring_copy *copy);

/* Copies slots and header counters. SKEIN_OK, SKEIN_NO_MEMORY. */
int ring_slots_copy(struct ring_copy *copy);

/* All bytes of chunk `index`. */
uint64_t ring_chunk_bytes(const struct ring_geometry *geometry, uint32_t index);

#endif
