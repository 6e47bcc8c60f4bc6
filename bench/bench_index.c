/* SPDX-License-Identifier: Apache-2.0
 *
 * How fast partitions are found among ten million: the index is filled by index_add, as ingest does
 * it, with a week of a fleet (10,000 processes of 20 services on 1,000 hosts, some of them
 * canaries, each started again every day, captured together now and then), then asked as the
 * product asks: a page of 100 for a selector and a time window, behind a cursor, by process, by
 * capture. Printed for each kind of question: the plan that SQLite says it uses, the median and the
 * 99th percentile over windows at random times, the rows, and the 99th percentile of CPU time, for
 * machines that do other work too. The file is read once before, as a collector that runs has it
 * in the memory that the kernel keeps of files: on a cold disk each page is a wait more. The floor,
 * in the same run and database: one row by its key.
 *
 *   bench_index [--json] [--rows N]     in $TMPDIR, else /tmp: some 400 bytes of disk a row
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "array.h"
#include "bench_host.h"
#include "clock.h"
#include "index.h"

#define PROCESSES  10000u /* at a time */
#define LIFE       (UINT64_C(86400) * SECOND)
#define SERVICES   20u
#define HOSTS      1000u
#define ROWS       UINT64_C(10000000)
#define BATCH      65536u
#define PAGE       101u /* what the API asks for to give 100 */
#define ASKED      1000u
#define SECOND     UINT64_C(1000000000)
#define T0         (UINT64_C(1700000000) * SECOND)
#define SPAN       (UINT64_C(604800) * SECOND)
#define CAPTURED   100u /* each so manieth round of the fleet is one capture */
#define SLOWEST_MS 10.0

/* Selector and window of a kind of question; %u is a random number below `of`. */
struct question {
    const char *name, *selector;
    unsigned of;
    uint64_t window_ns;
    enum { PLAIN, CURSOR, BY_PROCESS, BY_CAPTURE, BY_BOTH } kind;
};

static const struct question questions[] = {
    {"service, 1 s", "service=service-%u", SERVICES, SECOND, PLAIN},
    {"service, 1 min", "service=service-%u", SERVICES, 60 * SECOND, PLAIN},
    {"service, 1 hour", "service=service-%u", SERVICES, 3600 * SECOND, PLAIN},
    {"service, 1 day", "service=service-%u", SERVICES, 86400 * SECOND, PLAIN},
    {"service, 1 day, behind a cursor", "service=service-%u", SERVICES, 86400 * SECOND, CURSOR},
    {"host, 1 min", "host=host-%u", HOSTS, 60 * SECOND, PLAIN},
    {"host, 1 day", "host=host-%u", HOSTS, 86400 * SECOND, PLAIN},
    {"service and host, 1 day", "service=service-1,host=host-%u", HOSTS, 86400 * SECOND, PLAIN},
    {"common label, 1 day", "zone=zone-%u", 3, 86400 * SECOND, PLAIN},
    {"service and rare label, 1 day", "service=service-%u,track=canary", SERVICES, 86400 * SECOND,
     PLAIN},
    {"label of nobody, 1 day", "service=service-1,track=none-%u", 9, 86400 * SECOND, PLAIN},
    {"anything, 1 s", "", 1, SECOND, PLAIN},
    {"anything, 1 day", "", 1, 86400 * SECOND, PLAIN},
    {"process, 1 day", "", 1, 86400 * SECOND, BY_PROCESS},
    {"capture", "", 1, 0, BY_CAPTURE},
    {"capture and process", "", 1, 0, BY_BOTH},
    {"capture and service", "service=service-%u", SERVICES, 0, BY_CAPTURE},
};
#define QUESTIONS (sizeof questions / sizeof *questions)

struct result {
    double median_ms, p99_ms, rows, cpu_ms; /* cpu: the p99 of its CPU time */
    char plan[1024];
};

