/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces whose rows are known because the test wrote them down while it made them: cuts of several
 * processes on hosts with other clocks, evidence beside them, regions over cuts, losses, stacks.
 * Nothing here reads a trace. Used by the tests of skein/trace.h.
 *
 * A tick is 64 ns; tick 0 is SAMPLE_EPOCH_NS by the clock of each host, which the collector knows
 * to be off by offset_ns of the process.
 */
#ifndef MADE_TRACE_H
#define MADE_TRACE_H

#include <check.h>
#include <stdio.h>

#include "sample.h"
#include "skein/trace.h"
#include "support.h"

enum { MADE_ROWS = 20000, MADE_THREADS = 3 };

/* A row as it must come out. `id` is its first argument; a begin and its region share one. */
struct made_row {
    uint64_t id, time_ns, dur_ns, made_ns; /* made_ns: when the record was made */
    uint8_t kind, flags, group;
    uint32_t pid, tid, depth;
    const char *name;
    bool seen;
};

struct made_trace {
    struct buf bytes;
    struct made_row rows[MADE_ROWS];
    size_t count;
    uint32_t row_of[2][MADE_ROWS]; /* by id, of begins and of all others: number of the row + 1 */
    uint64_t ids;
    size_t starts[64], partitions; /* where each begins in bytes */
};

struct made_process {
    uint32_t pid;
    int64_t offset_ns;
};

static inline uint64_t made_ns(const struct made_process *process, uint64_t ticks)
{
    return SAMPLE_EPOCH_NS + ticks * 64 + (uint64_t)process->offset_ns;
}

static const struct partition_event_type made_span = {.name = "span",
                                                      .text = "",
                                                      .file = "",
                                                      .klass = SKEIN_CLASS_SPAN,
                                                      .group = SKEIN_GROUP_IO,
                                                      .nargs = 1,
                                                      .args = {{SKEIN_T_U64, "id", ""}}};
static const struct partition_event_type made_range = {
    .name = "range",
    .text = "",
    .file = "r.c",
    .line = 3,
    .klass = SKEIN_CLASS_RANGE_BEGIN,
    .group = 16,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "id", ""}, {SKEIN_T_STR, "what", ""}}};
static const struct partition_event_type made_instant = {
    .name = "instant",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_INSTANT,
    .group = SKEIN_GROUP_NET,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "id", ""}, {SKEIN_T_STR, "what", ""}}};
static const struct partition_event_type made_counter = {.name = "counter",
                                                         .text = "",
                                                         .file = "",
                                                         .klass = SKEIN_CLASS_COUNTER,
                                                         .nargs = 1,
                                                         .args = {{SKEIN_T_U64, "id", ""}}};

static inline struct partition_info made_info(const struct made_process *process, uint64_t sequence,
                                              uint64_t from, uint64_t to)
{
    struct partition_info info = sample_info();
    info.key.process.bytes[15] = (uint8_t)process->pid;
    info.key.sequence = sequence;
    info.pid = process->pid;
    info.clock_offset_ns = process->offset_ns;
    info.window_from_ticks = from;
    info.window_to_ticks = to;
    info.death.known = false;
    /* the cut's end, on which what is open depends */
    info.end = (struct clock_snapshot){to, 1000000000 + to * 64, 2000000000 + to * 64,
                                       SAMPLE_EPOCH_NS + to * 64};
    return info;
}

static inline struct partition_writer *made_writer(const struct partition_info *info)
{
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(info, &w), SKEIN_OK);
    return w;
}

static inline void made_finish(struct made_trace *made, struct partition_writer **w)
{
    made->starts[made->partitions++] = made->bytes.len;
    ck_assert_int_eq(partition_writer_finish(*w, &made->bytes, NULL), SKEIN_OK);
    partition_writer_free(w);
}

static inline uint32_t made_thread(struct partition_writer *w, uint32_t tid)
{
    char name[32];
    snprintf(name, sizeof name, "thread-%u", tid);
    struct partition_thread thread = {tid, name, 1};
    int64_t number = partition_writer_thread(w, &thread);
    ck_assert_int_ge(number, 0);
    return (uint32_t)number;
}

static inline struct made_row *made_note(struct made_trace *made, struct made_row row)
{
    must_hold(made->count < MADE_ROWS && row.id < MADE_ROWS, "too many rows");
    made->rows[made->count] = row;
    made->row_of[row.kind != SKEIN_ROW_BEGIN][row.id] = (uint32_t)made->count + 1;
    return &made->rows[made->count++];
}

/* The row of an id; NULL. */
static inline struct made_row *made_find(struct made_trace *made, uint64_t id, uint8_t kind)
{
    uint32_t at = id < MADE_ROWS ? made->row_of[kind != SKEIN_ROW_BEGIN][id] : 0;
    return at > 0 ? &made->rows[at - 1] : NULL;
}

