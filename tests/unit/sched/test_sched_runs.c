/* SPDX-License-Identifier: Apache-2.0
 * Who had a CPU longest, of more runs than are kept one by one, against sums that the test makes. */
#include <stdlib.h>
#include <string.h>

#include "sched_runs.h"
#include "support.h"

#define RUNS  100000
#define TASKS 12

static struct {
    uint32_t tid;
    uint64_t from_ns, to_ns;
} truth[RUNS];
static struct sched_cpus cpus;
static struct sched_cpu *cpu;

static void set_up(void)
{
    cpu = sched_cpu_get(&cpus, 0);
    ck_assert_ptr_nonnull(cpu);
}

static void tear_down(void)
{
    sched_cpus_fini(&cpus);
}

static uint64_t truth_of(uint32_t tid, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < RUNS; i++) {
        uint64_t from = truth[i].from_ns > from_ns ? truth[i].from_ns : from_ns;
        uint64_t to = truth[i].to_ns < to_ns ? truth[i].to_ns : to_ns;
        sum += truth[i].tid == tid && to > from ? to - from : 0;
    }
    return sum;
}

/* Two that play ping-pong take turns with ten others and idle; 7 has a tenth of the runs, and most
 * of the time. */
static void runs_make(unsigned seed)
{
    uint64_t now_ns = 1000;
    srandom(seed);
    for (size_t i = 0; i < RUNS; i++) {
        unsigned one = (unsigned)random() % 10;
        truth[i].tid = one == 0 ? 7 : one < 8 ? 1 + (unsigned)i % 2 : (unsigned)random() % TASKS;
        truth[i].from_ns = now_ns;
        now_ns += truth[i].tid == 7 ? 20000 + (uint64_t)random() % 9000 : (uint64_t)random() % 2000;
        truth[i].to_ns = now_ns;
        sched_cpu_ran(cpu, truth[i].tid, truth[i].from_ns, truth[i].to_ns);
        ck_assert_uint_le(cpu->count, SCHED_RUNS_KEPT);
    }
}

/* Whatever the wait: never more than there was, the right one, and most of its time where the wait
 * was long. */
START_TEST(who_ran_longest_is_told_of_long_waits)
{
    runs_make((unsigned)_i);
    uint64_t end_ns = truth[RUNS - 1].to_ns;
    for (size_t at = 0; at < RUNS - 20000; at += 997) {
        uint64_t from_ns = truth[at].from_ns;
        struct sched_most most = sched_cpu_most(cpu, from_ns, end_ns, 0);
        uint64_t was_ns = truth_of(7, from_ns, end_ns);
        ck_assert_uint_eq(most.tid, 7);
        ck_assert_uint_le(most.ns, was_ns);
        ck_assert_uint_ge(most.ns, was_ns / 4 * 3); /* it may begin amid joined ones */
        most = sched_cpu_most(cpu, from_ns, end_ns, 7);
        ck_assert(most.tid != 7 && most.tid != 0);
        ck_assert_uint_le(most.ns, truth_of(most.tid, from_ns, end_ns));
    }
}
END_TEST

START_TEST(of_few_runs_each_counts_to_the_nanosecond)
{
    sched_cpu_ran(cpu, 5, 100, 130);
    sched_cpu_ran(cpu, 0, 130, 500);
    sched_cpu_ran(cpu, 6, 500, 520);
    sched_cpu_ran(cpu, 5, 520, 521);
    struct sched_most most = sched_cpu_most(cpu, 110, 521, 0);
    ck_assert_uint_eq(most.tid, 5);
    ck_assert_uint_eq(most.ns, 21);
    most = sched_cpu_most(cpu, 115, 521, 0);
    ck_assert_uint_eq(most.tid, 6);
    ck_assert_uint_eq(most.ns, 20);
    cpu->known = true; /* who is on it counts as well */
    cpu->tid = 8;
    cpu->since_ns = 521;
    most = sched_cpu_most(cpu, 115, 600, 0);
    ck_assert_uint_eq(most.tid, 8);
    ck_assert_uint_eq(most.ns, 79);
    sched_cpu_forget(cpu);
    ck_assert_uint_eq(sched_cpu_most(cpu, 0, 600, 0).tid, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sched_runs");
    TCase *tests = tcase_create("all");
    tcase_add_checked_fixture(tests, set_up, tear_down);
    tcase_add_loop_test(tests, who_ran_longest_is_told_of_long_waits, 0, 20);
    tcase_add_test(tests, of_few_runs_each_counts_to_the_nanosecond);
    suite_add_tcase(suite, tests);
    return suite_run(suite);
}
