/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace as a fleet makes it, and what must be seen in it, for perfetto_rules.py: processes of two
 * hosts with hundreds of threads each, cut again and again at the same times, one pid and one
 * thread id twice, ranges over cuts, losses. Slots count up with the thread ids, as they do where a
 * server starts its threads in a row. Arguments: the trace, and the list of what is in it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "partition_make.h"
#include "partition_writer.h"

enum { PARTITIONS = 3, THREADS = 401, SECOND = 1000000000, FIRST_TID = 4001 };
#define EPOCH_NS UINT64_C(1795254000000000000)

struct maker {
    const char *host, *service;
    uint32_t pid, process;
    uint64_t boot_ns; /* since the host's start, at EPOCH_NS by the collector's clock */
    int64_t offset_ns;
    struct partition_writer *w;
    uint32_t range, span, instant, counter, operation;
    FILE *truth;
};

static void must(bool fine, const char *what)
{
    if (fine)
        return;
    fprintf(stderr, "make_perfetto_trace: %s failed\n", what);
    exit(1);
}

static struct partition_value number(uint64_t n)
{
    struct partition_value v = {.u64 = n};
    return v;
}

/* Ticks are nanoseconds since EPOCH_NS. */
static struct clock_snapshot snapshot(const struct maker *m, uint64_t ticks)
{
    return (struct clock_snapshot){ticks, m->boot_ns + ticks, m->boot_ns + ticks,
                                   EPOCH_NS + ticks - (uint64_t)m->offset_ns};
}

static void types_put(struct maker *m)
{
    struct partition_event_type type = {.name = "query",
                                        .text = "",
                                        .file = "src/db.c",
                                        .line = 17,
                                        .klass = SKEIN_CLASS_RANGE_BEGIN,
                                        .nargs = 1,
                                        .args = {{SKEIN_T_U64, "rows", ""}}};
    m->range = (uint32_t)partition_writer_type(m->w, &type);
    type.klass = SKEIN_CLASS_SPAN;
    type.name = "recv";
    type.file = "src/net.c";
    type.line = 9;
    m->operation = (uint32_t)partition_writer_type(m->w, &type);
    type.file = "";
    type.name = "read";
    m->span = (uint32_t)partition_writer_type(m->w, &type);
    type.name = "miss";
    type.klass = SKEIN_CLASS_INSTANT;
    m->instant = (uint32_t)partition_writer_type(m->w, &type);
    type.name = "depth";
    type.klass = SKEIN_CLASS_COUNTER;
    m->counter = (uint32_t)partition_writer_type(m->w, &type);
}

/* "slice SERVICE TID NAME UTC DURATION"; of an "open" one the duration is 0. */
static void truth_put(const struct maker *m, const char *kind, uint32_t tid, const char *name,
                      uint64_t ticks, uint64_t dur)
{
    fprintf(m->truth, "%s %s %" PRIu32 " %s %" PRIu64 " %" PRIu64 "\n", kind, m->service, tid, name,
            EPOCH_NS + ticks, dur);
}

/* One thread in the nth second: a range from the cut before, one with a span in it, one over the
 * next cut. */
static void thread_put(struct maker *m, uint32_t i, uint32_t n)
{
    uint64_t base = (uint64_t)n * SECOND, over = base + SECOND - 100000 - i;
    uint32_t tid = i == THREADS - 1 ? FIRST_TID + 7 : FIRST_TID + i; /* the last has it again */
    struct partition_thread thread = {tid, i % 2 ? "connection" : "worker", (uint64_t)i << 32 | 1};
    struct partition_value arg = number(i);
    uint32_t t = (uint32_t)partition_writer_thread(m->w, &thread);
    partition_writer_batch(m->w, t, 1, n, false);
    if (n > 0) {
        partition_writer_open_range(m->w, m->range, over - SECOND);
        partition_writer_end(m->w, base + 500 + i);
        truth_put(m, "slice", tid, "query", over - SECOND, 100500 + 2 * i);
    }
    partition_writer_event(m->w, m->range, base + 10000 + i, 0, &arg);
    partition_writer_event(m->w, m->span, base + 12000 + i, 1000, &arg);
    partition_writer_end(m->w, base + 15000 + i);
    partition_writer_event(m->w, m->instant, base + 16000 + i, 0, &arg);
    truth_put(m, "slice", tid, "query", base + 10000 + i, 5000);
    truth_put(m, "slice", tid, "read", base + 11000 + i, 1000);
    truth_put(m, "instant", tid, "miss", base + 16000 + i, 0);
    if (i == 3)
        partition_writer_event(m->w, m->counter, base + 17000, 0, &arg);
    if (i == 5 || i == 6)
        partition_writer_loss(m->w, &(struct partition_loss){t, PARTITION_LOSS_RING_FULL, 12,
                                                             base + 20000, base + 30000});
    partition_writer_event(m->w, m->span, base + 40000, 1000, &arg);
    truth_put(m, "slice", tid, "read", base + 39000, 1000);
    if (n + 1 < PARTITIONS) {
        partition_writer_event(m->w, m->range, over, 0, &arg);
    } else if (i == 0) { /* it is in there at the end */
        partition_writer_open(m->w, &(struct partition_open){t, m->operation, base + 60000, -9});
        truth_put(m, "open", tid, "recv", base + 60000, 0);
    }
}

static void partition_put(struct maker *m, uint32_t n, FILE *out)
{
    struct buf bytes = {0};
    uint64_t from = (uint64_t)n * SECOND;
    struct partition_info info = {.key = key_of(m->process, 1, n),
                                  .pid = m->pid,
                                  .process_start_ns = EPOCH_NS - SECOND,
                                  .clock = PARTITION_CLOCK_MONOTONIC,
                                  .begin = snapshot(m, from),
                                  .end = snapshot(m, from + SECOND),
                                  .clock_offset_ns = m->offset_ns,
                                  .window_from_ticks = from,
                                  .window_to_ticks = from + SECOND,
                                  .host = m->host,
                                  .service = m->service,
                                  .labels = "",
                                  .exe = "/usr/sbin/server"};
    must(partition_writer_new(&info, &m->w) == SKEIN_OK, "partition_writer_new");
    types_put(m);
    for (uint32_t i = 0; i < THREADS; i++)
        thread_put(m, i, n);
    must(partition_writer_finish(m->w, &bytes, NULL) == SKEIN_OK, "partition_writer_finish");
    must(fwrite(bytes.data, 1, bytes.len, out) == bytes.len, "the trace");
    partition_writer_free(&m->w);
    buf_fini(&bytes);
}

int main(int argc, char **argv)
{
    struct maker makers[] = {
        {.host = "host-a", .service = "shop", .pid = 4001, .boot_ns = 50ull * SECOND},
        {.host = "host-a", .service = "cart", .pid = 900, .boot_ns = 50ull * SECOND},
        {.host = "host-a",
         .service = "till",
         .pid = 901,
         .boot_ns = 50ull * SECOND,
         .offset_ns = -700}, /* estimated at another time */
        {.host = "host-b",
         .service = "away",
         .pid = 900,
         .boot_ns = 7ull * SECOND,
         .offset_ns = -1500},
    };
    must(argc == 3, "usage");
    FILE *out = fopen(argv[1], "w"), *truth = fopen(argv[2], "w");
    must(out != NULL && truth != NULL, "fopen");
    for (uint32_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        makers[i].process = i;
        makers[i].truth = truth;
        for (uint32_t n = 0; n < PARTITIONS; n++)
            partition_put(&makers[i], n, out);
    }
    must(fclose(out) == 0 && fclose(truth) == 0, "fclose");
    return 0;
}
