/* SPDX-License-Identifier: Apache-2.0
 *
 * qsort for WebAssembly, in place of the C library's: equal items stay in their order, as with the C
 * library of Debian 12, so that lists with ties are the same in the browser and everywhere else. Any
 * thread; memory for a copy is taken for the length of a call. Without it the same is slower, by a factor
 * that grows as the logarithm of the items.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*compare_fn)(const void *a, const void *b);

/* ---- without memory: more moves, n log² n in all ---- */

struct sort {
    uint8_t *items;
    size_t size;
    compare_fn compare;
};

static void items_swap(const struct sort *s, size_t one, size_t other)
{
    uint8_t *a = s->items + one * s->size, *b = s->items + other * s->size;
    for (size_t i = 0; i < s->size; i++) {
        uint8_t c = a[i];
        a[i] = b[i];
        b[i] = c;
    }
}

static void items_reverse(const struct sort *s, size_t from, size_t to)
{
    while (from + 1 < to)
        items_swap(s, from++, --to);
}

/* The items from `middle` on come before those in front of it. */
static void items_rotate(const struct sort *s, size_t from, size_t middle, size_t to)
{
    items_reverse(s, from, middle);
    items_reverse(s, middle, to);
    items_reverse(s, from, to);
}

/* How many of the sorted items from `from` to `to` come before the item `pivot`, which lies behind them
 * (equal ones do), or in front of them (equal ones do not). */
static size_t before_count(const struct sort *s, size_t from, size_t to, size_t pivot)
{
    const uint8_t *item = s->items + pivot * s->size;
    bool behind = pivot >= to;
    size_t first = from;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        int order = s->compare(s->items + middle * s->size, item);
        if (order < 0 || (order == 0 && behind))
            from = middle + 1;
        else
            to = middle;
    }
    return from - first;
}

/* Two sorted rows that follow each other: the longer one is cut in half, the other where that half
 * belongs, and what lies between changes places. Calls itself for one of the two parts, which has at most
 * three quarters of the items, and goes on with the other. */
static void neighbours_merge(const struct sort *s, size_t from, size_t middle, size_t to)
{
    while (from < middle && middle < to) {
        size_t left = (middle - from) / 2, right = (to - middle) / 2;
        if (middle - from == 1 && to - middle == 1) {
            if (before_count(s, from, middle, middle) == 0)
                items_swap(s, from, middle);
            return;
        }
        if (middle - from > to - middle)
            right = before_count(s, middle, to, from + left);
        else
            left = before_count(s, from, middle, middle + right);
        items_rotate(s, from + left, middle, middle + right);
        size_t cut = from + left + right;
        neighbours_merge(s, from, from + left, cut);
        from = cut;
        middle += right;
    }
}

static void in_place_sort(uint8_t *items, size_t n, size_t size, compare_fn compare)
{
    const struct sort s = {items, size, compare};
    for (size_t width = 1; n > width; width = n / 2 < width ? n : 2 * width)
        for (size_t at = 0; n - at > width;) {
            size_t end = n - at - width > width ? at + 2 * width : n;
            neighbours_merge(&s, at, at + width, end);
            at = end;
        }
}

/* ---- with memory for a copy ---- */

/* Two rows that follow each other, `left` and `right` items, into `to`. */
static void merge(const uint8_t *from, size_t left, size_t right, uint8_t *to, size_t size,
                  compare_fn compare)
{
    const uint8_t *other = from + left * size;
    while (left > 0 && right > 0) {
        bool first = compare(from, other) <= 0;
        memcpy(to, first ? from : other, size);
        to += size;
        from += first ? size : 0;
        other += first ? 0 : size;
        left -= first;
        right -= !first;
    }
    memcpy(to, left > 0 ? from : other, (left + right) * size);
}

void qsort(void *base, size_t n, size_t size, compare_fn compare)
{
    if (n < 2 || size == 0)
        return;
    uint8_t *items = base, *copy = n <= SIZE_MAX / size ? malloc(n * size) : NULL;
    if (copy == NULL) {
        in_place_sort(items, n, size, compare);
        return;
    }
    uint8_t *from = items, *to = copy;
    for (size_t width = 1; n > width; width = n / 2 < width ? n : 2 * width) {
        for (size_t at = 0; at < n;) {
            size_t left = n - at < width ? n - at : width;
            size_t right = n - at - left < width ? n - at - left : width;
            merge(from + at * size, left, right, to + at * size, size, compare);
            at += left + right;
        }
        uint8_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != items)
        memcpy(items, from, n * size);
    free(copy);
}
