/* SPDX-License-Identifier: Apache-2.0
 * A report of a trace that a hostile program and a hostile agent have written: names are those that
 * rules look for, kinds, times, numbers and how often are the input's.
 *
 *   one run of events: type, thread, process, how many, first time, distance, length, then 8 bytes for
 *   each argument
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_target.h"
#include "json.h"
#include "partition_writer.h"
#include "trace_report_json.h"

#define RUNS_MAX   512
#define EVENTS_MAX 4000
#define THREADS    8

static void require(bool fine)
{
    if (!fine)
        abort();
}

struct input {
    const uint8_t *at, *end;
    size_t events;
};

static uint8_t byte_take(struct input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static uint64_t number_take(struct input *in)
{
    uint64_t value = 0;
    size_t left = (size_t)(in->end - in->at), n = left < sizeof value ? left : sizeof value;
    memcpy(&value, in->at, n);
    in->at += n;
    return value;
}

static const char *const names[] = {"mutex_lock",
                                    "fsync",
                                    "read",
                                    "connect",
                                    "epoll_wait",
                                    "cond_wait",
                                    "loop",
                                    "request",
                                    "jobs.queue",
                                    "sleep",
                                    "thread.wait",
                                    "thread.dump",
                                    "proc.state",
                                    "crash.signal",
                                    "sched.run",
                                    "fd",
                                    "host.disk.sd.await",
                                    "host.cpu.steal",
                                    "thread.load",
                                    "cpu.others",
                                    "host.disk.sd.queue",
                                    "sched.runnable",
                                    "sched.neighbour",
                                    "host.disk.",
                                    "sched.blocked",
                                    "thread.sched"};
static const char *const arguments[] = {
    "fd",       "result",  "owner",          "holder",      "object",    "signal",
    "wait",     "title",   "state",          "at_least",    "kind",      "instead",
    "trace_id", "span_id", "parent_span_id", "instead_tid", "waker_tid", "context"};
#define COUNT(list) (sizeof(list) / sizeof *(list))

static const char *text_of(uint64_t value)
{
    static const char *const texts[] = {"stopped",
                                        "file",
                                        "x\x1b[2J\xff waiting",
                                        "sh %s%n",
                                        "",
                                        "task",
                                        "4bf92f3577b34da6a3ce929d0e0e4736",
                                        "00f067aa0ba902b7",
                                        "00f067aa0ba902b8"};
    return texts[value % COUNT(texts)];
}

static struct partition_event_type type_of(struct input *in)
{
    static const uint8_t kinds[] = {SKEIN_CLASS_SPAN, SKEIN_CLASS_COUNTER, SKEIN_CLASS_INSTANT};
    uint8_t which = byte_take(in);
    struct partition_event_type type = {.name = names[which % COUNT(names)],
                                        .text = "",
                                        .file = "",
                                        .klass = kinds[which / COUNT(names) % COUNT(kinds)],
                                        .group = byte_take(in) % 8,
                                        .nargs = 3};
    for (unsigned i = 0; i < type.nargs; i++) {
        uint8_t what = byte_take(in);
        type.args[i] = (struct partition_arg){(uint8_t)(1 + what % SKEIN_T_STR),
                                              arguments[what / SKEIN_T_STR % COUNT(arguments)], ""};
    }
    return type;
}

static void run_put(struct partition_writer *w, struct input *in)
{
    const struct partition_event_type type = type_of(in);
    uint8_t which = byte_take(in), times = byte_take(in);
    const char name[3] = {(char)('a' + which % THREADS), '7', '\0'};
    const struct partition_thread thread = {(uint32_t)which % THREADS, name, which % THREADS};
    struct partition_value values[SKEIN_ARGS_MAX];
    memset(values, 0, sizeof values);
    for (unsigned i = 0; i < type.nargs; i++) {
        uint64_t value = number_take(in);
        if (type.args[i].type == SKEIN_T_STR)
            values[i].str.text = text_of(value),
            values[i].str.len = (uint32_t)strlen(text_of(value));
        else
            values[i].u64 = value % 3 == 0 ? value / 3 % THREADS : value;
    }
    int64_t kind = partition_writer_type(w, &type), on = partition_writer_thread(w, &thread);
    uint64_t at = (uint64_t)byte_take(in) << (byte_take(in) % 56), step = number_take(in);
    uint64_t length = (uint64_t)byte_take(in) << (byte_take(in) % 56);
    if (kind < 0 || on < 0)
        return;
    partition_writer_batch(w, (uint32_t)on, 0, 0, true);
    for (unsigned i = 0; i <= times && in->events++ < EVENTS_MAX; i++, at += step % 100000000) {
        partition_writer_event(w, (uint32_t)kind, at, type.klass == SKEIN_CLASS_SPAN ? length : 0,
                               values);
        partition_writer_event_stack(w, which / THREADS % 3);
    }
    if (times % 16 == 7)
        partition_writer_open(w, &(struct partition_open){(uint32_t)on, (uint32_t)kind, at, -1});
}

static void partition_make(struct input *in, uint8_t process, uint64_t sequence, bool evidence,
                           struct buf *out)
{
    uint64_t skew = (uint64_t)byte_take(in) << (byte_take(in) % 56);
    const struct partition_info info = {
        .key = {.process = {{process}}, .epoch = 1, .sequence = sequence},
        .pid = process,
        .clock = PARTITION_CLOCK_MONOTONIC,
        .begin = {0, 1, 1, 1},
        .end = {1000000000, 1000000001, 1000000001, 1000000001 + skew},
        .window_to_ticks = 1000000000,
        .host = process == 2 ? "i" : "h",
        .service = "s%s",
        .labels = "",
        .exe = "",
        .death = {.signal = skew % 5 == 3 ? 11 : 0, .known = true},
        .evidence = evidence};
    struct partition_writer *w;
    require(partition_writer_new(&info, &w) == SKEIN_OK);
    for (uint64_t i = 1; i <= 2; i++) {
        const uint64_t pcs[2] = {i, sequence};
        require(partition_writer_stack(w, &(struct partition_stack){pcs, 2, (uint8_t)i}) > 0);
    }
    for (unsigned i = 0; in->at < in->end && i < RUNS_MAX; i++)
        run_put(w, in);
    if (partition_writer_finish(w, out, NULL) != SKEIN_OK)
        buf_clear(out);
    partition_writer_free(&w);
}

/* Its path has no hole, and adds up. */
static void task_check(const struct task *task)
{
    uint64_t at_ns = task->from_ns;
    require(task->segment_count <= TASK_SEGMENTS && task->segment_count > 0);
    for (size_t i = 0; i < task->segment_count; i++) {
        require(task->segments[i].from_ns == at_ns && task->segments[i].dur_ns > 0);
        at_ns += task->segments[i].dur_ns;
    }
    require(at_ns == task->from_ns + task->dur_ns);
}

