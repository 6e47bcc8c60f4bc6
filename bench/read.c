/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs to read a trace: in order with every column, with time and type alone, one second of
 * one thread, a summary, a count by name in SQL, the first picture, the longest regions, and the export
 * to Perfetto; beside reading the same bytes, and, where they are installed, beside babeltrace2 on a CTF
 * export of a shorter trace, and uftrace's report on calls that it recorded (read_calls.c). The trace is made first (bench_trace.h). Each figure is that of a child
 * process of its own: its time on the processor, so that others at work do not count, and the most
 * memory that it had. The best of some rounds counts.
 *
 *     bench_read [--json] [--quick] [--events N] [--rounds N] [--keep FILE]
 *
 * 50 million events; --quick: 4 million, for a look. --keep leaves the trace there.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_host.h"
#include "bench_trace.h"
#include "clock.h"
#include "lanes.h"
#include "read_child.h"
#include "skein/trace.h"
#include "summary.h"
#include "trace_merge.h"

enum { EVENTS = 50000000, EVENTS_QUICK = 4000000, EVENTS_CTF = 2000000, ROUNDS = 3 };
enum { CALL_REQUESTS = 500000, CALL_RECORDS = 8 /* of a request */ };
enum { PIXELS = 1600, ONE_TID = 2 };

static struct {
    char path[512], ctf_path[512];
    uint64_t events, ctf_events;
    uint64_t from_ns; /* of the second that is looked at */
    unsigned rounds;
    bool json;
} bench = {.events = EVENTS, .rounds = ROUNDS};

/* ---- ways to read ---- */

static void bytes_read(const void *context)
{
    static char buffer[1 << 17];
    int fd = open(context, O_RDONLY | O_CLOEXEC);
    ssize_t got;
    while ((got = read(fd, buffer, sizeof buffer)) > 0)
        ;
    bench_must(fd >= 0 && got == 0, "to read the bytes");
    close(fd);
}

static struct skein_trace *trace_open(void)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_trace *trace;
    bench_must(skein_trace_open(bench.path, &trace, error) == SKEIN_OK, "to open the trace");
    return trace;
}

static volatile uint64_t seen; /* values are looked at, as whoever asks for them does */

static void batch_look(const struct skein_batch *b)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; b->time_ns != NULL && i < b->count; i++)
        sum += b->time_ns[i] + b->dur_ns[i] + b->type[i];
    for (uint32_t i = 0; b->args != NULL && i < b->count; i++)
        sum += skein_batch_args(b, i)[0].u64 != 0;
    seen += sum;
}

static bool thread_wanted(void *context, const struct skein_thread *thread)
{
    (void)context;
    return thread->tid == ONE_TID;
}

struct reading {
    struct skein_query query;
    bool slow;
};

static uint64_t rows_read(const struct reading *r)
{
    struct skein_trace *trace = trace_open();
    struct skein_query query = r->query;
    struct skein_cursor *cursor;
    struct skein_batch batch;
    uint64_t rows = 0;
    query.size = sizeof query;
    bench_must((r->slow ? trace_cursor_slow_new(trace, &query, &cursor)
                        : skein_cursor_new(trace, &query, &cursor)) == SKEIN_OK,
               "a cursor");
    for (; skein_cursor_next(cursor, &batch) > 0; rows += batch.count)
        batch_look(&batch);
    skein_cursor_free(&cursor);
    skein_trace_free(&trace);
    return rows;
}

static void reading_run(const void *context)
{
    uint64_t rows = rows_read(context);
    bench_must(((const struct reading *)context)->query.thread != NULL ||
                   rows == bench.events / BENCH_TRACE_RECORDS * BENCH_TRACE_ROWS,
               "all rows");
}

static void summary_run(const void *context)
{
    struct skein_trace *trace = trace_open();
    struct summary *summary;
    (void)context;
    bench_must(summary_new(0, &summary) == SKEIN_OK &&
                   summary_read(summary, trace, NULL) == SKEIN_OK,
               "a summary");
    summary_free(&summary);
    skein_trace_free(&trace);
}

static const struct skein_event_type *type_of(const void *trace, uint32_t type)
{
    return skein_trace_type(trace, type);
}

