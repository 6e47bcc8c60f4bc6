/* SPDX-License-Identifier: Apache-2.0
 *
 * Traces that the tests of sql/ ask, and docs/sql.md is about: a shop whose rows can be told by
 * hand, and a wood of random regions whose sums another program computes. Times are nanoseconds
 * since SHOP_NS. Whatever fails ends the program.
 *
 *     ms          0   1   2   3   4   5   6   7   8   9  10  11  12  13 ... 20  21
 *     main        request------------------------------------|
 *                     query-------|   query-----------|
 *                         read|
 *                                                       log
 *     worker      lock----------------------------|           batch-----------------|
 *                                                                7 lost
 *     main (CPU)  ran-----|ready--|blocked (D)------------|ran|
 */
#ifndef SHOP_TRACE_H
#define SHOP_TRACE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_writer.h"
#include "sched_types.h"

#define SHOP_NS UINT64_C(1800000000000000000)
#define SHOP_MS UINT64_C(1000000)

static inline void shop_must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "shop_trace: %s failed\n", what);
    abort();
}

static inline struct partition_writer *shop_writer(uint8_t process, uint64_t sequence,
                                                   uint64_t from, uint64_t to, bool evidence)
{
    struct partition_info info = {.key = {.epoch = 1, .sequence = sequence},
                                  .generation = sequence + 1,
                                  .pid = process,
                                  .process_start_ns = SHOP_NS - 5000 * SHOP_MS,
                                  .clock = PARTITION_CLOCK_MONOTONIC,
                                  .mode = SKEIN_MODE_CIRCULAR,
                                  .begin = {from, from, from, SHOP_NS + from},
                                  .end = {to, to, to, SHOP_NS + to},
                                  .window_from_ticks = from,
                                  .window_to_ticks = to,
                                  .host = "web-1",
                                  .service = process == 41 ? "shop" : "wood",
                                  .labels = "zone=a",
                                  .exe = "/usr/bin/shop",
                                  .evidence = evidence};
    struct partition_writer *w = NULL;
    memset(info.key.process.bytes, process, sizeof info.key.process.bytes);
    shop_must(partition_writer_new(&info, &w) == SKEIN_OK, "a writer");
    return w;
}

static inline void shop_finish(struct partition_writer *w, struct buf *out)
{
    shop_must(partition_writer_finish(w, out, NULL) == SKEIN_OK, "a partition");
    partition_writer_free(&w);
}

static inline uint32_t shop_thread(struct partition_writer *w, uint32_t tid, const char *name)
{
    int64_t thread = partition_writer_thread(w, &(struct partition_thread){tid, name, 1});
    shop_must(thread >= 0, "a thread");
    return (uint32_t)thread;
}

static inline struct partition_value shop_text(const char *text)
{
    return (struct partition_value){.str = {text, (uint32_t)strlen(text), false}};
}

/* An event of a type; values up to its arguments. */
static inline void shop_event(struct partition_writer *w, const struct partition_event_type *type,
                              uint64_t ticks, uint64_t dur, const struct partition_value *values)
{
    int64_t number = partition_writer_type(w, type);
    shop_must(number >= 0, "a type");
    partition_writer_event(w, (uint32_t)number, ticks, dur, values);
}

#define SHOP_TYPE(c, type_name, of_class, of_group, count, ...)                                    \
    static const struct partition_event_type c = {.name = type_name,                               \
                                                  .text = "",                                      \
                                                  .file = "shop.c",                                \
                                                  .line = __LINE__,                                \
                                                  .klass = of_class,                               \
                                                  .group = of_group,                               \
                                                  .nargs = count,                                  \
                                                  .args = {__VA_ARGS__}}
SHOP_TYPE(shop_request, "request", SKEIN_CLASS_RANGE_BEGIN, 16, 2, {SKEIN_T_STR, "path", ""},
          {SKEIN_T_STR, "trace_id", ""});
SHOP_TYPE(shop_query, "query", SKEIN_CLASS_RANGE_BEGIN, 16, 2, {SKEIN_T_STR, "sql", ""},
          {SKEIN_T_U64, "rows", ""});
SHOP_TYPE(shop_read, "read", SKEIN_CLASS_SPAN, SKEIN_GROUP_IO, 2, {SKEIN_T_I64, "fd", ""},
          {SKEIN_T_I64, "result", "bytes"});
SHOP_TYPE(shop_lock, "mutex_lock", SKEIN_CLASS_SPAN, SKEIN_GROUP_LOCK, 1,
          {SKEIN_T_SEQ, "lock", ""});
