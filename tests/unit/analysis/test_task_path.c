/* SPDX-License-Identifier: Apache-2.0
 * Paths of slow tasks, against segments that are written down by hand: what the test has made the
 * threads do. Of every path, also of hostile and random ones: its segments follow each other without a
 * hole and add up to the task's length. */
#include <stdlib.h>
#include <string.h>

#include "incident_make.h"
#include "support.h"
#include "task_path.h"

#define MS INCIDENT_MS
#define S  INCIDENT_S
#define T0 INCIDENT_T0_NS

static const char trace_id[] = "4bf92f3577b34da6a3ce929d0e0e4736";

static const struct partition_event_type type_serve = {.name = "serve", /* a span with a trace id */
                                                       .klass = SKEIN_CLASS_SPAN,
                                                       .group = SKEIN_GROUP_APP,
                                                       .nargs = 1,
                                                       .args = {{SKEIN_T_STR, "trace_id", ""}}};
static const struct partition_event_type type_render = {.name = "render",
                                                        .klass = SKEIN_CLASS_SPAN,
                                                        .group = SKEIN_GROUP_APP,
                                                        .nargs = 1,
                                                        .args = {{SKEIN_T_I64, "n", ""}}};
static const struct partition_event_type type_dumped = {
    .name = "thread.wait",
    .klass = SKEIN_CLASS_INSTANT,
    .nargs = 3,
    .args = {{SKEIN_T_STR, "for", ""}, {SKEIN_T_PTR, "object", ""}, {SKEIN_T_U64, "holder", ""}}};

static struct incident *in;
static size_t p;
static struct skein_trace *trace;
static struct task_path *path;
static const struct task_list *list;

static struct partition_value text(const char *t)
{
    return (struct partition_value){.str = {.text = t, .len = (uint32_t)strlen(t)}};
}

static void tell(const struct partition_event_type *type, uint32_t tid, uint64_t at, uint64_t dur,
                 const struct partition_value *args)
{
    struct incident_event e = {.type = type,
                               .thread = "worker",
                               .tid = tid,
                               .from_ns = at,
                               .dur_ns = dur,
                               .evidence = true};
    memcpy(e.args, args, 6 * sizeof *args);
    incident_add(in, p, &e);
}

static void serve(size_t process, uint32_t tid, uint64_t at, uint64_t dur)
{
    incident_add(in, process,
                 &(struct incident_event){.type = &type_serve,
                                          .thread = "worker",
                                          .tid = tid,
                                          .from_ns = at,
                                          .dur_ns = dur,
                                          .args = {text(trace_id)}});
}

static void begin(void)
{
    in = incident_new(1);
    p = incident_process(in, "shop", 100, 3600 * S);
}

/* Without a hole, to the end: of all tasks. */
static void sums_hold(void)
{
    for (size_t i = 0; i < list->name_count; i++)
        for (size_t k = 0; k < list->names[i].task_count; k++) {
            const struct task *t = &list->names[i].tasks[k];
            uint64_t at = t->from_ns;
            ck_assert_uint_gt(t->segment_count, 0);
            ck_assert_uint_le(t->segment_count, TASK_SEGMENTS);
            for (size_t n = 0; n < t->segment_count; n++) {
                ck_assert_uint_eq(t->segments[n].from_ns, at);
                ck_assert_uint_gt(t->segments[n].dur_ns, 0);
                at += t->segments[n].dur_ns;
            }
            ck_assert_uint_eq(at, t->from_ns + t->dur_ns);
        }
}

static void finish(uint64_t cut_ns)
{
    char error[SKEIN_TRACE_ERROR_BYTES];
    const struct buf *bytes = incident_finish(in, cut_ns);
    const struct skein_query query = {.size = sizeof query};
    struct skein_cursor *cursor;
    struct skein_batch batch;
    ck_assert_int_eq(skein_trace_new(&trace), SKEIN_OK);
    ck_assert_int_eq(skein_trace_add_memory(trace, bytes->data, bytes->len, "made", error), 0);
    ck_assert_int_eq(skein_cursor_new(trace, &query, &cursor), SKEIN_OK);
    ck_assert_int_eq(task_path_new(&path), SKEIN_OK);
    while (skein_cursor_next(cursor, &batch) > 0)
        ck_assert_int_eq(task_path_add(path, trace, &batch), SKEIN_OK);
    skein_cursor_free(&cursor);
    ck_assert_int_eq(task_path_end(path, trace, &list), SKEIN_OK);
    sums_hold();
}

