/* SPDX-License-Identifier: Apache-2.0
 * Ten made incidents whose cause is known because the test has made it, and five healthy captures:
 * the first finding names the cause; of the healthy nothing is above a note. Each with several
 * seeds; a failure prints the seed, and SKEIN_TEST_SEED=N makes it again. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report_reading.h"

#define SEEDS  8
#define WINDOW (10 * INCIDENT_S)
#define MS     INCIDENT_MS
#define S      INCIDENT_S

/* ---- ordinary work ---- */

static uint64_t us(struct incident *in, uint64_t from, uint64_t to)
{
    return incident_random(in, from, to) * 1000;
}

/* A request as a traced server does it: it is read, something is written, and answered. */
static uint64_t request(struct incident *in, size_t p, uint32_t tid, uint64_t at, uint64_t dur)
{
    incident_call(in, p, tid, &incident_recv, at + 1000, us(in, 20, 40), 7, 300, 0);
    incident_call(in, p, tid, &incident_send, at + dur - 60000, us(in, 20, 50), 7, 900, 0);
    incident_call(in, p, tid, &incident_request, at, dur, 1, 0, 0);
    return at + dur;
}

/* Waits for whatever comes, and serves it, from then to then. */
static void serve(struct incident *in, size_t p, uint32_t tid, uint64_t from, uint64_t to,
                  uint64_t pause, uint64_t dur)
{
    for (uint64_t at = from + us(in, 0, 500); at < to;) {
        uint64_t idle = incident_about(in, pause);
        incident_call(in, p, tid, &incident_epoll, at, idle, 5, 1, 0);
        at = request(in, p, tid, at + idle + 2000, incident_about(in, dur)) + 2000;
    }
}

/* Takes jobs from a queue that a condition guards. */
static void work(struct incident *in, size_t p, uint32_t tid, uint64_t from, uint64_t to)
{
    for (uint64_t at = from + us(in, 0, 3000); at < to;) {
        uint64_t idle = incident_about(in, 4 * MS);
        incident_call(in, p, tid, &incident_cond, at, idle, 0x5000, 0, 0);
        at = request(in, p, tid, at + idle + 1000, incident_about(in, 2 * MS)) + 1000;
    }
}

static size_t server(struct incident *in, uint32_t pid, size_t workers, uint64_t from, uint64_t to)
{
    size_t p = incident_process(in, "shop", pid, 3600 * S);
    for (uint32_t i = 0; i <= workers; i++)
        serve(in, p, pid + i, from, to, 4 * MS, 2 * MS);
    return p;
}

static void tell(struct incident *in, size_t p, const struct partition_event_type *type,
                 const char *thread, uint32_t tid, uint64_t at, uint64_t dur,
                 const struct partition_value *args)
{
    struct incident_event e = {
        .type = type, .thread = thread, .tid = tid, .from_ns = at, .dur_ns = dur, .evidence = true};
    memcpy(e.args, args, 6 * sizeof *args);
    incident_add(in, p, &e);
}

static struct partition_value text(const char *t)
{
    return (struct partition_value){.str = {.text = t, .len = (uint32_t)strlen(t)}};
}

static void disk_tell(struct incident *in, size_t p, uint64_t at, double await, double queue)
{
    tell(in, p, &incident_await, NULL, 0, at, 0, (struct partition_value[6]){{.f64 = await}});
    tell(in, p, &incident_disk_queue, NULL, 0, at, 0, (struct partition_value[6]){{.f64 = queue}});
}

/* ---- incidents ---- */

/* A worker syncs with a mutex held; all others wait for it. */
static void lock_convoy(struct incident *in)
{
    size_t p = server(in, 100, 12, 0, 4 * S);
    uint64_t at = 4 * S + 200 * MS, held = incident_about(in, 900 * MS);
    incident_call(in, p, 101, &incident_fsync, at, held, 9, 0, 0);
    for (uint32_t tid = 102; tid <= 112; tid++) {
        uint64_t from = at + us(in, 1000, 40000);
        incident_call(in, p, tid, &incident_mutex, from, at + held - from + us(in, 10, 900), 0x7f10,
                      0, 101);
    }
    for (uint32_t tid = 100; tid <= 112; tid++)
        serve(in, p, tid, at + held + 2 * MS, WINDOW, 4 * MS, 2 * MS);
}