SHOP_TYPE(shop_batch, "batch", SKEIN_CLASS_RANGE_BEGIN, 16, 0, {0, "", ""});
SHOP_TYPE(shop_depth, "queue_depth", SKEIN_CLASS_COUNTER, 0, 1, {SKEIN_T_U64, "value", "jobs"});
SHOP_TYPE(shop_log, "log", SKEIN_CLASS_LOG, SKEIN_GROUP_LOG, 2, {SKEIN_T_U64, "level", ""},
          {SKEIN_T_STR, "text", ""});
SHOP_TYPE(shop_load, "host.load", SKEIN_CLASS_COUNTER, 0, 1, {SKEIN_T_F64, "value", ""});
SHOP_TYPE(shop_sample, "cpu.sample", SKEIN_CLASS_INSTANT, SKEIN_GROUP_THREAD, 2,
          {SKEIN_T_U64, "cpu", ""}, {SKEIN_T_U64, "weight", "ns"});

/* The event before gets a stack of two addresses, of which the first has names. */
static inline void shop_stack(struct partition_writer *w, uint64_t second, uint8_t end)
{
    static const struct partition_line lines[] = {{"take(lock*)", "/src/lock.h", 12},
                                                  {"pay\033[2J(order&)", "/src/pay.cc", 7}};
    const uint64_t pcs[] = {0x401010, second};
    int64_t id = partition_writer_stack(w, &(struct partition_stack){pcs, 2, end});
    shop_must(id > 0, "a stack");
    partition_writer_mapping(
        w, &(struct partition_mapping){0x401000, 0x402000, 0, "/usr/bin/shop", {0}, 0});
    partition_writer_symbol(w, &(struct partition_symbol){0x40100f, lines, 2});
    partition_writer_event_stack(w, (uint32_t)id);
}

static inline void shop_main(struct partition_writer *w, uint32_t thread)
{
    struct partition_value v[2] = {{.u64 = 3}};
    partition_writer_batch(w, thread, 1, 0, false);
    shop_event(w, &shop_depth, 0, 0, v);
    v[0] = shop_text("/cart");
    v[1] = shop_text("4bf92f3577b34da6a3ce929d0e0e4736");
    shop_event(w, &shop_request, 0, 0, v);
    v[0] = shop_text("select 1");
    v[1].u64 = 1;
    shop_event(w, &shop_query, 1 * SHOP_MS, 0, v);
    v[0].i64 = 7;
    v[1].i64 = 512;
    shop_event(w, &shop_read, 3 * SHOP_MS, 1 * SHOP_MS, v);
    shop_stack(w, 0x9990, PARTITION_STACK_WHOLE);
    partition_writer_end(w, 4 * SHOP_MS);
    v[0] = shop_text("select \"2\"");
    v[1].u64 = UINT64_MAX;
    shop_event(w, &shop_query, 5 * SHOP_MS, 0, v);
    partition_writer_end(w, 9 * SHOP_MS);
    v[0].u64 = SKEIN_WARN;
    v[1] = shop_text("slow,\n\033[31m \"cart\"");
    shop_event(w, &shop_log, 9500000, 0, v);
    partition_writer_end(w, 10 * SHOP_MS);
    v[0].u64 = 5;
    shop_event(w, &shop_depth, 10 * SHOP_MS, 0, v);
}

static inline void shop_span(struct partition_writer *w, enum sched_type type, uint64_t from,
                             uint64_t to, const struct partition_value *values)
{
    shop_event(w, &sched_types[type], to, to - from, values);
}

static inline void shop_evidence(struct buf *out)
{
    struct partition_writer *w = shop_writer(41, PARTITION_EVIDENCE_FROM, 0, 30 * SHOP_MS, true);
    uint32_t thread = shop_thread(w, 41, "main"), host = shop_thread(w, 0, "host");
    struct partition_value v[6] = {{.u64 = 1}, shop_text("begin")};
    partition_writer_batch(w, thread, 1, 0, false);
    for (uint64_t i = 0; i < 3; i++) {
        struct partition_value sample[2] = {{.u64 = 1}, {.u64 = 10101010}};
        shop_event(w, &shop_sample, 500000 + i * 100000, 0, sample);
        shop_stack(w, i == 1 ? 0x8880 : 0x9990, PARTITION_STACK_CUT | PARTITION_STACK_EXACT);
    }
    shop_span(w, SCHED_TYPE_RUN, 0, 2 * SHOP_MS, v);
    struct partition_value ready[6] = {{.u64 = 1},      shop_text("preempted"), {.u64 = 99},
                                       shop_text("cp"), {.u64 = 900000},        shop_text("")};
    shop_span(w, SCHED_TYPE_RUNNABLE, 2 * SHOP_MS, 4 * SHOP_MS, ready);
    struct partition_value blocked[6] = {shop_text("D"),       {.u64 = 0}, shop_text("swapper"),
                                         shop_text("hardirq"), {.u64 = 1}, shop_text("")};
    shop_span(w, SCHED_TYPE_BLOCKED, 4 * SHOP_MS, 10 * SHOP_MS, blocked);
    v[1] = shop_text("");
    shop_span(w, SCHED_TYPE_RUN, 10 * SHOP_MS, 11 * SHOP_MS, v);
    partition_writer_batch(w, host, 1, 0, false);
    v[0].f64 = 1.5;
    shop_event(w, &shop_load, 1 * SHOP_MS, 0, v);
    v[0].f64 = 2.25;
    shop_event(w, &shop_load, 11 * SHOP_MS, 0, v);
    shop_finish(w, out);
}

