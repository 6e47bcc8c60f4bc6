/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums of scheduler events made by hand.
 */
#include <stdlib.h>
#include <string.h>

#include "sched_sums.h"
#include "sched_types.h"
#include "skein/status.h"
#include "support.h"

static const struct partition_info info = {
    .pid = 77, .host = "here", .service = "shop", .labels = "", .exe = ""};

static void span(struct sched_sums *sums, const struct sched_span *span)
{
    const struct partition_thread thread = {.tid = span->tid, .name = "worker"};
    struct trace_event event = {.kind = TRACE_REGION,
                                .time_ns = span->begin_ns,
                                .dur_ns = span->end_ns - span->begin_ns,
                                .thread = &thread};
    event.type = &sched_types[sched_span_values(span, event.args)];
    ck_assert_int_eq(sched_sums_add(sums, &info, &event), SKEIN_OK);
}

START_TEST(time_goes_where_the_spans_say_and_the_longest_is_kept)
{
    struct sched_sums *sums;
    const struct sched_thread_sums *threads;
    struct sched_span run = {.kind = SCHED_SPAN_RUN, .tid = 7, .begin_ns = 100, .end_ns = 150};
    struct sched_span wait = {.kind = SCHED_SPAN_RUNNABLE,
                              .tid = 7,
                              .why = SCHED_WHY_PREEMPTED,
                              .begin_ns = 150,
                              .end_ns = 450,
                              .instead = 9,
                              .instead_ns = 200,
                              .instead_comm = "bully"};
    struct sched_span block = {.kind = SCHED_SPAN_BLOCKED,
                               .tid = 7,
                               .state = 'D',
                               .begin_ns = 450,
                               .end_ns = 650,
                               .cut = SCHED_CUT_END,
                               .waker = {.known = true, .tid = 3, .comm = "disk", .context = 1}};
    ck_assert_int_eq(sched_sums_new(&sums), SKEIN_OK);
    span(sums, &run);
    span(sums, &wait);
    span(sums, &block);
    run.begin_ns = 650, run.end_ns = 660, wait.begin_ns = 660, wait.end_ns = 670;
    wait.instead = 8;
    span(sums, &run);
    span(sums, &wait);
    block.state = 'S', block.begin_ns = 670, block.end_ns = 680;
    span(sums, &block);
    run.tid = 5;
    span(sums, &run);
    ck_assert_uint_eq(sched_sums_threads(sums, &threads), 2);
    ck_assert(threads[0].tid == 7 && threads[1].tid == 5); /* who waited longest is first */
    const struct sched_thread_sums *t = &threads[0];
    ck_assert(t->run_ns == 60 && t->runnable_ns == 310 && t->runs == 2 && t->preempted == 2);
    ck_assert(t->blocked_ns[SCHED_BLOCKED_D] == 200 && t->blocked_ns[SCHED_BLOCKED_S] == 10);
    ck_assert(t->runnable.dur_ns == 300 && t->runnable.other == 9 && t->runnable.other_ns == 200);
    ck_assert_str_eq(t->runnable.other_name, "bully");
    ck_assert(t->blocked.dur_ns == 200 && t->blocked.cut && t->blocked.other == 3);
    ck_assert_str_eq(t->blocked.context, "softirq");
    ck_assert_str_eq(t->blocked.more, "D");
    ck_assert_uint_eq(t->to_ns - t->from_ns, 580);
    sched_sums_free(&sums);
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("sched_sums", time_goes_where_the_spans_say_and_the_longest_is_kept, NULL));
}
