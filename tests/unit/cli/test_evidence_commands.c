/* SPDX-License-Identifier: Apache-2.0
 *
 * skein threads and skein cat --longest over a file with evidence that is written here by hand: who
 * is named, and what is left out. Runs the real program. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "partition_writer.h"
#include "support.h"

#define START_NS UINT64_C(1800000000000000000)
#define MS       UINT64_C(1000000)
#define S        (1000 * MS)

#define TEXT(t)                                                                                    \
    {                                                                                              \
        .str = {.text = (t), .len = (uint32_t)strlen(t) }                                          \
    }
#define ARGS(...) ((const struct partition_value[]){__VA_ARGS__})

static char *folder, *trace, *out;

static void set_up(void)
{
    folder = temp_dir_new();
    trace = path_join(folder, "a.skein");
    out = path_join(folder, "out");
}

static void tear_down(void)
{
    free(trace);
    free(out);
    temp_dir_free(&folder);
}

/* ---- the file: ticks are nanoseconds since START_NS ---- */

static const struct partition_event_type type_state = {.name = "thread.state",
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .nargs = 6,
                                                       .args = {{SKEIN_T_STR, "state", ""},
                                                                {SKEIN_T_STR, "wchan", ""},
                                                                {SKEIN_T_STR, "syscall", ""},
                                                                {SKEIN_T_U64, "cpu", "ns"},
                                                                {SKEIN_T_U64, "voluntary", ""},
                                                                {SKEIN_T_U64, "involuntary", ""}}};
static const struct partition_event_type type_wait = {
    .name = "thread.wait",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "for", ""}, {SKEIN_T_PTR, "object", ""}, {SKEIN_T_U64, "holder", ""}}};
static const struct partition_event_type type_fd = {
    .name = "fd",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_U64, "fd", ""}, {SKEIN_T_STR, "kind", ""}, {SKEIN_T_STR, "path", ""}}};
static const struct partition_event_type type_socket = {.name = "fd",
                                                        .klass = SKEIN_CLASS_INSTANT,
                                                        .nargs = 6,
                                                        .args = {{SKEIN_T_U64, "fd", ""},
                                                                 {SKEIN_T_STR, "kind", ""},
                                                                 {SKEIN_T_STR, "local", ""},
                                                                 {SKEIN_T_STR, "peer", ""},
                                                                 {SKEIN_T_U64, "receive_queue", ""},
                                                                 {SKEIN_T_U64, "send_queue", ""}}};
static const struct partition_event_type type_held = {.name = "proc.state",
                                                      .klass = SKEIN_CLASS_INSTANT,
                                                      .nargs = 3,
                                                      .args = {{SKEIN_T_STR, "state", ""},
                                                               {SKEIN_T_U64, "at_least", "ns"},
                                                               {SKEIN_T_U64, "at_most", "ns"}}};
static const struct partition_event_type type_dump = {.name = "thread.dump",
                                                      .klass = SKEIN_CLASS_INSTANT,
                                                      .nargs = 1,
                                                      .args = {{SKEIN_T_U64, "threads", ""}}};
static const struct partition_event_type type_runnable = {.name = "sched.runnable",
                                                          .klass = SKEIN_CLASS_SPAN,
                                                          .nargs = 6,
                                                          .args = {{SKEIN_T_U64, "cpu", ""},
                                                                   {SKEIN_T_STR, "why", ""},
                                                                   {SKEIN_T_U64, "instead_tid", ""},
                                                                   {SKEIN_T_STR, "instead", ""},
                                                                   {SKEIN_T_U64, "instead_ns", ""},
                                                                   {SKEIN_T_STR, "cut", ""}}};
static const struct partition_event_type type_run = {
    .name = "sched.run", .klass = SKEIN_CLASS_SPAN, .nargs = 0};
static const struct partition_event_type type_window = {.name = "cpu.window",
                                                        .klass = SKEIN_CLASS_INSTANT,
                                                        .nargs = 4,
                                                        .args = {{SKEIN_T_U64, "process", "ns"},
                                                                 {SKEIN_T_U64, "busy", "ns"},
                                                                 {SKEIN_T_U64, "room", "ns"},
                                                                 {SKEIN_T_U64, "cpus", ""}}};
