/* SPDX-License-Identifier: Apache-2.0
 * The whole way on one host: the real library in a child process, the agent's core here, and the
 * partition reader on what was cut. */
#include <signal.h>
#include <sys/wait.h>

#include "agent_child.h"
#include "agent_clock.h"

static void work_a_little(int in, int out)
{
    for (uint64_t i = 0; i < 1000; i++) {
        SKEIN_REGION("query", (str, "sql", "select 1"), (u64, "rows", i));
        SKEIN_INSTANT("step", (u64, "n", i));
    }
    SKEIN_COUNTER("depth", 3);
    SKEIN_LOG(SKEIN_WARN, "careful");
    child_say(out);
    child_hear(in);
}

START_TEST(everything_that_was_written_comes_out_once)
{
    struct agent_fixture *f = fixture_new(UINT64_C(4) << 20);
    struct child child = child_start(f, work_a_little);
    ck_assert(child_hear(child.from));
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, marks, 0, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.regions, 1000);
    ck_assert_uint_eq(sum.steps, 1000);
    ck_assert_uint_eq(sum.jumps, 0);
    ck_assert_uint_eq(sum.counters, 1);
    ck_assert_uint_eq(sum.logs, 1);
    ck_assert_uint_eq(sum.losses, 0);
    ck_assert_uint_eq(result.gap_count, 0);
    ck_assert(!result.more);
    cut_result_fini(&result);
    /* With the marks, a second cut has nothing left to tell. */
    ck_assert_int_eq(fixture_cut(f->host, f->last, marks, 0, &result), SKEIN_NOT_FOUND);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ck_assert_int_eq(child_end(&child), 0);
    ck_assert(wait_until(fixture_has_gone, f, 0));
    ck_assert_int_eq(f->last_state, PROCESS_ENDED);
    ck_assert_int_eq(f->last->death.known, 1);
    fixture_free(f);
}
END_TEST

START_TEST(a_look_finds_what_is_new_and_leaves_the_cuts_as_they_were)
{
    struct agent_fixture *f = fixture_new(UINT64_C(4) << 20);
    struct child child = child_start(f, work_a_little);
    ck_assert(child_hear(child.from));
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    uint64_t generation = host_page_generation(f->host), sequence = f->last->next_sequence;
    const struct cut_request look = {
        .process = f->last, .to_ns = UINT64_MAX / 2, .marks = marks, .look = true};
    ck_assert_int_eq(partition_cut(f->host, &look, &result), SKEIN_OK);
    ck_assert_uint_eq(partition_sum_get(&result.bytes).regions, 1000);
    cut_result_fini(&result);
    ck_assert_int_eq(partition_cut(f->host, &look, &result), SKEIN_NOT_FOUND);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    ck_assert_uint_eq(host_page_generation(f->host), generation);
    ck_assert_uint_eq(f->last->next_sequence, sequence);
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    ck_assert_uint_eq(partition_sum_get(&result.bytes).regions, 1000);
    ck_assert_uint_eq(result.key.sequence, sequence);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    ck_assert_int_eq(child_end(&child), 0);
    fixture_free(f);
}
END_TEST

static void idle_then_a_step(int in, int out)
{
    child_say(out);
    child_hear(in);
    SKEIN_INSTANT("step", (u64, "n", 1));
    child_say(out);
    child_hear(in);
}

/* It looks at the last moments first, and then further back. */
START_TEST(the_last_record_of_a_ring_is_found)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, idle_then_a_step);
    uint64_t last_ns = 0, before_ns, after_ns;
    ck_assert(child_hear(child.from));
    ck_assert_int_eq(cut_last(f->host, f->last, agent_clock_ns(), &last_ns), SKEIN_NOT_FOUND);
    before_ns = agent_clock_ns();
    child_say(child.to);
    ck_assert(child_hear(child.from));
    after_ns = agent_clock_ns();
    uint64_t generation = host_page_generation(f->host);
    const uint64_t later_ns[] = {0, 100000000, UINT64_C(3000000000), UINT64_C(3600000000000)};
    for (size_t i = 0; i < sizeof later_ns / sizeof later_ns[0]; i++) {
        ck_assert_int_eq(cut_last(f->host, f->last, after_ns + later_ns[i], &last_ns), SKEIN_OK);
        ck_assert_uint_ge(last_ns, before_ns);
        ck_assert_uint_le(last_ns, after_ns + 2000); /* as two clocks differ */
    }
    ck_assert_uint_eq(host_page_generation(f->host), generation);
    child_end(&child);
    fixture_free(f);
}
END_TEST

