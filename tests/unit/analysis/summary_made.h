/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces that know what they sum up to: made from a plan of regions in regions, whose own time is
 * known where the plan is drawn. Nothing here reads a trace or a summary. One tick is 64 ns.
 */
#ifndef SUMMARY_MADE_H
#define SUMMARY_MADE_H

#include <check.h>
#include <stdio.h>

#include "../format/sample.h"
#include "skein/trace.h"
#include "support.h"

#define MADE_NAMES   6
#define MADE_SPAN_NS 64

/* What a name of a process comes to. */
struct made_sum {
    uint64_t count, total_ns, self_ns, least_ns, most_ns;
};

struct made_program {
    uint32_t pid, threads;
    uint64_t random;
    struct made_sum sums[MADE_NAMES];
    uint64_t counted; /* instants */
    int64_t level;    /* of its counter, in the end */
};

static const struct partition_event_type made_regions[MADE_NAMES] = {
    {.name = "request", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16},
    {.name = "parse", .text = "", .file = "", .klass = SKEIN_CLASS_RANGE_BEGIN, .group = 16},
    {.name = "read", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_IO},
    {.name = "query", .text = "", .file = "", .klass = SKEIN_CLASS_RANGE_BEGIN, .group = 17},
    {.name = "recv", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_NET},
    {.name = "render", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16}};
static const struct partition_event_type made_tick = {
    .name = "tick", .text = "", .file = "", .klass = SKEIN_CLASS_INSTANT, .group = 16};

static inline uint64_t made_chance(uint64_t *state, uint64_t below)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

static inline void made_count(struct made_sum *sum, uint64_t ticks, uint64_t inside)
{
    uint64_t ns = ticks * MADE_SPAN_NS;
    sum->least_ns = sum->count == 0 || ns < sum->least_ns ? ns : sum->least_ns;
    sum->most_ns = ns > sum->most_ns ? ns : sum->most_ns;
    sum->count++;
    sum->total_ns += ns;
    sum->self_ns += ns - inside * MADE_SPAN_NS;
}

/* Regions from `from` to `to`, one after the other, each with others in it; how long they were. */
static inline uint64_t made_draw(struct made_program *p, struct partition_writer *w,
                                 const uint32_t *types, uint64_t from, uint64_t to, unsigned depth)
{
    uint64_t at = from + 1, spent = 0;
    while (at + 4 < to) {
        uint64_t most = (to - at) / (depth == 0 ? 1 : 2), ticks = 3 + made_chance(&p->random, most);
        unsigned name = (unsigned)made_chance(&p->random, MADE_NAMES);
        if (depth == 0)
            ticks = 3 + ticks % 900;
        if (ticks >= to - at)
            break;
        bool range = made_regions[name].klass == SKEIN_CLASS_RANGE_BEGIN;
        if (range)
            partition_writer_event(w, types[name], at, 0, NULL);
        uint64_t inside =
            depth < 4 && ticks > 8 ? made_draw(p, w, types, at, at + ticks, depth + 1) : 0;
        if (range)
            partition_writer_end(w, at + ticks);
        else
            partition_writer_event(w, types[name], at + ticks, ticks, NULL);
        made_count(&p->sums[name], ticks, inside);
        spent += ticks;
        at += ticks + 1 + made_chance(&p->random, 30);
        if (depth == 0 && made_chance(&p->random, 3) == 0) {
            partition_writer_event(w, types[MADE_NAMES], at++, 0, NULL);
            p->counted++;
        }
    }
    return spent;
}

static inline struct partition_info made_part(uint32_t pid, uint64_t sequence, uint64_t from,
                                              uint64_t to)
{
    struct partition_info info = sample_info();
    info.key.process.bytes[15] = (uint8_t)pid;
    info.key.process.bytes[14] = (uint8_t)(pid >> 8);
    info.key.sequence = sequence;
    info.pid = pid;
    info.clock_offset_ns = 0;
    info.service = pid % 2 == 0 ? "even" : "odd";
    info.window_from_ticks = from;
    info.window_to_ticks = to;
    info.death.known = false;
    info.end = (struct clock_snapshot){to, 1000000000 + to * 64, 2000000000 + to * 64,
                                       SAMPLE_EPOCH_NS + to * 64};
    return info;
}

/* A cut of the program, appended. */
static inline void made_cut(struct made_program *p, struct buf *out, uint64_t sequence,
                            uint64_t from, uint64_t to)
{
    struct partition_info info = made_part(p->pid, sequence, from, to);
    struct partition_writer *w;
    uint32_t types[MADE_NAMES + 1];
    must_hold(partition_writer_new(&info, &w) == SKEIN_OK, "a writer");
    for (unsigned i = 0; i < MADE_NAMES; i++)
        types[i] = (uint32_t)partition_writer_type(w, &made_regions[i]);
    types[MADE_NAMES] = (uint32_t)partition_writer_type(w, &made_tick);
    for (uint32_t t = 0; t < p->threads; t++) {
        char name[32];
        snprintf(name, sizeof name, "worker-%u", t);
        struct partition_thread thread = {p->pid + t, name, 1};
        partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), sequence, sequence,
                               false);
        (void)made_draw(p, w, types, from, to, 0);
    }
    must_hold(partition_writer_finish(w, out, NULL) == SKEIN_OK, "a partition");
    partition_writer_free(&w);
}

static inline struct skein_trace *made_open(const struct buf *bytes)
{
    struct skein_trace *trace;
    char error[SKEIN_TRACE_ERROR_BYTES] = "";
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_msg(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error) == SKEIN_OK,
                  "%s", error);
    return trace;
}

#endif