static void end(void)
{
    task_path_free(&path);
    skein_trace_free(&trace);
    incident_free(&in);
}

static const struct task *slowest(const char *name)
{
    for (size_t i = 0; i < list->name_count; i++)
        if (strcmp(list->names[i].name, name) == 0)
            return &list->names[i].tasks[0];
    ck_abort_msg("no task %s", name);
    return NULL;
}

struct expected {
    enum task_what what;
    uint32_t tid;
    const char *name, *why; /* why: words that are in it */
    uint64_t ms;
};

static void path_is(const struct task *t, const struct expected *expected, size_t count)
{
    for (size_t i = 0; i < count && i < t->segment_count; i++) {
        const struct task_segment *s = &t->segments[i];
        const struct expected *e = &expected[i];
        ck_assert_msg(s->what == e->what && s->tid == e->tid && strcmp(s->name, e->name) == 0 &&
                          strstr(s->why, e->why) != NULL && s->dur_ns == e->ms * MS,
                      "segment %zu: %s of %u in \"%s\" for %llu ns: \"%s\"", i,
                      task_what_text(s->what), s->tid, s->name, (unsigned long long)s->dur_ns,
                      s->why);
    }
    ck_assert_uint_eq(t->segment_count, count);
}
#define PATH_IS(task, ...)                                                                         \
    path_is(task, (const struct expected[]){__VA_ARGS__},                                          \
            sizeof(const struct expected[]){__VA_ARGS__} / sizeof(struct expected))

/* request 100 ms: 10 own, render 20 with a read of 5 in it, 30 own, send 5, 35 own. */
START_TEST(own_time_is_cut_by_the_innermost_region)
{
    begin();
    incident_call(in, p, 100, &incident_request, 0, 100 * MS, 1, 0, 0);
    incident_call(in, p, 100, &type_render, 10 * MS, 20 * MS, 1, 0, 0);
    incident_call(in, p, 100, &incident_read, 15 * MS, 5 * MS, 3, 1, 0);
    incident_call(in, p, 100, &incident_send, 60 * MS, 5 * MS, 3, 1, 0);
    finish(S);
    PATH_IS(slowest("request"), {TASK_WORK, 100, "request", "", 10},
            {TASK_WORK, 100, "render", "", 5}, {TASK_WAIT, 100, "read", "", 5},
            {TASK_WORK, 100, "render", "", 10}, {TASK_WORK, 100, "request", "", 30},
            {TASK_WAIT, 100, "send", "", 5}, {TASK_WORK, 100, "request", "", 35});
    ck_assert_uint_eq(slowest("request")->unknown_ns, 0);
    end();
}
END_TEST

/* 101 waits for the lock of 102, which is in fsync for most of it, and 102 for that of 103. */
START_TEST(a_lock_leads_to_its_holder_and_to_whom_that_waits_for)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, 100 * MS, 1, 0, 0);
    incident_call(in, p, 101, &incident_mutex, 10 * MS, 80 * MS, 0xabc0, 0, 102);
    incident_call(in, p, 102, &type_render, 5 * MS, 90 * MS, 1, 0, 0);
    incident_call(in, p, 102, &incident_fsync, 20 * MS, 30 * MS, 9, 0, 0);
    incident_call(in, p, 102, &incident_mutex, 60 * MS, 20 * MS, 0xdef0, 0, 103);
    incident_call(in, p, 103, &incident_sleep, 55 * MS, 24 * MS, 9, 0, 0);
    finish(S);
    PATH_IS(slowest("request"), {TASK_WORK, 101, "request", "", 10},
            {TASK_WORK, 102, "render", "had the lock 0xabc0 that thread 101 waited for", 10},
            {TASK_WAIT, 102, "fsync", "0xabc0", 30}, {TASK_WORK, 102, "render", "0xabc0", 10},
            {TASK_WAIT, 103, "sleep", "had the lock 0xdef0 that thread 102 waited for", 19},
            {TASK_UNKNOWN, 103, "", "nothing is recorded", 1},
            {TASK_WORK, 102, "render", "0xabc0", 10}, {TASK_WORK, 101, "request", "", 10});
    ck_assert_uint_eq(slowest("request")->unknown_ns, 1 * MS);
    end();
}
END_TEST