/* The whole trace as a picture that has lanes, within 256 MiB. */
static void picture_run(const void *context)
{
    struct skein_trace *trace = trace_open();
    struct skein_query query = {.size = sizeof query,
                                .columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE |
                                           SKEIN_COLUMN_DEPTH | SKEIN_COLUMN_ARGS};
    struct lanes_options options = {.most_bytes = 256u << 20, .type = type_of, .context = trace};
    static struct lanes_item items[PIXELS];
    struct skein_cursor *cursor = NULL;
    struct skein_batch batch;
    struct lanes *lanes;
    (void)context;
    skein_trace_bounds(trace, &options.from_ns, &options.to_ns);
    bench_must(lanes_new(&options, &lanes) == SKEIN_OK &&
                   skein_cursor_new(trace, &query, &cursor) == SKEIN_OK,
               "lanes");
    while (skein_cursor_next(cursor, &batch) > 0)
        bench_must(lanes_add(lanes, &batch) == SKEIN_OK, "lanes");
    bench_must(lanes_settle(lanes) == SKEIN_OK, "lanes");
    for (size_t i = 0; i < lanes_count(lanes); i++)
        seen += lanes_view(lanes, i, 0, options.to_ns - options.from_ns, PIXELS, items);
    skein_cursor_free(&cursor);
    lanes_free(&lanes);
    skein_trace_free(&trace);
}

/* ---- programs ---- */

/* A program that was built beside this bench: a path from the build's folder. */
static void built_path(const char *program, char path[600])
{
    ssize_t n = readlink("/proc/self/exe", path, 500);
    path[n > 0 ? n : 0] = 0;
    for (unsigned up = 0; up < 2 && strrchr(path, '/') != NULL; up++)
        *strrchr(path, '/') = 0;
    strncat(path, program, 599 - strlen(path));
}

static struct figure skein_run(const char *command, const char *a, const char *b, const char *c,
                               const char *d)
{
    char skein[600];
    built_path("/cli/skein", skein);
    const char *argv[] = {skein, command, bench.path, a, b, c, d, NULL};
    return read_child_best(read_program, argv, bench.rounds);
}

/* ---- saying ---- */

static double floor_seconds;
static double peer_rate; /* babeltrace2's, million events a second; 0: it is not there */
static bool any;

static void say(const char *name, struct figure f)
{
    double rate = f.seconds > 0 ? (double)bench.events / f.seconds / 1e6 : 0;
    if (bench.json)
        printf("%s  {\"name\":\"%s\",\"value\":%.2f,\"unit\":\"Mevents/s\",\"ms\":%.1f,"
               "\"mib\":%.1f,\"floor_ms\":%.1f,\"floor_is\":\"reading the bytes\","
               "\"peer\":%.2f,\"peer_is\":\"babeltrace2\"}",
               any ? ",\n" : "", name, rate, f.seconds * 1e3, f.mib, floor_seconds * 1e3,
               peer_rate);
    else if (f.seconds == 0)
        printf("%-34s could not be run\n", name);
    else
        printf("%-34s %9.1f ms  %7.1f M/s  %6.1f x babeltrace2  %7.1f x the bytes  %7.1f MiB\n",
               name, f.seconds * 1e3, rate, peer_rate > 0 ? rate / peer_rate : 0,
               floor_seconds > 0 ? f.seconds / floor_seconds : 0, f.mib);
    any = true;
    fflush(stdout);
}

/* Fewer events than the trace's, as it is slow: its rate is what counts. */
static void peer_measure(void)
{
    char folder[600], skein[600];
    built_path("/cli/skein", skein);
    snprintf(folder, sizeof folder, "%s/ctf", bench_folder());
    const char *export[] = {skein, "export",   bench.ctf_path, "--to",
                            "ctf", "--output", folder,         NULL};
    const char *count[] = {"babeltrace2", folder, "--component=c:sink.utils.counter", NULL};
    if (read_child(read_program, export).seconds == 0)
        return;
    struct figure f = read_child_best(read_program, count, bench.rounds);
    peer_rate = f.seconds > 0 ? (double)bench.ctf_events / f.seconds / 1e6 : 0;
    if (!bench.json && peer_rate > 0)
        printf("babeltrace2 on a CTF export of %.1f million events: %.2f M/s, %.1f MiB\n",
               (double)bench.ctf_events / 1e6, peer_rate, f.mib);
}

