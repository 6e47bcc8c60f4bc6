/* SPDX-License-Identifier: Apache-2.0
 * Whom a report does not blame: traces in which the first thing that meets the eye is not the cause;
 * each beside one that differs in the cause alone. And: the tables of a report say what the summary of
 * the same trace says. */
#include <stdlib.h>
#include <string.h>

#include "report_reading.h"
#include "summary.h"

#define MS   INCIDENT_MS
#define S    INCIDENT_S
#define LAST (10 * S)

static struct incident *in;
static struct reading r;
static size_t p;

static struct partition_value text(const char *t)
{
    return (struct partition_value){.str = {.text = t, .len = (uint32_t)strlen(t)}};
}

static void tell(const struct partition_event_type *type, const char *thread, uint32_t tid,
                 uint64_t at, uint64_t dur, const struct partition_value *args)
{
    struct incident_event e = {
        .type = type, .thread = thread, .tid = tid, .from_ns = at, .dur_ns = dur, .evidence = true};
    memcpy(e.args, args, 6 * sizeof *args);
    incident_add(in, p, &e);
}

static void tell_runnable(uint32_t tid, uint64_t at, uint64_t dur, const char *instead)
{
    tell(&incident_runnable, "db", tid, at, dur,
         (struct partition_value[6]){
             {.u64 = 0}, text("preempted"), {.u64 = 999}, text(instead), {.u64 = dur}, text("")});
}

static void tell_neighbour(uint32_t pid, const char *comm, uint64_t cpu_ns)
{
    tell(&incident_neighbour, NULL, 0, LAST, 0,
         (struct partition_value[6]){
             {.u64 = pid}, text(comm), {.u64 = cpu_ns}, {.u64 = LAST}, {.u64 = 1}, {.u64 = 1}});
}

static void finish(const struct trace_report_limits *limits)
{
    reading_open(&r, incident_finish(in, S), limits);
}

static const struct report_finding *finding(const char *rule)
{
    for (size_t i = 0; i < r.report->finding_count; i++)
        if (strcmp(r.report->findings[i].rule, rule) == 0)
            return &r.report->findings[i];
    return NULL;
}

static void first_is(const char *rule, const char *words)
{
    if (r.report->finding_count == 0 || strcmp(r.report->findings[0].rule, rule) != 0 ||
        strstr(r.report->findings[0].sentence, words) == NULL)
        findings_print(r.report);
    ck_assert_uint_gt(r.report->finding_count, 0);
    ck_assert_str_eq(r.report->findings[0].rule, rule);
    ck_assert_ptr_nonnull(strstr(r.report->findings[0].sentence, words));
}

static double number(const struct report_finding *f, const char *name)
{
    for (size_t i = 0; i < f->number_count; i++)
        if (strcmp(f->numbers[i].name, name) == 0)
            return f->numbers[i].value;
    ck_abort_msg("no %s", name);
    return 0;
}

static void end(void)
{
    reading_close(&r);
    incident_free(&in);
}

/* A database syncs its log 20 times; each takes 300 ms, of which for so long it had no CPU. */
static void syncs(uint64_t starved)
{
    in = incident_new(1);
    p = incident_process(in, "db", 200, 3600 * S);
    for (uint64_t i = 0; i < 20; i++) {
        uint64_t at = i * 500 * MS;
        incident_call(in, p, 200, &incident_epoll, at, 10 * MS, 5, 1, 0);
        incident_call(in, p, 200, &incident_fsync, at + 20 * MS, 300 * MS, 9, 0, 0);
        incident_call(in, p, 200, &incident_loop, at + 10 * MS, 400 * MS, 1, 0, 0);
        if (starved > 0)
            tell_runnable(200, at + 20 * MS, starved, "stress-ng");
        tell(&incident_run, "db", 200, at + 20 * MS + starved, 490 * MS - starved,
             (struct partition_value[6]){{.u64 = 0}, text("")});
    }
    if (starved > 0)
        tell_neighbour(999, "stress-ng", 6 * S);
}

START_TEST(a_disk_is_blamed_where_the_thread_had_its_cpu)
{
    syncs(0);
    finish(NULL);
    first_is("slow_disk", "20 times `fsync`, 6.0 s in all, up to 300.0 ms");
    end();
}
END_TEST

