/* SPDX-License-Identifier: Apache-2.0
 *
 * What threads did, from records made by hand; each test is a small story, and its spans as a text:
 * "TID kind from-to ...".
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sched_timeline.h"
#include "skein/status.h"
#include "support.h"

#define IDLE  0
#define S     1
#define D     2
#define GONE  0x10
#define A     10
#define B     11
#define C     12
#define OTHER 99

static char told[4096];

static void span_tell(void *context, const struct sched_span *span)
{
    static const char *const whys[] = {"unknown", "woken", "preempted", "new"};
    static const char *const contexts[] = {"", "/softirq", "/hardirq"};
    char more[96] = "", cut[16] = "";
    (void)context;
    if (span->kind == SCHED_SPAN_RUN)
        snprintf(more, sizeof more, "run cpu%u", span->cpu);
    else if (span->kind == SCHED_SPAN_RUNNABLE)
        snprintf(more, sizeof more, "%s cpu%u %u:%" PRIu64, whys[span->why], span->cpu,
                 span->instead, span->instead_ns);
    else if (span->waker.known)
        snprintf(more, sizeof more, "%c by %u %s%s", span->state, span->waker.tid, span->waker.comm,
                 contexts[span->waker.context]);
    else
        snprintf(more, sizeof more, "%c", span->state);
    if (span->cut != 0)
        snprintf(cut, sizeof cut, " cut%u", span->cut);
    size_t n = strlen(told);
    snprintf(told + n, sizeof told - n, "%u %" PRIu64 "-%" PRIu64 " %s%s\n", span->tid,
             span->begin_ns, span->end_ns, more, cut);
}

static struct sched_timeline *begin(uint64_t known, uint64_t from, uint64_t to)
{
    struct sched_timeline *t;
    const struct sched_timeline_ask ask = {
        .known_ns = known, .from_ns = from, .to_ns = to, .span = span_tell};
    told[0] = '\0';
    ck_assert_int_eq(sched_timeline_new(&ask, &t), SKEIN_OK);
    return t;
}

static void watch(struct sched_timeline *t, uint32_t tid, uint64_t from, char state, uint32_t cpu)
{
    ck_assert_int_eq(sched_timeline_watch(t, tid, from, state, cpu, "x"), SKEIN_OK);
}

static void change(struct sched_timeline *t, uint64_t at, uint32_t cpu, uint32_t prev,
                   uint64_t state, uint32_t next)
{
    struct sched_event e = {.time_ns = at,
                            .cpu = cpu,
                            .kind = SCHED_EVENT_SWITCH,
                            .tid = prev,
                            .state = state,
                            .next = next};
    snprintf(e.comm, sizeof e.comm, "t%u", prev);
    snprintf(e.next_comm, sizeof e.next_comm, "t%u", next);
    ck_assert_int_eq(sched_timeline_event(t, &e), SKEIN_OK);
}

static void wake(struct sched_timeline *t, uint64_t at, uint32_t cpu, uint32_t by, uint8_t context,
                 uint32_t tid, uint32_t target)
{
    const struct sched_event e = {.time_ns = at,
                                  .cpu = cpu,
                                  .kind = SCHED_EVENT_WAKING,
                                  .current = by,
                                  .context = context,
                                  .tid = tid,
                                  .target_cpu = target};
    ck_assert_int_eq(sched_timeline_event(t, &e), SKEIN_OK);
}

static void end(struct sched_timeline *t, uint64_t at, const char *wanted)
{
    sched_timeline_end(t, at);
    ck_assert_str_eq(told, wanted);
    sched_timeline_free(&t);
}

START_TEST(blocked_woken_and_kept_waiting)
{
    struct sched_timeline *t = begin(0, 100, 1000);
    watch(t, A, 0, 'S', 0);
    change(t, 110, 0, IDLE, 0, A);
    change(t, 200, 0, A, S, OTHER);
    change(t, 210, 1, IDLE, 0, B);
    wake(t, 500, 1, B, SCHED_IN_TASK, A, 0);
    change(t, 800, 0, OTHER, 0, A);
    change(t, 900, 0, A, D, IDLE);
    end(t, 1000,
        "10 0-110 unknown cpu0 0:0 cut1\n"
        "10 110-200 run cpu0\n"
        "10 200-500 S by 11 t11\n"
        "10 500-800 woken cpu0 99:300\n"
        "10 800-900 run cpu0\n"
        "10 900-1000 D cut2\n");
}
END_TEST

START_TEST(woken_on_its_way_to_sleep_it_never_slept)
{
    struct sched_timeline *t = begin(0, 0, 1000);
    watch(t, A, 0, 'S', 0);
    change(t, 100, 0, IDLE, 0, A);
    wake(t, 190, 1, B, SCHED_IN_SOFTIRQ, A, 1);
    change(t, 200, 0, A, S, IDLE);
    change(t, 250, 1, IDLE, 0, A);
    change(t, 300, 1, A, S, IDLE); /* and this time it sleeps */
    wake(t, 400, 1, IDLE, SCHED_IN_HARDIRQ, A, 1);
    change(t, 410, 1, IDLE, 0, A);
    end(t, 500,
        "10 0-100 unknown cpu0 0:0 cut1\n"
        "10 100-200 run cpu0\n"
        "10 200-250 woken cpu1 0:0\n"
        "10 250-300 run cpu1\n"
        "10 300-400 S by 0 t0/hardirq\n"
        "10 400-410 woken cpu1 0:0\n"
        "10 410-500 run cpu1 cut2\n");
}
END_TEST

