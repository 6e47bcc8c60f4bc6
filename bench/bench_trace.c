/* SPDX-License-Identifier: Apache-2.0
 *
 * The made trace of the benches; see bench_trace.h.
 */
#include "bench_trace.h"

#include <stdio.h>
#include <string.h>

#include "bench_host.h"

enum { CUT_EVENTS = 1000000, BATCH = 5000, THREADS = 4, PROCESSES = 2 };

static uint64_t rnd(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

void bench_rows_make(struct bench_row *rows, size_t n, size_t first, uint64_t *ticks,
                     uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t r = rnd(state);
        struct bench_row *row = &rows[i];
        *ticks += 5 + r % 200;
        *row = (struct bench_row){.ticks = *ticks, .type = (uint8_t)(i % 4)};
        if (row->type == BENCH_REQUEST)
            row->a = (uint32_t)((r >> 20) % 10000);
        else if (row->type == BENCH_READ)
            row->a = (uint32_t)(8 + (r >> 20) % 50);
        else if (row->type == BENCH_STATE)
            row->a = (uint32_t)(first + i);
        if (row->type == BENCH_REQUEST || row->type == BENCH_READ)
            row->b = (uint16_t)(64 + (r >> 36) % 1400);
        else if (row->type == BENCH_STATE)
            row->b = (uint16_t)((r >> 40) % 5);
        row->dur = (uint8_t)(row->type == BENCH_READ ? 3 + (r >> 12) % 60 : 0);
    }
}

void bench_types_put(struct partition_writer *w, bool texts, uint32_t ids[BENCH_TYPES])
{
    struct partition_event_type types[BENCH_TYPES] = {
        [BENCH_REQUEST] = {.name = "request",
                           .klass = SKEIN_CLASS_RANGE_BEGIN,
                           .nargs = 2,
                           .args = {{SKEIN_T_U64, "key", ""}, {SKEIN_T_U64, "size", ""}}},
        [BENCH_READ] = {.name = "read",
                        .klass = SKEIN_CLASS_SPAN,
                        .nargs = 2,
                        .args = {{SKEIN_T_U64, "fd", ""}, {SKEIN_T_U64, "bytes", ""}}},
        [BENCH_STATE] = {.name = "state",
                         .klass = SKEIN_CLASS_INSTANT,
                         .nargs = 2,
                         .args = {{SKEIN_T_U64, "id", ""}, {SKEIN_T_U64, "state", ""}}}};
    if (texts) {
        types[BENCH_REQUEST].args[0].type = SKEIN_T_STR;
        types[BENCH_REQUEST].args[0].name = "path";
    }
    for (unsigned i = 0; i < BENCH_TYPES; i++)
        ids[i] = (uint32_t)partition_writer_type(w, &types[i]);
}

/* Two loops, as the one that is measured has numbers alone. */
static void numbers_write(struct partition_writer *w, const uint32_t *ids,
                          const struct bench_row *rows, size_t n)
{
    for (const struct bench_row *row = rows; row < rows + n; row++) {
        struct partition_value args[2] = {{.u64 = row->a}, {.u64 = row->b}};
        if (row->type == BENCH_END)
            partition_writer_end(w, row->ticks);
        else
            partition_writer_event(w, ids[row->type], row->ticks, row->dur, args);
    }
}

void bench_rows_write(struct partition_writer *w, const uint32_t ids[BENCH_TYPES], bool texts,
                      const struct bench_row *rows, size_t n)
{
    char path[32];
    for (size_t i = 0; texts && i < n; i++) {
        const struct bench_row *row = &rows[i];
        struct partition_value args[2] = {{.u64 = row->a}, {.u64 = row->b}};
        if (row->type == BENCH_REQUEST) {
            snprintf(path, sizeof path, "/cart/%u", (unsigned)row->a % 500);
            args[0].str.text = path;
            args[0].str.len = (uint32_t)strlen(path);
            args[0].str.cut = false;
        }
        if (row->type == BENCH_END)
            partition_writer_end(w, row->ticks);
        else
            partition_writer_event(w, ids[row->type], row->ticks, row->dur, args);
    }
    if (!texts)
        numbers_write(w, ids, rows, n);
}

/* Returns the tick at which it ends. */
static uint64_t cut_put(struct buf *out, unsigned process, uint64_t sequence, uint64_t from,
                        uint64_t *state)
{
    static struct bench_row rows[BATCH];
    struct partition_info info = {.pid = process + 1,
                                  .key = {.epoch = 1, .sequence = sequence},
                                  .clock = PARTITION_CLOCK_TSC,
                                  .host = "host",
                                  .service = "shop",
                                  .labels = "",
                                  .exe = ""};
    uint64_t ticks[THREADS], last = from;
    uint32_t ids[BENCH_TYPES], threads[THREADS];
    struct partition_writer *w;
    info.key.process.bytes[0] = (uint8_t)process;
    info.window_from_ticks = from;
    info.end = (struct clock_snapshot){UINT64_C(1) << 40, (uint64_t)BENCH_TICK_NS << 40,
                                       (uint64_t)BENCH_TICK_NS << 40,
                                       BENCH_EPOCH_NS + ((uint64_t)BENCH_TICK_NS << 40)};
    bench_must(partition_writer_new(&info, &w) == SKEIN_OK, "a writer");
    bench_types_put(w, true, ids);
    for (unsigned i = 0; i < THREADS; i++) {
        struct partition_thread thread = {process * THREADS + i, "worker", 1};
        threads[i] = (uint32_t)partition_writer_thread(w, &thread);
        ticks[i] = from;
    }
    for (unsigned i = 0; i < CUT_EVENTS / BATCH; i++) {
        unsigned t = i % THREADS;
        partition_writer_batch(w, threads[t], 1, sequence * 1000 + i / THREADS, false);
        bench_rows_make(rows, BATCH, (size_t)i * BATCH, &ticks[t], state);
        bench_rows_write(w, ids, true, rows, BATCH);
        last = ticks[t] > last ? ticks[t] : last;
    }
    bench_must(partition_writer_finish(w, out, NULL) == SKEIN_OK, "a partition");
    partition_writer_free(&w);
    return last;
}

uint64_t bench_trace_make(const char *path, uint64_t events)
{
    struct buf cut = {0};
    uint64_t state = BENCH_SEED, at[PROCESSES] = {0}, cuts = 0;
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
