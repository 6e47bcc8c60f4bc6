/* SPDX-License-Identifier: Apache-2.0 */
#include "host_page.h"

#include <sys/mman.h>

#include "support.h"

START_TEST(a_switch_is_seen_by_who_maps_the_page)
{
    struct host_page_owner *owner = NULL;
    ck_assert_int_eq(host_page_new(UINT64_C(3) << 32, &owner), SKEIN_OK);
    const struct host_page *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, host_page_fd(owner), 0);
    ck_assert_ptr_ne(page, MAP_FAILED);
    ck_assert_uint_eq(page->magic, HOST_PAGE_MAGIC);
    ck_assert_uint_eq(host_page_switch(owner), UINT64_C(3) << 32);
    ck_assert_uint_eq(page->generation, (UINT64_C(3) << 32) + 1);
    ck_assert_uint_eq(page->clock, host_page_clock(owner));
    ck_assert_uint_gt(page->ticks_per_s, 1000000); /* a tick is some 64 ns */
    ck_assert_uint_lt(page->ticks_per_s, 100000000);
    host_page_free(&owner);
}
END_TEST

START_TEST(snapshots_convert_both_ways_also_outside_of_them)
{
    const struct clock_snapshot a = {1000, 64000, 64000, 1000000000};
    const struct clock_snapshot b = {2000, 128000, 128000, 1000064000};
    ck_assert_uint_eq(clock_snapshot_realtime(&a, &b, 1500), 1000032000);
    ck_assert_uint_eq(clock_snapshot_realtime(&a, &b, 500), 999968000);
    ck_assert_uint_eq(clock_snapshot_realtime(&a, &b, 3000), 1000128000);
    ck_assert_uint_eq(clock_snapshot_ticks(&a, &b, 1000032000), 1500);
    ck_assert_uint_eq(clock_snapshot_ticks(&a, &b, 1000128000), 3000);
    ck_assert_uint_eq(clock_snapshot_ticks(&a, &b, 0), 0); /* long before: clipped */
    ck_assert_uint_gt(clock_snapshot_ticks(&a, &b, UINT64_MAX), 3000);
}
END_TEST

START_TEST(a_realtime_clock_that_was_set_moves_nothing_recent)
{
    const struct clock_snapshot a = {1000, 64000, 64000, 5000000000};
    const struct clock_snapshot b = {2000, 128000, 128000, 1000064000}; /* set back by 4 s */
    ck_assert_uint_eq(clock_snapshot_realtime(&a, &b, 1500), 1000032000);
}
END_TEST

START_TEST(the_clock_of_a_snapshot_moves_forward)
{
    struct host_page_owner *owner = NULL;
    ck_assert_int_eq(host_page_new(1, &owner), SKEIN_OK);
    struct clock_snapshot first, before, after;
    host_page_first(owner, &first);
    host_page_snapshot(owner, &before);
    host_page_snapshot(owner, &after);
    ck_assert_uint_le(first.ticks, before.ticks);
    ck_assert_uint_le(before.ticks, after.ticks);
    ck_assert_uint_le(before.monotonic_ns, after.monotonic_ns);
    host_page_free(&owner);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("host_page", a_switch_is_seen_by_who_maps_the_page,
                              snapshots_convert_both_ways_also_outside_of_them,
                              a_realtime_clock_that_was_set_moves_nothing_recent,
                              the_clock_of_a_snapshot_moves_forward, NULL));
}