static const struct partition_event_type type_others = {
    .name = "cpu.others",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_U64, "weight", "ns"}, {SKEIN_T_U64, "pid", ""}, {SKEIN_T_STR, "name", ""}}};
static const struct partition_event_type type_top = {.name = "host.top.cpu",
                                                     .klass = SKEIN_CLASS_INSTANT,
                                                     .nargs = 4,
                                                     .args = {{SKEIN_T_U64, "pid", ""},
                                                              {SKEIN_T_STR, "name", ""},
                                                              {SKEIN_T_F64, "cpu", "%"},
                                                              {SKEIN_T_U64, "over", "ns"}}};
static const struct partition_event_type type_write = {
    .name = "write",
    .klass = SKEIN_CLASS_SPAN,
    .nargs = 2,
    .args = {{SKEIN_T_I64, "fd", ""}, {SKEIN_T_I64, "result", "errno"}}};
static const struct partition_event_type type_lock = {.name = "mutex_lock",
                                                      .klass = SKEIN_CLASS_SPAN,
                                                      .nargs = 3,
                                                      .args = {{SKEIN_T_PTR, "lock", "address"},
                                                               {SKEIN_T_I64, "result", "errno"},
                                                               {SKEIN_T_I64, "owner", "tid"}}};

static struct clock_snapshot snapshot(uint64_t ticks)
{
    return (struct clock_snapshot){ticks, ticks, ticks, START_NS + ticks};
}

static struct partition_writer *writer(uint64_t sequence, bool evidence)
{
    const struct partition_info info = {.key = {.process = {{7}}, .epoch = 1, .sequence = sequence},
                                        .pid = 70,
                                        .clock = PARTITION_CLOCK_MONOTONIC,
                                        .begin = snapshot(0),
                                        .end = snapshot(10 * S),
                                        .window_to_ticks = 10 * S,
                                        .host = "here",
                                        .service = "shop",
                                        .labels = "",
                                        .exe = "",
                                        .evidence = evidence};
    struct partition_writer *w = NULL;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    return w;
}

static void finish(struct partition_writer **w, struct buf *file)
{
    ck_assert_int_eq(partition_writer_finish(*w, file, NULL), SKEIN_OK);
    partition_writer_free(w);
}

static void thread_begin(struct partition_writer *w, uint32_t tid, const char *name)
{
    const struct partition_thread thread = {.tid = tid, .name = name};
    partition_writer_batch(w, (uint32_t)partition_writer_thread(w, &thread), 1, 0, false);
}

static void put(struct partition_writer *w, const struct partition_event_type *type, uint64_t end,
                uint64_t length, const struct partition_value *args)
{
    partition_writer_event(w, (uint32_t)partition_writer_type(w, type), end, length, args);
}

/* Two pcs of three: the C library, Skein's own library, the program. */
static const uint64_t stacks[][3] = {{0x1010, 0x2010, 0x3010},
                                     {0x2020, 0x2030, 0x2040},
                                     {0x3011, 0x3012, 0x3013},
                                     {0x1030, 0x3021, 0x3022}};

static void stack_put(struct partition_writer *w, unsigned i)
{
    int64_t id = partition_writer_stack(
        w, &(struct partition_stack){stacks[i], 3, PARTITION_STACK_WHOLE | PARTITION_STACK_EXACT});
    ck_assert_int_gt(id, 0);
    partition_writer_event_stack(w, (uint32_t)id);
}

static void names_put(struct partition_writer *w)
{
    static const struct partition_mapping mappings[] = {
        {.start = 0x1000, .end = 0x2000, .path = "/lib/libc.so.6"},
        {.start = 0x2000, .end = 0x3000, .path = "/usr/lib/skein/libskein-preload.so"},
        {.start = 0x3000, .end = 0x4000, .path = "/usr/bin/shop"}};
    static const struct partition_line lines[] = {{"write", "", 0},
                                                  {"hook", "", 0},
                                                  {"journal_put", "", 0},
                                                  {"ObjectMonitor::enter(JavaThread*)", "", 0}};
    static const uint64_t addresses[] = {0x1010, 0x200f, 0x300f, 0x3020};
    for (size_t i = 0; i < 4; i++) {
        if (i < 3)
            partition_writer_mapping(w, &mappings[i]);
        partition_writer_symbol(w, &(struct partition_symbol){addresses[i], &lines[i], 1});
    }
}

