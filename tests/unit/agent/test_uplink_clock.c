/* SPDX-License-Identifier: Apache-2.0 */
#include "uplink_clock.h"

#include <stdlib.h>

#include "support.h"

#define MS UINT64_C(1000000)
#define S  (1000 * MS)

/* What the collector's clock says at an instant of the agent's line. */
static int64_t ahead_ns;

static bool take(struct uplink_clock *clock, uint64_t number, uint64_t sent_ns, uint64_t there_ns,
                 uint64_t back_ns)
{
    int64_t step_ns;
    struct clock_trip trip = {sent_ns, sent_ns + there_ns + back_ns,
                              sent_ns + there_ns + (uint64_t)ahead_ns};
    return uplink_clock_take(clock, number, &trip, &step_ns);
}

static uint64_t error_of(const struct uplink_clock *clock, uint64_t number)
{
    struct clock_map map = uplink_clock_of(clock, number);
    ck_assert(map.known);
    int64_t error = map.offset_ns - ahead_ns;
    return (uint64_t)(error < 0 ? -error : error);
}

START_TEST(the_shortest_round_trip_counts)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 3600 * (int64_t)S;
    ck_assert(!uplink_clock_newest(&clock).known);
    ck_assert(!take(&clock, 7, 100 * S, 90 * MS, 1 * MS));
    ck_assert(!take(&clock, 7, 101 * S, 2 * MS, 2 * MS));
    ck_assert(!take(&clock, 7, 102 * S, 1 * MS, 400 * MS));
    ck_assert_uint_eq(error_of(&clock, 7), 0);
    ck_assert_uint_eq(uplink_clock_newest(&clock).clock, 7);
}
END_TEST

START_TEST(what_is_below_its_own_error_is_nothing)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 3 * (int64_t)MS;
    take(&clock, 7, 100 * S, 2 * MS, 2 * MS);
    ck_assert(uplink_clock_of(&clock, 7).known);
    ck_assert_int_eq(uplink_clock_of(&clock, 7).offset_ns, 0);
}
END_TEST

START_TEST(a_new_number_drops_nothing_of_the_old_one)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 0;
    for (unsigned i = 0; i < 8; i++)
        take(&clock, 7, (100 + i) * S, 1 * MS, 1 * MS);
    ck_assert(!uplink_clock_of(&clock, 8).known);
    ahead_ns = -20 * (int64_t)S;
    ck_assert(take(&clock, 8, 110 * S, 300 * MS, 300 * MS)); /* longer, and yet it counts */
    ck_assert_uint_eq(error_of(&clock, 8), 0);
    ck_assert_int_eq(uplink_clock_newest(&clock).offset_ns, ahead_ns);
    ck_assert_int_eq(uplink_clock_of(&clock, 7).offset_ns, 0);
    ck_assert(uplink_clock_of(&clock, 7).known);
}
END_TEST

START_TEST(a_collector_that_began_anew_has_set_no_clock)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 3600 * (int64_t)S;
    ck_assert(!take(&clock, 7, 100 * S, 1 * MS, 1 * MS));
    ck_assert(!take(&clock, 8, 110 * S, 1 * MS, 2 * MS));
    ck_assert_uint_eq(uplink_clock_newest(&clock).clock, 8);
}
END_TEST

START_TEST(a_sample_that_contradicts_drops_those_before)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 0;
    for (unsigned i = 0; i < 8; i++)
        ck_assert(!take(&clock, 0, (100 + i) * S, 1 * MS, 1 * MS));
    ahead_ns = 20 * (int64_t)S;
    ck_assert(take(&clock, 0, 110 * S, 300 * MS, 200 * MS));
    ck_assert_uint_le(error_of(&clock, 0), 50 * MS);
    ck_assert(!take(&clock, 0, 111 * S, 10 * MS, 10 * MS));
    ck_assert_uint_eq(error_of(&clock, 0), 0);
}
END_TEST

START_TEST(a_slow_answer_contradicts_nothing)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 5 * (int64_t)S;
    take(&clock, 0, 100 * S, 1 * MS, 1 * MS);
    ck_assert(!take(&clock, 0, 101 * S, 0, 4 * S));
    ck_assert(!take(&clock, 0, 102 * S, 4 * S, 0));
    ck_assert_uint_eq(error_of(&clock, 0), 0);
}
END_TEST

START_TEST(clocks_that_run_apart_slowly_are_not_set)
{
    struct uplink_clock clock = {.newest = 0};
    for (unsigned i = 0; i < 40; i++) {
        ahead_ns = (int64_t)(i * 5 * MS); /* 500 in a million of 10 s */
        ck_assert(!take(&clock, 0, (100 + i * 10) * S, 1 * MS, 1 * MS));
    }
    ck_assert_uint_le(error_of(&clock, 0), 8 * 5 * MS);
}
END_TEST