static void range_over_the_cut(int in, int out)
{
    SKEIN_REGION("long", (u64, "n", 1));
    SKEIN_INSTANT("step", (u64, "n", 1));
    child_say(out);
    child_hear(in);
    SKEIN_INSTANT("step", (u64, "n", 2));
    child_say(out);
    child_hear(in);
}

START_TEST(a_second_cut_brings_what_came_since_and_knows_the_open_range)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, range_over_the_cut);
    struct cut_marks *marks = NULL;
    struct cut_result result;
    ck_assert(child_hear(child.from));
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    ck_assert_int_eq(fixture_cut(f->host, f->last, marks, 0, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.begins, 1);
    ck_assert_uint_eq(sum.instants, 1);
    ck_assert_uint_eq(sum.opens, 1);
    cut_result_fini(&result);
    child_say(child.to);
    ck_assert(child_hear(child.from));
    ck_assert_int_eq(fixture_cut(f->host, f->last, marks, 0, &result), SKEIN_OK);
    sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.instants, 1);
    ck_assert_uint_eq(sum.opens, 1); /* restated: still open, and known */
    ck_assert_uint_eq(result.key.sequence, 1);
    cut_result_fini(&result);
    cut_marks_free(&marks);
    child_end(&child);
    fixture_free(f);
}
END_TEST

static void operation_in_progress(int in, int out)
{
    static struct skein_site site = {.name = "read",
                                     .text = "",
                                     .file = "",
                                     .klass = SKEIN_CLASS_SPAN,
                                     .nargs = 1,
                                     .args = {{SKEIN_T_I64, "fd", ""}}};
    SKEIN_INSTANT("step", (u64, "n", 1));
    struct skein_op op = skein_op_enter(&site, 17);
    child_say(out);
    child_hear(in);
    skein_op_leave(&op, 0, NULL);
}

START_TEST(an_operation_in_progress_is_shown)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, operation_in_progress);
    ck_assert(child_hear(child.from));
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_eq(sum.opens, 1);
    cut_result_fini(&result);
    /* In a window that ended before it began, it was not. */
    const struct cut_request before = {.process = f->last,
                                       .to_ns = f->last->attached_clock.realtime_ns - 1000000000u,
                                       .host = "test"};
    ck_assert_int_eq(partition_cut(f->host, &before, &result), SKEIN_NOT_FOUND);
    cut_result_fini(&result);
    child_end(&child);
    fixture_free(f);
}
END_TEST

static void wrap_the_ring(int in, int out)
{
    for (uint64_t i = 0; i < 200000; i++)
        SKEIN_INSTANT("step", (u64, "n", i));
    child_say(out);
    child_hear(in);
}

START_TEST(an_overwritten_window_has_a_gap_and_no_holes_after_it)
{
    struct agent_fixture *f = fixture_new(UINT64_C(256) << 10);
    struct child child = child_start(f, wrap_the_ring);
    ck_assert(child_hear(child.from));
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_gt(sum.steps, 10000);
    ck_assert_uint_eq(sum.last_u64, 199999);
    ck_assert_uint_le(sum.jumps, 2); /* a small chunk may survive by itself */
    ck_assert_uint_ge(result.gap_count, 1);
    ck_assert_int_eq(result.gaps[0].reason, PARTITION_LOSS_OVERWRITTEN);
    /* A window that the ring covers has none. */
    uint64_t from = result.gaps[result.gap_count - 1].to_ns + 1000;
    cut_result_fini(&result);
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, from, &result), SKEIN_OK);
    ck_assert_uint_eq(result.gap_count, 0);
    cut_result_fini(&result);
    child_end(&child);
    fixture_free(f);
}
END_TEST

