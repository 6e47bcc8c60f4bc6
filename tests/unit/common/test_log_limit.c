/* SPDX-License-Identifier: Apache-2.0
 * How many lines a minute a limit lets pass, and that it tells of the others. */
#include "log_limit.h"

#include "support.h"

#define SECOND UINT64_C(1000000000)

START_TEST(the_first_lines_of_a_minute_pass_and_the_others_are_counted)
{
    struct log_limit limit = {.most = 3};
    unsigned passed = 0;
    for (unsigned i = 0; i < 1000; i++)
        passed += log_limit_take(&limit, SECOND + i);
    ck_assert_uint_eq(passed, 3);
    ck_assert_uint_eq(log_limit_over(&limit, 30 * SECOND, false), 0);
    ck_assert_uint_eq(log_limit_over(&limit, 61 * SECOND, false), 997);
    ck_assert_uint_eq(log_limit_over(&limit, 61 * SECOND, true), 0);
    ck_assert(log_limit_take(&limit, 62 * SECOND));
}
END_TEST

START_TEST(what_was_held_is_told_before_another_minute_begins)
{
    struct log_limit limit = {.most = 0};
    ck_assert(log_limit_take(&limit, SECOND));
    ck_assert(!log_limit_take(&limit, 2 * SECOND));
    ck_assert(!log_limit_take(&limit, 200 * SECOND));
    ck_assert_uint_eq(log_limit_over(&limit, 201 * SECOND, false), 2);
    ck_assert(log_limit_take(&limit, 202 * SECOND));
}
END_TEST

START_TEST(one_that_ends_tells_of_what_it_held)
{
    struct log_limit limit = {.most = 1};
    ck_assert(log_limit_take(&limit, SECOND));
    ck_assert_uint_eq(log_limit_over(&limit, SECOND, true), 0);
    ck_assert(!log_limit_take(&limit, SECOND));
    ck_assert_uint_eq(log_limit_over(&limit, SECOND, true), 1);
}
END_TEST

START_TEST(quiet_minutes_cost_nothing)
{
    struct log_limit limit = {.most = 1};
    for (uint64_t minute = 1; minute < 10; minute++)
        ck_assert(log_limit_take(&limit, minute * LOG_LIMIT_NS));
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("log_limit", the_first_lines_of_a_minute_pass_and_the_others_are_counted,
                 what_was_held_is_told_before_another_minute_begins,
                 one_that_ends_tells_of_what_it_held, quiet_minutes_cost_nothing, NULL));
}
