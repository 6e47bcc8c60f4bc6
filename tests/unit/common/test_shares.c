/* SPDX-License-Identifier: Apache-2.0
 *
 * Shares of a bound. What others find left is counted here, by the calls that were granted.
 */
#include <stdio.h>

#include "alloc_fail.h"
#include "shares.h"
#include "support.h"

#define MINUTE (UINT64_C(60) * 1000000000)
#define NOW    (UINT64_C(100000) * MINUTE)

static uint64_t take_all(struct shares *s, uint32_t user, const char *program, const char *cause,
                         uint64_t bound, uint64_t tries)
{
    const struct share_key key = share_key_of(user, program, cause);
    uint64_t granted = 0;
    for (uint64_t i = 0; i < tries; i++)
        granted += shares_take(s, NOW, &key, 1, bound) == SHARE_GRANTED;
    return granted;
}

START_TEST(a_heavy_user_leaves_room_for_whoever_comes_next)
{
    struct shares s = {0};
    uint64_t heavy = take_all(&s, 65534, "/tmp/flood", "application", 3600, 100000);
    ck_assert_uint_gt(heavy, 3600 / 2); /* alone, it has most of the bound */
    ck_assert_uint_gt(take_all(&s, 0, "/usr/sbin/db", "crash", 3600, 100), 99);
    ck_assert_uint_gt(take_all(&s, 33, "/usr/sbin/web", "slow-rule", 3600, 50), 49);
    shares_fini(&s);
}
END_TEST

/* Copies of a program under other names, and other causes, take nothing from other users. */
START_TEST(many_programs_of_one_user_have_one_users_share)
{
    struct shares s = {0};
    uint64_t heavy = 0;
    for (int i = 0; i < 20000; i++) {
        char program[40];
        snprintf(program, sizeof program, "/tmp/flood-%d", i);
        heavy += take_all(&s, 1000, program, i % 2 != 0 ? "crash" : "application", 3600, 1);
    }
    ck_assert_uint_le(heavy, 3600 - 3600 / 8);
    ck_assert_uint_ge(take_all(&s, 0, "/usr/sbin/db", "crash", 3600, 100), 100);
    ck_assert_uint_le(s.count, SHARE_ROWS_MAX);
    shares_fini(&s);
}
END_TEST

static unsigned take_as(struct shares *s, enum share_rank rank, uint32_t first, unsigned users)
{
    unsigned granted = 0;
    for (uint32_t user = first; user < first + users; user++) {
        const struct share_key key = share_key_of(user, "p", "c");
        granted += shares_take(s, NOW, &key, 1, share_open_to(rank, 160)) == SHARE_GRANTED;
    }
    return granted;
}

/* Each of many users is a newcomer, and let in while there is room: but not into what is kept for
 * rules and root; nor, by what makes rules fire, into what is kept for root. */
START_TEST(many_users_take_nothing_of_what_is_kept)
{
    struct shares s = {0};
    ck_assert_uint_eq(take_as(&s, SHARE_ASKED, 100000, 1000), 140);
    ck_assert_uint_eq(take_as(&s, SHARE_RULED, 200000, 1000), 10);
    const struct share_key root = share_key_of(0, "p", "c");
    ck_assert_int_eq(shares_take(&s, NOW, &root, 1, share_open_to(SHARE_ROOT, 160)), SHARE_GRANTED);
    ck_assert_uint_eq(shares_used(&s, NOW), 151);
    shares_fini(&s);
    for (uint64_t bound = 1; bound < 16; bound++) /* the smallest are open, but for one at most */
        ck_assert_uint_ge(share_open_to(SHARE_ASKED, bound), bound - (bound >= 8));
}
END_TEST

START_TEST(a_heavy_program_leaves_room_for_its_users_others_and_for_other_causes)
{
    struct shares s = {0};
    const struct share_key asks = share_key_of(7, "/bin/a", "application");
    (void)take_all(&s, 7, "/bin/a", "application", 800, 10000);
    ck_assert_int_eq(shares_take(&s, NOW, &asks, 1, 800), SHARE_FULL_CAUSE);
    ck_assert_uint_ge(take_all(&s, 7, "/bin/a", "health-rule", 800, 10), 10);
    (void)take_all(&s, 7, "/bin/a", "health-rule", 800, 10000);
    ck_assert_uint_ge(take_all(&s, 7, "/bin/b", "application", 800, 10), 10);
    shares_fini(&s);
}
END_TEST