/* Appends the shop: two cuts and evidence of process 41. */
static inline void shop_trace(struct buf *out)
{
    struct partition_writer *w = shop_writer(41, 0, 0, 15 * SHOP_MS, false);
    uint32_t thread = shop_thread(w, 41, "main"), worker = shop_thread(w, 42, "worker");
    struct partition_value lock = {.seq = {0xabc, 1}}, none[1] = {{.u64 = 0}};
    shop_main(w, thread);
    partition_writer_batch(w, worker, 1, 0, false);
    shop_event(w, &shop_lock, 8 * SHOP_MS, 8 * SHOP_MS, &lock);
    shop_event(w, &shop_batch, 11 * SHOP_MS, 0, none);
    partition_writer_loss(w, &(struct partition_loss){worker, PARTITION_LOSS_RING_FULL, 7,
                                                      12 * SHOP_MS, 13 * SHOP_MS});
    shop_finish(w, out);
    w = shop_writer(41, 1, 15 * SHOP_MS, 30 * SHOP_MS, false);
    worker = shop_thread(w, 42, "worker");
    partition_writer_batch(w, worker, 2, 1, false);
    partition_writer_open_range(w, partition_writer_type(w, &shop_batch), 11 * SHOP_MS);
    partition_writer_end(w, 20 * SHOP_MS);
    shop_finish(w, out);
    shop_evidence(out);
}

/* ---- the wood ---- */

static inline uint32_t wood_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}

SHOP_TYPE(wood_a, "a", SKEIN_CLASS_RANGE_BEGIN, 16, 1, {SKEIN_T_U64, "n", ""});
SHOP_TYPE(wood_b, "b", SKEIN_CLASS_RANGE_BEGIN, 17, 1, {SKEIN_T_U64, "n", ""});
SHOP_TYPE(wood_s, "s", SKEIN_CLASS_SPAN, 16, 1, {SKEIN_T_U64, "n", ""});
SHOP_TYPE(wood_i, "i", SKEIN_CLASS_INSTANT, 1, 1, {SKEIN_T_U64, "n", ""});

/* One thread of a cut: `events` records; ranges in ranges, spans that end in them, instants. All are
 * closed at the end. */
static inline void wood_thread(struct partition_writer *w, uint32_t thread, uint64_t *random,
                               uint64_t from, uint32_t events)
{
    uint64_t now = from, began[8];
    unsigned depth = 0;
    partition_writer_batch(w, thread, 1, from, false);
    for (uint32_t n = 0; n < events || depth > 0; n++) {
        struct partition_value v = {.u64 = n};
        uint32_t what = n < events ? wood_random(random) % 10 : 9;
        now += 1 + wood_random(random) % 1000;
        if (what < 4 && depth < 8) {
            began[depth++] = now;
            shop_event(w, what < 2 ? &wood_a : &wood_b, now, 0, &v);
        } else if (what < 6 && depth > 0) {
            uint64_t room = now - began[depth - 1];
            shop_event(w, &wood_s, now, 1 + wood_random(random) % room, &v);
        } else if (what < 8 || depth == 0) {
            shop_event(w, &wood_i, now, 0, &v);
        } else {
            depth--;
            partition_writer_end(w, now);
        }
    }
}

/* Appends the wood: processes 50 to 52, three cuts each, three threads in each. */
static inline void wood_trace(struct buf *out, uint64_t seed, uint32_t events)
{
    for (uint8_t process = 50; process < 53; process++)
        for (uint64_t cut = 0; cut < 3; cut++) {
            uint64_t from = cut * 1000 * SHOP_MS;
            struct partition_writer *w =
                shop_writer(process, cut, from, from + 1000 * SHOP_MS, false);
            for (uint32_t t = 0; t < 3; t++) {
                char name[16];
                snprintf(name, sizeof name, "tree-%u", t);
                wood_thread(w, shop_thread(w, process * 10u + t, name), &seed, from, events);
            }
            shop_finish(w, out);
        }
}

#endif