START_TEST(no_disk_is_blamed_for_what_a_thread_waited_for_its_cpu)
{
    syncs(290 * MS);
    finish(NULL);
    first_is("cpu_neighbour", "the CPU was taken by `stress-ng`");
    ck_assert_ptr_null(finding("slow_disk"));
    ck_assert_ptr_null(finding("long_call"));
    end();
}
END_TEST

START_TEST(of_a_call_that_waited_for_both_the_disk_has_its_part)
{
    syncs(100 * MS);
    finish(NULL);
    const struct report_finding *f = finding("slow_disk");
    ck_assert_ptr_nonnull(f);
    ck_assert_ptr_nonnull(
        strstr(f->sentence, "4.0 s in all, up to 200.0 ms, besides 2.0 s without"));
    ck_assert(number(f, "total_ns") == 4e9 && number(f, "starved_ns") == 2e9);
    end();
}
END_TEST

/* The same by vitals, where the scheduler's records were refused. */
START_TEST(vitals_of_a_starved_thread_take_the_blame_off_its_disk)
{
    for (int starved = 0; starved < 2; starved++) {
        syncs(0);
        for (uint64_t at = S; at < LAST; at += S)
            tell(&incident_load, "db", 200, at, 0,
                 (struct partition_value[6]){
                     {.f64 = 10}, {.f64 = starved ? 95 : 1}, {.f64 = 0}, {.f64 = 0}, {.u64 = S}});
        tell_neighbour(999, "stress-ng", 6 * S);
        finish(NULL);
        ck_assert_int_eq(finding("slow_disk") == NULL, starved);
        first_is(starved ? "cpu_neighbour" : "slow_disk", "db[200]");
        end();
    }
}
END_TEST

/* A service that lacks a CPU nearly always, and then sleeps for two seconds: the looks in that time
 * find nothing to tell of it, and others are told. */
START_TEST(a_sleep_is_not_explained_by_the_cpu_that_was_missing_before_it)
{
    in = incident_new(1);
    p = incident_process(in, "db", 200, 3600 * S);
    for (uint64_t i = 0; i < 80; i++) {
        uint64_t at = i * 100 * MS;
        incident_call(in, p, 200, &incident_loop, at, 90 * MS, 1, 0, 0);
        incident_call(in, p, 200, &incident_recv, at + 95 * MS, 4 * MS, 5, 0, 0);
    }
    incident_call(in, p, 200, &incident_sleep, 8 * S, 2 * S - 10 * MS, 0, 0, 0);
    for (uint64_t at = S; at <= 8 * S; at += S)
        tell(&incident_load, "db", 200, at, 0,
             (struct partition_value[6]){
                 {.f64 = 10}, {.f64 = 69}, {.f64 = 0}, {.f64 = 0}, {.u64 = S}});
    tell(&incident_load, "other", 201, LAST, 0,
         (struct partition_value[6]){{.f64 = 1}, {.f64 = 0}, {.f64 = 0}, {.f64 = 0}, {.u64 = S}});
    finish(NULL);
    first_is("long_call", "was in `sleep` for 2.0 s");
    ck_assert_ptr_nonnull(finding("cpu_neighbour"));
    end();
}
END_TEST

/* Whose name nobody could read any more is no name. */
START_TEST(processes_that_have_ended_are_counted_and_not_named)
{
    syncs(290 * MS);
    tell_neighbour(1001, "(ended)", 4 * S);
    tell_neighbour(1002, "(ended)", 3 * S);
    finish(NULL);
    first_is("cpu_neighbour", "the CPU was taken by 2 processes that have ended since");
    ck_assert_ptr_null(strstr(r.report->findings[0].sentence, "(ended)"));
    end();
}
END_TEST

START_TEST(one_that_ended_and_used_less_hides_nobody)
{
    syncs(290 * MS);
    tell_neighbour(1001, "(ended)", 1 * S);
    finish(NULL);
    first_is("cpu_neighbour", "the CPU was taken by `stress-ng`");
    end();
}
END_TEST

/* Threads work in short steps; from 4 s on one of them is in a call, or all wait for each other. The
 * one has worked, too, or is in nothing else. */
static bool stand_ins; /* they are CPUs, or tracks */