START_TEST(threads_that_wait_for_each_other_end_in_a_wait)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, 50 * MS, 1, 0, 0);
    incident_call(in, p, 101, &incident_mutex, 10 * MS, 40 * MS, 0xabc0, 0, 102);
    incident_call(in, p, 102, &incident_mutex, 5 * MS, 45 * MS, 0xdef0, 0, 101);
    finish(S);
    PATH_IS(slowest("request"), {TASK_WORK, 101, "request", "", 10},
            {TASK_WAIT, 102, "mutex_lock", "0xdef0 of thread 101, of which no more is known", 40});
    end();
}
END_TEST

/* An older tracer does not know the holder; a dump of that time does. */
START_TEST(a_thread_dump_names_a_holder)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, 50 * MS, 1, 0, 0);
    incident_call(in, p, 101, &incident_mutex, 10 * MS, 40 * MS, 0xabc0, 0, 0);
    incident_call(in, p, 102, &incident_fsync, 0, 50 * MS, 9, 0, 0);
    tell(&type_dumped, 101, 20 * MS, 0,
         (struct partition_value[6]){text("mutex"), {.u64 = 0xabc0}, {.u64 = 102}});
    finish(S);
    PATH_IS(slowest("request"), {TASK_WORK, 101, "request", "", 10},
            {TASK_WAIT, 102, "fsync", "0xabc0", 40});
    end();
}
END_TEST

/* The scheduler: without a CPU, blocked by somebody known, by an interrupt, by a stranger. */
START_TEST(scheduling_says_who_ran_and_who_woke)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, 100 * MS, 1, 0, 0);
    incident_call(in, p, 101, &incident_cond, 20 * MS, 30 * MS, 0x60, 0, 0);
    incident_call(in, p, 102, &type_render, 15 * MS, 34 * MS, 1, 0, 0);
    tell(&incident_runnable, 101, 5 * MS, 10 * MS,
         (struct partition_value[6]){
             {.u64 = 0}, text("preempted"), {.u64 = 9}, text("stress-ng"), {.u64 = 1}, text("")});
    tell(&incident_blocked, 101, 20 * MS, 28 * MS,
         (struct partition_value[6]){
             text("S"), {.u64 = 102}, text("worker"), text("task"), {.u64 = 1}, text("")});
    tell(&incident_blocked, 101, 60 * MS, 10 * MS,
         (struct partition_value[6]){
             text("D"), {.u64 = 7}, text("kworker"), text("hardirq"), {.u64 = 1}, text("")});
    finish(S);
    PATH_IS(slowest("request"), {TASK_WORK, 101, "request", "", 5},
            {TASK_READY, 101, "request", "without a CPU: `stress-ng` had it", 10},
            {TASK_WORK, 101, "request", "", 5},
            {TASK_WORK, 102, "render", "thread 101 slept until it woke it", 28},
            {TASK_WAIT, 101, "cond_wait", "", 2}, {TASK_WORK, 101, "request", "", 10},
            {TASK_BLOCKED, 101, "request", "blocked (D), until `kworker`/7 ran", 10},
            {TASK_WORK, 101, "request", "", 30});
    end();
}
END_TEST

/* A reply of another process, which does the work under the same trace id. */
START_TEST(a_child_of_another_process_is_followed_by_its_trace_id)
{
    begin();
    size_t other = incident_process(in, "stock", 200, 3600 * S);
    serve(p, 101, 0, 100 * MS);
    incident_call(in, p, 101, &incident_recv, 10 * MS, 80 * MS, 7, 1, 0);
    serve(other, 200, 20 * MS, 60 * MS);
    incident_call(in, other, 200, &incident_fsync, 30 * MS, 40 * MS, 9, 0, 0);
    finish(S);
    const struct task *t = slowest("serve");
    for (size_t i = 0; i < list->name_count; i++) /* that of the shop, not of the stock */
        if (strcmp(list->names[i].service, "shop") == 0)
            t = &list->names[i].tasks[0];
    ck_assert_str_eq(t->trace_id, trace_id);
    PATH_IS(t, {TASK_WORK, 101, "serve", "", 10}, {TASK_WAIT, 101, "recv", "", 10},
            {TASK_WORK, 200, "serve", "same trace id, while thread 101 waited", 10},
            {TASK_WAIT, 200, "fsync", "same trace id", 40},
            {TASK_WORK, 200, "serve", "same trace id", 10}, {TASK_WAIT, 101, "recv", "", 10},
            {TASK_WORK, 101, "serve", "", 10});
    end();
}
END_TEST

