/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads one partition: tables first, then events in causal order, in the memory of that partition.
 * Every byte is hostile. One owner, one thread.
 */
#ifndef PARTITION_READER_H
#define PARTITION_READER_H

#include "partition.h"
#include "partition_fault.h"

struct partition_reader;

/* What happened, with ranges already paired: a begin is given when the range opens, a REGION when
 * it ends. */
enum trace_kind {
    TRACE_BEGIN = 1,  /* a range opens; its end may lie beyond this partition */
    TRACE_REGION = 2, /* finished range or span: time_ns is its begin, dur_ns its length */
    TRACE_INSTANT = 3,
    TRACE_COUNTER = 4,
    TRACE_LOG = 5,
    TRACE_OPEN =
        6, /* still in progress at the cut: a range without end, or an operation; dur_ns so far */
    TRACE_LOSS = 7, /* loss is set: events missing between time_ns and time_ns + dur_ns */
    TRACE_END_ONLY =
        8 /* an end whose begin lies before the surviving records: dur_ns unknown (0) */
};

struct trace_event {
    uint8_t kind;     /* enum trace_kind */
    uint64_t time_ns; /* UTC by the collector's clock, so that hosts compare */
    uint64_t dur_ns;
    uint64_t ticks;     /* of the record itself, in the partition's clock */
    uint32_t depth;     /* ranges open around it on its thread */
    bool fixed_up;      /* time was raised so that it is not before its cause */
    bool end_clipped;   /* REGION whose end was lost: dur_ns is the least that is known */
    bool begin_clipped; /* REGION or OPEN whose begin was before the surviving records: time_ns is
                           the bound known */
    const struct partition_thread *thread;   /* NULL: of the process */
    const struct partition_event_type *type; /* NULL for LOSS, and END_ONLY of an unknown type */
    struct partition_value args[SKEIN_ARGS_MAX]; /* type->nargs of them; for REGION the begin's */
    const struct partition_loss *loss;
    int64_t detail; /* OPEN operations */
    bool has_detail;
    uint32_t stack; /* 0: none; of REGION and OPEN that of the end, or else that of the begin */
};

/* Opens a whole partition at bytes, which must stay valid. Checks header, tables, footer, and
 * checksums of what it reads. SKEIN_OK; SKEIN_TRUNCATED, SKEIN_CORRUPT, SKEIN_VERSION with a
 * sentence (what, at which byte) in error; SKEIN_NO_MEMORY. */
int partition_reader_new(const uint8_t *bytes, size_t n, struct partition_reader **out, char *error,
                         size_t error_bytes);
/* The same, with the reason in *fault. */
int partition_reader_make(const uint8_t *bytes, size_t n, struct partition_reader **out,
                          struct partition_fault *fault);
/* The same in so much memory at most, about: SKEIN_TOO_LARGE, of this and of later calls, where what
 * it reads takes more. A few KiB can unpack to F-4's limits, which are far above most readers' means. */
int partition_reader_make_within(const uint8_t *bytes, size_t n, uint64_t memory_bytes,
                                 struct partition_reader **out, struct partition_fault *fault);
void partition_reader_free(struct partition_reader **reader);

const struct partition_info *partition_reader_info(const struct partition_reader *r);
const struct partition_footer *partition_reader_footer(const struct partition_reader *r);
size_t partition_reader_types(const struct partition_reader *r,
                              const struct partition_event_type **types);
size_t partition_reader_threads(const struct partition_reader *r,
                                const struct partition_thread **threads);

/* ---- stacks: ids from 1, as events have them; what is given lasts as long as the reader ---- */

size_t partition_reader_stack_count(const struct partition_reader *r);
/* false: there is none of this id. */
bool partition_reader_stack(const struct partition_reader *r, uint32_t id,
                            struct partition_stack *stack);

/* By start. The mapping of an address is the last that starts at or in front of it, if it reaches
 * so far; NULL: none. */
size_t partition_reader_mapping_count(const struct partition_reader *r);
const struct partition_mapping *partition_reader_mapping_at(const struct partition_reader *r,
                                                            size_t i);
const struct partition_mapping *partition_reader_mapping(const struct partition_reader *r,
                                                         uint64_t address);

/* What lies at an address (partition_stack_address). false: it has no name here, or no memory,
 * and then partition_reader_next says so. */
size_t partition_reader_symbol_count(const struct partition_reader *r);
bool partition_reader_symbol(struct partition_reader *r, uint64_t address,
                             struct partition_symbol *symbol);

/* The next event. Returns 1; 0 at the end; a status below 0 with a sentence in
 * partition_reader_error. Pointers in *event are valid until the next call; those to types, threads and
 * texts, but of ranges carried from another partition, as long as the reader. */
int partition_reader_next(struct partition_reader *r, struct trace_event *event);
const char *partition_reader_error(const struct partition_reader *r);
int partition_reader_status(const struct partition_reader *r); /* SKEIN_OK, or what ended it */

/* Counted so far by the merge: times raised, and records that waited for each other in a circle
 * (F-29). */
uint64_t partition_reader_fixed_up(const struct partition_reader *r);
uint64_t partition_reader_unordered(const struct partition_reader *r);

/* All times that it tells are later by so much, from now on: its clock was behind. */
void partition_reader_move(struct partition_reader *r, int64_t ns);

/* Ticks of this partition to UTC nanoseconds by the collector's clock (footers have the host's). */
uint64_t partition_reader_time_ns(const struct partition_reader *r, uint64_t ticks);

/* Partitions of one process cut one after the other: hand the ranges that were open at the end of
 * `from` to `to`, before its first event, so that a range over the cut comes out as one REGION.
 * Without memory for them, the next call fails with SKEIN_NO_MEMORY. */
void partition_reader_continue(struct partition_reader *to, const struct partition_reader *from);

#endif
