/* SPDX-License-Identifier: Apache-2.0
 * Arrays that grow, and places in sorted ones. */
#include <stdint.h>
#include <stdlib.h>

#include "array.h"
#include "support.h"

START_TEST(an_array_keeps_what_it_has_and_doubles)
{
    uint32_t *numbers = NULL;
    size_t count = 0, cap = 0, moves = 0;
    for (uint32_t i = 0; i < 1000; i++) {
        size_t before = cap;
        ck_assert(array_grow(numbers, count + 1, &cap));
        ck_assert_uint_ge(cap, count + 1);
        moves += cap != before;
        numbers[count++] = i;
    }
    for (uint32_t i = 0; i < 1000; i++)
        ck_assert_uint_eq(numbers[i], i);
    ck_assert_uint_eq(moves, 9); /* 4, 8, … 1024 */
    ck_assert(array_grow(numbers, 5000, &cap));
    ck_assert_uint_eq(cap, 8192);
    ck_assert_uint_eq(numbers[999], 999);
    free(numbers);
}
END_TEST

START_TEST(what_no_memory_can_hold_changes_nothing)
{
    uint64_t *numbers = NULL;
    size_t cap = 0;
    ck_assert(array_grow(numbers, 1, &cap));
    uint64_t *before = numbers;
    size_t had = cap;
    ck_assert(!array_grow(numbers, SIZE_MAX, &cap));
    ck_assert(!array_grow(numbers, SIZE_MAX / 8 + 2, &cap));
    ck_assert_ptr_eq(numbers, before);
    ck_assert_uint_eq(cap, had);
    free(numbers);
}
END_TEST

START_TEST(new_room_is_all_zeros_where_that_is_asked)
{
    uint64_t *numbers = NULL;
    size_t cap = 0;
    for (size_t i = 0; i < 1000; i += 7) {
        ck_assert(array_grow_zero(numbers, i + 1, &cap));
        for (size_t k = 0; k < cap; k++)
            ck_assert_uint_eq(numbers[k], k < i && k % 7 == 0 ? k : 0);
        numbers[i] = i;
    }
    size_t had = cap;
    ck_assert(!array_grow_zero(numbers, SIZE_MAX, &cap));
    ck_assert_uint_eq(cap, had);
    ck_assert_uint_eq(numbers[994], 994);
    free(numbers);
}
END_TEST

START_TEST(the_first_that_is_not_before_is_found)
{
    static const uint64_t sorted[] = {2, 4, 4, 4, 9, 20};
    const size_t n = sizeof sorted / sizeof sorted[0];
    for (size_t count = 0; count <= n; count++)
        for (uint64_t wanted = 0; wanted < 22; wanted++) {
            size_t at, right = 0;
            while (right < count && sorted[right] < wanted)
                right++;
            array_find(at, 0, count, sorted[at] < wanted);
            ck_assert_uint_eq(at, right);
        }
    size_t at;
    array_find(at, 1, 0, sorted[at] < 5); /* nothing to look at */
    ck_assert_uint_eq(at, 1);
}
END_TEST

int main(void)
{
    return suite_run(suite_of(
        "array", an_array_keeps_what_it_has_and_doubles, what_no_memory_can_hold_changes_nothing,
        new_room_is_all_zeros_where_that_is_asked, the_first_that_is_not_before_is_found, NULL));
}