/* Writes of a log wait for a disk that does other things. */
static void slow_disk(struct incident *in)
{
    size_t p = incident_process(in, "db", 200, 3600 * S);
    for (uint64_t at = 0; at < WINDOW;) {
        bool slow = at > 3 * S && at < 8 * S;
        uint64_t sync = slow ? incident_about(in, 380 * MS) : incident_about(in, 2 * MS);
        uint64_t idle = incident_about(in, 6 * MS);
        incident_call(in, p, 200, &incident_epoll, at, idle, 5, 1, 0);
        incident_call(in, p, 200, &incident_write, at + idle + MS, us(in, 30, 60), 9, 4096, 0);
        incident_call(in, p, 200, &incident_fsync, at + idle + 2 * MS, sync, 9, 0, 0);
        incident_call(in, p, 200, &incident_loop, at + idle, sync + 3 * MS, 1, 0, 0);
        at += idle + sync + 4 * MS;
    }
    for (uint64_t at = 0; at < WINDOW; at += S)
        disk_tell(in, p, at + 1, at > 3 * S && at < 8 * S ? 380 : 2,
                  at > 3 * S && at < 8 * S ? 40 : 0.1);
    tell(in, p, &incident_fd, NULL, 0, WINDOW, 0,
         (struct partition_value[6]){{.u64 = 9}, text("file"), text("/srv/db/log")});
}

/* Somebody else has the CPU. */
static void cpu_neighbour(struct incident *in)
{
    size_t p = incident_process(in, "shop", 300, 3600 * S);
    for (uint64_t at = 0; at < WINDOW;) {
        uint64_t wait = incident_about(in, 30 * MS), run = incident_about(in, 18 * MS);
        tell(in, p, &incident_runnable, "shop", 300, at, wait,
             (struct partition_value[6]){{.u64 = 0},
                                         text("preempted"),
                                         {.u64 = 999},
                                         text("stress-ng"),
                                         {.u64 = wait},
                                         text("")});
        tell(in, p, &incident_run, "shop", 300, at + wait, run,
             (struct partition_value[6]){{.u64 = 0}, text("")});
        request(in, p, 300, at + 1000, wait + run - 2000);
        incident_call(in, p, 300, &incident_epoll, at + wait + run, MS, 5, 1, 0);
        at += wait + run + MS;
    }
    tell(in, p, &incident_neighbour, NULL, 0, WINDOW, 0,
         (struct partition_value[6]){{.u64 = 999},
                                     text("stress-ng"),
                                     {.u64 = 6 * S},
                                     {.u64 = WINDOW},
                                     {.u64 = 300},
                                     {.u64 = 1}});
}

static void slow_shard(struct incident *in)
{
    for (uint32_t i = 0; i < 8; i++) {
        size_t p = incident_process(in, "shard", 400 + i * 10, 3600 * S);
        serve(in, p, 400 + i * 10, 0, WINDOW, 20 * MS, i == 5 ? 24 * MS : 2 * MS);
    }
}

/* All threads stop in the middle of their requests, and go on together. */
static void gc_pause(struct incident *in)
{
    size_t p = incident_process(in, "java", 500, 3600 * S);
    uint64_t at = 5 * S, pause = incident_about(in, 400 * MS);
    for (uint32_t tid = 500; tid < 508; tid++) {
        serve(in, p, tid, 0, at - 8 * MS, 2 * MS, 2 * MS);
        incident_call(in, p, tid, &incident_cond, at + us(in, 0, 300), pause + us(in, 0, 300), 0x60,
                      0, 0);
        serve(in, p, tid, at + pause + MS, WINDOW, 2 * MS, 2 * MS);
    }
}

static void retry_storm(struct incident *in)
{
    size_t p = server(in, 600, 2, 0, WINDOW);
    uint64_t step = 400 * MS;
    for (uint64_t at = 2 * S; at < WINDOW; at += step) {
        step = step > 12 * MS ? step - step / 12 : step;
        incident_call(in, p, 610, &incident_connect, at, us(in, 30, 400), 12, -111, 0);
    }
}

static void queue_growth(struct incident *in)
{
    size_t p = server(in, 700, 2, 0, WINDOW);
    uint64_t depth = 2;
    for (uint64_t at = 0; at < WINDOW; at += 20 * MS) {
        depth += incident_random(in, 0, 3);
        depth -= depth > 1 ? incident_random(in, 0, 1) : 0;
        incident_call(in, p, 700, &incident_queue, at, 0, (int64_t)depth, 0, 0);
    }
}

