/* SPDX-License-Identifier: Apache-2.0
 *
 * Quantiles of a histogram beside those of all durations sorted; merging; bytes.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "alloc_fail.h"
#include "histogram.h"
#include "support.h"

#define COUNT 20000

static uint64_t random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static int values_compare(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void add(struct histogram *h, uint64_t dur_ns, uint64_t time_ns)
{
    struct histogram_example example = {time_ns, dur_ns, 1, 2};
    ck_assert_int_eq(histogram_add(h, &example), SKEIN_OK);
}

START_TEST(each_duration_lies_in_its_level_and_levels_touch)
{
    uint64_t state = 88172645463325252u;
    must_hold(histogram_level(UINT64_MAX) == HISTOGRAM_LEVELS - 1, "last");
    must_hold(histogram_level_to(HISTOGRAM_LEVELS - 1) == UINT64_MAX, "end");
    for (unsigned level = 0; level + 1 < HISTOGRAM_LEVELS; level++) {
        uint64_t from = histogram_level_from(level), to = histogram_level_to(level);
        must_hold(histogram_level(from) == level && histogram_level(to - 1) == level &&
                      histogram_level(to) == level + 1,
                  "level %u", level);
    }
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t v = random_next(&state) >> (i % 64);
        unsigned level = histogram_level(v);
        must_hold(histogram_level_from(level) <= v &&
                      (v < histogram_level_to(level) || v == UINT64_MAX),
                  "%u", level);
    }
}
END_TEST

START_TEST(quantiles_are_within_the_promised_error_of_the_exact_ones)
{
    static const double shares[] = {0, .001, .25, .5, .9, .99, .999, 1};
    uint64_t *values = calloc(COUNT, sizeof *values), state = 42;
    for (unsigned shift = 4; shift < 64; shift += 7) {
        struct histogram h = {0};
        for (size_t i = 0; i < COUNT; i++) {
            values[i] = random_next(&state) >> (shift + random_next(&state) % 8) % 64;
            add(&h, values[i], i);
        }
        qsort(values, COUNT, sizeof *values, values_compare);
        for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
            double rank = ceil(shares[i] * COUNT);
            uint64_t exact = values[rank < 1 ? 0 : (size_t)rank - 1];
            uint64_t told = histogram_quantile(&h, shares[i]);
            double error = told > exact ? (double)(told - exact) : (double)(exact - told);
            ck_assert_msg(error <= (double)exact * HISTOGRAM_ERROR, "%g of %u: %g for %g",
                          shares[i], shift, (double)told, (double)exact);
        }
        ck_assert(h.min_ns == values[0] && h.max_ns == values[COUNT - 1] && h.count == COUNT);
        ck_assert_uint_eq(histogram_quantile(&h, 1), h.max_ns);
        histogram_fini(&h);
    }
    free(values);
}
END_TEST

static void bytes_of(const struct histogram *h, struct buf *out)
{
    buf_clear(out);
    histogram_bytes_put(h, out);
    ck_assert_int_eq(out->status, SKEIN_OK);
}

START_TEST(parts_merged_in_any_order_are_the_whole)
{
    struct histogram whole = {0}, parts[3] = {{0}}, one = {0}, other = {0};
    struct buf a = {0}, b = {0};
    uint64_t state = 7;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t v = random_next(&state) >> (random_next(&state) % 60);
        add(&whole, v, i / 3);
        add(&parts[random_next(&state) % 3], v, i / 3);
    }
    for (size_t i = 0; i < 3; i++) {
        ck_assert_int_eq(histogram_merge(&one, &parts[i]), SKEIN_OK);
        ck_assert_int_eq(histogram_merge(&other, &parts[2 - i]), SKEIN_OK);
    }
    bytes_of(&whole, &a);
    bytes_of(&one, &b);
    ck_assert(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    bytes_of(&other, &b);
    ck_assert(a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
    for (size_t i = 0; i < 3; i++)
        histogram_fini(&parts[i]);
    histogram_fini(&whole);
    histogram_fini(&one);
    histogram_fini(&other);
    buf_fini(&a);
    buf_fini(&b);
}
END_TEST

START_TEST(examples_are_the_longest_and_some_of_each_power_of_two_below)
{
    struct histogram h = {0};
    for (uint64_t v = 1; v < 4096; v++)
        add(&h, v, v);
    bool longest = false;
    size_t there = 0;
    for (size_t i = 0; i < HISTOGRAM_EXAMPLES; i++) {
        const struct histogram_example *e = &h.examples[i];
        longest |= e->dur_ns == 4095;
        there += e->dur_ns > 0;
        ck_assert_uint_eq(e->dur_ns, e->time_ns);
        ck_assert_uint_eq(e->dur_ns & (e->dur_ns + 1), 0); /* the last of its power of two */
    }
    ck_assert(longest && there == HISTOGRAM_EXAMPLES);
    histogram_fini(&h);
}
END_TEST

START_TEST(bytes_come_back_and_none_that_are_cut_or_lie_are_taken)
{
    struct histogram h = {0}, back;
    struct buf bytes = {0}, again = {0};
    struct cursor c;
    for (uint64_t v = 3; v < UINT64_C(1) << 50; v = v * 5 + 1)
        add(&h, v, v + 9);
    bytes_of(&h, &bytes);
    for (size_t n = 0; n <= bytes.len; n++) {
        cursor_init(&c, bytes.data, n);
        int status = histogram_bytes_get(&c, &back);
        ck_assert_int_eq(status == SKEIN_OK, n == bytes.len);
        if (status != SKEIN_OK)
            ck_assert_ptr_null(back.counts);
    }
    bytes_of(&back, &again);
    ck_assert(bytes.len == again.len && memcmp(bytes.data, again.data, bytes.len) == 0);
    histogram_fini(&back);
    /* the number of a level beyond the longest */
    static const uint8_t lies[] = {2, 20, 3, 4, 3, 1, 9, 1, 0};
    cursor_init(&c, lies, sizeof lies);
    ck_assert_int_eq(histogram_bytes_get(&c, &back), SKEIN_CORRUPT);
    histogram_fini(&h);
    buf_fini(&bytes);
    buf_fini(&again);
}
END_TEST

START_TEST(without_memory_a_histogram_stays_as_it_was)
{
    struct histogram h = {0}, more = {0};
    add(&h, 100, 1);
    add(&more, 100000, 2);
    struct histogram_example example = {3, UINT64_C(1) << 40, 1, 1};
    alloc_fail_at(1);
    ck_assert_int_eq(histogram_add(&h, &example), SKEIN_NO_MEMORY);
    alloc_fail_at(1);
    ck_assert_int_eq(histogram_merge(&h, &more), SKEIN_NO_MEMORY);
    ck_assert(alloc_fail_end());
    ck_assert(h.count == 1 && h.max_ns == 100 && histogram_quantile(&h, .5) == 100);
    histogram_fini(&h);
    histogram_fini(&more);
}
END_TEST

int main(void)
{
    return suite_run(suite_of("histogram", each_duration_lies_in_its_level_and_levels_touch,
                              quantiles_are_within_the_promised_error_of_the_exact_ones,
                              parts_merged_in_any_order_are_the_whole,
                              examples_are_the_longest_and_some_of_each_power_of_two_below,
                              bytes_come_back_and_none_that_are_cut_or_lie_are_taken,
                              without_memory_a_histogram_stays_as_it_was, NULL));
}
