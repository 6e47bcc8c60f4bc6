/* SPDX-License-Identifier: Apache-2.0
 *
 * A stream's state: the list of places, the plan of the slice and the partition without names that were
 * read last and, for exports, the exporter or the profile and the partition being read. For
 * trace_*.c of this room alone.
 */
#ifndef TRACE_STREAM_INT_H
#define TRACE_STREAM_INT_H

#include "partition_slice.h"
#include "perfetto_export.h"
#include "stored_walk.h"
#include "trace_stream.h"

/* What part of a partition is in the download. */
struct part {
    uint64_t bytes, offset; /* in the download */
    uint64_t whole;         /* bytes of all of it, as it is told here */
    bool withheld;          /* made anew, without what its reader may not know */
    uint8_t *packed;        /* all of it then; NULL: it is made again when it is read */
    bool cut;               /* a slice, not the whole partition */
};

struct trace_stream {
    struct index *index;
    struct stored_list list;
    struct part *parts; /* one for each piece of the list */
    struct buf table;
    uint64_t bytes;
    char etag[24];
    uint64_t from_ns, to_ns;      /* the window; 0 and UINT64_MAX: none */
    struct partition_slice slice; /* the plan for piece `sliced` */
    size_t sliced;                /* SIZE_MAX: there is no plan */
    struct withhold withhold;
    struct buf packed;             /* piece `packed_at`, made anew */
    size_t packed_at;              /* SIZE_MAX: none */
    uint64_t kept_bytes;           /* of all parts' `packed` */
    bool withholds;                /* of some piece */
    size_t entered;                /* the piece that is being read; SIZE_MAX: none */
    bool source;                   /* all are verified, and none is again */
    struct partition_key *damaged; /* left out */
    size_t damaged_count, damaged_cap;
    enum trace_format format;
    uint64_t groups; /* that an export shows; 0: all */
    char of[16];     /* TRACE_FOLDED; "": samples where there are any */
    /* exports; of a profile `out` is all of it */
    struct perfetto_export *exporter;
    struct stored_pair pair;
    size_t next;
    bool exporting; /* the pair's reader has more */
    struct buf out;
    size_t out_read;
    bool finished;
};

/* ---- trace_stream.c ---- */

/* Verifies a piece, unless it is the one that is being read. */
int trace_stream_enter(struct trace_stream *s, size_t i);
/* Notes a piece that is left out. */
int trace_stream_leave_out(struct trace_stream *s, const struct partition_key *key);
/* Verifies the next piece, unless that is done, and opens it as s->pair. As trace_stream_read. */
int trace_stream_load(struct trace_stream *s);

/* ---- trace_withheld.c ---- */

struct stored {
    struct trace_stream *stream;
    size_t piece;
};
/* Bytes of a piece as the stream's reader gets it, for a struct partition_source of a struct stored. */
int trace_stored_read(void *stored, uint64_t offset, void *out, size_t n);
/* Finds out which pieces are told as they are stored, and makes the others anew. What cannot be read
 * is not told to who may not know all of it. As trace_stream_open. */
int trace_withheld_look(struct trace_stream *s, const struct trace_stream_query *q);

#endif