static void uftrace_measure(void)
{
    char folder[600], calls[600], requests[32];
    snprintf(folder, sizeof folder, "%s/uftrace", bench_folder());
    built_path("/bench/read_calls", calls);
    snprintf(requests, sizeof requests, "%d", CALL_REQUESTS);
    const char *record[] = {"uftrace", "record", "--no-libcall", "--no-event", "-d",
                            folder,    calls,    requests,       NULL};
    const char *report[] = {"uftrace", "report", "--no-pager", "-d", folder, NULL};
    if (read_child(read_program, record).seconds == 0)
        return;
    struct figure f = read_child_best(read_program, report, bench.rounds);
    double rate = f.seconds > 0 ? CALL_REQUESTS / 1e6 * CALL_RECORDS / f.seconds : 0;
    if (bench.json)
        printf("%s  {\"name\":\"uftrace report\",\"value\":%.2f,\"unit\":\"Mrecords/s\"}",
               any ? ",\n" : "", rate);
    else
        printf("uftrace report on %.1f million records: %.2f M/s, %.1f MiB\n",
               CALL_REQUESTS / 1e6 * CALL_RECORDS, rate, f.mib);
    any = true;
}

static void all_measure(void)
{
    const struct reading all = {{.columns = SKEIN_COLUMN_ALL}, false};
    const struct reading slow = {{.columns = SKEIN_COLUMN_ALL}, true};
    const struct reading some = {{.columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_TYPE}, false};
    const struct reading one = {
        {.thread = thread_wanted, .from_ns = bench.from_ns, .to_ns = bench.from_ns + 1000000000},
        false};
    char out[600];
    snprintf(out, sizeof out, "%s/out.pftrace", bench_folder());
    say("in order, all columns", read_child_best(reading_run, &all, bench.rounds));
    say("in order, time and type", read_child_best(reading_run, &some, bench.rounds));
    say("in order, event by event", read_child_best(reading_run, &slow, bench.rounds));
    say("one second of one thread", read_child_best(reading_run, &one, bench.rounds));
    say("summary", read_child_best(summary_run, NULL, bench.rounds));
    say("first picture", read_child_best(picture_run, NULL, bench.rounds));
    say("skein cat --longest 20", skein_run("cat", "--longest", "20", NULL, NULL));
    say("count by name, SQL",
        skein_run("sql", "select name, count(*) from event group by name", NULL, NULL, NULL));
    bench.rounds = 1; /* its file is large */
    say("export to Perfetto", skein_run("export", "--to", "perfetto", "--output", out));
}

static void options_take(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--json") == 0)
            bench.json = true;
        else if (strcmp(argv[i], "--quick") == 0)
            bench.events = EVENTS_QUICK;
        else if (strcmp(argv[i], "--events") == 0 && i + 1 < argc)
            bench.events = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            bench.rounds = (unsigned)strtoul(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--keep") == 0 && i + 1 < argc)
            snprintf(bench.path, sizeof bench.path, "%s", argv[++i]);
        else
            bench_fail("an option that is known: [--json] [--quick] [--events N] [--rounds N] "
                       "[--keep FILE]");
    bench_must(bench.events > 0 && bench.rounds > 0, "events and rounds");
}

int main(int argc, char **argv)
{
    options_take(argc, argv);
    if (bench.path[0] == 0)
        snprintf(bench.path, sizeof bench.path, "%s/trace.skein", bench_folder());
    snprintf(bench.ctf_path, sizeof bench.ctf_path, "%s/short.skein", bench_folder());
    bench.events = bench_trace_make(bench.path, bench.events);
    bench.ctf_events =
        bench_trace_make(bench.ctf_path, bench.events < EVENTS_CTF ? bench.events : EVENTS_CTF);
    bench.from_ns = BENCH_EPOCH_NS + bench.events / 16 * 105 * BENCH_TICK_NS;
    struct figure floor = read_child_best(bytes_read, bench.path, bench.rounds);
    floor_seconds = floor.seconds;
    if (!bench.json)
        printf("%.1f million events; reading their bytes: %.1f ms\n", (double)bench.events / 1e6,
               floor_seconds * 1e3);
    else
        printf("[\n");
    peer_measure();
    uftrace_measure();
    all_measure();
    printf("%s", bench.json ? "\n]\n" : "");
    return 0;
}
