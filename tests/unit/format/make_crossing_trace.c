/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace for perfetto_judged.py of what exporters get wrong: spans that cross each other and open
 * ranges, that begin at once or end 1 ns apart by rounding; threads that are renamed, and such as
 * evidence alone knows; three processes on two hosts, each cut three times, with a clock whose ticks
 * are no whole nanoseconds; counters of threads and hosts, samples, runs on CPUs, tasks. Arguments: the
 * trace, what is in it, and a seed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_make.h"
#include "partition_writer.h"

enum { CUTS = 3, THREADS = 3, STEPS = 120 };
#define EPOCH_NS UINT64_C(1795254000000000000)
#define SECOND   UINT64_C(1000000000)
#define TICKS    UINT64_C(15650007) /* a second */

static uint64_t state;
static uint64_t below(uint64_t n)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % n;
}

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "make_crossing_trace: %s failed\n", what);
    exit(1);
}

struct open_range {
    uint64_t from;
};
struct thread_state { /* over cuts */
    struct open_range open[4];
    unsigned depth;
    uint64_t begins[8]; /* of some regions before: others begin at once with them */
};
struct maker {
    const char *host, *service;
    uint32_t pid, process;
    FILE *truth;
    struct partition_writer *w;
    struct thread_state threads[THREADS];
    uint32_t range, span, twin, mark, log, level, lock, stacks[2];
};

static uint64_t ns_of(uint64_t ticks)
{
    return EPOCH_NS + (uint64_t)((long double)ticks * SECOND / TICKS);
}

static void truth_put(const struct maker *m, const char *kind, uint32_t tid, const char *name,
                      uint64_t from, uint64_t to)
{
    fprintf(m->truth, "%s %s %" PRIu32 " %s %" PRIu64 " %" PRIu64 "\n", kind, m->service, tid, name,
            ns_of(from), ns_of(to) - ns_of(from));
}

static struct partition_info info_of(const struct maker *m, uint32_t cut, bool evidence)
{
    uint64_t boot = m->host[5] == 'a' ? 50 * SECOND : 7 * SECOND;
    uint64_t from = cut * TICKS, to = from + TICKS;
    if (evidence) {
        from = 0;
        to = CUTS * TICKS;
    }
    return (struct partition_info){
        .key = key_of(m->process, 1, evidence ? CUTS : cut),
        .pid = m->pid,
        .process_start_ns = EPOCH_NS - SECOND,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {from, boot + ns_of(from) - EPOCH_NS, boot + ns_of(from) - EPOCH_NS, ns_of(from)},
        .end = {to, boot + ns_of(to) - EPOCH_NS, boot + ns_of(to) - EPOCH_NS, ns_of(to)},
        .window_from_ticks = from,
        .window_to_ticks = to,
        .host = m->host,
        .service = m->service,
        .labels = "",
        .exe = "/usr/sbin/server",
        .evidence = evidence};
}

static uint32_t type_of(struct maker *m, const struct partition_event_type *type)
{
    int64_t number = partition_writer_type(m->w, type);
    must(number >= 0, type->name);
    return (uint32_t)number;
}

static void stacks_make(struct maker *m)
{
    static const uint64_t one[] = {0x401010, 0x401210}, two[] = {0x401050, 0x401210};
    static const struct partition_line first[] = {{"wait_for", "/src/a.c", 1}};
    static const struct partition_line second[] = {{"spin", "/src/b.c", 2}};
    static const struct partition_line start[] = {{"main", "/src/m.c", 3}};
    m->stacks[0] = (uint32_t)partition_writer_stack(
        m->w, &(struct partition_stack){one, 2, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT});
    m->stacks[1] = (uint32_t)partition_writer_stack(
        m->w, &(struct partition_stack){two, 2, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT});
    partition_writer_mapping(
        m->w, &(struct partition_mapping){0x401000, 0x402000, 0, "/usr/sbin/server", {0xab}, 1});
    partition_writer_symbol(m->w, &(struct partition_symbol){0x401010, first, 1});
    partition_writer_symbol(m->w, &(struct partition_symbol){0x401050, second, 1});
    partition_writer_symbol(m->w, &(struct partition_symbol){0x40120f, start, 1});
}

/* ---- what the program records ---- */

