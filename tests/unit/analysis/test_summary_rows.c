/* SPDX-License-Identifier: Apache-2.0
 *
 * What each kind of event adds to a summary, by a trace whose every number is written down here: waits
 * and what of them is idle, locks and holders, stacks, counters, logs, losses, samples, scheduling.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "sched_types.h"
#include "summary.h"
#include "summary_feed.h"
#include "summary_made.h"

#define TYPE(variable, text_, class_, group_, ...)                                                 \
    static const struct partition_event_type variable = {.name = text_,                            \
                                                         .text = "",                               \
                                                         .file = "",                               \
                                                         .klass = SKEIN_CLASS_##class_,            \
                                                         .group = group_,                          \
                                                         __VA_ARGS__};
#define ARGS(n, ...) .nargs = n, .args = {__VA_ARGS__}

TYPE(loop, "loop", SPAN, 16, .nargs = 0)
TYPE(part, "part", SPAN, 16, .nargs = 0)
TYPE(outer, "outer", SPAN, 16, .nargs = 0)
TYPE(poll, "epoll_wait", SPAN, SKEIN_GROUP_NET, .nargs = 0)
TYPE(nap, "sleep", SPAN, SKEIN_GROUP_SLEEP, .nargs = 0)
TYPE(lock, "mutex_lock", SPAN, SKEIN_GROUP_LOCK,
     ARGS(3, {SKEIN_T_PTR, "lock", ""}, {SKEIN_T_I64, "result", ""}, {SKEIN_T_I64, "owner", "tid"}))
TYPE(depth, "depth", COUNTER, 16, ARGS(1, {SKEIN_T_I64, "value", "jobs"}))
TYPE(line, "log", LOG, SKEIN_GROUP_LOG,
     ARGS(2, {SKEIN_T_U64, "level", ""}, {SKEIN_T_STR, "text", ""}))
TYPE(mark, "mark", INSTANT, 16, .nargs = 0)
TYPE(sample, "cpu.sample", INSTANT, SKEIN_GROUP_THREAD,
     ARGS(2, {SKEIN_T_U64, "cpu", ""}, {SKEIN_T_U64, "weight", "ns"}))
TYPE(window, "cpu.window", INSTANT, SKEIN_GROUP_THREAD,
     ARGS(3, {SKEIN_T_U64, "process", "ns"}, {SKEIN_T_U64, "busy", "ns"},
          {SKEIN_T_U64, "room", "ns"}))
TYPE(others, "cpu.others", INSTANT, SKEIN_GROUP_THREAD,
     ARGS(4, {SKEIN_T_U64, "weight", "ns"}, {SKEIN_T_U64, "samples", ""}, {SKEIN_T_U64, "pid", ""},
          {SKEIN_T_STR, "name", ""}))
TYPE(busy, "host.cpu.user", COUNTER, 0, ARGS(1, {SKEIN_T_F64, "value", "%"}))
TYPE(dumped, "thread.wait", INSTANT, 0,
     ARGS(3, {SKEIN_T_STR, "for", ""}, {SKEIN_T_PTR, "object", ""}, {SKEIN_T_U64, "holder", ""}))

static struct buf bytes;
static struct partition_writer *w;

static uint32_t thread_of(uint32_t tid, const char *name)
{
    struct partition_thread thread = {tid, name, 1};
    return (uint32_t)partition_writer_thread(w, &thread);
}

static void put(const struct partition_event_type *type, uint64_t ticks, uint64_t dur,
                struct partition_value a, struct partition_value b, struct partition_value c)
{
    struct partition_value args[SKEIN_ARGS_MAX] = {a, b, c};
    partition_writer_event(w, (uint32_t)partition_writer_type(w, type), ticks, dur, args);
}

#define U(n)       ((struct partition_value){.u64 = (n)})
#define I(n)       ((struct partition_value){.i64 = (n)})
#define F(n)       ((struct partition_value){.f64 = (n)})
#define NOTHING    U(0), U(0), U(0)
#define NS(t)      ((uint64_t)(t)*64)
#define SAME(a, b) ck_assert_uint_eq(a, b)

static void ring_fill(void)
{
    struct partition_info info = made_part(10, 5, 10, 100000);
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    partition_writer_batch(w, thread_of(10, "main"), 5, 1, false);
    put(&poll, 1000, 500, NOTHING); /* idle: nothing around it */
    put(&nap, 2200, 200, NOTHING);  /* within the loop: no idle one */
    put(&lock, 2600, 300, (struct partition_value){.u64 = 0xabc}, I(0), I(12));
    put(&loop, 3000, 1500, NOTHING);
    put(&depth, 3100, 0, I(-5), U(0), U(0));
    put(&depth, 3200, 0, I(9), U(0), U(0));
    put(&depth, 3300, 0, I(2), U(0), U(0));
    put(&line, 4000, 0, U(3), sample_str("order 4711 took 12.5 ms"), U(0));
    put(&line, 4100, 0, U(3), sample_str("order 99 took 7.25 ms"), U(0));
    put(&line, 4200, 0, U(4), sample_str("order 1 took 1.0 ms"), U(0));
    partition_writer_batch(w, thread_of(11, "worker"), 5, 2, false);
    put(&lock, 3000, 900, (struct partition_value){.u64 = 0xabc}, I(0), I(12));
    put(&lock, 3500, 100, (struct partition_value){.u64 = 0xabc}, I(0), I(10));
    put(&lock, 3600, 50, (struct partition_value){.u64 = 0xdef}, I(0), I(0));
    put(&mark, 3650, 0, NOTHING);
    partition_writer_batch(w, thread_of(12, "crossing"), 5, 3, false);
    put(&part, 5000, 1000, NOTHING);
    put(&part, 5500, 1000, NOTHING);
    put(&outer, 6000, 2500, NOTHING);
    partition_writer_loss(w, &(struct partition_loss){thread_of(11, "worker"),
                                                      PARTITION_LOSS_RING_FULL, 7, 3700, 3800});
    partition_writer_open(w, &(struct partition_open){thread_of(11, "worker"),
                                                      (uint32_t)partition_writer_type(w, &nap),
                                                      90000, 0});
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static void sched_put(struct sched_span *span)
{
    struct partition_value args[SKEIN_ARGS_MAX] = {U(0)};
    const struct partition_event_type *type = &sched_types[sched_span_values(span, args)];
    partition_writer_event(w, (uint32_t)partition_writer_type(w, type), span->end_ns,
                           span->end_ns - span->begin_ns, args);
}

