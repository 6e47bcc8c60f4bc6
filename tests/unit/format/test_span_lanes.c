/* SPDX-License-Identifier: Apache-2.0
 *
 * Rows of a track: regions of a row nest, by the rule of those who read exports: an end closes the
 * newest region that is open.
 */
#include <stdlib.h>

#include "skein/status.h"
#include "span_lanes.h"
#include "support.h"

static struct span_lanes lanes;

static int64_t put(uint64_t from, uint64_t to)
{
    int64_t row = span_lanes_put(&lanes, &from, &to);
    ck_assert_int_ge(row, 0);
    return row;
}

START_TEST(one_that_crosses_another_is_a_row_below)
{
    ck_assert_int_eq(put(1000, 4100), 0);
    ck_assert_int_eq(put(2000, 7200), 1);
    ck_assert_int_eq(put(3000, 8200), 2);
    ck_assert_int_eq(put(500, 9000), 0); /* around all of them */
    ck_assert_int_eq(put(9000, 9500), 0);
    span_lanes_fini(&lanes);
}
END_TEST

START_TEST(one_that_began_before_an_open_range_is_a_row_below)
{
    uint64_t at = 1000, end = 3000;
    ck_assert_int_eq(span_lanes_open(&lanes, &at), SKEIN_OK);
    ck_assert_int_eq(put(500, 2000), 1);
    ck_assert_int_eq(put(1000, 2500), 0);
    ck_assert_uint_eq(span_lanes_find(&lanes, 2000), 1); /* its end would close the one on row 0 */
    ck_assert_int_eq(span_lanes_close(&lanes, &end), SKEIN_OK);
    ck_assert_uint_eq(end, 3000);
    ck_assert_int_eq(put(2500, 4000), 1);
    ck_assert_uint_eq(span_lanes_find(&lanes, 4000), 0);
    span_lanes_fini(&lanes);
}
END_TEST

/* What is written first is taken for the outer one, where two begin at once. */
START_TEST(the_outer_one_of_two_that_begin_at_once_begins_earlier)
{
    uint64_t from = 1000, to = 2000;
    ck_assert_int_eq(span_lanes_put(&lanes, &from, &to), 0);
    to = 3000;
    ck_assert_int_eq(span_lanes_put(&lanes, &from, &to), 0);
    ck_assert_uint_eq(from, 999);
    from = 1000;
    to = 4000;
    ck_assert_int_eq(span_lanes_put(&lanes, &from, &to), 0);
    ck_assert_uint_eq(from, 998);
    span_lanes_fini(&lanes);
    ck_assert_int_eq(put(500, 1000), 0); /* there is no room for it behind this one */
    ck_assert_int_eq(put(1000, 2000), 0);
    ck_assert_int_eq(put(1000, 3000), 1);
    span_lanes_fini(&lanes);
}
END_TEST

START_TEST(times_of_two_partitions_may_overlap_by_less_than_a_tick)
{
    uint64_t from = 1970, to = 3000;
    ck_assert_int_eq(put(1000, 2000), 0);
    ck_assert_int_eq(span_lanes_put(&lanes, &from, &to), 0);
    ck_assert_uint_eq(from, 2000);
    ck_assert_int_eq(put(2936, 4000), 1); /* 64 ns are a tick */
    span_lanes_fini(&lanes);
}
END_TEST

START_TEST(of_those_that_end_at_once_each_lies_in_the_one_before)
{
    ck_assert_int_eq(put(2000, 3000), 0);
    ck_assert_int_eq(put(1000, 9000), 0);
    ck_assert_int_eq(put(2500, 9000), 1); /* it is in that one, and crosses what else is */
    ck_assert_int_eq(put(4000, 9000), 0);
    ck_assert_int_eq(put(3500, 9000), 1);
    ck_assert_int_eq(put(4000, 9000), 0);
    ck_assert_int_eq(put(8999, 9000), 0);
    span_lanes_fini(&lanes);
}
END_TEST

/* Ends of random regions close these and no others, whatever they were. */
START_TEST(regions_of_a_row_nest)
{
    enum { REGIONS = 3000 };
    static struct {
        uint64_t from, to;
        int64_t row;
    } made[REGIONS];
    uint64_t at = 100000;
    for (size_t i = 0; i < REGIONS; i++) {
        at += 1 + (uint64_t)rand() % 300;
        made[i].to = at;
        made[i].from = at - (uint64_t)rand() % (rand() % 20 == 0 ? 60000 : 900);
        made[i].row = span_lanes_put(&lanes, &made[i].from, &made[i].to);
        ck_assert_int_ge(made[i].row, 0);
        for (size_t k = 0; k < i; k++) {
            bool apart = made[k].to <= made[i].from || made[k].from >= made[i].to;
            /* with one begin, the one that was written first is around the other */
            bool inside = made[k].from > made[i].from && made[k].to <= made[i].to;
            bool around = made[k].from <= made[i].from && made[k].to >= made[i].to;
            must_hold(made[k].row != made[i].row || apart || inside || around,
                      "regions %zu and %zu", k, i);
        }
    }
    span_lanes_fini(&lanes);
}
END_TEST

START_TEST(many_side_by_side_take_bounded_room)
{
    uint64_t at = 0;
    for (size_t i = 0; i < 10 * (size_t)SPAN_LANES_APART; i++, at += 100)
        ck_assert_int_eq(put(at, at + 50), 0);
    ck_assert_int_eq(put(at - 100 * (SPAN_LANES_APART / 4), at), 0); /* around the last of them */
    ck_assert_int_eq(put(75, at + 1), 1); /* nobody knows any more that there was room */
    span_lanes_fini(&lanes);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("span_lanes", one_that_crosses_another_is_a_row_below,
                              one_that_began_before_an_open_range_is_a_row_below,
                              the_outer_one_of_two_that_begin_at_once_begins_earlier,
                              times_of_two_partitions_may_overlap_by_less_than_a_tick,
                              of_those_that_end_at_once_each_lies_in_the_one_before,
                              regions_of_a_row_nest, many_side_by_side_take_bounded_room, NULL));
}