START_TEST(what_began_before_its_parent_is_no_child)
{
    begin();
    size_t other = incident_process(in, "stock", 200, 3600 * S);
    serve(p, 101, 10 * MS, 100 * MS);
    incident_call(in, p, 101, &incident_recv, 20 * MS, 80 * MS, 7, 1, 0);
    serve(other, 200, 5 * MS, 60 * MS);
    finish(S);
    for (size_t i = 0; i < list->name_count; i++)
        if (strcmp(list->names[i].service, "shop") == 0)
            PATH_IS(&list->names[i].tasks[0], {TASK_WORK, 101, "serve", "", 10},
                    {TASK_WAIT, 101, "recv", "", 80}, {TASK_WORK, 101, "serve", "", 10});
    end();
}
END_TEST

/* A span that began on another thread, while this one was in something else; and a lost partition. */
START_TEST(what_cannot_be_known_is_said)
{
    begin();
    incident_call(in, p, 101, &incident_fsync, 0, 40 * MS, 9, 0, 0);
    incident_call(in, p, 101, &type_render, 10 * MS, 100 * MS, 1, 0, 0);
    incident_call(in, p, 101, &incident_request, 4 * S - 100 * MS, 4 * S, 1, 0, 0);
    incident_lose(in, p, 5 * S, 6 * S);
    finish(S);
    PATH_IS(slowest("render"), {TASK_UNKNOWN, 101, "fsync", "began while this thread was in", 30},
            {TASK_WORK, 101, "render", "", 70});
    const struct task *t = slowest("request");
    ck_assert_uint_ge(t->unknown_ns, S - 200 * MS);
    ck_assert_uint_le(t->unknown_ns, 3 * S);
    end();
}
END_TEST

START_TEST(of_one_that_calls_itself_the_outermost_is_a_task)
{
    begin();
    incident_call(in, p, 101, &type_render, 0, 100 * MS, 1, 0, 0);
    incident_call(in, p, 101, &type_render, 10 * MS, 80 * MS, 1, 0, 0);
    incident_call(in, p, 101, &type_render, 20 * MS, 60 * MS, 1, 0, 0);
    incident_call(in, p, 101, &type_render, 200 * MS, 50 * MS, 1, 0, 0);
    finish(S);
    ck_assert_uint_eq(list->name_count, 1);
    ck_assert_uint_eq(list->names[0].task_count, 2);
    ck_assert_uint_eq(list->names[0].count, 4);
    ck_assert_uint_eq(list->names[0].tasks[0].dur_ns, 100 * MS);
    ck_assert_uint_eq(list->names[0].tasks[1].dur_ns, 50 * MS);
    end();
}
END_TEST

START_TEST(one_that_has_not_ended_has_a_path_so_far)
{
    begin();
    incident_call(in, p, 101, &incident_read, 100 * MS, 400 * MS, 3, 1, 0);
    incident_add(
        in, p,
        &(struct incident_event){
            .type = &incident_request, .thread = "worker", .tid = 101, .from_ns = 0, .open = true});
    finish(S);
    const struct task *t = slowest("request");
    ck_assert(t->open);
    PATH_IS(t, {TASK_WORK, 101, "request", "", 100}, {TASK_WAIT, 101, "read", "", 400},
            {TASK_WORK, 101, "request", "", (t->dur_ns / MS) - 500});
    end();
}
END_TEST