static void state_put(struct partition_writer *w, const char *state, const char *call)
{
    put(w, &type_state, 5 * S, 0,
        ARGS(TEXT(state), TEXT(""), TEXT(call), {.u64 = 7}, {.u64 = 8}, {.u64 = 9}));
}

/* Thread 71 waits for 72, which writes to 9; 73 is ready, and 74 is Skein's own. */
static void dump_put(struct partition_writer *w)
{
    names_put(w);
    thread_begin(w, 71, "waiter");
    state_put(w, "sleeping", "futex(0x10)");
    put(w, &type_wait, 5 * S, 0, ARGS(TEXT("mutex"), {.u64 = 0x10}, {.u64 = 72}));
    thread_begin(w, 72, "holder");
    state_put(w, "sleeping", "write(0x9, 0x55, 0x1)");
    stack_put(w, 0);
    thread_begin(w, 73, "ready");
    state_put(w, "running", "");
    stack_put(w, 2);
    thread_begin(w, 74, "skein");
    state_put(w, "sleeping", "futex(0x20)");
    stack_put(w, 1);
    thread_begin(w, 76, "payment");
    state_put(w, "sleeping", "futex(0x30)");
    stack_put(w, 3);
    thread_begin(w, 77, "main");
    state_put(w, "sleeping", "futex(0x40)");
    put(w, &type_wait, 5 * S, 0, ARGS(TEXT("thread"), {.u64 = 0x40}, {.u64 = 76}));
    thread_begin(w, 78, "late"); /* dumped behind the window */
    put(w, &type_state, 11 * S, 0,
        ARGS(TEXT("sleeping"), TEXT(""), TEXT("write(0xc)"), {.u64 = 7}, {.u64 = 8}, {.u64 = 9}));
    thread_begin(w, 75, "skein"); /* the program's own, whatever it is called */
    state_put(w, "sleeping\033", "accept(0x4, 0x0)");
    put(w, &type_wait, 5 * S, 0, ARGS(TEXT("\033lock"), {.u64 = 0x50}, {.u64 = 0}));
}

static void beside_put(struct partition_writer *w)
{
    thread_begin(w, 0, "process");
    put(w, &type_dump, 5 * S, 0, ARGS({.u64 = 7}));
    put(w, &type_held, 6 * S, 0, ARGS(TEXT("stop\033ped"), {.u64 = 1 * S}, {.u64 = 2 * S}));
    put(w, &type_fd, 10 * S, 0, ARGS({.u64 = 12}, TEXT("pipe"), TEXT("[77]")));
    put(w, &type_fd, 10 * S, 0, ARGS({.u64 = 9}, TEXT("file"), TEXT("/srv/jour\033nal")));
    static const struct {
        const char *kind, *local, *peer;
        uint64_t unread;
    } sockets[] = {{"tcp established", "10.0.0.1:80", "10.0.0.2:5", 0},
                   {"tcp established", "10.0.0.1:80", "10.0.0.3:6", 7},
                   {"tcp listen", "0.0.0.0:80", "", 0},
                   {"tcp established", "10.0.0.1:8080", "10.0.0.9:5432", 0},
                   {"tcp syn_sent", "10.0.0.1:8081", "10.0.0.9:5432", 0},
                   {"unix established", "", "socket:[5]", 0}};
    for (size_t i = 0; i < sizeof sockets / sizeof *sockets; i++)
        put(w, &type_socket, 10 * S, 0,
            ARGS({.u64 = 4 + 20 * i}, TEXT(sockets[i].kind), TEXT(sockets[i].local),
                 TEXT(sockets[i].peer), {.u64 = sockets[i].unread}, {.u64 = 0}));
}

static void sched_put(struct partition_writer *w)
{
    thread_begin(w, 73, "ready");
    put(w, &type_runnable, 2 * S, 1 * S,
        ARGS({.u64 = 3}, TEXT("woken"), {.u64 = 800}, TEXT("other"), {.u64 = 5}, TEXT("")));
    put(w, &type_run, 4 * S, 2 * S, NULL);
    put(w, &type_runnable, 6 * S, 2 * S,
        ARGS({.u64 = 1}, TEXT("preempted"), {.u64 = 900}, TEXT("batch"), {.u64 = 5}, TEXT("")));
}