START_TEST(those_who_want_everything_end_with_the_same)
{
    struct shares s = {0};
    uint64_t got[4] = {0};
    for (int round = 0; round < 3600; round++)
        for (uint32_t user = 0; user < 4; user++)
            got[user] += take_all(&s, user, "p", "c", 3600, 1);
    for (int user = 1; user < 4; user++) {
        ck_assert_uint_le(got[user], got[0] + 1);
        ck_assert_uint_ge(got[user] + 1, got[0]);
    }
    ck_assert_uint_lt(got[0] * 4, 3600);
    shares_fini(&s);
}
END_TEST

/* The first to come may use up a bound of one; of two, the second comes to another. */
START_TEST(the_smallest_bounds_let_newcomers_in)
{
    for (uint64_t bound = 1; bound < 40; bound++) {
        struct shares s = {0};
        uint64_t heavy = take_all(&s, 1, "p", "c", bound, 100);
        ck_assert_uint_ge(heavy, 1);
        ck_assert_uint_eq(take_all(&s, 2, "p", "c", bound, 1), bound > 1);
        ck_assert_uint_le(shares_used(&s, NOW), bound);
        shares_fini(&s);
    }
    struct shares s = {0};
    ck_assert_uint_eq(take_all(&s, 1, "p", "c", 0, 1), 0);
    shares_fini(&s);
}
END_TEST

START_TEST(use_is_forgotten_after_an_hour)
{
    struct shares s = {0};
    const struct share_key key = share_key_of(1, "p", "c");
    uint64_t before = take_all(&s, 1, "p", "c", 100, 1000);
    ck_assert_int_ne(shares_take(&s, NOW + 54 * MINUTE, &key, 1, 100), SHARE_GRANTED);
    ck_assert_uint_eq(shares_used(&s, NOW + 54 * MINUTE), before);
    ck_assert_int_eq(shares_take(&s, NOW + 61 * MINUTE, &key, 1, 100), SHARE_GRANTED);
    ck_assert_uint_eq(shares_used(&s, NOW + 61 * MINUTE), 1);
    ck_assert_uint_eq(shares_used(&s, NOW + 1000 * MINUTE), 0);
    shares_fini(&s);
}
END_TEST

/* However many come, the table stays as it is, the bound holds, and who used most is not
 * forgotten. */
START_TEST(the_table_is_bounded_and_remembers_the_heaviest)
{
    struct shares s = {0};
    uint64_t heavy = take_all(&s, 1, "p", "c", 100000, 1000000);
    uint64_t granted = heavy;
    for (uint32_t user = 2; user < 3000; user++)
        granted += take_all(&s, user, "p", "c", 100000, 1);
    ck_assert_uint_le(s.count, SHARE_ROWS_MAX);
    ck_assert_uint_eq(granted, heavy + 2998);
    ck_assert_uint_eq(shares_used(&s, NOW), granted);
    ck_assert_uint_eq(take_all(&s, 1, "p", "c", 100000, 1), 0);
    shares_fini(&s);
}
END_TEST

START_TEST(without_memory_the_bound_of_all_still_holds)
{
    struct shares s = {0};
    alloc_fail_from(1);
    uint64_t granted = take_all(&s, 1, "p", "c", 10, 100);
    ck_assert(alloc_fail_end());
    ck_assert_uint_eq(granted, 10);
    shares_fini(&s);
}
END_TEST

START_TEST(who_holds_most_gives_way)
{
    static struct share_tally tally;
    share_tally_add(&tally, 0, 10);
    share_tally_add(&tally, 65534, 60);
    share_tally_add(&tally, 65534, 60);
    ck_assert_uint_eq(share_tally_most(&tally), share_tally_of(&tally, 65534));
    ck_assert_uint_ge(share_tally_of(&tally, 65534), 120);
    share_tally_add(&tally, 0, 200);
    ck_assert_uint_eq(share_tally_most(&tally), share_tally_of(&tally, 0));
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "shares", a_heavy_user_leaves_room_for_whoever_comes_next,
        many_programs_of_one_user_have_one_users_share, many_users_take_nothing_of_what_is_kept,
        a_heavy_program_leaves_room_for_its_users_others_and_for_other_causes,
        those_who_want_everything_end_with_the_same, the_smallest_bounds_let_newcomers_in,
        use_is_forgotten_after_an_hour, the_table_is_bounded_and_remembers_the_heaviest,
        without_memory_the_bound_of_all_still_holds, who_holds_most_gives_way, NULL));
}
