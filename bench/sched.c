/* SPDX-License-Identifier: Apache-2.0
 *
 * What the kernel's scheduler records cost while nobody reads them: two processes that pass a byte
 * to and fro through pipes on one CPU, which is two switches and two wakings a round trip and next
 * to nothing else, so the worst case. Plain, with the agent's recording (agent/sched), and under
 * `perf sched record`, in turn; the medians of all rounds.
 *
 *   bench_sched [--json] [ROUNDS]
 *
 * Needs a tracefs that it may use; without perf that column is left out.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "sched_instance.h"
#include "skein/status.h"

#define SLICE_NS   UINT64_C(300000000)
#define BATCH      1000
#define ROUNDS_MAX 1000
#define BUFFER_KIB 8192

enum with { WITH_NOTHING, WITH_AGENT, WITH_PERF, WITHS };
static const char *const names[WITHS] = {"plain", "agent", "perf_sched_record"};

static int to_peer[2], from_peer[2];

static void peer_start(void)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
    bench_must(sched_setaffinity(0, sizeof set, &set) == 0, "no CPU of its own");
    bench_must(pipe(to_peer) == 0 && pipe(from_peer) == 0, "pipes");
    pid_t parent = getpid(), pid = fork();
    bench_must(pid >= 0, "fork");
    if (pid != 0)
        return;
    bench_die_with(parent);
    for (char c; read(to_peer[0], &c, 1) == 1;)
        if (write(from_peer[1], &c, 1) != 1)
            break;
    _exit(0);
}

/* ns of a round trip. */
static double trips_measure(void)
{
    uint64_t begin = clock_monotonic_ns(), now = begin, trips = 0;
    char c = 0;
    while (now - begin < SLICE_NS) {
        for (int i = 0; i < BATCH; i++)
            bench_must(write(to_peer[1], &c, 1) == 1 && read(from_peer[0], &c, 1) == 1, "pipe");
        trips += BATCH;
        now = clock_monotonic_ns();
    }
    return (double)(now - begin) / (double)trips;
}

static double agent_measure(void)
{
    struct sched_instance *instance = NULL;
    char why[256] = "no memory";
    int status = sched_instance_open(SCHED_TRACEFS, BUFFER_KIB, &instance, why, sizeof why);
    bench_must(status == SKEIN_OK, why);
    double ns = trips_measure();
    sched_instance_close(&instance);
    return ns;
}

static double perf_measure(void)
{
    char file[300];
    struct stat st;
    snprintf(file, sizeof file, "%s/perf.data", bench_folder());
    unlink(file);
    const char *const argv[] = {"perf", "sched", "record", "-q", "-o", file, NULL};
    pid_t perf = bench_spawn(argv);
    for (int i = 0; stat(file, &st) != 0 || st.st_size == 0; i++) {
        bench_must(i < 1000, "perf sched record does not begin");
        usleep(10000);
    }
    usleep(300000); /* it opens its events after the file */
    double ns = trips_measure();
    bench_stop(perf);
    return ns;
}

static double with_measure(enum with with)
{
    switch (with) {
    case WITH_AGENT:
        return agent_measure();
    case WITH_PERF:
        return perf_measure();
    default:
        return trips_measure();
    }
}

int main(int argc, char **argv)
{
    static double ns[WITHS][ROUNDS_MAX], ratios[WITHS][ROUNDS_MAX];
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int rounds = argc > 1 + json ? (int)strtol(argv[1 + json], NULL, 10) : 20;
    bench_must(rounds > 0 && rounds <= ROUNDS_MAX, "rounds: 1 to 1000");
    bool has_perf = system("perf --version >/dev/null 2>&1") == 0; /* NOLINT: a fixed text */
    enum with withs = has_perf ? WITHS : WITH_PERF;
    peer_start();
    (void)trips_measure(); /* warm */
    for (int i = 0; i < rounds; i++) {
        for (int at = 0; at < (int)withs; at++) {
            enum with with = i % 2 == 0 ? (enum with)at : withs - 1 - (enum with)at;
            ns[with][i] = with_measure(with);
        }
        for (enum with with = 0; with < withs; with++)
            ratios[with][i] = ns[with][i] / ns[WITH_NOTHING][i];
    }
    for (enum with with = 0; with < withs; with++) {
        double value = bench_median(ns[with], rounds), ratio = bench_median(ratios[with], rounds);
        if (json)
            printf("%s{\"name\":\"sched_%s\",\"value\":%.1f,\"unit\":\"ns\",\"ratio\":%.3f}%s\n",
                   with == 0 ? "[" : " ", names[with], value, ratio, with + 1 < withs ? "," : "]");
        else
            printf("%-18s %8.0f ns a round trip  ratio %.3f (half of all: %.3f to %.3f)\n",
                   names[with], value, ratio, ratios[with][rounds / 4],
                   ratios[with][rounds * 3 / 4]);
    }
    return 0;
}