/* What the samples say, or, where there are none, two looks of the vitals. */
static void users_put(struct partition_writer *w, bool sampled)
{
    static const uint64_t weights[] = {3, 5, 1, 2};
    static const char *const names[] = {"b", "a", "d", "c"};
    thread_begin(w, 0, "host");
    put(w, &type_top, 2 * S, 0, ARGS({.u64 = 1}, TEXT("old"), {.f64 = 100}, {.u64 = 1 * S}));
    put(w, &type_top, 4 * S, 0, ARGS({.u64 = 2}, TEXT("hog"), {.f64 = 150}, {.u64 = 2 * S}));
    if (!sampled)
        return;
    put(w, &type_window, 10 * S, 0,
        ARGS({.u64 = 20 * MS}, {.u64 = 12 * S}, {.u64 = 20 * S}, {.u64 = 2}));
    put(w, &type_others, 10 * S, 0, ARGS({.u64 = 9 * S}, {.u64 = 0}, TEXT("(8 other processes)")));
    for (uint64_t i = 0; i < 4; i++)
        put(w, &type_others, 10 * S, 0,
            ARGS({.u64 = weights[i] * S}, {.u64 = 100 + i}, TEXT(names[i])));
}

static void ring_put(struct partition_writer *w)
{
    thread_begin(w, 71, "waiter");
    put(w, &type_lock, 7 * S, 3 * S, ARGS({.u64 = 0x10}, {.i64 = 0}, {.i64 = 72}));
    const struct partition_thread holder = {.tid = 72, .name = "holder"};
    const struct partition_open open = {.thread = (uint32_t)partition_writer_thread(w, &holder),
                                        .type = (uint32_t)partition_writer_type(w, &type_write),
                                        .since_ticks = 3 * S,
                                        .detail = 9};
    partition_writer_open(w, &open);
    const struct partition_thread late = {.tid = 78, .name = "late"};
    struct partition_open behind = open;
    behind.thread = (uint32_t)partition_writer_thread(w, &late);
    behind.detail = 13;
    partition_writer_open(w, &behind);
    thread_begin(w, 73, "ready"); /* it had ended before the dump */
    put(w, &type_write, 4500 * MS, 1 * S, ARGS({.i64 = 12}, {.i64 = -9}));
}

static void file_make(bool sampled)
{
    struct buf file = {0};
    struct partition_writer *w = writer(1, false);
    ring_put(w);
    finish(&w, &file);
    w = writer(UINT64_C(1) << 48, true);
    sched_put(w);
    users_put(w, sampled);
    dump_put(w);
    beside_put(w);
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
}

/* ---- running skein ---- */

static char *skein(const char *const *words)
{
    const char *argv[16] = {SKEIN_PROGRAM};
    size_t n = 1;
    for (; words[n - 1] != NULL; n++)
        argv[n] = words[n - 1];
    remove(out); /* spawn() appends */
    struct spawn_options options = {.out_file = out};
    ck_assert_int_eq(spawn_wait(spawn(argv, &options), 0), 0);
    char *text = file_read(out, NULL);
    ck_assert_ptr_nonnull(text);
    return text;
}
#define SKEIN(...) skein((const char *const[]){__VA_ARGS__, NULL})

#define HAS(text, part)     ck_assert_msg(strstr(text, part) != NULL, "%s", text)
#define HAS_NOT(text, part) ck_assert_msg(strstr(text, part) == NULL, "%s", text)

START_TEST(a_waiter_names_its_holder_and_what_that_one_does)
{
    file_make(true);
    char *text = SKEIN("threads", trace);
    HAS(text, "\"waiter\"/71 sleeping in futex(0x10), cpu 7 ns, waits for mutex 0x10 held by "
              "\"holder\"/72, which is sleeping in write(0x9, 0x55, 0x1) "
              "[file /srv/jour\\x1bnal]\n");
    ck_assert_ptr_null(strchr(text, '\033'));
    HAS(text, "\"skein\"/75 sleeping\\x1b in accept(0x4, 0x0) "
              "[tcp established 10.0.0.1:80 to 10.0.0.2:5], cpu");
    HAS(text, "4 threads without a stack\n\"waiter\"/71");
    /* The holder's stack comes right behind, without the library that stands between. */
    HAS(text,
        "\n\n\"holder\"/72 sleeping in write(0x9, 0x55, 0x1) [file /srv/jour\\x1bnal], cpu 7 ns\n"
        "    at write (libc.so.6)\n    at journal_put (shop)\n\n\"ready\"/73");
    free(text);
}
END_TEST