static void interpreter_of(bool sleeps, bool works, const char *exe)
{
    in = incident_new(3);
    if (stand_ins)
        incident_stand_ins(in);
    p = incident_process(in, "app", 500, 3600 * S);
    incident_exe(in, p, exe);
    for (uint32_t tid = 500; tid < 506; tid++) {
        for (uint64_t at = tid % 7 * MS; at < LAST; at += 5 * MS)
            if ((at + 2 * MS < 4 * S || at > 6 * S) && (tid != 503 || works))
                incident_call(in, p, tid, &incident_request, at, 2 * MS, 1, 0, 0);
        if (tid == 503 && sleeps)
            incident_call(in, p, tid, &incident_sleep, 4 * S + MS, 2 * S - 2 * MS, 0, 0, 0);
        else if (tid % 2 == 0)
            incident_call(in, p, tid, &incident_cond, 4 * S, 2 * S, 0x60, 0, 0);
    }
    finish(NULL);
}

static void interpreter(bool sleeps, const char *exe)
{
    interpreter_of(sleeps, true, exe);
}

START_TEST(all_busy_threads_are_the_others_of_one_that_does_nothing_else)
{
    interpreter_of(true, false, "/usr/bin/shop");
    first_is("held_by_one", "the other 5 busy threads of the process stood still");
    end();
}
END_TEST

START_TEST(who_sleeps_with_the_interpreters_lock_is_named)
{
    interpreter(true, "/usr/bin/python3.11");
    first_is(
        "held_by_one",
        "thread worker/503 of app[500] on web-1 was in `sleep` for 2.0 s, and the other 5 busy "
        "threads of the process stood still just as long: it seems to have kept what they need, "
        "as a thread of Python keeps the interpreter's lock (GIL)");
    ck_assert_uint_eq(r.report->findings[0].subject.tid, 503);
    ck_assert_ptr_null(finding("stopped_together"));
    end();
}
END_TEST

START_TEST(of_another_program_no_interpreter_is_told)
{
    interpreter(true, "/usr/bin/shop");
    first_is("held_by_one", "it seems to have kept what they need");
    ck_assert_ptr_null(strstr(r.report->findings[0].sentence, "Python"));
    end();
}
END_TEST

START_TEST(where_nobody_is_in_a_call_they_stopped_together)
{
    interpreter(false, "/usr/bin/python3.11");
    first_is("stopped_together", "all 6 busy threads of app[500]");
    end();
}
END_TEST

/* Both what they have in common and the long call of one are findings about threads. */
START_TEST(what_stands_for_threads_is_none_and_is_not_judged)
{
    stand_ins = true;
    for (unsigned sleeps = 0; sleeps < 2; sleeps++) {
        interpreter(sleeps == 1, "/usr/bin/python3.11");
        ck_assert_uint_eq(r.report->finding_count, 0);
        ck_assert_uint_gt(r.report->totals.regions, 1000); /* they are told all the same */
        end();
    }
    stand_ins = false;
}
END_TEST

/* ---- the window that was asked for ---- */

static const struct partition_event_type type_state = {.name = "proc.state",
                                                       .klass = SKEIN_CLASS_INSTANT,
                                                       .nargs = 3,
                                                       .args = {{SKEIN_T_STR, "state", ""},
                                                                {SKEIN_T_U64, "at_least", "ns"},
                                                                {SKEIN_T_U64, "at_most", "ns"}}};

START_TEST(what_was_before_the_asked_window_is_left_out_and_counted)
{
    const struct trace_report_limits late = {.from_ns = INCIDENT_T0_NS + 8 * S};
    for (int asked = 0; asked < 2; asked++) {
        in = incident_new(1);
        p = incident_process(in, "shop", 100, 3600 * S);
        for (uint64_t at = 0; at < LAST; at += 20 * MS)
            incident_call(in, p, 100, &incident_request, at, 2 * MS, 1, 0, 0);
        incident_lose(in, p, 2 * S, 3 * S);
        tell(&type_state, NULL, 0, 5 * S, 0,
             (struct partition_value[6]){text("stopped"), {.u64 = S}, {.u64 = 2 * S}});
        finish(asked ? &late : NULL);
        if (asked)
            ck_assert_uint_eq(r.report->finding_count, 0);
        else
            first_is("held_back", "was stopped");
        ck_assert_int_eq(finding("lost_partition") == NULL, asked);
        ck_assert_uint_eq(r.report->totals.findings_outside, asked ? 2 : 0);
        end();
    }
}
END_TEST

