/* SPDX-License-Identifier: Apache-2.0
 *
 * What a summary costs beside reading alone: events a second, on one core, of a cursor over the same
 * columns whose rows are only looked at, and of the whole summary. A made trace in memory: four threads
 * whose regions nest four deep, six names, of which two are waits. Runs alternate, the median counts.
 * `--json` prints an array of results.
 *
 *   bench_summary [--json] [events in millions, 4]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "partition_writer.h"
#include "summary.h"

#define RUNS    5
#define CUT     400000 /* events of a partition */
#define THREADS 4
#define START   UINT64_C(1795254000000000000)

static uint64_t random_state = 1;

static uint64_t chance(uint64_t below)
{
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (random_state >> 33) % below;
}

/* CPU time: others at work do not count. */
static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct partition_event_type types[] = {
    {.name = "request", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16},
    {.name = "parse", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16},
    {.name = "query", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 17},
    {.name = "read",
     .text = "",
     .file = "",
     .klass = SKEIN_CLASS_SPAN,
     .group = SKEIN_GROUP_IO,
     .nargs = 2,
     .args = {{SKEIN_T_I64, "fd", ""}, {SKEIN_T_I64, "result", "bytes"}}},
    {.name = "send", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = SKEIN_GROUP_NET},
    {.name = "render", .text = "", .file = "", .klass = SKEIN_CLASS_SPAN, .group = 16}};
#define TYPES (sizeof types / sizeof *types)

static void must(int status)
{
    if (status != SKEIN_OK) {
        fprintf(stderr, "bench_summary: status %d\n", status);
        exit(1);
    }
}

/* Regions of one thread from tick `from` on: leaves of 2 to 40 ticks, in fours, thrice over. */
static void thread_fill(struct partition_writer *w, const uint32_t *numbers, uint64_t from,
                        size_t events)
{
    struct partition_value args[2] = {{.i64 = 7}, {.i64 = 512}};
    uint64_t at = from, begins[4] = {from, from, from, from};
    for (size_t n = 1; n <= events; n++) {
        unsigned depth = n % 4 != 0 ? 0 : n % 16 != 0 ? 1 : n % 64 != 0 ? 2 : 3;
        uint64_t begin = depth == 0 ? at + 1 : begins[depth];
        at += depth == 0 ? 2 + chance(40) : 1;
        partition_writer_event(w, numbers[depth == 0 ? 3 + n % 3 : 3 - depth], at, at - begin,
                               args);
        for (unsigned i = 0; i <= depth; i++)
            begins[i] = at;
    }
}

static void cut_make(uint64_t sequence, uint64_t from, size_t events, struct buf *out)
{
    const uint64_t to = from + events / THREADS * 30;
    const struct partition_info info = {.key = {.process = {{1}}, .epoch = 1, .sequence = sequence},
                                        .generation = sequence,
                                        .pid = 100,
                                        .clock = PARTITION_CLOCK_MONOTONIC,
                                        .begin = {0, 0, 0, START},
                                        .end = {to, to * 64, to * 64, START + to * 64},
                                        .window_from_ticks = from,
                                        .window_to_ticks = to,
                                        .host = "h",
                                        .service = "bench",
                                        .labels = "",
                                        .exe = ""};
    struct partition_writer *w;
    uint32_t numbers[TYPES];
    must(partition_writer_new(&info, &w));
    for (size_t i = 0; i < TYPES; i++)
        numbers[i] = (uint32_t)partition_writer_type(w, &types[i]);
    for (uint32_t t = 0; t < THREADS; t++) {
        const struct partition_thread thread = {100 + t, "worker", 1};
        partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), sequence, sequence,
                               false);
        thread_fill(w, numbers, from, events / THREADS);
    }
    must(partition_writer_finish(w, out, NULL));
    partition_writer_free(&w);
}

static struct skein_trace *trace_open(const struct buf *bytes)
{
    struct skein_trace *trace;
    char error[SKEIN_TRACE_ERROR_BYTES];
    must(skein_trace_new(&trace));
    must(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error));
    return trace;
}

static double read_alone(const struct buf *bytes, uint64_t *rows)
{
    struct skein_trace *trace = trace_open(bytes);
    struct skein_query query = {.size = sizeof query, .columns = SUMMARY_COLUMNS};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    volatile uint64_t sink = 0;
    double began = now_s();
    must(skein_cursor_new(trace, &query, &cursor));
    for (*rows = 0; skein_cursor_next(cursor, &batch) > 0; *rows += batch.count)
        for (uint32_t i = 0; i < batch.count; i++)
            sink += batch.dur_ns[i];
    double took = now_s() - began;
    skein_cursor_free(&cursor);
    skein_trace_free(&trace);
    (void)sink;
    return took;
}

static double sum_up(const struct buf *bytes, size_t *put_bytes)
{
    struct skein_trace *trace = trace_open(bytes);
    struct summary *s;
    struct buf out = {0};
    double began = now_s();
    must(summary_new(0, &s));
    must(summary_read(s, trace, NULL));
    double took = now_s() - began;
    must(summary_bytes_put(s, &out));
    *put_bytes = out.len;
    buf_fini(&out);
    summary_free(&s);
    skein_trace_free(&trace);
    return took;
}

static int doubles_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    const char *millions = argc > 1 + json ? argv[1 + json] : "4";
    size_t events = (size_t)(strtod(millions, NULL) * 1e6), put_bytes = 0;
    struct buf bytes = {0};
    double alone[RUNS], whole[RUNS];
    uint64_t rows = 0, from = 10;
    for (size_t made = 0, sequence = 1; made < events; made += CUT, sequence++) {
        cut_make(sequence, from, CUT, &bytes);
        from += CUT / THREADS * 30;
    }
    for (unsigned i = 0; i < RUNS; i++) {
        alone[i] = read_alone(&bytes, &rows);
        whole[i] = sum_up(&bytes, &put_bytes);
    }
    qsort(alone, RUNS, sizeof *alone, doubles_compare);
    qsort(whole, RUNS, sizeof *whole, doubles_compare);
    double n = (double)rows, one = alone[RUNS / 2], all = whole[RUNS / 2];
    if (json)
        printf("[{\"name\":\"summary\",\"rows\":%" PRIu64 ",\"bytes\":%zu,\"summary_bytes\":%zu,"
               "\"read_per_s\":%.0f,\"summary_per_s\":%.0f,\"summary_ns\":%.2f}]\n",
               rows, bytes.len, put_bytes, n / one, n / all, (all - one) / n * 1e9);
    else
        printf("%" PRIu64 " rows, %zu bytes\nread alone    %6.1f million/s\nread and summed up "
               "%6.1f million/s: %.1f ns a row more, %zu bytes of summary\n",
               rows, bytes.len, n / one / 1e6, n / all / 1e6, (all - one) / n * 1e9, put_bytes);
    buf_fini(&bytes);
    return 0;
}