static void evidence_fill(void)
{
    struct partition_info info = made_part(10, PARTITION_EVIDENCE_FROM + 5, 10, 100000);
    struct partition_value four[SKEIN_ARGS_MAX] = {U(6400), U(3), U(77), sample_str("bully")};
    info.evidence = true;
    ck_assert_int_eq(partition_writer_new(&info, &w), SKEIN_OK);
    partition_writer_batch(w, thread_of(11, "worker"), 0, 1, false);
    put(&sample, 5000, 0, U(0), U(1000), U(0));
    put(&sample, 5100, 0, U(1), U(2000), U(0));
    put(&dumped, 5200, 0, sample_str("mutex"), U(0xabc), U(12));
    sched_put(&(struct sched_span){.kind = SCHED_SPAN_RUN, .begin_ns = 6000, .end_ns = 6100});
    sched_put(&(struct sched_span){.kind = SCHED_SPAN_RUNNABLE,
                                   .why = SCHED_WHY_PREEMPTED,
                                   .begin_ns = 6100,
                                   .end_ns = 6400,
                                   .instead = 99,
                                   .instead_comm = "bully"});
    sched_put(&(struct sched_span){.kind = SCHED_SPAN_BLOCKED,
                                   .state = 'D',
                                   .begin_ns = 6400,
                                   .end_ns = 6600,
                                   .waker = {.known = true, .tid = 3, .comm = "disk"}});
    for (uint64_t i = 1; i < 3; i++) { /* twice, and the second time it has grown */
        struct partition_value sums[SKEIN_ARGS_MAX] = {U(500 * i), U(60), U(7), U(5), U(i)};
        const struct partition_event_type *type = &sched_types[SCHED_TYPE_SUMS];
        partition_writer_event(w, (uint32_t)partition_writer_type(w, type), 6600 + i, 0, sums);
    }
    partition_writer_batch(w, thread_of(0, "host"), 0, 2, false);
    put(&busy, 5000, 0, F(10), U(0), U(0));
    put(&busy, 7000, 0, F(40), U(0), U(0));
    put(&window, 9000, 0, U(3000), U(20000), U(80000));
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &others), 9000, 0, four);
    four[0] = U(3200), four[2] = U(78); /* another one of that name */
    partition_writer_event(w, (uint32_t)partition_writer_type(w, &others), 9000, 0, four);
    ck_assert_int_eq(partition_writer_finish(w, &bytes, NULL), SKEIN_OK);
    partition_writer_free(&w);
}

static struct skein_trace *trace;
static struct summary *s;

static void setup(void)
{
    ring_fill();
    evidence_fill();
    trace = made_open(&bytes);
    ck_assert_int_eq(summary_new(0, &s), SKEIN_OK);
    ck_assert_int_eq(summary_read(s, trace, NULL), SKEIN_OK);
}

static void teardown(void)
{
    summary_free(&s);
    skein_trace_free(&trace);
    buf_fini(&bytes);
}

