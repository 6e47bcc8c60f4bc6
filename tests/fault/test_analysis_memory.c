/* SPDX-License-Identifier: Apache-2.0
 * Out of memory while a thread dump is read, with all that stands beside it, and while a report is
 * made: said, and nothing is shown; and twice the same where nothing is missing. */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "incident_make.h"
#include "partition_writer.h"
#include "support.h"
#include "thread_list.h"
#include "trace_report.h"

#define TEXT(t)                                                                                    \
    {                                                                                              \
        .str = {.text = (t), .len = (uint32_t)strlen(t) }                                          \
    }
#define ARGS(...) ((const struct partition_value[]){__VA_ARGS__})

static const struct partition_event_type type_state = {
    .name = "thread.state",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "state", ""}, {SKEIN_T_STR, "wchan", ""}, {SKEIN_T_STR, "syscall", ""}}};
static const struct partition_event_type type_wait = {
    .name = "thread.wait",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "for", ""}, {SKEIN_T_PTR, "object", ""}, {SKEIN_T_U64, "holder", ""}}};
static const struct partition_event_type type_fd = {.name = "fd",
                                                    .klass = SKEIN_CLASS_INSTANT,
                                                    .nargs = 4,
                                                    .args = {{SKEIN_T_U64, "fd", ""},
                                                             {SKEIN_T_STR, "kind", ""},
                                                             {SKEIN_T_STR, "local", ""},
                                                             {SKEIN_T_STR, "peer", ""}}};
static const struct partition_event_type type_runnable = {
    .name = "sched.runnable",
    .klass = SKEIN_CLASS_SPAN,
    .nargs = 2,
    .args = {{SKEIN_T_U64, "instead_tid", ""}, {SKEIN_T_STR, "instead", ""}}};
static const struct partition_event_type type_others = {
    .name = "cpu.others",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_U64, "weight", "ns"}, {SKEIN_T_U64, "pid", ""}, {SKEIN_T_STR, "name", ""}}};

static void put(struct partition_writer *w, const struct partition_event_type *type, uint64_t end,
                uint64_t length, const struct partition_value *args)
{
    partition_writer_event(w, (uint32_t)partition_writer_type(w, type), end, length, args);
}

