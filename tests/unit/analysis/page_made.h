/* SPDX-License-Identifier: Apache-2.0
 *
 * A made capture as the input of a page: a shop whose main thread slept for 2 s before its check
 * failed. One owner; included by the test of pages alone.
 */
#ifndef PAGE_MADE_H
#define PAGE_MADE_H

#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "support.h"

#define MADE_T0      UINT64_C(1800000000000000000)
#define MADE_MS      UINT64_C(1000000)
#define MADE_SPAN    (10000 * MADE_MS)
#define MADE_THREADS 6u

enum made_type { SERVE, QUERY, SLEEP, PARSE, LOG, QUEUE, RUN, RUNNABLE, BLOCKED, MADE_TYPES };
static const char *made_names[MADE_TYPES] = {
    "serve",        "query",     "sleep",          "parse_json",   "log",
    "queue_length", "sched.run", "sched.runnable", "sched.blocked"};

static const struct skein_event_type *made_type(const void *context, uint32_t number)
{
    static struct skein_event_type type;
    (void)context;
    must_hold(number < MADE_TYPES, "type %u", number);
    type = (struct skein_event_type){.name = made_names[number], .arg_count = 1};
    type.args[0].type = SKEIN_T_U64;
    return &type;
}

static const char *made_type_name(const void *context, uint32_t number)
{
    (void)context;
    return number < MADE_TYPES ? made_names[number] : "?";
}

static const char *made_loss_name(const void *context, uint32_t number)
{
    (void)context;
    return number >= LANES_GAP ? "a cut is missing" : "ring_full";
}

static void made_row(struct lanes *lanes, uint8_t kind, uint32_t thread, uint32_t depth,
                     uint32_t type, uint64_t from, uint64_t to)
{
    const uint8_t flags = type >= RUN && type < MADE_TYPES ? SKEIN_ROW_EVIDENCE : 0;
    const uint32_t process = 0, more = kind == SKEIN_ROW_LOSS ? 0 : SKEIN_NONE;
    const uint64_t time = MADE_T0 + from, dur = to - from;
    const struct skein_arg args[SKEIN_ARGS_MAX] = {{.u64 = kind == SKEIN_ROW_COUNTER ? dur
                                                           : type == LOG             ? 3
                                                                                     : 1}};
    const struct skein_row_more mores = {.loss_reason = 1};
    const struct skein_batch batch = {1,
                                      &kind,
                                      &flags,
                                      &process,
                                      &thread,
                                      &time,
                                      kind == SKEIN_ROW_COUNTER ? &(uint64_t){0} : &dur,
                                      &type,
                                      &depth,
                                      NULL,
                                      args,
                                      &more,
                                      &mores};
    ck_assert_int_eq(lanes_add(lanes, &batch), SKEIN_OK);
}

/* Requests of a thread: each parses, and queries; in the bad ones the query takes its time. */
static void made_requests(struct lanes *lanes, uint32_t thread, uint64_t each, uint64_t until)
{
    uint64_t state = thread + 1;
    for (uint64_t at = each; at < until; at += each) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t length = each / 8 + (state >> 33) % (each / 2);
        made_row(lanes, SKEIN_ROW_REGION, thread, 1, PARSE, at, at + length / 5);
        made_row(lanes, SKEIN_ROW_REGION, thread, 1, QUERY, at + length / 4, at + length);
        made_row(lanes, SKEIN_ROW_REGION, thread, 0, SERVE, at, at + length);
        made_row(lanes, SKEIN_ROW_REGION, thread + 100, 0, BLOCKED, at - each / 4, at);
        made_row(lanes, SKEIN_ROW_REGION, thread + 100, 0, RUNNABLE, at, at + length / 6);
        made_row(lanes, SKEIN_ROW_REGION, thread + 100, 0, RUN, at + length / 6, at + length);
    }
}

