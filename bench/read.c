/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to read a trace through skein/trace.h: in order with every column, with time and type
 * alone, and one second of one thread; beside copying the same bytes out of a file, and beside
 * babeltrace2 where --ctf names a CTF trace (it says how many events that has). The trace is made
 * first: two processes of four threads, requests as a service's, cut after cut. Times of reading are
 * of the processor, so that they are of one core whoever else is at work.
 *
 *     bench_read [--json] [--events N] [--keep FILE] [--ctf FOLDER]
 *
 * --keep leaves the trace there, so that it can be exported (skein export --to ctf) and given back.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "partition_writer.h"
#include "skein/trace.h"
#include "trace_merge.h"

enum { EVENTS = 10000000, CUT_EVENTS = 1000000, BATCH = 5000, THREADS = 4, PROCESSES = 2 };
enum { ROUNDS = 3, WANTED_TID = 2 };
#define TICK_NS  64
#define EPOCH_NS UINT64_C(1795254000000000000)

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

/* ---- the trace ---- */

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
                                       EPOCH_NS + (UINT64_C(64) << 40)};
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

static void trace_make(struct buf *out, uint64_t events)
{
    uint64_t state = 88172645463325252u, at[PROCESSES] = {0};
    for (uint64_t cut = 0; cut * CUT_EVENTS < events; cut++)
        at[cut % PROCESSES] =
            cut_put(out, cut % PROCESSES, cut / PROCESSES, at[cut % PROCESSES], &state);
}

/* ---- reading ---- */

struct figures {
    uint64_t ns, rows, sum;
};

static bool thread_wanted(void *context, const struct skein_thread *thread)
{
    (void)context;
    return thread->tid == WANTED_TID;
}

/* Values are looked at, as whoever asks for them does. */
static uint64_t batch_sum(const struct skein_batch *b)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; b->time_ns != NULL && i < b->count; i++)
        sum += b->time_ns[i] + b->dur_ns[i] + b->type[i];
    for (uint32_t i = 0; b->args != NULL && i < b->count; i++)
        sum += skein_batch_args(b, i)[0].u64 != 0;
    return sum;
}

static struct figures trace_read(const char *path, const struct skein_query *query, bool slow)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct figures f = {0};
    struct skein_trace *trace;
    struct skein_cursor *cursor;
    struct skein_batch batch;
    uint64_t start = clock_cpu_ns();
    bench_must(skein_trace_open(path, &trace, error) == SKEIN_OK, "to open the trace");
    bench_must((slow ? trace_cursor_slow_new(trace, query, &cursor)
                     : skein_cursor_new(trace, query, &cursor)) == SKEIN_OK,
               "a cursor");
    while (skein_cursor_next(cursor, &batch) > 0) {
        f.rows += batch.count;
        f.sum += batch_sum(&batch);
    }
    f.ns = clock_cpu_ns() - start;
    skein_cursor_free(&cursor);
    skein_trace_free(&trace);
    return f;
}

/* The best of some rounds. */
static struct figures reading(const char *path, struct skein_query query, bool slow)
{
    struct figures best = {.ns = UINT64_MAX};
    query.size = sizeof query;
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct figures f = trace_read(path, &query, slow);
        best = f.ns < best.ns ? f : best;
    }
    return best;
}

static uint64_t bytes_read_ns(const char *path)
{
    static char buffer[1 << 17];
    uint64_t best = UINT64_MAX;
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t start = clock_monotonic_ns();
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        ssize_t got;
        while ((got = read(fd, buffer, sizeof buffer)) > 0)
            ;
        bench_must(fd >= 0 && got == 0, "to read the bytes");
        close(fd);
        uint64_t took = clock_monotonic_ns() - start;
        best = took < best ? took : best;
    }
    return best;
}

/* Of the processor, used by programs that were run and have ended. */
static uint64_t children_ns(void)
{
    struct rusage used;
    getrusage(RUSAGE_CHILDREN, &used);
    return ((uint64_t)used.ru_utime.tv_sec + (uint64_t)used.ru_stime.tv_sec) * 1000000000 +
           ((uint64_t)used.ru_utime.tv_usec + (uint64_t)used.ru_stime.tv_usec) * 1000;
}