static void types_make(struct maker *m)
{
    m->range = type_of(
        m, &(struct partition_event_type){.name = "range", .klass = SKEIN_CLASS_RANGE_BEGIN});
    m->span = type_of(m, &(struct partition_event_type){
                             .name = "span", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_IO});
    m->twin = type_of(m, &(struct partition_event_type){.name = "twin", .klass = SKEIN_CLASS_SPAN});
    m->lock = type_of(m, &(struct partition_event_type){.name = "lock",
                                                        .klass = SKEIN_CLASS_SPAN,
                                                        .group = SKEIN_GROUP_LOCK,
                                                        .nargs = 1,
                                                        .args = {{SKEIN_T_SEQ, "on", ""}}});
    m->mark = type_of(m, &(struct partition_event_type){.name = "mark",
                                                        .klass = SKEIN_CLASS_INSTANT,
                                                        .nargs = 1,
                                                        .args = {{SKEIN_T_STR, "trace_id", ""}}});
    m->level = type_of(m, &(struct partition_event_type){.name = "level",
                                                         .klass = SKEIN_CLASS_COUNTER,
                                                         .nargs = 1,
                                                         .args = {{SKEIN_T_I64, "value", "jobs"}}});
}

static void span_put(struct maker *m, struct thread_state *t, uint32_t tid, uint64_t at)
{
    uint64_t from = at - 1 - below(below(3) == 0 ? 600000 : 4000);
    if (below(4) == 0 && t->begins[below(8)] > 0)
        from = t->begins[below(8)];
    if (from == 0 || from >= at)
        from = at - 1;
    partition_writer_event(m->w, m->span, at, at - from, NULL);
    if (below(3) == 0)
        partition_writer_event_stack(m->w, m->stacks[below(2)]);
    t->begins[below(8)] = from;
    truth_put(m, "slice", tid, "span", from, at);
    partition_writer_event(m->w, m->twin, at, 1, NULL); /* it ends at the same tick */
    truth_put(m, "slice", tid, "twin", at - 1, at);
}

static void point_put(struct maker *m, uint32_t tid, uint64_t at)
{
    static const char *const ids[] = {"4bf92f3577b34da6a3ce929d0e0e4736",
                                      "00000000000000000000000000000001", "none"};
    const char *id = ids[below(3)];
    struct partition_value args[1] = {{.str = {.text = id, .len = (uint32_t)strlen(id)}}};
    partition_writer_event(m->w, m->mark, at, 0, args);
    truth_put(m, "instant", tid, "mark", at, at);
}

static void thread_put(struct maker *m, uint32_t i, uint32_t cut)
{
    static const char *const names[THREADS][CUTS] = {
        {"main", "main", "main"}, {"first", "second", "second"}, {"pool", "", "pool"}};
    struct thread_state *t = &m->threads[i];
    uint32_t tid = m->pid + i;
    uint64_t at = cut * TICKS + 10;
    struct partition_thread thread = {tid, names[i][cut], 1};
    partition_writer_batch(m->w, (uint32_t)partition_writer_thread(m->w, &thread), 1, cut, false);
    for (unsigned k = 0; k < t->depth; k++)
        partition_writer_open_range(m->w, m->range, t->open[k].from);
    for (unsigned step = 0; step < STEPS; step++) {
        at += 2 + below(below(2) == 0 ? 3 : 100000);
        uint64_t what = below(10);
        if (what < 5 && at > 700000) {
            span_put(m, t, tid, at);
        } else if (what == 5 && t->depth < 4) {
            partition_writer_event(m->w, m->range, at, 0, NULL);
            t->begins[below(8)] = at;
            t->open[t->depth++].from = at;
        } else if (what == 6 && t->depth > 0) {
            partition_writer_end(m->w, at);
            truth_put(m, "slice", tid, "range", t->open[--t->depth].from, at);
        } else if (what == 7) {
            point_put(m, tid, at);
        } else if (what == 8) {
            struct partition_value args[1] = {{.i64 = (int64_t)below(100) - 50}};
            partition_writer_event(m->w, m->level, at, 0, args);
        } else if (what == 9) {
            struct partition_value args[1] = {{.seq = {0x10 + below(2), at}}};
            partition_writer_event(m->w, m->lock, at, 1, args);
            truth_put(m, "slice", tid, "lock", at - 1, at);
        }
    }
    must(at < (cut + 1) * TICKS, "a cut is long enough");
    for (unsigned k = 0; k < t->depth && cut + 1 == CUTS; k++)
        truth_put(m, "open", tid, "range", t->open[k].from, t->open[k].from);
}

static void partition_end(struct maker *m, FILE *out)
{
    struct buf bytes = {0};
    must(partition_writer_finish(m->w, &bytes, NULL) == SKEIN_OK, "partition_writer_finish");
    must(fwrite(bytes.data, 1, bytes.len, out) == bytes.len, "the trace");
    partition_writer_free(&m->w);
    buf_fini(&bytes);
}