/* The same numbers every run (splitmix64). */
static uint64_t random_next(void)
{
    static uint64_t state = 1;
    uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* ---- filling ---- */

/* Of the nth process as it runs at a time, random as real ids are. They do not start at once. */
static struct process_uid process_uid_of(uint64_t n, uint64_t at)
{
    struct process_uid uid;
    uint64_t age = at + n * (LIFE / PROCESSES);
    n += age / LIFE * PROCESSES;
    for (unsigned i = 0; i < 16; i++)
        uid.bytes[i] = (uint8_t)((n + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 7 * (i % 8)) ^
                       (uint8_t)(i * 29 + n % 251);
    memcpy(uid.bytes + 12, &(uint32_t){(uint32_t)n}, 4);
    return uid;
}

static struct capture_id capture_of_round(uint64_t round)
{
    struct capture_id id = {{0xca}};
    memcpy(id.bytes + 8, &round, sizeof round);
    return id;
}

struct texts {
    char host[32], service[32], labels[96];
};

static uint64_t time_of(uint64_t row, uint64_t rows)
{
    return T0 + SPAN / rows * row;
}

static void row_make(uint64_t i, uint64_t rows, struct partition_row *row, struct texts *texts)
{
    uint64_t process = i % PROCESSES, round = i / PROCESSES;
    uint64_t to = time_of(i, rows);
    struct process_uid uid = process_uid_of(process, to);
    uint32_t number;
    memcpy(&number, uid.bytes + 12, sizeof number);
    snprintf(texts->host, sizeof texts->host, "host-%llu", (unsigned long long)(process % HOSTS));
    snprintf(texts->service, sizeof texts->service, "service-%llu",
             (unsigned long long)(process / HOSTS * 2 + process % 2));
    snprintf(texts->labels, sizeof texts->labels, "zone=zone-%llu,version=1.%llu,track=%s",
             (unsigned long long)(process % 3), (unsigned long long)(process % 7),
             process % 200 < 2 ? "canary" : "stable");
    *row = (struct partition_row){.record = {.key = {uid, 1, round}, .agent = process % HOSTS + 1},
                                  .place = {i / 1000 + 1, i % 1000 * 65536, 65000},
                                  .from_ns = to - 10 * SECOND,
                                  .to_ns = to,
                                  .events = 5000,
                                  .raw_bytes = 100000,
                                  .pid = 1000 + number % 4000000,
                                  .host = texts->host,
                                  .service = texts->service,
                                  .labels = texts->labels,
                                  .exe = "/usr/bin/server"};
    row->record.received_ns = to + SECOND;
    if (round % CAPTURED == 0)
        row->record.capture = capture_of_round(round);
}

static double index_fill(struct index *index, uint64_t rows)
{
    struct partition_row *batch = calloc(BATCH, sizeof *batch);
    struct texts *texts = calloc(BATCH, sizeof *texts);
    bench_must(batch && texts, "memory");
    uint64_t begin = clock_monotonic_ns();
    for (uint64_t at = 0; at < rows; at += BATCH) {
        size_t n = rows - at < BATCH ? (size_t)(rows - at) : BATCH;
        for (size_t i = 0; i < n; i++)
            row_make(at + i, rows, &batch[i], &texts[i]);
        bench_must(index_add(index, batch, n) == SKEIN_OK, "adding rows");
        if (at / BATCH % 4 == 0)
            fprintf(stderr, "\r%llu rows", (unsigned long long)at);
    }
    fprintf(stderr, "\r%llu rows\n", (unsigned long long)rows);
    free(batch);
    free(texts);
    return (double)(clock_monotonic_ns() - begin) / 1e9;
}

/* ---- what captures have ---- */

static int range_order(const void *a, const void *b)
{
    const struct partition_range *x = a, *y = b;
    return memcmp(x->key.process.bytes, y->key.process.bytes, sizeof x->key.process.bytes);
}

/* A capture's, in the order in which the collector has them. */
static struct partition_ranges *ranges_of_round(uint64_t round, uint64_t rows)
{
    static struct partition_ranges all[ROWS * 10 / PROCESSES / CAPTURED + 1];
    struct partition_ranges *r = &all[round / CAPTURED];
    if (r->count > 0)
        return r;
    for (uint64_t i = round * PROCESSES; i < (round + 1) * PROCESSES && i < rows; i++) {
        struct process_uid uid = process_uid_of(i % PROCESSES, time_of(i, rows));
        const struct partition_range range = {{uid, 1, round}, round};
        bench_must(partition_ranges_add(r, &range) == SKEIN_OK, "memory");
        r->high_ns = time_of(i, rows);
    }
    r->low_ns = time_of(round * PROCESSES, rows);
    r->references = 1; /* never the last */
    partition_ranges_ready(r);
    return r;
}

/* As a request gets them: the capture's list, which is kept, or a list of what is the process's. */
static struct partition_ranges *ranges_get(struct partition_ranges *all,
                                           const struct process_uid *process)
{
    size_t at;
    if (process == NULL)
        return partition_ranges_ref(all);
    struct partition_ranges *own = partition_ranges_new();
    if (own == NULL)
        bench_fail("memory");
    const struct partition_range wanted = {.key.process = *process};
    array_find(at, 0, all->count, range_order(&all->items[at], &wanted) < 0);
    if (at < all->count && range_order(&all->items[at], &wanted) == 0) /* each process has one */
        bench_must(partition_ranges_add(own, &all->items[at]) == SKEIN_OK, "memory");
    own->low_ns = all->low_ns;
    own->high_ns = all->high_ns;
    partition_ranges_ready(own);
    return own;
}

static void file_warm(const char *folder)
{
    static char piece[1 << 20];
    char path[320];
    snprintf(path, sizeof path, "%s/index.db", folder);
    FILE *file = fopen(path, "r");
    bench_must(file != NULL, "reading the index's file");
    while (fread(piece, 1, sizeof piece, file) == sizeof piece)
        ;
    fclose(file);
}

/* ---- asking ---- */

static int row_count(void *context, const struct partition_row *row)
{
    (void)row;
    ++*(uint64_t *)context;
    return 0;
}

/* Of each answer: time that passed, and CPU time of it, which other programs do not lengthen. */
struct times {
    double wall_ms[ASKED], cpu_ms[ASKED];
};

static double cpu_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void times_begin(struct times *t, size_t i)
{
    t->cpu_ms[i] = -cpu_ms();
    t->wall_ms[i] = -(double)clock_monotonic_ns() / 1e6;
}

static void times_end(struct times *t, size_t i)
{
    t->wall_ms[i] += (double)clock_monotonic_ns() / 1e6;
    t->cpu_ms[i] += cpu_ms();
}

static void question_ask(struct index *index, const struct question *q, uint64_t rows,
                         struct times *times, size_t i, uint64_t *found, struct result *plan)
{
    char text[128], error[128];
    struct selector *selector;
    uint64_t round = random_next() % (rows / PROCESSES / CAPTURED + 1) * CAPTURED;
    struct partition_query query = {.limit = PAGE, .to_ns = UINT64_MAX};
    if (q->window_ns > 0) {
        query.from_ns = T0 + random_next() % (SPAN - q->window_ns);
        query.to_ns = query.from_ns + q->window_ns;
    }
    uint64_t n = random_next() % PROCESSES;
    uint64_t at = q->kind == BY_BOTH ? time_of(round * PROCESSES + n, rows) : query.from_ns;
    struct process_uid process = process_uid_of(n, at);
    query.process = q->kind == BY_PROCESS || q->kind == BY_BOTH ? &process : NULL;
    bool captured = q->kind == BY_CAPTURE || q->kind == BY_BOTH;
    struct partition_ranges *has = captured ? ranges_of_round(round, rows) : NULL, *ranges = NULL;
    query.after = q->kind == CURSOR;
    query.after_time = query.from_ns + q->window_ns / 2;
    query.after_key.process = process;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, q->selector, (unsigned)(random_next() % q->of));
#pragma GCC diagnostic pop
    times_begin(times, i);
    if (captured)
        query.ranges = ranges = ranges_get(has, query.process);
    bench_must(selector_new(text, &selector, error, sizeof error) == SKEIN_OK, "a selector");
    query.selector = selector;
    bench_must(index_query(index, &query, row_count, found) >= 0, "asking the index");
    times_end(times, i);
    if (plan) {
        struct buf words = {0};
        bench_must(index_query_plan(index, &query, &words) == SKEIN_OK, "asking for the plan");
        snprintf(plan->plan, sizeof plan->plan, "%.*s", (int)words.len, (const char *)words.data);
        buf_fini(&words);
    }
    selector_free(&selector);
    partition_ranges_unref(&ranges);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void result_get(struct result *r, struct times *times, uint64_t found)
{
    qsort(times->wall_ms, ASKED, sizeof *times->wall_ms, by_size);
    qsort(times->cpu_ms, ASKED, sizeof *times->cpu_ms, by_size);
    r->median_ms = times->wall_ms[ASKED / 2];
    r->p99_ms = times->wall_ms[ASKED * 99 / 100];
    r->cpu_ms = times->cpu_ms[ASKED * 99 / 100];
    r->rows = (double)found / ASKED;
}

static struct result question_measure(struct index *index, const struct question *q, uint64_t rows)
{
    struct times times;
    struct result r;
    uint64_t found = 0;
    question_ask(index, q, rows, &times, 0, &found, &r);
    found = 0;
    for (size_t i = 0; i < ASKED; i++)
        question_ask(index, q, rows, &times, i, &found, NULL);
    result_get(&r, &times, found);
    return r;
}

/* One row by its key. */
static struct result floor_measure(struct index *index, uint64_t rows)
{
    struct times times;
    struct result r = {.plan = ""};
    for (size_t i = 0; i < ASKED; i++) {
        struct partition_row row;
        uint64_t n = random_next() % rows;
        struct process_uid process = process_uid_of(n % PROCESSES, time_of(n, rows));
        struct partition_key key = {process, 1, n / PROCESSES};
        times_begin(&times, i);
        bench_must(index_find(index, &key, &row) == 1, "a row by its key");
        times_end(&times, i);
    }
    result_get(&r, &times, ASKED);
    return r;
}

/* ---- the report ---- */

static void plan_print(const char *plan)
{
    while (*plan) {
        size_t n = strcspn(plan, "\n");
        printf("      %.*s\n", (int)n, plan);
        plan += n + (plan[n] == '\n');
    }
}

static void result_print(const char *name, const struct result *r, const struct result *floor,
                         bool json)
{
    if (json) {
        printf(
            ",{\"name\":\"index: %s\",\"value\":%.3f,\"unit\":\"ms\",\"p50\":%.3f,\"p99_cpu\":%.3f,"
            "\"rows\":%.1f,\"floor\":%.4f,\"ratio\":%.1f}\n",
            name, r->p99_ms, r->median_ms, r->cpu_ms, r->rows, floor->p99_ms,
            r->p99_ms / floor->p99_ms);
        return;
    }
    printf("%-32s p50 %7.3f ms, p99 %7.3f ms (CPU %7.3f ms), %5.1f rows\n", name, r->median_ms,
           r->p99_ms, r->cpu_ms, r->rows);
    plan_print(r->plan);
}

static void results_print(struct index *index, uint64_t rows, double fill_s, bool json)
{
    struct result floor = floor_measure(index, rows);
    double slowest = 0;
    if (json)
        printf("[{\"name\":\"index: filling\",\"value\":%.0f,\"unit\":\"rows/s\",\"rows\":%llu}\n",
               (double)rows / fill_s, (unsigned long long)rows);
    else
        printf(
            "%llu partitions added in %.0f s (%.0f/s); one row by its key: p50 %.4f ms, p99 %.4f "
            "ms (CPU %.4f ms)\n",
            (unsigned long long)rows, fill_s, (double)rows / fill_s, floor.median_ms, floor.p99_ms,
            floor.cpu_ms);
    for (size_t i = 0; i < QUESTIONS; i++) {
        struct result r = question_measure(index, &questions[i], rows);
        result_print(questions[i].name, &r, &floor, json);
        slowest = r.p99_ms > slowest ? r.p99_ms : slowest;
    }
    if (json)
        printf("]\n");
    else
        printf("slowest p99 %.2f ms: %s %.0f ms\n", slowest,
               slowest < SLOWEST_MS ? "below" : "ABOVE", SLOWEST_MS);
}

int main(int argc, char **argv)
{
    static const struct option options[] = {{"json", no_argument, NULL, 'j'},
                                            {"rows", required_argument, NULL, 'r'},
                                            {NULL, 0, NULL, 0}};
    uint64_t rows = ROWS;
    bool json = false;
    for (int c; (c = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (c == 'j')
            json = true;
        else if (c != 'r' || (rows = strtoull(optarg, NULL, 10)) < PROCESSES || rows > 10 * ROWS)
            bench_fail("usage: bench_index [--json] [--rows N] (10000 to 100000000)");
    }
    char error[256] = "";
    struct store *store;
    struct index *index;
    struct store_settings settings = {.folder = bench_folder()};
    bench_must(store_open(&settings, &store, error, sizeof error) == SKEIN_OK, "opening the store");
    bench_must(index_open(bench_folder(), store, &index, error, sizeof error) == SKEIN_OK,
               "opening the index");
    (void)setvbuf(stdout, NULL, _IOLBF, 0); /* each answer is seen when it is known */
    double fill_s = index_fill(index, rows);
    file_warm(bench_folder());
    results_print(index, rows, fill_s, json);
    index_close(&index);
    store_close(&store);
    return 0;
}
