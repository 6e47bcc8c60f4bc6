/* SPDX-License-Identifier: Apache-2.0 */
#include "stored_set.h"

#include <stdlib.h>

#include "support.h"

START_TEST(each_partition_is_news_once_and_neighbours_join)
{
    static const uint64_t order[] = {4, 0, UINT64_MAX, 2, 1, 3, UINT64_MAX - 1, 5};
    struct stored_set set = {0};
    ck_assert_int_eq(stored_set_add(&set, 8, 0), 1);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        ck_assert_int_eq(stored_set_add(&set, 7, order[i]), 1);
        for (size_t k = 0; k <= i; k++)
            ck_assert_int_eq(stored_set_add(&set, 7, order[k]), 0);
    }
    ck_assert_uint_eq(set.count, 3);
    ck_assert_uint_eq(set.ranges[0].first, 0);
    ck_assert_uint_eq(set.ranges[0].last, 5);
    ck_assert_uint_eq(set.ranges[1].first, UINT64_MAX - 1);
    stored_set_fini(&set);
}
END_TEST

START_TEST(a_set_of_any_order_holds_what_was_added)
{
    bool there[64] = {false};
    struct stored_set set = {0};
    uint64_t noise = 1;
    for (int i = 0; i < 200; i++) {
        noise = noise * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t n = noise >> 58;
        ck_assert_int_eq(stored_set_add(&set, 1, n), !there[n]);
        there[n] = true;
    }
    for (size_t i = 1; i < set.count; i++)
        ck_assert_uint_gt(set.ranges[i].first, set.ranges[i - 1].last + 1);
    stored_set_fini(&set);
}
END_TEST

START_TEST(what_is_missing_is_told_range_by_range)
{
    struct stored_set set = {0};
    ck_assert_int_eq(stored_set_add(&set, 1, 3), 1);
    ck_assert_int_eq(stored_set_add(&set, 1, 4), 1);
    ck_assert_int_eq(stored_set_add(&set, 1, UINT64_MAX), 1);
    uint64_t first = 0, last = UINT64_MAX;
    ck_assert(stored_set_missing(&set, 1, &first, &last));
    ck_assert_uint_eq(first, 0);
    ck_assert_uint_eq(last, 2);
    first = 3, last = UINT64_MAX;
    ck_assert(stored_set_missing(&set, 1, &first, &last));
    ck_assert_uint_eq(first, 5);
    ck_assert_uint_eq(last, UINT64_MAX - 1);
    first = last = UINT64_MAX;
    ck_assert(!stored_set_missing(&set, 1, &first, &last));
    first = 3, last = 4;
    ck_assert(!stored_set_missing(&set, 1, &first, &last));
    ck_assert(stored_set_missing(&set, 2, &first, &last));
    ck_assert_uint_eq(first, 3);
    ck_assert_uint_eq(last, 4);
    stored_set_fini(&set);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("stored_set", each_partition_is_news_once_and_neighbours_join,
                              a_set_of_any_order_holds_what_was_added,
                              what_is_missing_is_told_range_by_range, NULL));
}
