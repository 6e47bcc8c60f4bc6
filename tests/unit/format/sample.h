/* SPDX-License-Identifier: Apache-2.0
 *
 * Partitions that the format's tests, fuzz corpora and the golden file are made of. Times: one tick
 * is 64 ns, tick 0 is 2026-11-21T09:40:00Z by the host's clock, which is 1.5 us ahead of the
 * collector's: SAMPLE_NS(t) is what a reader must give, SAMPLE_HOST_NS(t) what a footer has.
 */
#ifndef SAMPLE_H
#define SAMPLE_H

#include <stdlib.h>
#include <string.h>

#include "partition_reader.h"
#include "partition_writer.h"

#define SAMPLE_EPOCH_NS       UINT64_C(1795254000000000000)
#define SAMPLE_OFFSET_NS      (-1500)
#define SAMPLE_HOST_NS(ticks) (SAMPLE_EPOCH_NS + (uint64_t)(ticks)*64)
#define SAMPLE_NS(ticks)      (SAMPLE_HOST_NS(ticks) - 1500)
#define SAMPLE_LAST_TICK      UINT64_C(1000000)

static inline struct partition_info sample_info(void)
{
    struct partition_info info = {.generation = 7,
                                  .pid = 4711,
                                  .process_start_ns = SAMPLE_EPOCH_NS - 5000000000u,
                                  .clock = PARTITION_CLOCK_TSC,
                                  .shift = 7,
                                  .mode = SKEIN_MODE_CIRCULAR,
                                  .clock_offset_ns = SAMPLE_OFFSET_NS,
                                  .window_from_ticks = 10,
                                  .window_to_ticks = 900000,
                                  .host = "host-a",
                                  .service = "checkout",
                                  .labels = "zone=a,canary=",
                                  .exe = "/usr/bin/checkout",
                                  .death = {.signal = 11, .status = -1, .known = true}};
    for (unsigned i = 0; i < 16; i++)
        info.key.process.bytes[i] = (uint8_t)(i + 1);
    info.key.epoch = 3;
    info.key.sequence = 42;
    info.begin = (struct clock_snapshot){0, 1000000000, 2000000000, SAMPLE_EPOCH_NS};
    info.end = (struct clock_snapshot){SAMPLE_LAST_TICK, 1000000000 + SAMPLE_LAST_TICK * 64,
                                       2000000000 + SAMPLE_LAST_TICK * 64,
                                       SAMPLE_EPOCH_NS + SAMPLE_LAST_TICK * 64};
    return info;
}

static inline struct partition_value sample_str(const char *text)
{
    struct partition_value v = {.str = {text, (uint32_t)strlen(text), false}};
    return v;
}

static inline struct partition_value sample_u64(uint64_t n)
{
    struct partition_value v = {.u64 = n};
    return v;
}

static inline struct partition_value sample_seq(uint64_t resource, uint64_t number)
{
    struct partition_value v = {.seq = {resource, number}};
    return v;
}

static const struct partition_event_type sample_query = {
    .name = "query",
    .text = "A statement runs",
    .file = "db.c",
    .line = 17,
    .klass = SKEIN_CLASS_RANGE_BEGIN,
    .group = 16,
    .nargs = 2,
    .args = {{SKEIN_T_STR, "sql", ""}, {SKEIN_T_U64, "rows", ""}}};
static const struct partition_event_type sample_read = {
    .name = "read",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_SPAN,
    .group = SKEIN_GROUP_IO,
    .nargs = 2,
    .args = {{SKEIN_T_I64, "fd", ""}, {SKEIN_T_I64, "result", "bytes"}}};