/* Events of a CTF trace a second, in millions; 0: there is none. */
static double babeltrace_rate(const char *folder)
{
    char command[4400], line[256];
    uint64_t events = 0;
    if (folder == NULL)
        return 0;
    snprintf(command, sizeof command, "babeltrace2 '%s' --component=c:sink.utils.counter 2>&1",
             folder);
    uint64_t start = children_ns();
    FILE *out = popen(command, "re"); /* NOLINT(cert-env33-c): no word of it is a stranger's */
    bench_must(out != NULL, "to run babeltrace2");
    while (fgets(line, sizeof line, out) != NULL)
        if (strstr(line, "Event message") != NULL)
            events = strtoull(line, NULL, 10);
    bench_must(pclose(out) == 0 && events > 0, "babeltrace2 to count events");
    return (double)events * 1e3 / (double)(children_ns() - start);
}

/* ---- saying ---- */

static double rate(uint64_t events, uint64_t ns)
{
    return (double)events * 1e3 / (double)ns;
}

int main(int argc, char **argv)
{
    bool json = false;
    uint64_t events = EVENTS;
    const char *ctf = NULL, *keep = NULL;
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            json = true;
        else if (strcmp(argv[i], "--events") == 0 && i + 1 < argc)
            events = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
            keep = argv[++i];
        else if (strcmp(argv[i], "--ctf") == 0 && i + 1 < argc)
            ctf = argv[++i];
        else
            bench_fail(
                "an option that is known: [--json] [--events N] [--keep FILE] [--ctf FOLDER]");
    bench_must(events > 0, "events");
    char path[512];
    struct buf bytes = {0};
    trace_make(&bytes, events);
    events = (events + CUT_EVENTS - 1) / CUT_EVENTS * CUT_EVENTS;
    snprintf(path, sizeof path, "%s%s", keep != NULL ? keep : bench_folder(),
             keep != NULL ? "" : "/trace.skein");
    FILE *file = fopen(path, "we");
    bench_must(file != NULL && fwrite(bytes.data, 1, bytes.len, file) == bytes.len &&
                   fclose(file) == 0,
               "a file");
    uint64_t file_bytes = bytes.len, middle = EPOCH_NS + events / 16 * 105 * TICK_NS;
    buf_fini(&bytes);
    uint64_t cat_ns = bytes_read_ns(path);
    struct figures all = reading(path, (struct skein_query){.columns = SKEIN_COLUMN_ALL}, false);
    struct figures events_one_by_one =
        reading(path, (struct skein_query){.columns = SKEIN_COLUMN_ALL}, true);
    struct figures some = reading(
        path, (struct skein_query){.columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE}, false);
    struct figures one =
        reading(path,
                (struct skein_query){
                    .thread = thread_wanted, .from_ns = middle, .to_ns = middle + 1000000000},
                false);
    double peer = babeltrace_rate(ctf);
    if (json)
        printf(
            "[\n  {\"name\":\"read in order, all columns\",\"value\":%.1f,\"unit\":\"Mevents/s\","
            "\"peer\":%.2f,\"peer_is\":\"babeltrace2\"},\n"
            "  {\"name\":\"read in order, time and type\",\"value\":%.1f,\"unit\":\"Mevents/s\","
            "\"peer\":%.2f,\"peer_is\":\"babeltrace2\"},\n"
            "  {\"name\":\"one second of one thread\",\"value\":%.1f,\"unit\":\"ms\","
            "\"floor\":%.1f,\"floor_is\":\"reading the bytes\"}\n]\n",
            rate(events, all.ns), peer, rate(events, some.ns), peer, (double)one.ns / 1e6,
            (double)cat_ns / 1e6);
    else
        printf("trace      %llu events in %.1f MB; reading its bytes takes %.1f ms\n"
               "all        %.1f million events a second (%llu rows); event by event %.1f\n"
               "time, type %.1f million events a second\n"
               "a second of one thread  %.1f ms (%llu rows)\n",
               (unsigned long long)events, (double)file_bytes / 1e6, (double)cat_ns / 1e6,
               rate(events, all.ns), (unsigned long long)all.rows,
               rate(events, events_one_by_one.ns), rate(events, some.ns), (double)one.ns / 1e6,
               (unsigned long long)one.rows);
    if (!json && peer > 0)
        printf("babeltrace2  %.2f million events a second\n", peer);
    bench_must(all.rows == some.rows && all.rows == events / 4 * 3, "rows");
    return 0;
}
