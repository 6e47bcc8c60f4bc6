/* SPDX-License-Identifier: Apache-2.0 */
#include "clock_steps.h"

#include "support.h"

#define S UINT64_C(1000000000)

START_TEST(a_clock_that_nobody_sets_keeps_its_number)
{
    struct clock_steps steps = {.count = 0};
    uint64_t number = clock_steps_take(&steps, 1000 * S, 5 * S, 0);
    ck_assert_uint_ne(number, 0);
    ck_assert_uint_eq(clock_steps_take(&steps, 1010 * S + 900000, 15 * S, 0), number);
    ck_assert_uint_eq(clock_steps_take(&steps, 9000 * S, 8005 * S, 0), number);
}
END_TEST

START_TEST(each_setting_has_a_number_and_a_distance)
{
    struct clock_steps steps = {.count = 0};
    uint64_t first = clock_steps_take(&steps, 1000 * S, 5 * S, 0);
    uint64_t ahead = clock_steps_take(&steps, 1030 * S, 15 * S, 0);
    uint64_t back = clock_steps_take(&steps, 980 * S, 25 * S, 0);
    ck_assert(first != ahead && ahead != back && back != first);
    ck_assert_int_eq(clock_steps_between(&steps, first, ahead), 20 * (int64_t)S);
    ck_assert_int_eq(clock_steps_between(&steps, back, first), 40 * (int64_t)S);
    ck_assert_int_eq(clock_steps_between(&steps, back, back), 0);
    ck_assert_int_eq(clock_steps_between(&steps, 1, back), 0); /* an earlier run's */
}
END_TEST

START_TEST(two_readings_apart_are_no_setting)
{
    struct clock_steps steps = {.count = 0};
    uint64_t number = clock_steps_take(&steps, 1000 * S, 5 * S, 0);
    ck_assert_uint_eq(clock_steps_take(&steps, 1002 * S, 5 * S, 2 * S), number);
    ck_assert_uint_ne(clock_steps_take(&steps, 1002 * S, 5 * S, 0), number);
}
END_TEST

START_TEST(the_oldest_setting_is_forgotten)
{
    struct clock_steps steps = {.count = 0};
    uint64_t first = clock_steps_take(&steps, 1000 * S, 0, 0), last = first;
    for (uint64_t i = 1; i <= CLOCK_STEPS_KEPT; i++)
        last = clock_steps_take(&steps, (1000 + i) * S, 0, 0);
    ck_assert_uint_eq(steps.count, CLOCK_STEPS_KEPT + 1);
    ck_assert_int_eq(clock_steps_between(&steps, first, last), 0);
}
END_TEST

START_TEST(what_a_setting_moved_is_known_to_its_readings)
{
    struct clock_steps steps = {.count = 0};
    uint64_t first = clock_steps_take(&steps, 1000 * S, 5 * S, 100);
    uint64_t ahead = clock_steps_take(&steps, 1030 * S, 15 * S, 7000);
    ck_assert_uint_eq(clock_steps_doubt(&steps, first, first), 0);
    ck_assert_uint_eq(clock_steps_doubt(&steps, 99, 99), 0); /* whatever it was, it is one */
    ck_assert_uint_eq(clock_steps_doubt(&steps, first, ahead), 2007100);
    ck_assert_uint_eq(clock_steps_doubt(&steps, ahead, first), 2007100);
    ck_assert_uint_eq(clock_steps_doubt(&steps, 99, first), UINT64_MAX);
    ck_assert_uint_eq(clock_steps_doubt(&steps, first, 99), UINT64_MAX);
}
END_TEST

static uint64_t before(const struct clock_steps *steps, uint64_t monotonic_ns, uint64_t age_ns)
{
    const struct clock_view view = clock_steps_view(steps, monotonic_ns);
    return clock_view_before(&view, age_ns);
}

START_TEST(what_is_young_is_not_old_because_the_clock_was_set_forward)
{
    struct clock_steps steps = {.count = 0};
    clock_steps_take(&steps, 1000 * S, 5 * S, 0);
    ck_assert_uint_eq(before(&steps, 15 * S, 100 * S), 910 * S);
    clock_steps_take(&steps, 100010 * S, 15 * S, 0);
    ck_assert_uint_eq(before(&steps, 15 * S, 100 * S), 910 * S);
    ck_assert_uint_eq(before(&steps, 114 * S, 100 * S), 1009 * S);
    ck_assert_uint_eq(before(&steps, 115 * S, 100 * S),
                      100010 * S); /* all of before is old by now */
    ck_assert_uint_eq(before(&steps, 115 * S, 1000000 * S), 0);
    clock_steps_take(&steps, 1115 * S, 120 * S, 0); /* back again */
    ck_assert_uint_eq(before(&steps, 120 * S, 100 * S), 1015 * S);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("clock_steps", a_clock_that_nobody_sets_keeps_its_number,
                              each_setting_has_a_number_and_a_distance,
                              two_readings_apart_are_no_setting, the_oldest_setting_is_forgotten,
                              what_a_setting_moved_is_known_to_its_readings,
                              what_is_young_is_not_old_because_the_clock_was_set_forward, NULL));
}
