/* SPDX-License-Identifier: Apache-2.0
 *
 * The trace of bench_read: two processes of four threads, requests as a service's, cut after cut. Owns
 * nothing beyond a call.
 */
#include "read_trace.h"

#include <stdio.h>
#include <string.h>

#include "bench_host.h"
#include "partition_writer.h"

enum { CUT_EVENTS = 1000000, BATCH = 5000, THREADS = 4, PROCESSES = 2 };

static const struct partition_event_type types[3] = {
    {.name = "read",
     .text = "",
     .file = "",
     .klass = SKEIN_CLASS_SPAN,
     .nargs = 2,
     .args = {{SKEIN_T_U64, "fd", ""}, {SKEIN_T_U64, "bytes", ""}}},
    {.name = "request",
     .text = "",
     .file = "",
     .klass = SKEIN_CLASS_RANGE_BEGIN,
     .nargs = 2,
     .args = {{SKEIN_T_STR, "path", ""}, {SKEIN_T_U64, "size", ""}}},
    {.name = "state",
     .text = "",
     .file = "",
     .klass = SKEIN_CLASS_INSTANT,
     .nargs = 2,
     .args = {{SKEIN_T_U64, "id", ""}, {SKEIN_T_U64, "state", ""}}}};

static uint64_t rnd(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A batch of a thread: a request with a read and a state inside, again and again. */
static uint64_t batch_put(struct partition_writer *w, const uint32_t ids[3], uint64_t ticks,
                          uint64_t *state)
{
    char path[32];
    struct partition_value args[2];
    for (unsigned i = 0; i < BATCH; i += 4) {
        uint64_t r = rnd(state);
        snprintf(path, sizeof path, "/cart/%u", (unsigned)(r >> 50) % 500);
        args[0].str.text = path;
        args[0].str.len = (uint32_t)strlen(path);
        args[0].str.cut = false;
        args[1].u64 = 64 + (r >> 36) % 1400;
        partition_writer_event(w, ids[1], ticks += 5 + r % 200, 0, args);
        args[0].u64 = 8 + (r >> 20) % 50;
        partition_writer_event(w, ids[0], ticks += 60 + r % 90, 3 + r % 60, args);
        args[0].u64 = i;
        args[1].u64 = (r >> 40) % 5;
        partition_writer_event(w, ids[2], ticks += 5 + (r >> 8) % 200, 0, args);
        partition_writer_end(w, ticks += 5 + (r >> 16) % 200);
    }
    return ticks;
}

/* Returns the tick at which it ends. */
static uint64_t cut_put(struct buf *out, unsigned process, uint64_t sequence, uint64_t from,
                        uint64_t *state)
{
    struct partition_info info = {.pid = process + 1,
                                  .key = {.epoch = 1, .sequence = sequence},
                                  .clock = PARTITION_CLOCK_TSC,
                                  .host = "host",
                                  .service = "shop",
                                  .labels = "",
                                  .exe = ""};
    uint64_t ticks[THREADS], last = from;
    uint32_t ids[3], threads[THREADS];
    struct partition_writer *w;
    info.key.process.bytes[0] = (uint8_t)process;
    info.window_from_ticks = from;
    info.end = (struct clock_snapshot){UINT64_C(1) << 40, UINT64_C(64) << 40, UINT64_C(64) << 40,
                                       READ_EPOCH_NS + (UINT64_C(64) << 40)};
    bench_must(partition_writer_new(&info, &w) == SKEIN_OK, "a writer");
    for (unsigned i = 0; i < 3; i++)
        ids[i] = (uint32_t)partition_writer_type(w, &types[i]);
    for (unsigned i = 0; i < THREADS; i++) {
        struct partition_thread thread = {process * THREADS + i, "worker", 1};
        threads[i] = (uint32_t)partition_writer_thread(w, &thread);
        ticks[i] = from;
    }
    for (unsigned i = 0; i < CUT_EVENTS / BATCH; i++) {
        unsigned t = i % THREADS;
        partition_writer_batch(w, threads[t], 1, sequence * 1000 + i / THREADS, false);
        ticks[t] = batch_put(w, ids, ticks[t], state);
        last = ticks[t] > last ? ticks[t] : last;
    }
    bench_must(partition_writer_finish(w, out, NULL) == SKEIN_OK, "a partition");
    partition_writer_free(&w);
    return last;
}

uint64_t read_trace_make(const char *path, uint64_t events)
{
    struct buf cut = {0};
    uint64_t state = 88172645463325252u, at[PROCESSES] = {0}, cuts = 0;
    FILE *file = fopen(path, "we");
    bench_must(file != NULL, "a file");
    for (; cuts * CUT_EVENTS < events; cuts++) {
        buf_clear(&cut);
        at[cuts % PROCESSES] =
            cut_put(&cut, cuts % PROCESSES, cuts / PROCESSES, at[cuts % PROCESSES], &state);
        bench_must(fwrite(cut.data, 1, cut.len, file) == cut.len, "room for the trace");
    }
    bench_must(fclose(file) == 0, "room for the trace");
    buf_fini(&cut);
    return cuts * CUT_EVENTS;
}