/* Ranked, bounded, and of threads that there are. */
static void report_check(const struct trace_report *report, const struct skein_trace *trace)
{
    for (size_t i = 0; i < report->finding_count; i++) {
        const struct report_finding *f = &report->findings[i];
        require(i == 0 || f->score <= report->findings[i - 1].score);
        require(strlen(f->sentence) < 2048 && f->sentence[0] != '\0');
        require(f->subject.thread == SKEIN_NONE ||
                f->subject.thread < skein_trace_thread_count(trace));
    }
    for (size_t i = 0; i < report->tasks->name_count; i++)
        for (size_t k = 0; k < report->tasks->names[i].task_count; k++)
            task_check(&report->tasks->names[i].tasks[k]);
    cJSON *json = trace_report_json(report, trace);
    struct buf text = {0};
    require(json != NULL);
    json_print(json, &text);
    require(text.status == SKEIN_OK);
    buf_fini(&text);
    cJSON_Delete(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    const struct trace_report_limits limits = {.findings = 5, .rows = 3, .spans = 100};
    char error[SKEIN_TRACE_ERROR_BYTES];
    struct skein_query query = {.size = sizeof query};
    struct skein_batch batch;
    struct skein_trace *trace;
    struct skein_cursor *cursor;
    struct trace_report_builder *builder;
    const struct trace_report *report;
    struct buf parts[3] = {{0}};
    require(skein_trace_new(&trace) == SKEIN_OK);
    for (size_t i = 0; i < 3; i++) {
        struct input in = {bytes + n / 3 * i, bytes + n / 3 * (i + 1), 0};
        partition_make(&in, i == 1 ? 2 : 1, i + 1, i == 2, &parts[i]);
        if (parts[i].len > 0)
            require(skein_trace_add_memory(trace, parts[i].data, parts[i].len, "x", error) ==
                    SKEIN_OK);
    }
    require(skein_cursor_new(trace, &query, &cursor) == SKEIN_OK);
    require(trace_report_new(&limits, &builder) == SKEIN_OK);
    while (skein_cursor_next(cursor, &batch) > 0)
        require(trace_report_add(builder, trace, cursor, &batch) == SKEIN_OK);
    require(trace_report_end(builder, trace, cursor, &report) == SKEIN_OK);
    report_check(report, trace);
    trace_report_free(&builder);
    skein_cursor_free(&cursor);
    skein_trace_free(&trace);
    for (size_t i = 0; i < 3; i++)
        buf_fini(&parts[i]);
    return 0;
}
