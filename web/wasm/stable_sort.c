/* SPDX-License-Identifier: Apache-2.0
 *
 * qsort for WebAssembly, in place of the C library's: equal items stay in their order, as with the C
 * library of Debian 12, so that lists with ties are the same in the browser and everywhere else. Any
 * thread; memory for a copy is taken for the length of a call, and without it the same is slower.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int (*compare_fn)(const void *a, const void *b);

/* Item by item, each to its place among those in front. */
static void sort_in_place(uint8_t *items, size_t n, size_t size, compare_fn compare)
{
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && compare(items + (k - 1) * size, items + k * size) > 0; k--)
            for (size_t byte = 0; byte < size; byte++) {
                uint8_t *a = items + (k - 1) * size + byte, *b = a + size, c = *a;
                *a = *b;
                *b = c;
            }
}

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
        sort_in_place(items, n, size, compare);
        return;
    }
    uint8_t *from = items, *to = copy;
    for (size_t width = 1; width<n; width = width> n / 2 ? n : 2 * width) {
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