START_TEST(a_limit_splits_the_cut_and_loses_nothing)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, work_a_little);
    ck_assert(child_hear(child.from));
    struct cut_marks *marks = NULL;
    ck_assert_int_eq(cut_marks_new(f->last, &marks), SKEIN_OK);
    uint64_t instants = 0, partitions = 0;
    bool more = true;
    while (more) {
        struct cut_result result;
        const struct cut_request request = {
            .process = f->last, .to_ns = UINT64_MAX / 2, .marks = marks, .max_bytes = 4096};
        ck_assert_int_eq(partition_cut(f->host, &request, &result), SKEIN_OK);
        instants += partition_sum_get(&result.bytes).instants;
        more = result.more;
        cut_result_fini(&result);
        ck_assert_uint_lt(++partitions, 50);
    }
    ck_assert_uint_gt(partitions, 1);
    ck_assert_uint_eq(instants, 1000);
    cut_marks_free(&marks);
    child_end(&child);
    fixture_free(f);
}
END_TEST

static void ask(int in, int out)
{
    (void)out;
    SKEIN_INSTANT("step", (u64, "n", 1));
    if (skein_snapshot("because") != SKEIN_OK)
        _exit(4);
    child_hear(in);
}

START_TEST(a_service_can_ask_for_its_snapshot)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, ask);
    ck_assert(wait_until(fixture_has_snapshot, f, 0));
    ck_assert_str_eq(f->reason, "because");
    child_end(&child);
    fixture_free(f);
}
END_TEST

static void forever(int in, int out)
{
    (void)in;
    for (uint64_t i = 0;; i++) {
        SKEIN_INSTANT("step", (u64, "n", i));
        if (i == 1000)
            child_say(out);
    }
}

START_TEST(a_killed_process_is_a_crash_and_its_ring_is_readable)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, forever);
    ck_assert(child_hear(child.from));
    kill(child.pid, SIGKILL);
    child_end(&child);
    ck_assert(wait_until(fixture_has_gone, f, 0));
    ck_assert_int_eq(f->last_state, PROCESS_CRASHED);
    ck_assert_int_eq(f->last->death.signal, SIGKILL);
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    struct partition_sum sum = partition_sum_get(&result.bytes);
    ck_assert_uint_ge(sum.steps, 1000);
    ck_assert_uint_eq(result.lost[PARTITION_LOSS_CORRUPT], 0);
    cut_result_fini(&result);
    fixture_free(f);
}
END_TEST

START_TEST(a_process_that_is_asked_to_end_is_no_crash)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, forever);
    ck_assert(child_hear(child.from));
    kill(child.pid, SIGHUP); /* the test library catches the other two */
    child_end(&child);
    ck_assert(wait_until(fixture_has_gone, f, 0));
    ck_assert_int_eq(f->last_state, PROCESS_ENDED);
    ck_assert_int_eq(f->last->death.signal, SIGHUP);
    fixture_free(f);
}
END_TEST

static bool attached_twice(void *context)
{
    struct agent_fixture *f = context;
    return fixture_get(f, &f->attached) >= 2;
}

START_TEST(a_new_agent_adopts_the_ring_with_what_it_holds)
{
    struct agent_fixture *f = fixture_new(UINT64_C(1) << 20);
    struct child child = child_start(f, work_a_little);
    ck_assert(child_hear(child.from));
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->counters.attach_accepted, 1);
    fixture_agent_start(f);
    ck_assert(wait_until(attached_twice, f, 0));
    struct cut_result result;
    ck_assert_int_eq(fixture_cut(f->host, f->last, NULL, 0, &result), SKEIN_OK);
    ck_assert_uint_eq(partition_sum_get(&result.bytes).steps, 1000);
    cut_result_fini(&result);
    fixture_agent_stop(f);
    ck_assert_uint_eq(f->counters.attach_adopted, 1);
    child_end(&child);
    fixture_free(f);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "cutter", everything_that_was_written_comes_out_once,
        a_look_finds_what_is_new_and_leaves_the_cuts_as_they_were,
        the_last_record_of_a_ring_is_found,
        a_second_cut_brings_what_came_since_and_knows_the_open_range,
        an_operation_in_progress_is_shown, an_overwritten_window_has_a_gap_and_no_holes_after_it,
        a_limit_splits_the_cut_and_loses_nothing, a_service_can_ask_for_its_snapshot,
        a_killed_process_is_a_crash_and_its_ring_is_readable,
        a_process_that_is_asked_to_end_is_no_crash, a_new_agent_adopts_the_ring_with_what_it_holds,
        NULL));
}
