/* SPDX-License-Identifier: Apache-2.0
 *
 * What CPU samples cost while nobody reads them: a busy loop on each CPU, alone and with the agent's
 * rings, in alternating pairs; beside it the same with `perf record -g -F 99` of the whole host. And
 * what a capture pays that reads full rings.
 *
 *   bench_samples [--json] [PAIRS]
 *
 * The loop does a fixed amount of work with 16 KiB of stack in use, so that each sample copies all
 * of its 8 KiB. Each ratio is of CPU time for that work, with to without, and the median of all
 * pairs counts. CPU time does not see that others took the CPU away; the samples' interrupts are in
 * it, unless the kernel keeps their time apart (CONFIG_IRQ_TIME_ACCOUNTING): there, look at the
 * ratios of elapsed time.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "perf_host.h"

#define CPUS_MAX   256
#define PAIRS_MAX  1000
#define SLICE_MS   200
#define DEEP_BYTES 16384

/* ---- the loop ---- */

struct spent {
    double cpu_ns, wall_ns; /* of all threads */
};

static int cpus;
static uint64_t rounds; /* that take about SLICE_MS */
static pthread_barrier_t begin, end;
static struct spent spent[CPUS_MAX];

static __attribute__((noinline)) void work_do(uint64_t n)
{
    volatile char deep[DEEP_BYTES];
    for (size_t i = 0; i < sizeof deep; i += 64)
        deep[i] = 1;
    for (uint64_t i = 0; i < n; i++)
        deep[i % DEEP_BYTES]++;
}

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *worker_main(void *context)
{
    size_t at = (size_t)context;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(at, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
    for (;;) {
        pthread_barrier_wait(&begin);
        double cpu = cpu_ns();
        uint64_t wall = clock_monotonic_ns();
        work_do(rounds);
        spent[at].cpu_ns = cpu_ns() - cpu;
        spent[at].wall_ns = (double)(clock_monotonic_ns() - wall);
        pthread_barrier_wait(&end);
    }
    return NULL;
}

static struct spent slice_run(void)
{
    struct spent sum = {0, 0};
    pthread_barrier_wait(&begin);
    pthread_barrier_wait(&end);
    for (int i = 0; i < cpus; i++) {
        sum.cpu_ns += spent[i].cpu_ns;
        sum.wall_ns += spent[i].wall_ns;
    }
    return sum;
}

static void workers_start(void)
{
    cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    bench_must(cpus > 0 && cpus <= CPUS_MAX, "CPUs");
    pthread_barrier_init(&begin, NULL, (unsigned)cpus + 1);
    pthread_barrier_init(&end, NULL, (unsigned)cpus + 1);
    for (size_t i = 0; i < (size_t)cpus; i++) {
        pthread_t thread;
        bench_must(pthread_create(&thread, NULL, worker_main, (void *)i) == 0, "thread");
    }
    rounds = 10000000;
    (void)slice_run(); /* warm */
    double ms = slice_run().cpu_ns / cpus / 1e6;
    rounds = (uint64_t)((double)rounds * SLICE_MS / ms);
}

/* ---- with what ---- */

static struct perf_host *host;
static char perf_file[256];
static pid_t perf;

static void rings_open(unsigned hz, uint64_t reach_ms)
{
    struct perf_host_settings settings = {
        .hz = hz, .reach_ms = reach_ms, .memory_max = UINT64_C(1) << 30};
    struct perf_host_state state;
    bench_must(perf_host_new(&settings, &host) == SKEIN_OK, "memory");
    perf_host_state(host, &state);
    bench_must(state.cpus == (unsigned)cpus, state.why[0] != '\0' ? state.why : "some CPUs");
}

static void perf_open(void)
{
    struct stat st;
    const char *const argv[] = {"perf", "record", "-q", "-a",      "-g",
                                "-F",   "99",     "-o", perf_file, NULL};
    unlink(perf_file);
    perf = bench_spawn(argv);
    for (int i = 0; stat(perf_file, &st) != 0 || st.st_size == 0; i++) {
        bench_must(i < 1000, "perf record does not begin");
        usleep(10000);
    }
    usleep(200000); /* it opens its events after the file */
}

enum with { WITH_RINGS, WITH_RINGS_TEN, WITH_PERF, WITHS };
static const char *const names[WITHS] = {"rings_99Hz", "rings_990Hz", "perf_record_g_F99"};

static struct spent with_run(enum with with)
{
    if (with == WITH_PERF)
        perf_open();
    else
        rings_open(with == WITH_RINGS ? 99 : 990, 10000);
    struct spent result = slice_run();
    if (with == WITH_PERF)
        bench_stop(perf);
    else
        perf_host_free(&host);
    return result;
}

/* ---- figures ---- */

struct figure {
    double cpu, low, high, wall; /* medians of the ratios; quartiles of those of CPU time */
};

static struct figure pairs_measure(enum with with, int pairs)
{
    static double cpu[PAIRS_MAX], wall[PAIRS_MAX];
    for (int i = 0; i < pairs; i++) {
        struct spent a, b;
        if (i % 2 == 0) {
            a = slice_run();
            b = with_run(with);
        } else {
            b = with_run(with);
            a = slice_run();
        }
        cpu[i] = b.cpu_ns / a.cpu_ns;
        wall[i] = b.wall_ns / a.wall_ns;
    }
    struct figure figure = {.cpu = bench_median(cpu, pairs), .wall = bench_median(wall, pairs)};
    figure.low = cpu[pairs / 4]; /* the median has sorted them */
    figure.high = cpu[pairs * 3 / 4];
    return figure;
}

static void own_take(void *context, const uint8_t *records, size_t n)
{
    (void)records;
    *(uint64_t *)context += n;
}

/* Reading rings that are full, and how far back they reach then. */
static double read_measure(double *reach_s, uint64_t *bytes)
{
    struct perf_reach reach;
    rings_open(990, 1000); /* as large as those of 99 Hz for 10 s */
    for (int i = 0; i < 25; i++)
        (void)slice_run();
    uint64_t at = clock_monotonic_ns();
    *bytes = 0;
    const struct perf_wish wish = {.from_ns = 1,
                                   .to_ns = at,
                                   .deadline_ns = UINT64_MAX,
                                   .pid = (uint32_t)getpid(),
                                   .own = own_take,
                                   .context = bytes};
    perf_host_collect(host, &wish, &reach);
    double ms = (double)(clock_monotonic_ns() - at) / 1e6;
    *reach_s = (double)(at - reach.from_ns) / 1e9;
    perf_host_free(&host);
    return ms;
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int pairs = argc > 1 + json ? (int)strtol(argv[1 + json], NULL, 10) : 60;
    bench_must(pairs > 0 && pairs <= PAIRS_MAX, "pairs: 1 to 1000");
    bool has_perf = system("perf --version >/dev/null 2>&1") == 0; /* NOLINT: a fixed text */
    snprintf(perf_file, sizeof perf_file, "%s/perf.data", bench_folder());
    workers_start();
    if (json)
        printf("[");
    for (enum with with = 0; with < (has_perf ? WITHS : WITH_PERF); with++) {
        struct figure f = pairs_measure(with, with == WITH_PERF ? (pairs + 2) / 3 : pairs);
        if (json)
            printf("{\"name\":\"%s\",\"value\":%.4f,\"unit\":\"ratio\",\"wall\":%.4f},",
                   names[with], f.cpu, f.wall);
        else
            printf("%-20s CPU time * %.4f (half of all: %.4f to %.4f)  elapsed time * %.4f\n",
                   names[with], f.cpu, f.low, f.high, f.wall);
    }
    double reach_s;
    uint64_t bytes;
    double ms = read_measure(&reach_s, &bytes);
    if (json)
        printf("{\"name\":\"rings_read\",\"value\":%.3f,\"unit\":\"ms\"}]\n", ms);
    else
        printf("%-20s %.1f ms of %d CPUs, %.1f s back at 990 Hz, %.1f MiB of records\n",
               "rings_read", ms, cpus, reach_s, (double)bytes / 1048576);
    return 0;
}