/* Numbers that look like chance and are the same each time. */
static inline uint64_t made_random(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

/* Records of one thread from tick `from` until `to`, which leave nothing open. */
static inline void made_records(struct made_trace *made, struct partition_writer *w,
                                const struct made_process *process, uint32_t tid, bool evidence,
                                uint64_t from, uint64_t to, uint64_t *random)
{
    static const struct partition_event_type *const types[] = {&made_span, &made_instant,
                                                               &made_counter};
    static const uint8_t kinds[] = {SKEIN_ROW_REGION, SKEIN_ROW_INSTANT, SKEIN_ROW_COUNTER};
    uint64_t at = from + made_random(random, 20);
    struct partition_value args[2] = {{.u64 = 0}, sample_str("what")};
    for (; at + 60 < to; at += 1 + made_random(random, 200)) {
        size_t which = made_random(random, 3);
        uint64_t dur = which == 0 ? made_random(random, 300) : 0;
        bool inside = !evidence && made_random(random, 4) == 0;
        uint64_t region = inside ? ++made->ids : 0, begun = at;
        if (inside) {
            args[0].u64 = region;
            partition_writer_event(w, (uint32_t)partition_writer_type(w, &made_range), at, 0, args);
            made_note(made, (struct made_row){.id = region,
                                              .time_ns = made_ns(process, at),
                                              .made_ns = made_ns(process, at),
                                              .kind = SKEIN_ROW_BEGIN,
                                              .group = made_range.group,
                                              .pid = process->pid,
                                              .tid = tid,
                                              .name = made_range.name});
            at += made_random(random, 20);
        }
        dur = dur < at ? dur : at;
        args[0].u64 = ++made->ids;
        partition_writer_event(w, (uint32_t)partition_writer_type(w, types[which]), at, dur, args);
        made_note(made, (struct made_row){.id = made->ids,
                                          .time_ns = made_ns(process, at - dur),
                                          .dur_ns = dur * 64,
                                          .made_ns = made_ns(process, at),
                                          .kind = kinds[which],
                                          .flags = evidence ? SKEIN_ROW_EVIDENCE : 0,
                                          .group = types[which]->group,
                                          .pid = process->pid,
                                          .tid = tid,
                                          .depth = inside,
                                          .name = types[which]->name});
        if (!inside)
            continue;
        at += made_random(random, 20);
        partition_writer_end(w, at);
        made_note(made, (struct made_row){.id = region,
                                          .time_ns = made_ns(process, begun),
                                          .dur_ns = (at - begun) * 64,
                                          .made_ns = made_ns(process, at),
                                          .kind = SKEIN_ROW_REGION,
                                          .group = made_range.group,
                                          .pid = process->pid,
                                          .tid = tid,
                                          .name = made_range.name});
    }
}

/* One cut of a process: its window in ticks. */
static inline void made_cut(struct made_trace *made, const struct made_process *process,
                            uint64_t sequence, uint64_t from, uint64_t to, uint64_t *random)
{
    struct partition_info info = made_info(process, sequence, from, to);
    struct partition_writer *w = made_writer(&info);
    for (uint32_t t = 0; t < MADE_THREADS; t++) {
        uint32_t tid = process->pid + t;
        partition_writer_batch(w, made_thread(w, tid), sequence, sequence, false);
        made_records(made, w, process, tid, false, from, to, random);
    }
    made_finish(made, &w);
}

static inline void made_evidence(struct made_trace *made, const struct made_process *process,
                                 uint64_t number, uint64_t from, uint64_t to, uint64_t *random)
{
    struct partition_info info = made_info(process, PARTITION_EVIDENCE_FROM + number, from, to);
    info.evidence = true;
    struct partition_writer *w = made_writer(&info);
    partition_writer_batch(w, made_thread(w, process->pid), 0, 0, false);
    made_records(made, w, process, process->pid, true, from, to, random);
    made_finish(made, &w);
}

static const struct made_process made_processes[] = {{100, 0}, {140, -777777}, {180, 1234567}};

/* Three processes of four cuts each, two with evidence, mixed in the file. */
static inline void made_fill(struct made_trace *made)
{
    uint64_t random = 7;
    memset(made, 0, sizeof *made);
    for (unsigned cut = 0; cut < 4; cut++)
        for (unsigned p = 0; p < 3; p++) {
            made_cut(made, &made_processes[p], 42 + cut, 1000 + cut * 10000u,
                     1000 + (cut + 1) * 10000u, &random);
            if (p < 2 && cut % 2 == 1)
                made_evidence(made, &made_processes[p], cut, 5000 + cut * 8000u,
                              18000 + cut * 8000u, &random);
        }
}

#endif
