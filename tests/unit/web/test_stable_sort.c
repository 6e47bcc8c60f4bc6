/* SPDX-License-Identifier: Apache-2.0
 * The browser's qsort: sorted, equal items in their order, with and without memory, and bounded where
 * there is none. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "support.h"

void browser_qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

#define MOST 20000u

/* Of an odd size; `at` is where it stood. */
struct item {
    uint8_t key[3];
    uint8_t at[4];
};
static struct item items[MOST];
static uint64_t compared;
static bool without_memory;

static uint32_t key_of_item(const struct item *item)
{
    return (uint32_t)item->key[0] << 16 | (uint32_t)item->key[1] << 8 | item->key[2];
}

static int key_compare(const void *a, const void *b)
{
    uint32_t left = key_of_item(a), right = key_of_item(b);
    compared++;
    return (left > right) - (left < right);
}

/* kinds of keys: all over, few, equal, rising, falling */
static uint32_t key_made(unsigned kind, uint32_t i, uint32_t n)
{
    static uint32_t seed = 1;
    seed = seed * 1664525u + 1013904223u;
    const uint32_t keys[] = {seed >> 8, seed >> 29, 7, i, n - i};
    return keys[kind] & 0xffffff;
}

static void expect_sorted(unsigned kind, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t key = key_made(kind, i, n);
        items[i] = (struct item){{(uint8_t)(key >> 16), (uint8_t)(key >> 8), (uint8_t)key}, {0}};
        memcpy(items[i].at, &i, sizeof i);
    }
    compared = 0;
    if (without_memory)
        alloc_fail_at(1);
    browser_qsort(items, n, sizeof *items, key_compare);
    ck_assert(!without_memory || alloc_fail_end() == (n > 1));
    uint64_t sum = n > 0 ? items[0].at[0] : 0;
    for (uint32_t i = 1; i < n; i++) {
        uint32_t before, at;
        memcpy(&before, items[i - 1].at, sizeof before);
        memcpy(&at, items[i].at, sizeof at);
        uint32_t left = key_of_item(&items[i - 1]), right = key_of_item(&items[i]);
        must_hold(left < right || (left == right && before < at), "kind %u, item %u of %u", kind, i,
                  n);
        sum += at;
    }
    if (n > 0 && n < 256)
        ck_assert_uint_eq(sum, (uint64_t)n * (n - 1) / 2);
}

static void expect_all(void)
{
    for (unsigned kind = 0; kind < 5; kind++) {
        for (uint32_t n = 0; n < 70; n++)
            expect_sorted(kind, n);
        expect_sorted(kind, MOST);
        double logarithm = log2(MOST);
        ck_assert_msg((double)compared <= MOST * logarithm * logarithm, "kind %u: %llu", kind,
                      (unsigned long long)compared);
    }
}

START_TEST(equal_items_stay_in_their_order)
{
    expect_all();
}
END_TEST

START_TEST(without_memory_it_is_the_same_and_bounded)
{
    without_memory = true;
    expect_all();
}
END_TEST

int main(void)
{
    return suite_run(suite_of("stable_sort", equal_items_stay_in_their_order,
                              without_memory_it_is_the_same_and_bounded, NULL));
}