static const struct partition_event_type sample_all = {.name = "all",
                                                       .text = "Every type of argument",
                                                       .file = "all.c",
                                                       .line = 1,
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .nargs = 6,
                                                       .args = {{SKEIN_T_F64, "ratio", "%"},
                                                                {SKEIN_T_BOOL, "hit", ""},
                                                                {SKEIN_T_PTR, "at", ""},
                                                                {SKEIN_T_STR, "trace_id", ""},
                                                                {SKEIN_T_SEQ, "lock", ""},
                                                                {SKEIN_T_I64, "delta", "ms"}}};
static const struct partition_event_type sample_depth = {.name = "queue_depth",
                                                         .text = "",
                                                         .file = "",
                                                         .klass = SKEIN_CLASS_COUNTER,
                                                         .nargs = 1,
                                                         .args = {{SKEIN_T_U64, "value", "jobs"}}};
static const struct partition_event_type sample_log = {
    .name = "log",
    .text = "",
    .file = "",
    .klass = SKEIN_CLASS_LOG,
    .group = SKEIN_GROUP_LOG,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "level", ""}, {SKEIN_T_STR, "text", ""}}};
static const struct partition_event_type sample_lock = {.name = "lock",
                                                        .text = "",
                                                        .file = "",
                                                        .klass = SKEIN_CLASS_INSTANT,
                                                        .group = SKEIN_GROUP_LOCK,
                                                        .nargs = 1,
                                                        .args = {{SKEIN_T_SEQ, "lock", ""}}};

#define SAMPLE_TRACE_ID "4bf92f3577b34da6a3ce929d0e0e4736"

/* A small partition with something of everything; every call of the writer occurs. */
static inline void sample_fill(struct partition_writer *w)
{
    struct partition_thread main_thread = {4711, "main", 1}, worker = {4712, "worker \xc3\xa9", 2};
    uint32_t t0 = (uint32_t)partition_writer_thread(w, &main_thread);
    uint32_t t1 = (uint32_t)partition_writer_thread(w, &worker);
    uint32_t query = (uint32_t)partition_writer_type(w, &sample_query);
    uint32_t read = (uint32_t)partition_writer_type(w, &sample_read);
    uint32_t all = (uint32_t)partition_writer_type(w, &sample_all);
    uint32_t depth = (uint32_t)partition_writer_type(w, &sample_depth);
    uint32_t log = (uint32_t)partition_writer_type(w, &sample_log);
    struct partition_value args[SKEIN_ARGS_MAX] = {sample_u64(0)};

    partition_writer_batch(w, t0, 7, 100, false);
    partition_writer_open_range(w, query, 50);
    partition_writer_open_range(w, -1, 60);
    for (unsigned i = 0; i < 20; i++) {
        args[0] = sample_str(i % 2 ? "select 1" : "select 2");
        args[1] = sample_u64(i * 1000);
        partition_writer_event(w, query, 1000 + i * 100, 0, args);
        args[0].i64 = (int64_t)i - 5;
        args[1].i64 = -(int64_t)i * 70000;
        partition_writer_event(w, read, 1040 + i * 100, 30, args);
        partition_writer_end(w, 1050 + i * 100);
    }
    partition_writer_end(w, 4000);
    partition_writer_end(w, 4010);
    partition_writer_end(w, 4020);

    partition_writer_batch(w, t1, 6, 8, true);
    args[0] = sample_u64(3);
    partition_writer_event(w, depth, 1500, 0, args);
    args[0] = sample_u64(SKEIN_WARN);
    args[1] = sample_str("retrying \"now\"\n\x1b[31m");
    partition_writer_event(w, log, 1501, 0, args);
    partition_writer_batch(w, t1, 7, 9, false);
    args[0].f64 = 0.5;
    args[1] = sample_u64(7);
    args[2] = sample_u64(UINT64_MAX);
    args[3] = sample_str(SAMPLE_TRACE_ID);
    args[4] = sample_seq(0xabc, 2);
    args[5].i64 = INT64_MIN;
    partition_writer_event(w, all, 3000, 0, args);
    args[0] = sample_str("commit");
    args[1] = sample_u64(UINT64_MAX);
    partition_writer_event(w, query, 3500, 0, args);

    partition_writer_loss(
        w, &(struct partition_loss){UINT32_MAX, PARTITION_LOSS_OVERWRITTEN, 0, 10, 900});
    partition_writer_loss(w,
                          &(struct partition_loss){t1, PARTITION_LOSS_RING_FULL, 12, 3100, 3200});
    partition_writer_open(w, &(struct partition_open){t0, read, 5000, -9});
}

