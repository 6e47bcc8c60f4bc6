/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder of vitals costs, always: CPU time of its thread by the second with 1, 100 and
 * 1000 attached processes beside those that the host has, and its memory; and what one capture pays
 * for its evidence.
 *
 *   bench_vitals [seconds of each: 20]
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "files_source.h"
#include "proc_info.h"
#include "vitals.h"

#define MOST 1000

static struct {
    pid_t pid;
    uint64_t start_ticks;
} children[MOST];
static unsigned count;

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
        children[count].pid = pid;
        bench_must(proc_start_ticks(pid, &children[count].start_ticks) == SKEIN_OK, "start");
    }
}

static double collect_ms(evidence_collect_fn *collect, void *source, struct evidence_note *note,
                         uint64_t *events)
{
    struct process process = {.pid = (uint32_t)children[0].pid,
                              .start_clock_ticks = children[0].start_ticks};
    uint64_t begin_ns = clock_monotonic_ns();
    const struct evidence_ask ask = {.process = &process,
                                     .from_ns = begin_ns - UINT64_C(10000000000),
                                     .to_ns = begin_ns,
                                     .deadline_ns = begin_ns + UINT64_C(5000000000)};
    struct evidence_out *out = NULL;
    bench_must(evidence_out_new(0, &out) == SKEIN_OK, "evidence");
    collect(source, &ask, out, note);
    double ms = (double)(clock_monotonic_ns() - begin_ns) / 1e6;
    *events = evidence_out_events(out);
    evidence_out_free(&out);
    return ms;
}

static void round_run(unsigned processes, unsigned seconds)
{
    const struct vitals_settings settings = {.host = true, .processes = true, .top = true};
    struct files_source files = {.proc = NULL};
    struct vitals *vitals = NULL;
    struct evidence_note note = {.why = ""}, files_note = {.why = ""};
    uint64_t events, files_events;
    children_grow(processes);
    bench_must(vitals_new(&settings, &vitals) == SKEIN_OK, "vitals");
    for (unsigned i = 0; i < processes; i++)
        bench_must(vitals_attached(vitals, (uint32_t)children[i].pid, children[i].start_ticks) ==
                       SKEIN_OK,
                   "attach");
    sleep(2); /* files are opened */
    uint64_t cpu_ns = clock_cpu_ns(), begin_ns = clock_monotonic_ns();
    sleep(seconds);
    double used = (double)(clock_cpu_ns() - cpu_ns),
           took = (double)(clock_monotonic_ns() - begin_ns);
    double ms = collect_ms(vitals_collect, vitals, &note, &events);
    double files_ms = collect_ms(files_collect, &files, &files_note, &files_events);
    printf("%4u processes: %.3f %% of a core, %.1f MiB; a capture: %.1f ms, %" PRIu64
           " events, descriptors %.1f ms%s%s\n",
           processes, used * 100 / took, (double)vitals_bytes(vitals) / (1 << 20), ms, events,
           files_ms, note.why[0] != '\0' ? "; " : "", note.why);
    fflush(stdout);
    vitals_free(&vitals);
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 20;
    round_run(1, seconds);
    round_run(100, seconds);
    round_run(MOST, seconds);
    for (unsigned i = 0; i < count; i++)
        kill(children[i].pid, SIGKILL);
    while (wait(NULL) > 0)
        ;
    return 0;
}