static void cold_cache(struct incident *in)
{
    size_t p = incident_process(in, "cache", 800, 2 * S);
    for (uint64_t at = 0; at < WINDOW;) {
        uint64_t left = (WINDOW - at) * 16 / WINDOW; /* from 16 down to 0 */
        uint64_t dur = incident_about(in, 2 * MS + left * MS), idle = incident_about(in, 6 * MS);
        incident_call(in, p, 800, &incident_epoll, at, idle, 5, 1, 0);
        for (uint64_t i = 0; i < left; i += 2)
            incident_call(in, p, 800, &incident_read, at + idle + 100000 + i * 500000,
                          us(in, 200, 450), 11, 8192, 0);
        at = request(in, p, 800, at + idle + 2000, dur) + 2000;
    }
}

static void clock_step(struct incident *in)
{
    size_t p = server(in, 900, 3, 0, WINDOW);
    incident_step(in, p, 5 * S, incident_random(in, 0, 1) ? (int64_t)(3 * S) : -(int64_t)(2 * S));
}

static void lost_partition(struct incident *in)
{
    size_t p = server(in, 1000, 3, 0, WINDOW);
    uint64_t from = incident_random(in, 2, 7) * S;
    incident_lose(in, p, from, from + S);
}

/* ---- healthy ---- */

static void idle_server(struct incident *in)
{
    size_t p = incident_process(in, "idle", 2000, 3600 * S);
    for (uint64_t at = 0; at < WINDOW - S; at += S)
        incident_call(in, p, 2000, &incident_epoll, at, S - MS, 5, 0, 0);
    for (uint32_t tid = 2001; tid < 2005; tid++) {
        struct incident_event e = {.type = &incident_cond,
                                   .thread = "worker",
                                   .tid = tid,
                                   .from_ns = us(in, 10, 900),
                                   .args = {{.i64 = 0x44}},
                                   .open = true};
        incident_add(in, p, &e);
    }
}

static void busy_server(struct incident *in)
{
    size_t p = server(in, 2100, 8, 0, WINDOW);
    for (uint32_t tid = 2120; tid < 2124; tid++)
        work(in, p, tid, 0, WINDOW);
    for (uint64_t at = 0; at < WINDOW; at += 50 * MS) /* a lock that is contended a little */
        incident_call(in, p, 2101 + (uint32_t)incident_random(in, 0, 7), &incident_mutex,
                      at + us(in, 0, 9000), us(in, 25, 900), 0x7f20, 0, 2100);
    for (uint64_t at = 0; at < WINDOW; at += S)
        disk_tell(in, p, at + 1, 3, 0.4);
    for (uint64_t at = 0; at < WINDOW; at += 100 * MS) /* a queue that comes and goes */
        incident_call(in, p, 2100, &incident_queue, at + 7, 0, (int64_t)incident_random(in, 0, 9),
                      0, 0);
}

/* Reads, computes, writes; nobody waits for it. */
static void batch_job(struct incident *in)
{
    size_t p = incident_process(in, "report", 2200, 4 * S);
    for (uint64_t at = 0; at < WINDOW;) {
        incident_call(in, p, 2200, &incident_read, at, incident_about(in, 9 * MS), 3, 1 << 20, 0);
        at += 9 * MS + incident_about(in, 250 * MS);
        incident_call(in, p, 2200, &incident_write, at, incident_about(in, 5 * MS), 4, 1 << 18, 0);
        at += incident_about(in, 10 * MS);
    }
    incident_call(in, p, 2200, &incident_sleep, WINDOW, 2 * S, (int64_t)(2 * S), 0, 0);
    incident_call(in, p, 2200, &incident_write, WINDOW + 3 * S, 2 * MS, 4, 99, 0);
}

static void short_connections(struct incident *in)
{
    size_t p = incident_process(in, "web", 2300, 3600 * S);
    for (uint64_t at = 0; at < WINDOW;) {
        uint64_t idle = incident_random(in, 1, 60) * 100000;
        incident_call(in, p, 2300, &incident_accept, at, idle, 4, 9, 0);
        at += idle + 1000;
        incident_call(in, p, 2300, &incident_recv, at, us(in, 20, 300), 9, 120, 0);
        at += 400000;
        incident_call(in, p, 2300, &incident_recv, at, us(in, 20, 40), 9, -11, 0);
        at += 100000;
        incident_call(in, p, 2300, &incident_send, at, us(in, 20, 90), 9, 512, 0);
        at += 200000;
    }
}