/* Stacks of every kind: named with an inlined function, in a file without names, nowhere; whole, cut,
 * broken; with an exact first address. */
static inline void sample_stacks_fill(struct partition_writer *w)
{
    static const uint64_t waits[] = {0x7f10000212a5, 0x55aa00001234, 0x55aa00002000};
    static const uint64_t runs[] = {0x55aa00001100, 0x55aa00002000, 0x123, 0x7f10000312a5};
    static const struct partition_line named[] = {{"wait_for(lock&)", "src/lock.h", 31},
                                                  {"checkout::pay(order const&)", "src/pay.cc", 7}};
    static const struct partition_line hostile[] = {{"a\x1b[31m\nb\xff\"", "", 0}};
    static const struct partition_mapping libc = {0x7f1000020000,       0x7f1000030000,     0x20000,
                                                  "/usr/lib/libc.so.6", {0xab, 0x01, 0xcd}, 3};
    static const struct partition_mapping exe = {
        0x55aa00001000, 0x55aa00009000, 0x1000, "/usr/bin/checkout", {0}, 0};
    struct partition_thread thread = {4713, "payer", 3};
    uint32_t t = (uint32_t)partition_writer_thread(w, &thread);
    uint32_t read = (uint32_t)partition_writer_type(w, &sample_read);
    uint32_t query = (uint32_t)partition_writer_type(w, &sample_query);
    struct partition_value args[2] = {sample_u64(4), sample_u64(512)};
    uint32_t waiting = (uint32_t)partition_writer_stack(
        w, &(struct partition_stack){waits, 3, PARTITION_STACK_WHOLE});
    uint32_t running = (uint32_t)partition_writer_stack(
        w, &(struct partition_stack){runs, 4, PARTITION_STACK_BROKEN | PARTITION_STACK_EXACT});
    uint32_t cut = (uint32_t)partition_writer_stack(
        w, &(struct partition_stack){waits, 2, PARTITION_STACK_CUT});
    partition_writer_mapping(w, &libc);
    partition_writer_mapping(w, &exe);
    partition_writer_symbol(w, &(struct partition_symbol){0x55aa00001233, named, 2});
    partition_writer_symbol(w, &(struct partition_symbol){0x55aa00001100, hostile, 1});
    partition_writer_batch(w, t, 7, 20, false);
    partition_writer_event(w, read, 6000, 500, args);
    partition_writer_event_stack(w, waiting);
    args[0] = sample_str("select 3");
    partition_writer_event(w, query, 6100, 0, args);
    partition_writer_event_stack(w, running);
    partition_writer_end(w, 6200);
    partition_writer_event_stack(w, cut);
}

/* The sample as bytes, with its stacks; the caller frees with buf_fini. A status of the writer. */
static inline int sample_stacks_partition(struct buf *out)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    int status = partition_writer_new(&info, &w);
    if (status != SKEIN_OK)
        return status;
    sample_fill(w);
    sample_stacks_fill(w);
    status = partition_writer_finish(w, out, NULL);
    partition_writer_free(&w);
    return status;
}

/* The sample as of before there were stacks. */
static inline int sample_partition(struct buf *out)
{
    struct partition_info info = sample_info();
    struct partition_writer *w;
    int status = partition_writer_new(&info, &w);
    if (status != SKEIN_OK)
        return status;
    sample_fill(w);
    status = partition_writer_finish(w, out, NULL);
    partition_writer_free(&w);
    return status;
}

#endif