static struct lanes *made_lanes(void)
{
    const struct lanes_options options = {
        .from_ns = MADE_T0, .to_ns = MADE_T0 + MADE_SPAN, .type = made_type};
    struct lanes *lanes;
    ck_assert_int_eq(lanes_new(&options, &lanes), SKEIN_OK);
    made_requests(lanes, 0, 180 * MADE_MS, 5800 * MADE_MS);
    made_row(lanes, SKEIN_ROW_REGION, 0, 2, SLEEP, 6010 * MADE_MS, 8010 * MADE_MS);
    made_row(lanes, SKEIN_ROW_REGION, 0, 1, QUERY, 6005 * MADE_MS, 8015 * MADE_MS);
    made_row(lanes, SKEIN_ROW_REGION, 0, 0, SERVE, 6000 * MADE_MS, 8020 * MADE_MS);
    for (uint32_t i = 1; i < MADE_THREADS - 1; i++)
        made_requests(lanes, i, (1 + 20 * (uint64_t)i) * MADE_MS, 9800 * MADE_MS);
    made_row(lanes, SKEIN_ROW_LOSS, 2, 0, SKEIN_NONE, 3000 * MADE_MS, 3900 * MADE_MS);
    made_row(lanes, SKEIN_ROW_LOG, 0, 0, LOG, 8050 * MADE_MS, 8050 * MADE_MS);
    for (uint64_t i = 0; i < 60; i++)
        made_row(lanes, SKEIN_ROW_INSTANT, 1, 0, PARSE, i * i * 2 * MADE_MS, i * i * 2 * MADE_MS);
    for (uint64_t i = 0; i < 200; i++)
        made_row(lanes, SKEIN_ROW_COUNTER, 0, 0, QUEUE, i * 50 * MADE_MS,
                 i * 50 * MADE_MS + (i > 120 && i < 165 ? (i - 120) * 3 : i % 4));
    ck_assert_int_eq(lanes_settle(lanes), SKEIN_OK);
    return lanes;
}

static const struct page_fact made_facts[] = {
    {"Taken because", "rule shop-ready fired: /readyz did not answer within 500 ms"},
    {"When", "2027-01-15T08:00:08Z"},
    {"Window", "10.000 s, 8.000 s of it before the trigger"},
    {"Processes", "1 of service shop on web-1"},
    {"Events", "184,221 in 6 threads"},
    {"Missing", "900.0 ms of one thread"}};

static const char *const made_evidence[] = {
    "main/7998 was inside of serve > query > sleep from -1.990 s to +10 ms",
    "stack: nanosleep, take_lock_with_backoff (shop.c:38), query (db.c:112), serve (shop.c:71)",
    "sleep of this thread usually takes 12.000 ms (99 % of 4,120)"};
static const struct page_finding made_findings[] = {
    {PAGE_PROBLEM, "Thread main of shop was in sleep for 2.000 s", made_evidence, 3,
     MADE_T0 + 6010 * MADE_MS, MADE_T0 + 8010 * MADE_MS},
    {PAGE_WARNING, "The counter queue_length rose from 0 to 132 within 2.2 s", made_evidence + 2, 0,
     MADE_T0 + 6000 * MADE_MS, MADE_T0 + 8200 * MADE_MS},
    {PAGE_NOTE, "900 ms of thread worker-2 are missing: its ring was full", NULL, 0,
     MADE_T0 - 1000 * MADE_MS, MADE_T0 + MADE_MS}};

static const char *const made_missing[] = {
    "Thread worker-2 of shop: records between -5.000 s and -4.100 s are lost (ring_full)."};

static struct page_bucket made_buckets[28];
static struct page_region made_regions[3];
static struct page_thread made_threads[MADE_THREADS];
static uint32_t made_numbers[MADE_THREADS][2];

static const char made_cpu[] =
    "shop[7998];main;main;serve;parse_json;parse_value 812\nshop[7998];main;main;serve;parse_json 220\n"
    "shop[7998];main;main;serve;query;format_row 301\nshop[7998];main;main;serve;query;memcpy 90\n"
    "shop[7998];worker-1;start_thread;serve;parse_json;parse_value 400\n"
    "shop[7998];worker-1;start_thread;serve;query;format_row 77\n"
    "shop[7998];worker-2;start_thread;log_flush;write;entry_SYSCALL_64 35\n";
static const char made_waits[] =
    "shop[7998];main;main;serve;query;take_lock_with_backoff;nanosleep 2000000\n"
    "shop[7998];worker-1;start_thread;serve;query;recv 431000\n"
    "shop[7998];worker-2;start_thread;serve;query;recv 520000\n";

