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
#include "bench_trace.h"
#include "clock.h"
#include "skein/trace.h"
#include "trace_merge.h"

enum { EVENTS = 10000000, ROUNDS = 3, WANTED_TID = 2 };

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
    events = bench_trace_make(&bytes, events);
    snprintf(path, sizeof path, "%s%s", keep != NULL ? keep : bench_folder(),
             keep != NULL ? "" : "/trace.skein");
    FILE *file = fopen(path, "we");
    bench_must(file != NULL && fwrite(bytes.data, 1, bytes.len, file) == bytes.len &&
                   fclose(file) == 0,
               "a file");
    uint64_t file_bytes = bytes.len, middle = BENCH_EPOCH_NS + events / 16 * 105 * BENCH_TICK_NS;
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