/* ---- one home for numbers ---- */

START_TEST(tables_say_what_the_summary_of_the_trace_says)
{
    struct summary *s, *services;
    const struct summary_name *names;
    uint64_t told = 0;
    in = incident_new(5);
    p = incident_process(in, "shop", 100, 3600 * S);
    for (uint64_t at = 0, i = 0; at < LAST; at += 20 * MS, i++) {
        incident_call(in, p, 100, &incident_epoll, at, 15 * MS, 5, 1, 0);
        incident_call(in, p, 100, &incident_read, at + 16 * MS, 1000000 + i * 1000, 5, 1, 0);
        incident_call(in, p, 100, &incident_request, at + 15 * MS, 3 * MS, 1, 0, 0);
    }
    incident_add(
        in, p,
        &(struct incident_event){
            .type = &incident_sleep, .thread = "idler", .tid = 101, .from_ns = S, .open = true});
    finish(NULL);
    ck_assert_int_eq(summary_new(0, &s), SKEIN_OK);
    ck_assert_int_eq(summary_read(s, r.trace, NULL), SKEIN_OK);
    ck_assert_int_eq(summary_by_service(s, &services), SKEIN_OK);
    size_t count = summary_names(services, &names);
    for (size_t i = 0; i < r.report->region_count; i++) {
        const struct report_region *row = &r.report->regions[i];
        for (size_t k = 0; k < count; k++) {
            const struct summary_name *n = &names[k];
            if (strcmp(summary_text(services, n->row.text), row->name) != 0)
                continue;
            told++;
            ck_assert_uint_eq(row->count, n->count);
            ck_assert_uint_eq(row->open, n->open);
            ck_assert_uint_eq(row->median_ns, histogram_quantile(&n->lasted, .5));
            ck_assert_uint_eq(row->idle_ns, n->idle_ns);
            ck_assert_uint_le(row->idle_ns, row->total_ns);
        }
    }
    ck_assert_uint_eq(told, 4);
    /* By hand: 500 rounds; reads of 1.000 to 1.499 ms, half of them below 1.25; one open sleep. */
    const struct report_region *first = &r.report->regions[0];
    ck_assert_str_eq(first->name, "request");
    ck_assert_uint_eq(first->count, 500);
    ck_assert_uint_eq(first->total_ns, 1500 * MS);
    const struct report_region *read = &r.report->regions[1];
    ck_assert_str_eq(read->name, "read");
    ck_assert(read->median_ns > 1210000 && read->median_ns < 1290000);
    ck_assert_uint_eq(r.report->totals.records, 1500);
    ck_assert_uint_eq(r.report->totals.open, 1);
    ck_assert_uint_eq(r.report->totals.rows, 1501);
    ck_assert_uint_eq(r.report->totals.idle_threads, 1);
    ck_assert_uint_eq(r.report->thread_count, 1);
    ck_assert_uint_eq(r.report->threads[0].total_ns, 1500 * MS); /* each moment once, none idle */
    summary_free(&services);
    summary_free(&s);
    end();
}
END_TEST

int main(void)
{
    return suite_run(suite_of("report_blame", a_disk_is_blamed_where_the_thread_had_its_cpu,
                              no_disk_is_blamed_for_what_a_thread_waited_for_its_cpu,
                              of_a_call_that_waited_for_both_the_disk_has_its_part,
                              vitals_of_a_starved_thread_take_the_blame_off_its_disk,
                              a_sleep_is_not_explained_by_the_cpu_that_was_missing_before_it,
                              processes_that_have_ended_are_counted_and_not_named,
                              one_that_ended_and_used_less_hides_nobody,
                              all_busy_threads_are_the_others_of_one_that_does_nothing_else,
                              who_sleeps_with_the_interpreters_lock_is_named,
                              of_another_program_no_interpreter_is_told,
                              where_nobody_is_in_a_call_they_stopped_together,
                              what_stands_for_threads_is_none_and_is_not_judged,
                              what_was_before_the_asked_window_is_left_out_and_counted,
                              tables_say_what_the_summary_of_the_trace_says, NULL));
}
