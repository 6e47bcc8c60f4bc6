/* SPDX-License-Identifier: Apache-2.0
 *
 * Merges sorted runs two by two, until there is one. Which of two items comes first is as good as
 * chance where threads work side by side, so that no branch depends on it. Owns the room for items.
 * No state beyond it; any thread.
 */
#include <stdlib.h>
#include <string.h>

#include "ahead_rows.h"
#include "array.h"

void ahead_runs_fini(struct ahead_runs *runs)
{
    free(runs->items);
    free(runs->spare);
    free(runs->ends);
    *runs = (struct ahead_runs){0};
}

bool ahead_runs_begin(struct ahead_runs *runs, size_t count, size_t items)
{
    runs->count = 0;
    return array_grow(runs->items, items, &runs->cap) &&
           (count < 2 || array_grow(runs->spare, items, &runs->spare_cap)) &&
           array_grow(runs->ends, count, &runs->ends_cap);
}

static inline size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* a up to b, b up to end, from both of their ends at a time: neither waits for the other. */
static void two_merge(const struct ahead_item *a, const struct ahead_item *b,
                      const struct ahead_item *end, struct ahead_item *to)
{
    const struct ahead_item *a_end = b;
    struct ahead_item *to_end = to + (end - a);
    for (size_t n; (n = least((size_t)(a_end - a), (size_t)(end - b)) / 2) >= 4;)
        for (; n > 0; n--) {
            size_t second = b->at < a->at, first = end[-1].at < a_end[-1].at;
            *to++ = *(second ? b : a);
            *--to_end = *((first ? a_end : end) - 1);
            b += second;
            a += 1 - second;
            a_end -= first;
            end -= 1 - first;
        }
    while (a < a_end && b < end) {
        size_t second = b->at < a->at;
        *to++ = *(second ? b : a);
        b += second;
        a += 1 - second;
    }
    memcpy(to, a, (size_t)(a_end - a) * sizeof *a);
    memcpy(to + (a_end - a), b, (size_t)(end - b) * sizeof *b);
}

void ahead_runs_merge(struct ahead_runs *runs)
{
    while (runs->count > 1) {
        struct ahead_item *from = runs->items, *to = runs->spare;
        size_t merged = 0, begin = 0, cap = runs->cap;
        for (size_t i = 0; i < runs->count; i += 2) {
            size_t middle = runs->ends[i];
            size_t end = i + 1 < runs->count ? runs->ends[i + 1] : middle;
            two_merge(from + begin, from + middle, from + end, to + begin);
            runs->ends[merged++] = (uint32_t)end;
            begin = end;
        }
        runs->count = merged;
        runs->items = to;
        runs->spare = from;
        runs->cap = runs->spare_cap;
        runs->spare_cap = cap;
    }
}