static void made_tables(void)
{
    static const char *const why[] = {
        "inside of sleep for 2.0 s", "waited 431 ms in recv", "", "", "", ""};
    static const char *const names[] = {"main",     "worker-1", "worker-2",
                                        "worker-3", "worker-4", "timer"};
    for (unsigned i = 0; i < 28; i++) {
        uint64_t from = (UINT64_C(100) * MADE_MS / 1000) << i / 2;
        from += i % 2 ? from / 2 : 0;
        made_buckets[i] = (struct page_bucket){from, from + from / (i % 2 ? 3 : 2),
                                               i < 14 ? 900 / (1 + (i - 6) * (i - 6)) : i == 26};
    }
    for (unsigned i = 0; i < 3; i++)
        made_regions[i] = (struct page_region){.name = made_names[SLEEP - i],
                                               .service = "shop",
                                               .place = "shop.c:38",
                                               .wait = i == 0,
                                               .count = 3120,
                                               .total_ns = 4000 * MADE_MS,
                                               .self_ns = i == 0 ? 3000 * MADE_MS : UINT64_MAX,
                                               .p50_ns = MADE_MS,
                                               .p99_ns = 12 * MADE_MS,
                                               .max_ns = 2000 * MADE_MS,
                                               .buckets = made_buckets,
                                               .bucket_count = 28};
    for (uint32_t i = 0; i < MADE_THREADS; i++) {
        made_numbers[i][0] = i;
        made_numbers[i][1] = 100 + i;
        made_threads[i] = (struct page_thread){.name = names[i],
                                               .service = "shop",
                                               .host = "web-1",
                                               .pid = 7998,
                                               .tid = 7998 + i,
                                               .numbers = made_numbers[i],
                                               .number_count = 2,
                                               .why = why[i],
                                               .regions = 30000 / (i + 1),
                                               .busy_ns = 5000 * MADE_MS,
                                               .longest_ns = 2000 * MADE_MS,
                                               .longest = "sleep",
                                               .scheduled = i < 5,
                                               .run_ns = 3000 * MADE_MS,
                                               .runnable_ns = 210 * MADE_MS,
                                               .blocked_ns = 6000 * MADE_MS};
    }
}

static struct task_segment made_segments[2];
static struct task made_task;
static struct task_name made_task_name;
static struct task_list made_task_list;

static void made_tasks(void)
{
    made_segments[0] = (struct task_segment){.what = TASK_WORK,
                                             .tid = 7998,
                                             .thread = "main",
                                             .name = "serve",
                                             .why = "",
                                             .from_ns = MADE_T0 + 6000 * MADE_MS,
                                             .dur_ns = 500 * MADE_MS,
                                             .count = 1};
    made_segments[1] =
        (struct task_segment){.what = TASK_WAIT,
                              .tid = 8001,
                              .thread = "worker-3",
                              .name = "fsync",
                              .why = "it had the lock 0xabc that thread 7998 waited for",
                              .depth = 1,
                              .from_ns = MADE_T0 + 6500 * MADE_MS,
                              .dur_ns = 1700 * MADE_MS,
                              .count = 1};
    made_task = (struct task){.tid = 7998,
                              .thread = "main",
                              .trace_id = "4bf92f3577b34da6a3ce929d0e0e4736",
                              .from_ns = MADE_T0 + 6000 * MADE_MS,
                              .dur_ns = 2200 * MADE_MS,
                              .segments = made_segments,
                              .segment_count = 2};
    made_task_name = (struct task_name){
        .service = "shop", .name = "serve", .count = 3, .tasks = &made_task, .task_count = 1};
    made_task_list =
        (struct task_list){.names = &made_task_name, .name_count = 1, .names_left_out = 4};
}

static struct page made_page(const struct lanes *lanes)
{
    made_tables();
    made_tasks();
    return (struct page){
        .title = "shop-ready fired: /readyz did not answer within 500 ms",
        .verdict = "900.0 ms of one thread are missing; all else that was asked for is there.",
        .incomplete = true,
        .facts = made_facts,
        .fact_count = 6,
        .findings = made_findings,
        .finding_count = 3,
        .missing = made_missing,
        .missing_count = 1,
        .regions = made_regions,
        .region_count = 3,
        .threads = made_threads,
        .thread_count = MADE_THREADS,
        .tasks = &made_task_list,
        .lanes = lanes,
        .from_ns = MADE_T0,
        .to_ns = MADE_T0 + MADE_SPAN,
        .at_ns = MADE_T0 + 8000 * MADE_MS,
        .at = "/readyz did not answer within 500 ms",
        .type_name = made_type_name,
        .loss_name = made_loss_name,
        .cpu = made_cpu,
        .cpu_bytes = sizeof made_cpu - 1,
        .waits = made_waits,
        .waits_bytes = sizeof made_waits - 1,
        .cpu_ns_each = 10 * MADE_MS};
}

#endif