/* A machine that stood still for a minute believes to be a minute earlier than it is. */
START_TEST(a_message_that_was_sent_after_it_came_is_not_believed)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 0;
    take(&clock, 7, 100 * S, 1 * MS, 1 * MS);
    ck_assert(uplink_clock_allows(&clock, 7, 101 * S, 101 * S + MS));
    ck_assert(uplink_clock_allows(&clock, 7, 0, 101 * S)); /* it does not say */
    ck_assert(!uplink_clock_allows(&clock, 7, 161 * S, 101 * S));
    ck_assert(!uplink_clock_allows(&clock, 8, 101 * S, 101 * S + MS));
}
END_TEST

START_TEST(the_last_settings_are_known)
{
    struct uplink_clock clock = {.newest = 0};
    for (uint64_t i = 1; i <= 9; i++) {
        ahead_ns = (int64_t)(i * S);
        take(&clock, i, (100 + i) * S, 0, 0);
    }
    for (uint64_t i = 1; i <= 9; i++)
        ck_assert_int_eq(uplink_clock_of(&clock, i).known, i > 9 - UPLINK_CLOCK_SETTINGS);
    ck_assert_int_eq(uplink_clock_of(&clock, 7).offset_ns, (int64_t)(7 * S));
}
END_TEST

/* Whatever the way takes there and back, and however the clocks run apart within a thousandth, the
 * true offset lies within what is told; and a fair way is told as half of its round trip. */
START_TEST(the_error_bounds_the_true_offset)
{
    uint64_t seed = 88172645463325252u + (uint64_t)_i;
    struct uplink_clock clock = {.newest = 0};
    const int64_t base_ns = _i % 2 == 0 ? 3600 * (int64_t)S : (int64_t)MS; /* told, or put to 0 */
    const int64_t slope = _i % 3 - 1;                                      /* thousandths */
    for (uint64_t i = 0; i < 40; i++) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        uint64_t at_ns = (100 + i * 5) * S;
        ahead_ns = base_ns + slope * (int64_t)(i * 5 * MS);
        take(&clock, 7, at_ns, seed % (50 * MS), (seed >> 32) % (50 * MS));
        struct clock_map map = uplink_clock_newest(&clock);
        for (uint64_t t = 60 * S; t <= 320 * S; t += 20 * S) {
            int64_t truth = base_ns + slope * ((int64_t)t - (int64_t)(100 * S)) / 1000;
            uint64_t off_ns = (uint64_t)llabs(map.offset_ns - truth);
            ck_assert_uint_le(off_ns, clock_map_error(&map, t, t));
            ck_assert_uint_le(clock_map_error(&map, t, t), clock_map_error(&map, t, t + S));
            ck_assert_uint_le(clock_map_error(&map, t, t), clock_map_error(&map, t - S, t));
        }
    }
}
END_TEST

START_TEST(the_error_is_half_of_the_least_round_trip)
{
    struct uplink_clock clock = {.newest = 0};
    ahead_ns = 3600 * (int64_t)S;
    take(&clock, 7, 100 * S, 90 * MS, 10 * MS);
    take(&clock, 7, 101 * S, 3 * MS, 1 * MS);
    struct clock_map map = uplink_clock_of(&clock, 7);
    uint64_t middle_ns = 101 * S + 2 * MS;
    ck_assert_uint_eq(map.measured_ns, middle_ns);
    uint64_t least_ns = clock_map_error(&map, middle_ns, middle_ns);
    ck_assert(least_ns >= 2 * MS && least_ns <= 2 * MS + 2);
    ck_assert_uint_eq(clock_map_error(&map, middle_ns - 10 * S, middle_ns + 3 * S),
                      least_ns + 10 * MS);
    struct clock_map unknown = uplink_clock_of(&clock, 8);
    ck_assert_uint_eq(clock_map_error(&unknown, 0, 1), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_of(
        "uplink_clock", the_shortest_round_trip_counts, what_is_below_its_own_error_is_nothing,
        a_new_number_drops_nothing_of_the_old_one, a_collector_that_began_anew_has_set_no_clock,
        a_sample_that_contradicts_drops_those_before, a_slow_answer_contradicts_nothing,
        clocks_that_run_apart_slowly_are_not_set,
        a_message_that_was_sent_after_it_came_is_not_believed, the_last_settings_are_known,
        the_error_is_half_of_the_least_round_trip, NULL);
    TCase *c = tcase_create("made ways");
    tcase_add_loop_test(c, the_error_bounds_the_true_offset, 0, 60);
    suite_add_tcase(suite, c);
    return suite_run(suite);
}