/* A job each second, between which it sleeps. */
static void periodic_work(struct incident *in)
{
    size_t p = server(in, 2400, 2, 0, WINDOW);
    uint64_t at = 0;
    while (at < WINDOW) {
        uint64_t job = incident_about(in, 120 * MS), sleep = S - job;
        incident_call(in, p, 2410, &incident_fsync, at + job / 2, us(in, 2000, 9000), 3, 0, 0);
        incident_call(in, p, 2410, &incident_request, at, job, 0, 0, 0);
        incident_call(in, p, 2410, &incident_sleep, at + job + 1000, sleep - 2000, (int64_t)sleep,
                      0, 0);
        at += S;
    }
}

static uint64_t first_seed(void)
{
    const char *text = getenv("SKEIN_TEST_SEED");
    return text != NULL ? strtoull(text, NULL, 10) : 1;
}

typedef void scene(struct incident *in);

static void scene_open(struct reading *r, struct incident **in, scene *made, uint64_t seed)
{
    *in = incident_new(seed);
    made(*in);
    reading_open(r, incident_finish(*in, S), NULL);
}

/* The first finding is of that rule, says these words, and is above a note. */
static void cause_is_named(scene *made, const char *rule, const char *words, const char *more)
{
    for (uint64_t seed = first_seed(), i = 0; i < SEEDS; i++, seed++) {
        struct incident *in;
        struct reading r;
        scene_open(&r, &in, made, seed);
        bool right = r.report->finding_count > 0 && strcmp(r.report->findings[0].rule, rule) == 0 &&
                     strstr(r.report->findings[0].sentence, words) != NULL &&
                     strstr(r.report->findings[0].sentence, more) != NULL &&
                     r.report->findings[0].severity > REPORT_NOTE;
        if (!right)
            findings_print(r.report);
        ck_assert_msg(right, "seed %llu: not first: %s, \"%s\", \"%s\"", (unsigned long long)seed,
                      rule, words, more);
        reading_close(&r);
        incident_free(&in);
    }
}

static void nothing_stands_out(scene *made, const char *name)
{
    for (uint64_t seed = first_seed(), i = 0; i < SEEDS; i++, seed++) {
        struct incident *in;
        struct reading r;
        scene_open(&r, &in, made, seed);
        bool well = r.report->finding_count == 0 || r.report->findings[0].severity == REPORT_NOTE;
        if (!well)
            findings_print(r.report);
        ck_assert_msg(well, "seed %llu: %s has a finding above a note", (unsigned long long)seed,
                      name);
        ck_assert_uint_gt(r.report->totals.rows, 0);
        reading_close(&r);
        incident_free(&in);
    }
}

#define CAUSE(scene, rule, words, more)                                                            \
    START_TEST(scene##_is_named)                                                                   \
    {                                                                                              \
        cause_is_named(scene, rule, words, more);                                                  \
    }                                                                                              \
    END_TEST
CAUSE(lock_convoy, "lock_convoy", "11 threads of shop[100]", "held by thread 101 in `fsync`")
CAUSE(slow_disk, "slow_disk", "/srv/db/log", "queue of 40")
CAUSE(cpu_neighbour, "cpu_neighbour", "ready to run but not running", "`stress-ng`")
CAUSE(slow_shard, "slow_one", "shard[450]", "7 neighbours")
CAUSE(gc_pause, "stopped_together", "all 8 busy threads of java[500]", "together")
CAUSE(retry_storm, "retry_storm", "`connect`", "ECONNREFUSED")
CAUSE(queue_growth, "queue_growth", "`jobs.queue`", "shop[700]")
CAUSE(cold_cache, "cold_cache", "cache[800] on web-1 had started 2.0 s before", "`request`")
CAUSE(clock_step, "clock_step", "the clock of web-1 stepped", "do not compare")
CAUSE(lost_partition, "lost_partition", "shop[1000]", "cannot be known")

#define HEALTHY(scene)                                                                             \
    START_TEST(scene##_is_well)                                                                    \
    {                                                                                              \
        nothing_stands_out(scene, #scene);                                                         \
    }                                                                                              \
    END_TEST
HEALTHY(idle_server)
HEALTHY(busy_server)
HEALTHY(batch_job)
HEALTHY(short_connections)
HEALTHY(periodic_work)

int main(void)
{
    return suite_run(suite_of("trace_report", lock_convoy_is_named, slow_disk_is_named,
                              cpu_neighbour_is_named, slow_shard_is_named, gc_pause_is_named,
                              retry_storm_is_named, queue_growth_is_named, cold_cache_is_named,
                              clock_step_is_named, lost_partition_is_named, idle_server_is_well,
                              busy_server_is_well, batch_job_is_well, short_connections_is_well,
                              periodic_work_is_well, NULL));
}