/* Enough threads, descriptors, waits and neighbours that each array grows more than once. */
static void partition_make(struct buf *out)
{
    static const uint64_t pcs[] = {0x1010, 0x1020};
    static const struct partition_line line = {"wait_for", "a.c", 3};
    const struct partition_info info = {.key = {.process = {{1}}, .epoch = 1, .sequence = 1},
                                        .pid = 42,
                                        .clock = PARTITION_CLOCK_MONOTONIC,
                                        .begin = {1000, 1000, 1000, 1000},
                                        .end = {9000000, 9000000, 9000000, 9000000},
                                        .host = "h",
                                        .service = "s",
                                        .labels = "",
                                        .exe = "",
                                        .evidence = true};
    struct partition_writer *w;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    partition_writer_mapping(
        w, &(struct partition_mapping){.start = 0x1000, .end = 0x2000, .path = "/lib/x.so"});
    partition_writer_symbol(w, &(struct partition_symbol){0x1010, &line, 1});
    for (uint32_t tid = 1; tid <= 20; tid++) {
        const struct partition_thread thread = {.tid = tid, .name = "worker"};
        partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 0, 0, false);
        put(w, &type_runnable, 5000000, 4000000, ARGS({.u64 = 900}, TEXT("batch")));
        put(w, &type_state, 5000000, 0, ARGS(TEXT("running"), TEXT("w"), TEXT("write(0x5)")));
        partition_writer_event_stack(
            w, (uint32_t)partition_writer_stack(
                   w, &(struct partition_stack){pcs, 1 + tid % 2,
                                                PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT}));
        put(w, &type_wait, 5000000, 0, ARGS(TEXT("mutex"), {.u64 = 16}, {.u64 = tid % 20 + 1}));
        put(w, &type_fd, 6000000, 0,
            ARGS({.u64 = tid}, TEXT("tcp established"), TEXT("10.0.0.1:80"), TEXT("10.0.0.2:9")));
        put(w, &type_others, 6000000, 0, ARGS({.u64 = tid}, {.u64 = tid}, TEXT("cc1")));
    }
    ck_assert_int_eq(partition_writer_finish(w, out, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

/* The first status that is none of success. */
static int list_make(struct partition_reader *reader, struct thread_list **list,
                     const struct thread_dump_view **dumps, size_t *count)
{
    struct trace_event event;
    int status = thread_list_new(list), next;
    while (status == SKEIN_OK && (next = partition_reader_next(reader, &event)) != 0)
        status = next < 0 ? next : thread_list_add(*list, reader, &event);
    return status == SKEIN_OK ? thread_list_end(*list, dumps, count) : status;
}

START_TEST(a_dump_without_memory_is_none)
{
    struct buf bytes = {0};
    partition_make(&bytes);
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        char error[256];
        struct partition_reader *reader;
        struct thread_list *list = NULL;
        const struct thread_dump_view *dumps = NULL;
        size_t count = 0;
        ck_assert_int_eq(partition_reader_new(bytes.data, bytes.len, &reader, error, sizeof error),
                         SKEIN_OK);
        alloc_fail_at(n);
        int status = list_make(reader, &list, &dumps, &count);
        failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        if (!failed) {
            ck_assert_uint_eq(count, 1);
            ck_assert_uint_eq(dumps[0].thread_count, 20);
            ck_assert_uint_eq(dumps[0].circle_count, 1);
            ck_assert_uint_eq(dumps[0].peer_count, 1);
            ck_assert_uint_eq(dumps[0].peers[0].count, 20);
            ck_assert_uint_eq(dumps[0].cpu.user_count, 20);
            ck_assert_uint_eq(dumps[0].cpu.users[0].cpu_ns, 20);
            ck_assert_str_eq(dumps[0].threads[7].wait->instead, "batch");
            ck_assert_str_eq(dumps[0].threads[7].descriptor,
                             "tcp established 10.0.0.1:80 to 10.0.0.2:9");
        }
        thread_list_free(&list);
        partition_reader_free(&reader);
    }
    buf_fini(&bytes);
}
END_TEST

/* Something for each rule that keeps anything: locks, a disk, peers, a queue, evidence. */
static void incident_fill(struct incident *in)
{
    size_t p = incident_process(in, "shop", 100, 1000);
    for (uint32_t tid = 100; tid < 106; tid++) {
        for (uint64_t i = 0; i < 4; i++)
            incident_call(in, p, tid, &incident_request, i * 10 * INCIDENT_MS, INCIDENT_MS, 1, 0,
                          0);
        incident_call(in, p, tid, &incident_mutex, 50 * INCIDENT_MS, 400 * INCIDENT_MS, 0x10, 0,
                      99);
        incident_call(in, p, tid, &incident_connect, 500 * INCIDENT_MS, 10000, 3, -111, 0);
    }
    incident_call(in, p, 99, &incident_fsync, 40 * INCIDENT_MS, 420 * INCIDENT_MS, 9, 0, 0);
    for (uint64_t i = 0; i < 24; i++)
        incident_call(in, p, 100, &incident_queue, i * 40 * INCIDENT_MS, 0, (int64_t)(i * i), 0, 0);
    incident_add(
        in, p,
        &(struct incident_event){
            .type = &incident_await, .from_ns = 1, .args = {{.f64 = 300}}, .evidence = true});
    incident_add(
        in, p,
        &(struct incident_event){
            .type = &incident_runnable,
            .thread = "shop",
            .tid = 100,
            .dur_ns = 900 * INCIDENT_MS,
            .args =
                {{.u64 = 0}, TEXT("woken"), {.u64 = 7}, TEXT("stress-ng"), {.u64 = 1}, TEXT("")},
            .evidence = true});
}

/* The first status that is none of success. */
static int report_make(struct skein_trace *trace, struct skein_cursor **cursor,
                       struct trace_report_builder **builder, const struct trace_report **report)
{
    const struct skein_query query = {.size = sizeof query};
    struct skein_batch batch;
    int status = skein_cursor_new(trace, &query, cursor), next;
    if (status == SKEIN_OK)
        status = trace_report_new(NULL, builder);
    while (status == SKEIN_OK && (next = skein_cursor_next(*cursor, &batch)) != 0)
        status = next < 0 ? next : trace_report_add(*builder, trace, *cursor, &batch);
    return status == SKEIN_OK ? trace_report_end(*builder, trace, *cursor, report) : status;
}

START_TEST(a_report_without_memory_is_none)
{
    struct incident *in = incident_new(1);
    incident_fill(in);
    const struct buf *bytes = incident_finish(in, INCIDENT_S / 2); /* two cuts of the process */
    bool failed = true;
    for (unsigned n = 1; failed; n++) {
        char error[SKEIN_TRACE_ERROR_BYTES];
        struct skein_trace *trace;
        struct skein_cursor *cursor = NULL;
        struct trace_report_builder *builder = NULL;
        const struct trace_report *report = NULL;
        ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
        ck_assert_int_eq(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error),
                         SKEIN_OK);
        alloc_fail_at(n);
        int status = report_make(trace, &cursor, &builder, &report);
        failed = alloc_fail_end();
        ck_assert_msg(status == (failed ? SKEIN_NO_MEMORY : SKEIN_OK), "allocation %u: %d", n,
                      status);
        if (!failed) {
            ck_assert_uint_gt(report->finding_count, 2);
            ck_assert_str_eq(report->findings[0].rule, "lock_convoy");
        }
        trace_report_free(&builder);
        skein_cursor_free(&cursor);
        skein_trace_free(&trace);
    }
    incident_free(&in);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("analysis_memory", a_dump_without_memory_is_none,
                              a_report_without_memory_is_none, NULL));
}
