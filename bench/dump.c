/* SPDX-License-Identifier: Apache-2.0
 *
 * What a thread dump does to the program: a child with one thread that reads the clock all the time
 * and others that sleep in epoll_wait. The child says how long its clock stood still at most, and
 * how many of its waits came back early; the agent's dump (agent/dump, stacks walked and named by
 * skein-symbolizer) and eu-stack in turn, medians of all rounds, beside rounds in which nobody looks.
 *
 *   bench_dump [--json] [ROUNDS [THREADS]]
 *
 * The child's own account is in memory that it shares with the bench. Without eu-stack that column
 * is left out.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench_host.h"
#include "clock.h"
#include "proc_info.h"
#include "symbolizer.h"
#include "thread_dump.h"

#define ROUNDS_MAX  1000
#define THREADS_MAX 4000
#define QUIET_US    100000

struct account {
    _Atomic uint64_t gap_ns; /* longest between two looks at the clock, since it was set to 0 */
    _Atomic uint64_t interrupted; /* waits that gave EINTR */
    atomic_uint ready;
};

static struct account *account;
static struct symbolizer *symbolizer;
static pid_t child;
static uint64_t child_ticks;

/* ---- the program ---- */

static void *sleeper_main(void *context)
{
    struct epoll_event event;
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    (void)context;
    bench_must(epoll >= 0, "epoll");
    atomic_fetch_add(&account->ready, 1);
    for (;;)
        if (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR)
            atomic_fetch_add(&account->interrupted, 1);
    return NULL;
}

static _Noreturn void program_main(unsigned threads)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 65536);
    for (unsigned i = 0; i < threads; i++)
        bench_must(pthread_create(&thread, &small, sleeper_main, NULL) == 0, "thread");
    for (uint64_t last = clock_monotonic_ns();;) {
        uint64_t now = clock_monotonic_ns();
        if (now - last > atomic_load_explicit(&account->gap_ns, memory_order_relaxed))
            atomic_store_explicit(&account->gap_ns, now - last, memory_order_relaxed);
        last = now;
    }
}

static void program_start(unsigned threads)
{
    account =
        mmap(NULL, sizeof *account, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    bench_must(account != MAP_FAILED, "memory");
    pid_t parent = getpid();
    child = fork();
    bench_must(child >= 0, "fork");
    if (child == 0) {
        bench_die_with(parent);
        program_main(threads);
    }
    for (int i = 0; atomic_load(&account->ready) < threads; i++) {
        bench_must(i < 1000, "the program's threads do not begin");
        usleep(10000);
    }
    bench_must(proc_start_ticks(child, &child_ticks) == SKEIN_OK, "start");
}

/* ---- who looks ---- */

enum who { WHO_NOBODY, WHO_AGENT, WHO_EU_STACK, WHOS };
static const char *const names[WHOS] = {"nobody", "agent", "eu_stack"};

static void agent_look(void)
{
    const struct evidence_settings settings = {.deadline_ms = 5000};
    struct process process = {
        .pid = (uint32_t)child, .start_clock_ticks = child_ticks, .state = PROCESS_LIVE};
    uint64_t now = clock_monotonic_ns();
    const struct evidence_ask ask = {.process = &process,
                                     .from_ns = now - UINT64_C(1000000000),
                                     .to_ns = now,
                                     .deadline_ns = now + UINT64_C(5000000000),
                                     .threads = true,
                                     .settings = &settings,
                                     .symbolizer = symbolizer};
    struct evidence_note note = {.why = ""};
    struct evidence_out *out = NULL;
    bench_must(evidence_out_new(0, &out) == SKEIN_OK, "memory");
    thread_dump_source.collect(thread_dump_source.source, &ask, out, &note);
    bench_must(note.state == EVIDENCE_TAKEN, note.why[0] != '\0' ? note.why : "no dump");
    evidence_out_free(&out);
}

static void eu_stack_look(void)
{
    char command[128];
    snprintf(command, sizeof command, "eu-stack -p %d >/dev/null 2>&1", (int)child);
    bench_must(system(command) != -1, "eu-stack"); /* NOLINT: a number alone */
}

struct look {
    double gap_ms, took_ms, interrupted;
};

static struct look look_measure(enum who who)
{
    usleep(QUIET_US);
    atomic_store(&account->gap_ns, 0);
    atomic_store(&account->interrupted, 0);
    uint64_t begin = clock_monotonic_ns();
    if (who == WHO_AGENT)
        agent_look();
    else if (who == WHO_EU_STACK)
        eu_stack_look();
    else
        usleep(QUIET_US);
    uint64_t end = clock_monotonic_ns();
    return (struct look){(double)atomic_load(&account->gap_ns) / 1e6, (double)(end - begin) / 1e6,
                         (double)atomic_load(&account->interrupted)};
}

/* ---- figures ---- */

static double figures[WHOS][3][ROUNDS_MAX]; /* gap, took, interrupted */

static void who_print(enum who who, int rounds, bool json, const char *end)
{
    double gap = bench_median(figures[who][0], rounds), most = figures[who][0][rounds - 1],
           took = bench_median(figures[who][1], rounds),
           interrupted = bench_median(figures[who][2], rounds);
    if (json)
        printf("{\"name\":\"dump_%s\",\"value\":%.3f,\"unit\":\"ms\",\"most\":%.3f,\"took\":%.1f,"
               "\"interrupted\":%.0f}%s\n",
               names[who], gap, most, took, interrupted, end);
    else
        printf("%-9s stood still %7.3f ms (at most %7.3f), took %6.1f ms, %.0f waits interrupted\n",
               names[who], gap, most, took, interrupted);
}

int main(int argc, char **argv)
{
    const struct symbolizer_settings settings = {.program = SKEIN_SYMBOLIZER};
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    int rounds = argc > 1 + json ? (int)strtol(argv[1 + json], NULL, 10) : 20;
    unsigned threads = argc > 2 + json ? (unsigned)strtoul(argv[2 + json], NULL, 10) : 64;
    bench_must(rounds > 0 && rounds <= ROUNDS_MAX, "rounds: 1 to 1000");
    bench_must(threads <= THREADS_MAX, "threads: at most 4000");
    bool has_eu_stack =
        system("eu-stack --version >/dev/null 2>&1") == 0; /* NOLINT: a fixed text */
    int whos = has_eu_stack ? WHOS : WHO_EU_STACK;
    program_start(threads);
    bench_must(symbolizer_new(&settings, &symbolizer) == SKEIN_OK, "no skein-symbolizer");
    for (int who = 0; who < whos; who++)
        (void)look_measure((enum who)who); /* warm */
    for (int i = 0; i < rounds; i++)
        for (int at = 0; at < whos; at++) {
            int who = i % 2 == 0 ? at : whos - 1 - at;
            struct look look = look_measure((enum who)who);
            figures[who][0][i] = look.gap_ms;
            figures[who][1][i] = look.took_ms;
            figures[who][2][i] = look.interrupted;
        }
    if (json)
        printf("[");
    for (int who = 0; who < whos; who++)
        who_print((enum who)who, rounds, json, who + 1 < whos ? "," : "]");
    kill(child, SIGKILL);
    (void)waitpid(child, NULL, 0);
    symbolizer_free(&symbolizer);
    return 0;
}