START_TEST(of_too_many_segments_short_ones_become_one)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, S, 1, 0, 0);
    for (uint64_t i = 0; i < 100; i++)
        incident_call(in, p, 101, &incident_read, i * 5 * MS, i % 10 == 9 ? 4 * MS : MS / 2, 3, 1,
                      0);
    finish(S + 1);
    const struct task *t = slowest("request");
    bool several = false;
    uint64_t count = 0;
    for (size_t i = 0; i < t->segment_count; i++) {
        several |= t->segments[i].what == TASK_SEVERAL;
        count += t->segments[i].count;
    }
    ck_assert(several);
    ck_assert_uint_eq(count, 200); /* each read, and what is behind it */
    end();
}
END_TEST

/* The holder of the lock is recorded for half of the wait: the other half stays unknown. */
START_TEST(unknown_time_that_becomes_part_of_several_is_told)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, S, 1, 0, 0);
    incident_call(in, p, 101, &incident_mutex, 10 * MS, 980 * MS, 0xabc0, 0, 102);
    for (uint64_t i = 1; i < 99; i++)
        incident_call(in, p, 102, &incident_fsync, i * 10 * MS, 5 * MS, 3, 0, 0);
    finish(S + 1);
    const struct task *t = slowest("request");
    ck_assert_uint_le(t->segment_count, TASK_SEGMENTS);
    ck_assert_uint_eq(t->unknown_ns, 98 * 5 * MS);
    end();
}
END_TEST

/* Regions anywhere, across each other, on four threads that wait for each other at random. */
START_TEST(random_paths_add_up)
{
    static const struct partition_event_type *const types[] = {&incident_read,    &incident_mutex,
                                                               &incident_request, &type_render,
                                                               &incident_cond,    &incident_sleep};
    for (uint64_t seed = 1; seed <= 30; seed++) {
        in = incident_new(seed);
        p = incident_process(in, "shop", 100, 3600 * S);
        for (size_t i = 0; i < 300; i++) {
            uint64_t at = incident_random(in, 0, 2000) * MS, dur = incident_random(in, 0, 300) * MS;
            uint32_t tid = (uint32_t)incident_random(in, 101, 104);
            uint64_t other = incident_random(in, 100, 105);
            incident_call(in, p, tid, types[incident_random(in, 0, 5)], at, dur,
                          (int64_t)incident_random(in, 1, 3), 0, (int64_t)other);
            if (i % 3 == 0)
                tell(i % 2 ? &incident_runnable : &incident_blocked, tid, at, dur / 2,
                     i % 2 ? (struct partition_value[6]){{.u64 = 0},
                                                         text("woken"),
                                                         {.u64 = other},
                                                         text("x"),
                                                         {.u64 = 1},
                                                         text("")}
                           : (struct partition_value[6]){text("S"),
                                                         {.u64 = other},
                                                         text("y"),
                                                         text("task"),
                                                         {.u64 = 1},
                                                         text("")});
        }
        finish(S);
        ck_assert_uint_eq(list->name_count, 2);
        end();
    }
}
END_TEST

/* More regions than are kept: those that are left out are told, and the sum holds. */
START_TEST(what_has_no_room_is_counted)
{
    begin();
    incident_call(in, p, 101, &incident_request, 0, 2 * S, 1, 0, 0);
    for (uint64_t i = 0; i < 80000; i++)
        incident_call(in, p, 101, &incident_read, i * 20000, 1000 + i % 10 * 1000, 3, 1, 0);
    finish(3 * S);
    ck_assert_uint_gt(list->spans_left_out, 0);
    ck_assert_uint_gt(list->shorter_ns, 0);
    end();
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "task_path", own_time_is_cut_by_the_innermost_region,
        a_lock_leads_to_its_holder_and_to_whom_that_waits_for,
        threads_that_wait_for_each_other_end_in_a_wait, a_thread_dump_names_a_holder,
        scheduling_says_who_ran_and_who_woke,
        a_child_of_another_process_is_followed_by_its_trace_id,
        what_began_before_its_parent_is_no_child, what_cannot_be_known_is_said,
        of_one_that_calls_itself_the_outermost_is_a_task, one_that_has_not_ended_has_a_path_so_far,
        of_too_many_segments_short_ones_become_one,
        unknown_time_that_becomes_part_of_several_is_told, random_paths_add_up,
        what_has_no_room_is_counted, NULL));
}