START_TEST(who_ran_longest_instead_is_named)
{
    struct sched_timeline *t = begin(0, 0, 1000);
    watch(t, A, 0, 'R', 0);
    change(t, 100, 0, A, 0, B);
    change(t, 200, 0, B, 0, C);
    change(t, 350, 0, C, 0, B);
    change(t, 390, 0, B, S, OTHER);
    change(t, 400, 0, OTHER, 0, A);
    end(t, 500,
        "10 0-100 run cpu0 cut1\n"
        "10 100-400 preempted cpu0 12:150\n"
        "10 400-500 run cpu0 cut2\n");
}
END_TEST

START_TEST(a_thread_without_records_is_as_proc_saw_it)
{
    struct sched_timeline *t = begin(50, 100, 1000);
    watch(t, A, 0, 'D', 0);
    watch(t, B, 0, 'R', 1); /* alone on a CPU without switches */
    watch(t, C, 0, 'R', 0); /* starved */
    change(t, 300, 0, OTHER, 0, 98);
    change(t, 600, 0, 98, 0, OTHER);
    sched_timeline_end(t, 1000);
    ck_assert_str_eq(told, "10 50-1000 D cut3\n"
                           "11 50-1000 run cpu1 cut3\n"
                           "12 50-1000 unknown cpu0 99:650 cut3\n");
    sched_timeline_free(&t);
}
END_TEST

START_TEST(threads_that_a_watched_one_makes_are_watched_and_former_owners_of_a_tid_not)
{
    struct sched_timeline *t = begin(0, 0, 1000);
    struct sched_event e = {.time_ns = 200, .kind = SCHED_EVENT_NEW, .current = A, .tid = B};
    watch(t, A, 0, 'S', 0);
    change(t, 100, 0, IDLE, 0, B); /* somebody else, who ends */
    change(t, 150, 0, B, GONE, A);
    e.clone_flags = 0x10000; /* CLONE_THREAD */
    ck_assert_int_eq(sched_timeline_event(t, &e), SKEIN_OK);
    e.kind = SCHED_EVENT_WAKING_NEW;
    e.time_ns = 210;
    e.target_cpu = 1;
    ck_assert_int_eq(sched_timeline_event(t, &e), SKEIN_OK);
    change(t, 220, 1, IDLE, 0, B);
    change(t, 230, 1, B, GONE, IDLE);
    e.kind = SCHED_EVENT_NEW;
    e.tid = C;
    e.time_ns = 240;
    e.clone_flags = 0; /* a process of its own */
    ck_assert_int_eq(sched_timeline_event(t, &e), SKEIN_OK);
    change(t, 250, 1, IDLE, 0, C);
    change(t, 260, 1, C, S, IDLE);
    change(t, 300, 0, A, S, IDLE);
    end(t, 400,
        "10 0-150 unknown cpu0 11:50 cut1\n"
        "11 210-220 new cpu1 0:0\n"
        "11 220-230 run cpu1\n"
        "10 150-300 run cpu0\n"
        "10 300-400 S cut2\n");
}
END_TEST