static const struct summary_thread *thread_find(uint32_t tid)
{
    const struct summary_thread *threads;
    size_t count = summary_threads(s, &threads);
    for (size_t i = 0; i < count; i++)
        if (threads[i].row.number == tid)
            return &threads[i];
    return NULL;
}

START_TEST(waits_are_by_reason_and_idle_where_no_work_is_around)
{
    const struct summary_process *p;
    const struct summary_thread *t = thread_find(10);
    const struct summary_name *names;
    SAME(summary_processes(s, &p), 1);
    SAME(t->wait_ns[SKEIN_GROUP_NET - 1], NS(500));
    SAME(t->wait_ns[SKEIN_GROUP_SLEEP - 1], NS(200));
    SAME(t->wait_ns[SKEIN_GROUP_LOCK - 1], NS(300));
    SAME(t->idle_ns, NS(500));
    SAME(t->regions, 4);
    t = thread_find(11);
    SAME(t->wait_ns[SKEIN_GROUP_LOCK - 1], NS(1050));
    SAME(t->wait_ns[SKEIN_GROUP_SLEEP - 1], NS(10000)); /* still asleep at the cut's end */
    SAME(t->idle_ns, NS(10000));
    SAME(p->idle_ns, NS(10500));
    SAME(p->wait_ns[SKEIN_GROUP_LOCK - 1], NS(1350));
    size_t count = summary_names(s, &names), found = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = summary_text(s, names[i].row.text);
        if (strcmp(name, "loop") == 0)
            found += names[i].self_ns == NS(1500 - 200 - 300);
        if (strcmp(name, "sleep") == 0)
            found += names[i].count == 1 && names[i].open == 1 && names[i].open_ns == NS(10000) &&
                     names[i].open_idle_ns == NS(10000) && names[i].idle_ns == 0 &&
                     names[i].total_ns == NS(200);
        if (strcmp(name, "epoll_wait") == 0)
            found += names[i].idle_ns == NS(500);
    }
    SAME(found, 3);
}
END_TEST

START_TEST(a_lock_has_its_holders_and_those_of_thread_dumps)
{
    const struct summary_lock *locks;
    SAME(summary_locks(s, &locks), 2);
    SAME(locks[0].row.number, 0xabc);
    SAME(locks[0].count, 3);
    SAME(locks[0].total_ns, NS(1300));
    SAME(locks[0].most_ns, NS(900));
    const struct summary_holder *h = locks[0].holders;
    ck_assert(h[0].tid == 12 && h[0].waits == 2 && h[0].wait_ns == NS(1200) && h[0].dumped == 1);
    ck_assert(h[1].tid == 10 && h[1].waits == 1 && h[1].wait_ns == NS(100) && h[1].dumped == 0);
    ck_assert(h[2].tid == 0 && locks[1].row.number == 0xdef && locks[1].holders[0].tid == 0);
}
END_TEST

START_TEST(counters_logs_and_losses_are_counted)
{
    const struct summary_counter *counters;
    const struct summary_log *logs;
    const struct summary_loss *losses;
    size_t count = summary_counters(s, &counters), found = 0;
    SAME(count, 2);
    for (size_t i = 0; i < count; i++) {
        const struct summary_counter *c = &counters[i];
        if (c->row.of == SUMMARY_NONE)
            found += c->least == 10 && c->most == 40 && c->last == 40 && c->sum == 50 &&
                     strcmp(summary_text(s, (uint32_t)c->row.number), "host-a") == 0;
        else
            found += c->least == -5 && c->most == 9 && c->last == 2 && c->sum == 6 &&
                     c->count == 3 && strcmp(summary_text(s, c->unit), "jobs") == 0;
    }
    SAME(found, 2);
    SAME(summary_logs(s, &logs), 2);
    ck_assert_str_eq(summary_text(s, logs[0].row.text), "order # took #.# ms");
    ck_assert_str_eq(summary_text(s, logs[0].example), "order 99 took 7.25 ms");
    ck_assert(logs[0].count == 2 && logs[0].row.number == 3 && logs[1].row.number == 4);
    SAME(summary_losses(s, &losses), 1);
    ck_assert(losses->records == 7 && losses->count == 1 && losses->dur_ns == NS(100) &&
              losses->row.number == PARTITION_LOSS_RING_FULL && losses->unknown == 0);
}
END_TEST

