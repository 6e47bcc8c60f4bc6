/* SPDX-License-Identifier: Apache-2.0
 *
 * What it costs an agent to find processes that are to be watched from outside: CPU time of a round
 * over /proc, with 0, 500 and 2000 processes more than the host has, and of asking who listens.
 *
 *   bench_outside [rounds of each: 100]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench_host.h"
#include "outside_ports.h"
#include "outside_rule.h"
#include "outside_scan.h"
#include "skein/status.h"

#define MOST 2000

static pid_t children[MOST];
static unsigned count;

static uint64_t cpu_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void children_grow(unsigned want)
{
    pid_t parent = getpid();
    for (; count < want; count++) {
        pid_t pid = fork();
        bench_must(pid >= 0, "fork");
        if (pid == 0) {
            bench_die_with(parent);
            for (;;)
                pause();
        }
        children[count] = pid;
    }
}

/* What the agent looks at for a selector by program. */
static void look(void *context, uint32_t pid)
{
    struct outside_rules *rules = context;
    char path[48], exe[4096];
    snprintf(path, sizeof path, "/proc/%u/exe", pid);
    ssize_t n = readlink(path, exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = '\0';
    const struct outside_view view = {.exe = exe, .cgroup = ""};
    bench_must(outside_rules_match(rules, &view) == NULL, "no program has that name");
}

static void rounds_measure(unsigned more, unsigned rounds)
{
    struct outside_rule rule;
    struct outside_rules rules = {&rule, 1};
    struct outside_scan *scan;
    char why[256];
    children_grow(more);
    bench_must(outside_rule_parse("none exe=/nowhere/at/all", &rule, why, sizeof why) == SKEIN_OK,
               why);
    bench_must(outside_scan_new("/proc", look, &rules, &scan) == SKEIN_OK, "scan");
    for (int i = 0; i < 2; i++)
        bench_must(outside_scan_step(scan, UINT64_MAX / 2), "a round");
    uint64_t began_ns = cpu_ns();
    for (unsigned i = 0; i < rounds; i++)
        bench_must(outside_scan_step(scan, UINT64_MAX / 2), "a round");
    printf("%4u processes more: a round takes %.3f ms of CPU time\n", more,
           (double)(cpu_ns() - began_ns) / 1e6 / rounds);
    outside_scan_free(&scan);
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 100;
    const uint16_t port = 8080;
    static struct outside_sockets sockets;
    bench_must(rounds > 0, "rounds");
    rounds_measure(0, rounds);
    rounds_measure(500, rounds);
    rounds_measure(MOST, rounds);
    uint64_t began_ns = cpu_ns();
    for (unsigned i = 0; i < rounds; i++)
        (void)outside_sockets_read(&sockets, &port, 1);
    printf("who listens: %.3f ms\n", (double)(cpu_ns() - began_ns) / 1e6 / rounds);
    for (unsigned i = 0; i < count; i++)
        kill(children[i], SIGKILL);
    while (wait(NULL) > 0)
        continue;
    return 0;
}
