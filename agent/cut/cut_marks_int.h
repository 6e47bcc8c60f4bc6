/* SPDX-License-Identifier: Apache-2.0
 *
 * What is remembered of a process's ring between two cuts; for the cutter's files and their tests.
 */
#ifndef CUT_MARKS_INT_H
#define CUT_MARKS_INT_H

#include "cutter.h"

/* A stream: what one incarnation of a thread writes, or what its signal handlers write. */
struct stream_key {
    uint32_t slot, incarnation, tid;
    bool signal;
};
int stream_compare(const struct stream_key *a, const struct stream_key *b);

struct chunk_mark {
    uint32_t epoch;
    uint32_t taken;      /* bytes, from the chunk's begin */
    uint64_t last_ticks; /* of the last record taken */
};
struct stream_mark {
    struct stream_key key;
    uint64_t sequence, ticks; /* of the last chunk taken: its number, and its last record */
    bool complete;            /* it was full and all of it was taken */
};
/* A segment, or the end of one, that a cut saw and left to the next cut: for the size limit, for
 * its later time or generation, or because it was overwritten while we copied. */
struct waiting_mark {
    struct stream_key key;
    uint32_t index, epoch;
    uint64_t from_ticks, end_ticks;
};
/*         window_ticks          covered_ticks       looked_ticks
 *   ------|=====================|...................|------------->
 *         all is taken          taken, waiting or   the next cut's
 *                               gone
 * covered_ticks is the end of the window, or if that is later, the clock just before looked_ticks. */
struct cut_marks {
    struct process_uid uid;
    uint64_t device, inode, total; /* of the ring */
    uint8_t mode;
    uint32_t chunk_count;
    struct chunk_mark *chunks;   /* by chunk index */
    struct stream_mark *streams; /* sorted by key */
    size_t stream_count;
    struct waiting_mark *waiting;
    size_t waiting_count;
    uint32_t *states;       /* of all chunks, as the cut before saw them; NULL: not known */
    uint64_t generation;    /* that the cut before ended; 0: none yet */
    bool windowed;          /* a cut was tried, and window_ticks is set */
    uint64_t window_ticks;  /* records that end before this are never taken */
    uint64_t covered_ticks; /* 0: no cut is whole yet */
    uint64_t covered_ns;    /* the same, as the window was asked for */
    /* looked: the clock when the cut before had ended its generation, before it looked. gone:
     * somewhere between these two, records were gone when a cut looked; the part up to
     * covered_ticks was told. */
    uint64_t looked_ticks, gone_from_ticks, gone_to_ticks;
};
/* Begins anew if the marks were made for another ring. SKEIN_OK, SKEIN_NO_MEMORY. */
int cut_marks_fit(struct cut_marks *marks, const struct process *p);
const struct stream_mark *cut_marks_stream(const struct cut_marks *marks,
                                           const struct stream_key *key);

#endif