static void cut_put(struct maker *m, uint32_t cut, FILE *out)
{
    struct partition_info info = info_of(m, cut, false);
    must(partition_writer_new(&info, &m->w) == SKEIN_OK, "partition_writer_new");
    types_make(m);
    stacks_make(m);
    for (uint32_t i = 0; i < THREADS; i++)
        thread_put(m, i, cut);
    partition_end(m, out);
}

/* ---- what the agent saw beside it ---- */

static void loads_put(struct maker *m, uint32_t load, uint32_t host)
{
    static const char *const names[] = {"main", "second", "", "quiet"};
    for (uint32_t i = 0; i < 4; i++) { /* the fourth is known by this alone */
        struct partition_thread thread = {m->pid + i, names[i], 0};
        partition_writer_batch(m->w, (uint32_t)partition_writer_thread(m->w, &thread), 0, 0, false);
        for (uint64_t k = 1; k < 6; k++) {
            struct partition_value args[2] = {{.f64 = 1.5 * (double)k + i}, {.u64 = k}};
            partition_writer_event(m->w, load, k * TICKS / 3 + i, 0, args);
        }
    }
    struct partition_thread of_host = {0, "host", 0};
    partition_writer_batch(m->w, (uint32_t)partition_writer_thread(m->w, &of_host), 0, 0, false);
    for (uint64_t k = 0; k < 6; k++) {
        struct partition_value args[1] = {{.f64 = 0.25 * (double)k}};
        partition_writer_event(m->w, host, k * TICKS / 3, 0, args);
    }
}

/* Two threads take turns on CPU 1, and each is sampled there. */
static void runs_put(struct maker *m)
{
    uint32_t run = type_of(m, &(struct partition_event_type){
                                  .name = "sched.run",
                                  .klass = SKEIN_CLASS_SPAN,
                                  .nargs = 2,
                                  .args = {{SKEIN_T_U64, "cpu", ""}, {SKEIN_T_STR, "cut", ""}}});
    uint32_t sample =
        type_of(m, &(struct partition_event_type){
                       .name = "cpu.sample",
                       .klass = SKEIN_CLASS_INSTANT,
                       .nargs = 2,
                       .args = {{SKEIN_T_U64, "cpu", ""}, {SKEIN_T_U64, "weight", "ns"}}});
    for (uint32_t i = 0; i < 2; i++) {
        struct partition_thread thread = {m->pid + i, i == 0 ? "main" : "second", 0};
        partition_writer_batch(m->w, (uint32_t)partition_writer_thread(m->w, &thread), 0, 0, false);
        for (uint64_t k = 0; k < 5; k++) {
            uint64_t to = (m->process * 40 + k * 8 + i * 4 + 4) * 10000;
            struct partition_value args[2] = {{.u64 = 1}, {.str = {.text = "", .len = 0}}};
            partition_writer_event(m->w, run, to, 30000, args);
            args[1] = (struct partition_value){.u64 = 1000000 + below(1000)};
            partition_writer_event(m->w, sample, to, 0, args);
            partition_writer_event_stack(m->w, m->stacks[i]);
        }
    }
}

static void evidence_put(struct maker *m, FILE *out)
{
    struct partition_info info = info_of(m, 0, true);
    must(partition_writer_new(&info, &m->w) == SKEIN_OK, "partition_writer_new");
    uint32_t load =
        type_of(m, &(struct partition_event_type){
                       .name = "thread.load",
                       .klass = SKEIN_CLASS_COUNTER,
                       .nargs = 2,
                       .args = {{SKEIN_T_F64, "run", "%"}, {SKEIN_T_U64, "moves", "/s"}}});
    uint32_t host = type_of(m, &(struct partition_event_type){.name = "host.load",
                                                              .klass = SKEIN_CLASS_COUNTER,
                                                              .nargs = 1,
                                                              .args = {{SKEIN_T_F64, "v", ""}}});
    stacks_make(m);
    runs_put(m); /* of each thread in front of the loads, by time */
    loads_put(m, load, host);
    partition_end(m, out);
}

int main(int argc, char **argv)
{
    struct maker makers[] = {{.host = "host-a", .service = "shop", .pid = 4001},
                             {.host = "host-a", .service = "cart", .pid = 5001},
                             {.host = "host-b", .service = "away", .pid = 6001}};
    must(argc == 4, "usage");
    state = strtoull(argv[3], NULL, 10);
    FILE *out = fopen(argv[1], "w"), *truth = fopen(argv[2], "w");
    must(out != NULL && truth != NULL, "fopen");
    for (uint32_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        makers[i].process = i;
        makers[i].truth = truth;
        for (uint32_t cut = 0; cut < CUTS; cut++)
            cut_put(&makers[i], cut, out);
        evidence_put(&makers[i], out);
    }
    must(fclose(out) == 0 && fclose(truth) == 0, "fclose");
    return 0;
}
