/* SPDX-License-Identifier: Apache-2.0
 *
 * A capture's partitions as one download, or the part of them that a window needs.
 *
 *   skein      the partitions in a row, by process, start, epoch and sequence, and a closing table.
 *              Its length is known, and it can be read from any offset, so Range costs nothing. Of
 *              a partition that reaches out of the window only the blocks inside are read and sent
 *              (format/partition_slice.h).
 *   perfetto   made while it is read, with one partition in memory at a time (two of one process,
 *              so that ranges over a cut stay whole).
 *   pprof,     profiles of what has a stack. A profile is made whole before its first byte is read,
 *   folded     in a memory that is bounded, two partitions beside it; its length is known then. With
 *              a window they count what lies in it alone.
 *
 * One owner; several streams at once.
 */
#ifndef TRACE_STREAM_H
#define TRACE_STREAM_H

#include "index.h"
#include "store.h"
#include "withhold.h"

struct trace_stream;

/* So much is verified before an answer's first byte, at most. */
#define TRACE_VERIFY_FIRST (UINT64_C(64) << 20)

enum trace_format { TRACE_SKEIN, TRACE_PERFETTO, TRACE_PPROF, TRACE_FOLDED, TRACE_FORMATS };

struct trace_stream_query {
    const struct partition_ranges *ranges; /* what captures have; NULL: only `partition` */
    const struct process_uid *process;     /* NULL: all */
    const struct selector *selector;       /* NULL: all */
    const struct partition_key *partition; /* this one alone, without a closing table; NULL: all */
    /* In the collector's time, both included. window false: all of each partition. */
    bool window;
    uint64_t from_ns, to_ns;
    enum trace_format format;
    uint64_t groups; /* not TRACE_SKEIN: events of these alone; 0: all */
    const char
        *of; /* TRACE_FOLDED: a name of enum stack_profile_of; NULL: samples where there are any */
    /* What is left out of evidence, whatever the format: of that a partition is made anew. */
    struct withhold withhold;
    bool skip_damaged;             /* what is damaged is left out; else nothing is given */
    struct partition_key *damaged; /* the first that is; NULL: not asked */
    /* For reading in any order, over and over (trace_stream_give): TRACE_SKEIN, of which all is
     * verified at the opening, and never again; of a window whole partitions. */
    bool source;
    bool (*stop)(void *context); /* asked before each partition that is looked at; NULL: never */
    void *context;
};

/* Notes the places, makes anew of what something is withheld, verifies the first bytes of what is to come (TRACE_VERIFY_FIRST; all of it with
 * skip_damaged) and plans the slices. Each further partition is verified before its first byte is
 * read. SKEIN_OK; SKEIN_NOT_FOUND (nothing is stored, or nothing in the window); SKEIN_CORRUPT
 * (a partition is damaged: *query->damaged); SKEIN_UNSUPPORTED (it is as it came, and cannot be made
 * anew: *query->damaged); SKEIN_CLOSED (stopped); SKEIN_NO_MEMORY; SKEIN_IO. */
int trace_stream_open(struct index *index, const struct trace_stream_query *query,
                      struct trace_stream **out);
void trace_stream_free(struct trace_stream **stream);

struct trace_profile_bounds {
    size_t most_bytes;           /* of its tables, and again of each of its forms */
    uint64_t deadline_ns;        /* CLOCK_MONOTONIC, to within a partition */
    bool (*stop)(void *context); /* asked before each partition: nobody waits any more */
    void *context;
};
/* TRACE_PPROF and TRACE_FOLDED, once, before it is read: makes the profile. SKEIN_OK;
 * SKEIN_TOO_LARGE: it would take more memory; SKEIN_TIMEOUT, SKEIN_CLOSED: stopped; SKEIN_INVALID:
 * no event has a stack; SKEIN_CORRUPT: the partition *damaged is not what was stored;
 * SKEIN_UNSUPPORTED: it is, and does not read; SKEIN_NOT_FOUND (deleted meanwhile), SKEIN_NO_MEMORY,
 * SKEIN_IO. */
int trace_stream_profile(struct trace_stream *s, const struct trace_profile_bounds *bounds,
                         struct partition_key *damaged);

/* Those that skip_damaged has left out. */
const struct partition_key *trace_stream_damaged(const struct trace_stream *s, size_t *count);

/* Whether something was made anew: the stream then holds memory for it (32 MiB at most), and takes
 * more work to be read where that does not suffice. */
bool trace_stream_withholds(const struct trace_stream *s);

uint64_t trace_stream_bytes(const struct trace_stream *s); /* not TRACE_PERFETTO */
/* with its quotes; changes with the set of partitions, the window, the format and what it shows */
const char *trace_stream_etag(const struct trace_stream *s);

/* At most n bytes from offset; TRACE_PERFETTO only onwards. Bytes, 0 at the end, SKEIN_NOT_FOUND
 * (deleted meanwhile), SKEIN_IO, SKEIN_CORRUPT, SKEIN_NO_MEMORY. */
int64_t trace_stream_read(struct trace_stream *s, uint64_t offset, void *out, size_t n);
/* All n bytes of a stream (the context), as struct skein_trace_source asks for them. */
int trace_stream_give(void *stream, uint64_t offset, void *out, size_t n);

#endif