START_TEST(nothing_is_claimed_of_a_gap)
{
    struct sched_timeline *t = begin(0, 0, 1000);
    const struct sched_use *uses;
    watch(t, A, 0, 'S', 0);
    change(t, 100, 0, IDLE, 0, A);
    sched_timeline_gap(t, 200, 500);
    change(t, 400, 0, A, S, IDLE); /* inside of it */
    wake(t, 600, 1, B, SCHED_IN_TASK, A, 0);
    change(t, 650, 0, IDLE, 0, A);
    sched_timeline_end(t, 700);
    ck_assert_str_eq(told, "10 0-100 unknown cpu0 0:0 cut1\n"
                           "10 100-200 run cpu0 cut2\n"
                           "10 500-600 ? by 11  cut1\n"
                           "10 600-650 woken cpu0 0:0\n"
                           "10 650-700 run cpu0 cut2\n");
    size_t count = sched_timeline_uses(t, &uses);
    for (size_t i = 0; i < count; i++)
        ck_assert_uint_eq(uses[i].ns, uses[i].tid == A ? 150 : 250); /* idle: 100 + 150 */
    ck_assert_uint_eq(count, 2);
    ck_assert_uint_eq(sched_timeline_unseen(t), 0);
    sched_timeline_free(&t);
}
END_TEST

START_TEST(a_switch_that_was_not_recorded_is_marked_and_bounded)
{
    struct sched_timeline *t = begin(0, 0, 1000);
    watch(t, A, 0, 'S', 0);
    change(t, 100, 0, A, S, IDLE);
    wake(t, 200, 0, IDLE, SCHED_IN_HARDIRQ, A, 0);
    change(t, 300, 0, A, S, OTHER); /* idle to A is missing */
    wake(t, 350, 1, B, SCHED_IN_TASK, A, 0);
    change(t, 400, 0, A, S, IDLE); /* OTHER to A is missing */
    ck_assert_uint_eq(sched_timeline_unseen(t), 2);
    end(t, 500,
        "10 0-100 run cpu0 cut1\n"
        "10 100-200 S by 0 t0/hardirq\n"
        "10 200-300 run cpu0 cut4\n"
        "10 300-350 S by 11 \n"
        "10 350-400 woken cpu0 99:50 cut4\n"
        "10 400-500 S cut2\n");
}
END_TEST

START_TEST(only_what_touches_the_window_is_given_and_uses_are_inside_of_it)
{
    struct sched_timeline *t = begin(0, 400, 600);
    const struct sched_use *uses;
    watch(t, A, 0, 'S', 0);
    change(t, 100, 0, IDLE, 0, A);
    change(t, 200, 0, A, S, IDLE);
    wake(t, 300, 0, IDLE, SCHED_IN_TASK, A, 0);
    change(t, 300, 0, IDLE, 0, A);
    change(t, 500, 0, A, S, IDLE);
    wake(t, 700, 0, IDLE, SCHED_IN_TASK, A, 0);
    change(t, 710, 0, IDLE, 0, A);
    sched_timeline_end(t, 800);
    ck_assert_str_eq(told, "10 300-500 run cpu0\n10 500-700 S by 0 t0\n");
    ck_assert_uint_eq(sched_timeline_uses(t, &uses), 2);
    ck_assert_uint_eq(uses[0].ns, 100);
    ck_assert_uint_eq(uses[1].ns, 100);
    sched_timeline_free(&t);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "sched_timeline", blocked_woken_and_kept_waiting, woken_on_its_way_to_sleep_it_never_slept,
        who_ran_longest_instead_is_named, a_thread_without_records_is_as_proc_saw_it,
        threads_that_a_watched_one_makes_are_watched_and_former_owners_of_a_tid_not,
        nothing_is_claimed_of_a_gap, a_switch_that_was_not_recorded_is_marked_and_bounded,
        only_what_touches_the_window_is_given_and_uses_are_inside_of_it, NULL));
}
