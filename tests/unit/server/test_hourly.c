/* SPDX-License-Identifier: Apache-2.0
 * Counts of the last hour. */
#include "hourly.h"

#include "support.h"

#define MINUTE (UINT64_C(60) * 1000000000u)

START_TEST(hour_holds_no_more_than_its_limit_wherever_it_begins)
{
    struct hourly h = {0};
    uint64_t now = 1000 * MINUTE;
    for (int i = 0; i < 10; i++)
        ck_assert(hourly_take(&h, now + (uint64_t)i * MINUTE, 1, 10));
    ck_assert(!hourly_take(&h, now + 59 * MINUTE, 1, 10));
    ck_assert(!hourly_take(&h, now + 59 * MINUTE, 11, 10));
    ck_assert_uint_eq(hourly_sum(&h, now + 59 * MINUTE), 10);
    ck_assert(hourly_take(&h, now + 60 * MINUTE, 1, 10)); /* the first is an hour old */
    ck_assert(!hourly_take(&h, now + 60 * MINUTE, 1, 10));
    ck_assert_uint_eq(hourly_sum(&h, now + 69 * MINUTE), 1);
    ck_assert_uint_eq(hourly_sum(&h, now + 500 * MINUTE), 0);
    ck_assert(hourly_take(&h, now + 500 * MINUTE, 10, 10));
}
END_TEST

int main(void)
{
    return suite_run(
        suite_of("hourly", hour_holds_no_more_than_its_limit_wherever_it_begins, NULL));
}
