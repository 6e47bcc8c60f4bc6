/* SPDX-License-Identifier: Apache-2.0
 * How the room for rings is shared out. */
#include "ring_budget.h"

#include "ring_layout.h"
#include "support.h"

#define MIB UINT64_C(1048576)

START_TEST(a_thousand_processes_that_trace_little_all_get_a_ring)
{
    struct ring_budget budget = {.total = 1024 * MIB};
    for (int i = 0; i < 1024; i++) {
        uint64_t bytes = ring_budget_grant(&budget, 16 * MIB);
        ck_assert_uint_ge(bytes, MIB / 2);
        ck_assert_uint_eq(bytes % 4096, 0);
        if (i < 110)
            ck_assert_uint_eq(bytes, 16 * MIB);
        budget.used += MIB / 8;
        budget.reserved += bytes;
    }
}
END_TEST

/* A ring that is idle has memory, too: what one begins with, and all of a small one. */
START_TEST(a_thousand_idle_processes_all_get_a_ring)
{
    struct ring_budget budget = {.total = 1024 * MIB};
    for (uint64_t i = 0; i < 1024; i++) {
        budget.spare = (1024 - i) * RING_BYTES_MIN;
        uint64_t bytes = ring_budget_grant(&budget, 16 * MIB);
        must_hold(bytes >= RING_BYTES_MIN, "number %u has no ring", (unsigned)i);
        uint64_t start = budget.used < budget.total / 8 ? 5 * MIB / 2 : 3 * MIB / 4;
        budget.used += bytes <= MIB || bytes < start ? bytes : start;
        budget.reserved += bytes;
    }
}
END_TEST

START_TEST(processes_that_fill_their_rings_stay_within_the_bound)
{
    struct ring_budget budget = {.total = 256 * MIB};
    uint64_t bytes;
    while ((bytes = ring_budget_grant(&budget, 16 * MIB)) != 0) {
        budget.used += bytes;
        budget.reserved += bytes;
        ck_assert_uint_le(budget.used, budget.total);
    }
    ck_assert_uint_gt(budget.used, budget.total - RING_BYTES_MIN);
}
END_TEST

START_TEST(a_bound_that_is_passed_leaves_no_room)
{
    const struct ring_budget over = {64 * MIB, 80 * MIB, 90 * MIB, 0};
    ck_assert_uint_eq(ring_budget_grant(&over, MIB), 0);
    const struct ring_budget tiny = {.total = 1000};
    ck_assert_uint_eq(ring_budget_grant(&tiny, MIB), 0);
    const struct ring_budget least = {.total = RING_BYTES_MIN};
    ck_assert_uint_eq(ring_budget_grant(&least, MIB), RING_BYTES_MIN);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("ring_budget", a_thousand_processes_that_trace_little_all_get_a_ring,
                              a_thousand_idle_processes_all_get_a_ring,
                              processes_that_fill_their_rings_stay_within_the_bound,
                              a_bound_that_is_passed_leaves_no_room, NULL));
}