START_TEST(a_thread_that_is_ready_names_who_ran_instead)
{
    file_make(true);
    char *text = SKEIN("threads", trace);
    HAS(text, "\"ready\"/73 ready, but not running: it waited 2.000 s for CPU 1, where batch (900) "
              "ran for 5 ns, cpu");
    free(text);
    text = SKEIN("threads", "-o", "json", trace);
    HAS(text, "\"waits_for_cpu\":\t{");
    HAS(text, "\"name\":\t\"batch\"");
    free(text);
}
END_TEST

START_TEST(locks_of_runtimes_and_connections_are_named)
{
    file_make(true);
    char *text = SKEIN("threads", trace);
    HAS(text, "\"payment\"/76 sleeping in futex(0x30), cpu 7 ns, waits for a Java monitor\n");
    ck_assert(strstr(text, "\n\"payment\"/76") < strstr(text, "\n\"holder\"/72"));
    HAS(text, "  connected with 10.0.0.9:5432 (1), 10.0.0.9:5432 (1 tcp syn_sent); "
              "clients on 0.0.0.0:80 (2, 7 bytes unread)\n");
    free(text);
}
END_TEST

START_TEST(skeins_own_thread_is_counted_and_not_shown)
{
    file_make(true);
    char *text = SKEIN("threads", trace);
    HAS(text, ": 7 threads and Skein's own\n");
    HAS_NOT(text, "/74");
    HAS_NOT(text, "hook");
    free(text);
    text = SKEIN("threads", "-o", "json", trace);
    HAS(text, "\"tracer\":\ttrue");
    HAS(text, "\"tid\":\t74");
    HAS(text, "\"function\":\t\"hook\"");
    free(text);
}
END_TEST

START_TEST(who_used_the_cpus_is_told_by_samples_and_else_by_vitals)
{
    file_make(true);
    char *text = SKEIN("threads", trace);
    HAS(text, "  CPU time in 10.000 s: itself 20.0 ms, others a[101] 5.000 s, b[100] 3.000 s, "
              "c[103] 2.000 s and 2 more; 2 CPUs, idle 8.000 s\n");
    free(text);
    file_make(false);
    text = SKEIN("threads", trace);
    HAS(text, "  CPU time in 2.000 s: hog[2] 3.000 s\n");
    free(text);
}
END_TEST

START_TEST(what_stands_out_begins_with_what_held_the_process_back)
{
    file_make(true);
    char *text = SKEIN("what", trace);
    HAS(text, "shop[70] was stop\\x1bped at 2027-01-15T08:00:06.000Z, since 1.000 s at least, "
              "2.000 s at most\n");
    HAS(text, "what each thread did, and waits for: skein threads ");
    free(text);
    text = SKEIN("what", "-j", trace);
    HAS(text, "\"dumps\":\t1");
    free(text);
}
END_TEST

/* As of a process that is watched from outside: evidence alone. */
START_TEST(of_a_trace_without_a_record_no_time_is_told)
{
    struct buf file = {0};
    struct partition_writer *w = writer(UINT64_C(1) << 48, true);
    dump_put(w);
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    char *text = SKEIN("what", trace);
    HAS(text, "the record: of no thread is anything here\n");
    HAS_NOT(text, "before");
    free(text);
    text = SKEIN("what", "-j", trace);
    HAS_NOT(text, "\"from\"");
    free(text);
}
END_TEST

