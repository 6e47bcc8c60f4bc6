/* SPDX-License-Identifier: Apache-2.0
 *
 * Tests of chance beside numbers that were computed another way: binomials as sums of fractions, Mann
 * and Whitney's by all pairs, Student's by summing up its density.
 */
#include <math.h>
#include <stdlib.h>

#include "statistics.h"
#include "support.h"

static void near(double told, double exact)
{
    ck_assert_msg(fabs(told - exact) <= 1e-8 * exact + 1e-300, "%.12g for %.12g", told, exact);
}

START_TEST(counts_are_judged_by_the_binomial)
{
    static const struct {
        uint64_t before, before_s, after, after_s;
        double p;
    } cases[] = {{10, 1, 20, 1, 0.09873714670538902},
                 {0, 10, 5, 10, 0.0625},
                 {3, 2, 3, 2, 1},
                 {100, 10, 180, 10, 2.014506496056361e-06},
                 {7, 3, 40, 5, 0.001227495248317085},
                 {1000, 1, 1100, 1, 0.030720707864242296},
                 {50, 1, 0, 4, 2.251799813685248e-35}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        near(counts_test(cases[i].before, (double)cases[i].before_s, cases[i].after,
                         (double)cases[i].after_s),
             cases[i].p);
        near(counts_test(cases[i].after, (double)cases[i].after_s, cases[i].before,
                         (double)cases[i].before_s),
             cases[i].p);
    }
    ck_assert(counts_test(0, 1, 0, 1) == 1 && counts_test(5, 0, 5, 1) == 1);
    ck_assert(counts_test(5000000, 10, 5000100, 10) > .9);
    ck_assert(counts_test(5000000, 10, 5100000, 10) < 1e-100);
}
END_TEST

static void fill(struct histogram *h, const uint64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct histogram_example example = {.dur_ns = values[i]};
        ck_assert_int_eq(histogram_add(h, &example), SKEIN_OK);
    }
}

START_TEST(durations_are_judged_by_all_pairs)
{
    static const uint64_t a[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    static const uint64_t b[] = {5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 15};
    static const uint64_t c[] = {3, 3, 3, 3, 3, 3, 3, 3, 4, 4, 4, 4};
    static const uint64_t d[] = {4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5};
    struct histogram h[4] = {{0}, {0}, {0}, {0}};
    double longer;
    fill(&h[0], a, 10);
    fill(&h[1], b, 12);
    fill(&h[2], c, 12);
    fill(&h[3], d, 12);
    near(durations_test(&h[0], &h[1], &longer), 0.006109367387300444);
    near(longer, .85);
    near(durations_test(&h[1], &h[0], &longer), 0.006109367387300444);
    near(longer, .15);
    near(durations_test(&h[2], &h[3], &longer), 0.0005691038005364572);
    near(longer, .875);
    near(durations_test(&h[2], &h[2], &longer), 1);
    struct histogram few = {0};
    fill(&few, a, DURATIONS_MIN - 1);
    near(durations_test(&few, &h[1], &longer), 1);
    for (size_t i = 0; i < 4; i++)
        histogram_fini(&h[i]);
    histogram_fini(&few);
}
END_TEST

static struct statistics_values values_of(const double *values, size_t count)
{
    struct statistics_values v = {.count = count};
    for (size_t i = 0; i < count; i++) {
        v.sum += values[i];
        v.squares += values[i] * values[i];
    }
    return v;
}

START_TEST(means_are_judged_by_welch)
{
    static const double a[] = {1, 2, 3, 4, 5, 6}, b[] = {3, 5, 7, 9, 11, 13, 4};
    static const double c[] = {10, 11, 9, 10, 12}, d[] = {10, 11, 10, 9, 13};
    static const double same[] = {2, 2, 2, 2, 2};
    struct statistics_values one = values_of(a, 6), other = values_of(b, 7);
    ck_assert_double_eq_tol(means_test(&one, &other), 0.03665611812857206, 1e-7);
    one = values_of(c, 5), other = values_of(d, 5);
    ck_assert_double_eq_tol(means_test(&one, &other), 0.8200322459710492, 1e-7);
    one = other = values_of(same, 5);
    near(means_test(&one, &other), 1);
    one = values_of(a, 4);
    near(means_test(&one, &other), 1);
}
END_TEST

START_TEST(many_tests_are_judged_together)
{
    double p[] = {.01, .04, .03, .005, .5};
    static const double q[] = {.025, .05, .05, .025, .5};
    ck_assert_int_eq(discoveries_adjust(p, 5), SKEIN_OK);
    for (size_t i = 0; i < 5; i++)
        near(p[i], q[i]);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("statistics", counts_are_judged_by_the_binomial,
                              durations_are_judged_by_all_pairs, means_are_judged_by_welch,
                              many_tests_are_judged_together, NULL));
}
