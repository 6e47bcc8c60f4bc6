/* SPDX-License-Identifier: Apache-2.0
 * When samples begin, and which capture they belong to. */
#include "sampling.h"
#include "support.h"

#define MS UINT64_C(1000000)

static const struct sampling_plan plan = {1000, 1000000};

START_TEST(a_plan_is_whole_slots)
{
    static const struct sampling_plan wrong[] = {{0, 1000},  {1000, 1000}, {300, 1000},
                                                 {1, 10001}, {1000, 0},    {2000, 1000}};
    ck_assert(sampling_plan_valid(&plan));
    ck_assert(sampling_plan_valid(&(struct sampling_plan){1, 10000}));
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        ck_assert_msg(!sampling_plan_valid(&wrong[i]), "%zu", i);
    ck_assert_uint_eq(sampling_slots(&plan), 1000);
}
END_TEST

START_TEST(a_slot_begins_once_a_period_and_lasts_until_the_next_begins)
{
    const uint64_t period = plan.every_ms * MS, day = period * 86400;
    ck_assert_uint_eq(sampling_next_ns(&plan, 0, day), day);
    ck_assert_uint_eq(sampling_next_ns(&plan, 0, day + 1), day + period);
    ck_assert_uint_eq(sampling_next_ns(&plan, 999, day + 1), day + 999000 * MS);
    for (uint32_t slot = 0; slot < 1000; slot += 37) {
        uint64_t begin = sampling_next_ns(&plan, slot, day + 5000 * MS);
        ck_assert_uint_ge(begin, day + 5000 * MS);
        ck_assert_uint_lt(begin, day + 5000 * MS + period);
        ck_assert_uint_eq(sampling_slot_at(&plan, begin), slot);
        ck_assert_uint_eq(sampling_slot_at(&plan, begin + 999 * MS), slot);
        ck_assert_uint_ne(sampling_slot_at(&plan, begin + 1000 * MS), slot);
        ck_assert_uint_eq(sampling_next_ns(&plan, slot, begin + 1), begin + period);
    }
}
END_TEST

START_TEST(a_begin_of_a_clock_that_was_set_back_is_known_as_such)
{
    const uint64_t hour_ns = UINT64_C(3600000) * MS;
    uint64_t now_ns = UINT64_C(1700000000000) * MS;
    for (uint32_t slot = 0; slot < sampling_slots(&plan); slot++) {
        uint64_t next_ns = sampling_next_ns(&plan, slot, now_ns);
        uint64_t after_ns = sampling_next_ns(&plan, slot, next_ns + 1);
        ck_assert(!sampling_is_astray(&plan, next_ns, now_ns));
        ck_assert(!sampling_is_astray(&plan, after_ns, now_ns));
        ck_assert(!sampling_is_astray(&plan, next_ns, now_ns + hour_ns));
        ck_assert(sampling_is_astray(&plan, next_ns, now_ns - hour_ns));
    }
}
END_TEST

START_TEST(samples_of_one_span_are_one_capture)
{
    const uint64_t minute = 60000 * MS, at = minute * 1000 * 1000;
    struct capture_id a = sampling_capture(&plan, "all", 3, at);
    struct capture_id b = sampling_capture(&plan, "all", 3, at + minute - 1);
    ck_assert(capture_id_equal(&a, &b));
    ck_assert_uint_eq(sampling_span_begin_ns(&a), at);
    b = sampling_capture(&plan, "all", 3, at + minute);
    ck_assert(!capture_id_equal(&a, &b));
    b = sampling_capture(&plan, "all", 4, at);
    ck_assert(!capture_id_equal(&a, &b));
    b = sampling_capture(&plan, "al", 3, at);
    ck_assert(!capture_id_equal(&a, &b));
    /* A period that is shorter is the span: no process is twice in a capture. */
    const struct sampling_plan fast = {100, 2000};
    a = sampling_capture(&fast, "all", 3, at + 1999 * MS);
    ck_assert_uint_eq(sampling_span_begin_ns(&a), at);
    b = sampling_capture(&fast, "all", 3, at + 2000 * MS);
    ck_assert(!capture_id_equal(&a, &b));
}
END_TEST

/* 250 hosts with 40 processes each. */
START_TEST(a_fleet_spreads_over_the_slots_and_so_does_each_host)
{
    enum { HOSTS = 250, ON_A_HOST = 40, SLOTS = 1000 };
    unsigned on[SLOTS] = {0}, fullest = 0, together = 0;
    double squares = 0;
    for (uint64_t host = 1; host <= HOSTS; host++) {
        unsigned of_host[SLOTS] = {0};
        for (uint32_t pid = 1; pid <= ON_A_HOST; pid++) {
            struct process_uid uid = process_uid_make(host, "boot", pid, 5);
            uint32_t slot = sampling_slot_of(&plan, &uid);
            ck_assert_uint_lt(slot, SLOTS);
            on[slot]++;
            together = ++of_host[slot] > together ? of_host[slot] : together;
        }
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        fullest = on[i] > fullest ? on[i] : fullest;
        squares += ((double)on[i] - 10) * ((double)on[i] - 10);
    }
    ck_assert_double_lt(squares / SLOTS, 11); /* as chance has it: 10 */
    ck_assert_uint_le(fullest, 25);
    ck_assert_uint_le(together, 4);
}
END_TEST

START_TEST(capture_ids_sort_by_time)
{
    struct capture_id early = sampling_capture(&plan, "all", 1, UINT64_C(1700000000000) * MS);
    ck_assert_uint_eq(early.bytes[0], 1); /* as 6 bytes of milliseconds begin */
    ck_assert_uint_eq(early.bytes[1], 0x8b);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("sampling", a_plan_is_whole_slots,
                              a_slot_begins_once_a_period_and_lasts_until_the_next_begins,
                              a_begin_of_a_clock_that_was_set_back_is_known_as_such,
                              a_fleet_spreads_over_the_slots_and_so_does_each_host,
                              samples_of_one_span_are_one_capture, capture_ids_sort_by_time, NULL));
}