START_TEST(the_agents_events_tell_of_cpus_and_neighbours)
{
    const struct summary_thread *t = thread_find(11);
    const struct summary_process *p;
    const struct summary_neighbour *n;
    ck_assert(t->samples == 2 && t->sampled_ns == 3000);
    ck_assert(t->run_ns == NS(100) && t->runs == 1 && t->runnable_ns == NS(300));
    ck_assert(t->blocked_ns[1] == NS(200) && t->blocked_ns[0] == 0 && t->preempted == 1);
    ck_assert(t->runnable.dur_ns == NS(300) && t->runnable.other == 99);
    ck_assert_str_eq(summary_text(s, t->runnable.name), "bully");
    ck_assert(t->blocked.other == 3 && t->blocked.dur_ns == NS(200));
    SAME(summary_processes(s, &p), 1);
    ck_assert(p->samples == 2 && p->window_ns == 3000 && p->busy_ns == 20000 &&
              p->room_ns == 80000);
    SAME(p->events, 17); /* of the ring */
    /* Also of the process; and what is no region, of both. */
    ck_assert(p->run_ns == NS(100) && p->runs == 1 && p->runnable_ns == NS(300));
    ck_assert(p->blocked_ns[1] == NS(200) && p->preempted == 1);
    ck_assert(t->since_run_ns == 1000 && t->since_runnable_ns == 60 && t->since_runs == 7);
    ck_assert(t->since_gave_way == 5 && t->since_preempted == 2);
    ck_assert(t->instants == 1 && t->counters == 0 && t->logs == 0);
    t = thread_find(10);
    ck_assert(t->instants == 0 && t->counters == 3 && t->logs == 3 && t->since_runs == 0);
    ck_assert(p->instants == 1 && p->counters == 3 && p->logs == 3 && p->regions == 10);
    SAME(summary_neighbours(s, &n), 2);
    ck_assert(n->cpu_ns == 6400 && n->pid == 77 && n[1].cpu_ns == 3200 && n[1].pid == 78);
    ck_assert_str_eq(summary_text(s, (uint32_t)n->row.number), "host-a");
    ck_assert_str_eq(summary_text(s, n->row.text), "bully");
}
END_TEST

START_TEST(without_memory_no_event_breaks_anything)
{
    for (unsigned n = 1;; n++) {
        struct summary *again = NULL;
        struct skein_trace *opened = made_open(&bytes);
        struct buf put = {0};
        alloc_fail_at(n);
        int status = summary_new(2, &again);
        if (status == SKEIN_OK)
            status = summary_read(again, opened, NULL);
        if (status == SKEIN_OK)
            status = summary_bytes_put(again, &put);
        bool failed = alloc_fail_end();
        ck_assert_int_eq(status, failed ? SKEIN_NO_MEMORY : SKEIN_OK);
        summary_free(&again);
        skein_trace_free(&opened);
        buf_fini(&put);
        if (!failed)
            break;
    }
}
END_TEST

START_TEST(regions_that_cross_take_their_time_once_from_the_one_around)
{
    const struct summary_name *names;
    size_t count = summary_names(s, &names), found = 0;
    for (size_t i = 0; i < count; i++) {
        const char *name = summary_text(s, names[i].row.text);
        if (strcmp(name, "part") == 0)
            found += names[i].self_ns == NS(2000);
        if (strcmp(name, "outer") == 0)
            found += names[i].self_ns == NS(2500 - 1500);
    }
    SAME(found, 2);
}
END_TEST

START_TEST(log_lines_that_say_the_same_have_one_shape)
{
    static const char *const lines[][2] = {
        {"order 4711 of 10.0.0.7:80 took 1.5 ms", "order # of #.#.#.#:# took #.# ms"},
        {"cart a81bc81b-dead-4e5d-abff-90865d1e13b1 gone", "cart # gone"},
        {"at 0x7f3a: worker-12 read deadbeef00", "at #: worker-# read #"},
        {"added facade v2x to bed", "added facade v#x to bed"},
        {"0x", "#x"},
        {"", ""},
        {"caf\xc3\xa9 12", "caf\xc3\xa9 #"}};
    struct buf out = {0};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        buf_clear(&out);
        log_shape_put(&out, lines[i][0], strlen(lines[i][0]), 100);
        buf_put_u8(&out, '\0');
        ck_assert_str_eq((const char *)out.data, lines[i][1]);
    }
    buf_clear(&out);
    log_shape_put(&out, "abcd\xc3\xa9g", 7, 5);
    buf_put_u8(&out, '\0');
    ck_assert_str_eq((const char *)out.data, "abcd…");
    buf_fini(&out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of("summary_rows", log_lines_that_say_the_same_have_one_shape, NULL);
    TCase *made = tcase_create("made");
    tcase_add_checked_fixture(made, setup, teardown);
    tcase_add_test(made, waits_are_by_reason_and_idle_where_no_work_is_around);
    tcase_add_test(made, regions_that_cross_take_their_time_once_from_the_one_around);
    tcase_add_test(made, a_lock_has_its_holders_and_those_of_thread_dumps);
    tcase_add_test(made, counters_logs_and_losses_are_counted);
    tcase_add_test(made, the_agents_events_tell_of_cpus_and_neighbours);
    tcase_add_test(made, without_memory_no_event_breaks_anything);
    suite_add_tcase(suite, made);
    return suite_run(suite);
}
