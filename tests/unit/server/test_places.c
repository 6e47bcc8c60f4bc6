/* SPDX-License-Identifier: Apache-2.0
 * Places that many share: nobody takes them all, and whoever has none gets one. */
#include "places.h"

#include "support.h"

START_TEST(last_quarter_is_for_those_who_have_none)
{
    struct places *p = places_new(8);
    size_t taken = 0;
    while (places_enter(p, "greedy"))
        taken++;
    ck_assert_uint_eq(taken, 6);
    ck_assert(places_enter(p, "other"));
    ck_assert(!places_enter(p, "other"));
    ck_assert(places_enter(p, "third"));
    ck_assert(!places_enter(p, "fourth"));
    ck_assert(!places_enter(p, ""));
    ck_assert_uint_eq(places_taken(p), 8);
    places_leave(p, "other");
    ck_assert(!places_enter(p, "greedy"));
    ck_assert(places_enter(p, "fourth"));
    for (size_t i = 0; i < taken; i++)
        places_leave(p, "greedy");
    places_leave(p, "third");
    places_leave(p, "fourth");
    ck_assert_uint_eq(places_taken(p), 0);
    places_free(&p);
}
END_TEST

START_TEST(few_places_are_shared_as_well_and_one_is_anybodys)
{
    struct places *p = places_new(2);
    ck_assert(places_enter(p, "a"));
    ck_assert(!places_enter(p, "a"));
    ck_assert(places_enter(p, "b"));
    places_leave(p, "a");
    places_leave(p, "b");
    places_free(&p);
    p = places_new(1);
    ck_assert(places_enter(p, "a"));
    ck_assert(!places_enter(p, "b"));
    places_leave(p, "a");
    ck_assert(places_enter(p, "b"));
    places_leave(p, "b");
    places_free(&p);
    p = places_new(4); /* without tokens everybody is the same */
    for (int i = 0; i < 4; i++)
        ck_assert(places_enter(p, ""));
    ck_assert(!places_enter(p, ""));
    places_free(&p);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("places", last_quarter_is_for_those_who_have_none,
                              few_places_are_shared_as_well_and_one_is_anybodys, NULL));
}