START_TEST(the_longest_have_what_evidence_knows_of_them)
{
    file_make(true);
    char *text = SKEIN("cat", "--longest", "10", trace);
    HAS(text, "fd=9 [file /srv/jour\\x1bnal]");
    HAS(text, "fd=12 result=-9 (EBADF) [pipe [77]]");
    HAS(text, "owner=72 tid [holder]");
    HAS(text, "sleeping in write(0x9, 0x55, 0x1) [file /srv/jour\\x1bnal], by the "
              "thread dump:\n        at write  libc.so.6\n        at journal_put  shop\n");
    HAS_NOT(text, "hook");
    HAS(text, "instead=\"batch\"");
    HAS(text, "1 regions of evidence are left out (--evidence)"); /* sched.run */
    HAS(text, "sleeping in futex(0x10), waiting for \"holder\"/72, which is sleeping in "
              "write(0x9, 0x55, 0x1) [file /srv/jour\\x1bnal], by the thread dump\n");
    HAS(text, "        for 500.0 ms of it ready, and without a CPU: batch (900) ran instead\n");
    HAS(text,
        "later, at 2027-01-15T08:00:11.000Z sleeping in write(0xc) [pipe [77]], by the thread "
        "dump\n");
    HAS_NOT(text, "running"); /* 73 was in no operation of the ring's then */
    free(text);
    text = SKEIN("cat", "--longest", "10", "-j", trace);
    HAS(text, "\"descriptor\":\"file /srv/jour\\u001bnal\"");
    HAS(text, "\"owner_name\":\"holder\"");
    HAS(text, "\"no_cpu_ns\":500000000");
    HAS(text, "\"holder\":72");
    HAS(text, "\"dumped_ts_ns\":\"1800000005000000000\",\"state\":\"sleeping\","
              "\"syscall\":\"write(0x9, 0x55, 0x1)\",\"frames\":[{\"function\":\"write\"");
    free(text);
}
END_TEST

/* A file may have types of these names with other arguments, and arguments with names of ours. */
START_TEST(ends_that_are_written_by_others_are_harmless)
{
    static const struct partition_event_type exits[] = {{.name = "exit",
                                                         .klass = SKEIN_CLASS_INSTANT,
                                                         .group = SKEIN_GROUP_THREAD,
                                                         .nargs = 1,
                                                         .args = {{SKEIN_T_U64, "code", ""}}},
                                                        {.name = "exit",
                                                         .klass = SKEIN_CLASS_INSTANT,
                                                         .group = SKEIN_GROUP_THREAD,
                                                         .nargs = 1,
                                                         .args = {{SKEIN_T_STR, "status", ""}}}};
    static const struct partition_event_type signal = {.name = "crash.signal",
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .group = SKEIN_GROUP_THREAD,
                                                       .nargs = 4,
                                                       .args = {{SKEIN_T_STR, "_below", ""},
                                                                {SKEIN_T_STR, "at", ""},
                                                                {SKEIN_T_STR, "frames", ""},
                                                                {SKEIN_T_I64, "signal", ""}}};
    struct buf file = {0};
    struct partition_writer *w = writer(1, false);
    thread_begin(w, 71, "waiter");
    put(w, &exits[0], 4 * S, 0, ARGS({.u64 = 3}));
    put(w, &exits[1], 5 * S, 0, ARGS(TEXT("3")));
    finish(&w, &file);
    w = writer(UINT64_C(1) << 48, true);
    thread_begin(w, 71, "waiter");
    put(w, &signal, 5 * S, 0, ARGS(TEXT("\033[31mred\n"), TEXT("never"), TEXT("f"), {.i64 = 11}));
    finish(&w, &file);
    file_write(trace, file.data, file.len);
    buf_fini(&file);
    char *text = SKEIN("threads", trace);
    HAS(text, "thread 71 \"waiter\" died of SIGSEGV");
    HAS_NOT(text, "exit(");
    HAS_NOT(text, "never");
    HAS_NOT(text, "red");
    ck_assert_ptr_null(strchr(text, '\033'));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("evidence in commands");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, set_up, tear_down);
    tcase_add_test(all, a_waiter_names_its_holder_and_what_that_one_does);
    tcase_add_test(all, a_thread_that_is_ready_names_who_ran_instead);
    tcase_add_test(all, locks_of_runtimes_and_connections_are_named);
    tcase_add_test(all, skeins_own_thread_is_counted_and_not_shown);
    tcase_add_test(all, who_used_the_cpus_is_told_by_samples_and_else_by_vitals);
    tcase_add_test(all, what_stands_out_begins_with_what_held_the_process_back);
    tcase_add_test(all, of_a_trace_without_a_record_no_time_is_told);
    tcase_add_test(all, the_longest_have_what_evidence_knows_of_them);
    tcase_add_test(all, ends_that_are_written_by_others_are_harmless);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
