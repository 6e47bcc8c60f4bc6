/* SPDX-License-Identifier: Apache-2.0
 *
 * See histogram.h. Levels below 16 are one nanosecond each; level 16 * (e - 3) + s begins at
 * (16 + s) << (e - 4), e being the place of the duration's highest bit.
 */
#include "histogram.h"

#include <stdlib.h>
#include <string.h>

#define STEP_BITS 4u

void histogram_fini(struct histogram *h)
{
    free(h->counts);
    *h = (struct histogram){0};
}

unsigned histogram_level(uint64_t dur_ns)
{
    if (dur_ns < HISTOGRAM_STEPS)
        return (unsigned)dur_ns;
    unsigned shift = 63u - (unsigned)__builtin_clzll(dur_ns) - STEP_BITS;
    return (shift << STEP_BITS) + (unsigned)(dur_ns >> shift);
}

uint64_t histogram_level_from(unsigned level)
{
    if (level < HISTOGRAM_STEPS)
        return level;
    unsigned shift = (level >> STEP_BITS) - 1;
    return (uint64_t)(HISTOGRAM_STEPS + level % HISTOGRAM_STEPS) << shift;
}

uint64_t histogram_level_to(unsigned level)
{
    return level + 1 < HISTOGRAM_LEVELS ? histogram_level_from(level + 1) : UINT64_MAX;
}

/* Room for the octaves from `from` to `to`, both included. */
static bool octaves_cover(struct histogram *h, uint32_t from, uint32_t to)
{
    if (h->octaves > 0) {
        from = h->octave < from ? h->octave : from;
        to = h->octave + h->octaves - 1 > to ? h->octave + h->octaves - 1 : to;
    }
    uint32_t need = to - from + 1;
    if (need == h->octaves)
        return true;
    uint64_t *counts = calloc((size_t)need * HISTOGRAM_STEPS, sizeof *counts);
    if (counts == NULL)
        return false;
    if (h->octaves > 0)
        memcpy(counts + (size_t)(h->octave - from) * HISTOGRAM_STEPS, h->counts,
               (size_t)h->octaves * HISTOGRAM_STEPS * sizeof *counts);
    free(h->counts);
    h->counts = counts;
    h->octave = from;
    h->octaves = need;
    return true;
}

/* The longer one; of two that are as long the earlier one, then by their threads. */
static void example_take(struct histogram *h, const struct histogram_example *example)
{
    unsigned octave = histogram_level(example->dur_ns) / HISTOGRAM_STEPS;
    struct histogram_example *had = &h->examples[octave % HISTOGRAM_EXAMPLES];
    if (example->dur_ns < had->dur_ns)
        return;
    bool same = example->dur_ns == had->dur_ns;
    if (same && example->time_ns > had->time_ns)
        return;
    same = same && example->time_ns == had->time_ns;
    if (same && (example->pid > had->pid || (example->pid == had->pid && example->tid > had->tid)))
        return;
    *had = *example;
}

static uint64_t sum_bounded(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

int histogram_add(struct histogram *h, const struct histogram_example *example)
{
    uint64_t dur_ns = example->dur_ns;
    unsigned level = histogram_level(dur_ns), octave = level / HISTOGRAM_STEPS;
    if (octave - h->octave >= h->octaves && !octaves_cover(h, octave, octave))
        return SKEIN_NO_MEMORY;
    h->counts[level - h->octave * HISTOGRAM_STEPS]++;
    h->min_ns = h->count == 0 || dur_ns < h->min_ns ? dur_ns : h->min_ns;
    h->max_ns = dur_ns > h->max_ns ? dur_ns : h->max_ns;
    h->count++;
    h->sum_ns = sum_bounded(h->sum_ns, dur_ns);
    if (dur_ns > 0)
        example_take(h, example);
    return SKEIN_OK;
}

int histogram_merge(struct histogram *h, const struct histogram *from)
{
    if (from->count == 0)
        return SKEIN_OK;
    if (!octaves_cover(h, from->octave, from->octave + from->octaves - 1))
        return SKEIN_NO_MEMORY;
    uint64_t *counts = h->counts + (size_t)(from->octave - h->octave) * HISTOGRAM_STEPS;
    for (size_t i = 0; i < (size_t)from->octaves * HISTOGRAM_STEPS; i++)
        counts[i] = sum_bounded(counts[i], from->counts[i]);
    h->min_ns = h->count == 0 || from->min_ns < h->min_ns ? from->min_ns : h->min_ns;
    h->max_ns = from->max_ns > h->max_ns ? from->max_ns : h->max_ns;
    h->count = sum_bounded(h->count, from->count);
    h->sum_ns = sum_bounded(h->sum_ns, from->sum_ns);
    for (size_t i = 0; i < HISTOGRAM_EXAMPLES; i++)
        if (from->examples[i].dur_ns > 0)
            example_take(h, &from->examples[i]);
    return SKEIN_OK;
}

uint64_t histogram_count(const struct histogram *h, unsigned level)
{
    unsigned first = h->octave * HISTOGRAM_STEPS;
    return level >= first && level - first < h->octaves * HISTOGRAM_STEPS ? h->counts[level - first]
                                                                          : 0;
}

uint64_t histogram_quantile(const struct histogram *h, double share)
{
    double wanted = share * (double)h->count;
    uint64_t rank = wanted <= 1 ? 1 : wanted >= (double)h->count ? h->count : (uint64_t)wanted;
    rank += rank < h->count && (double)rank < wanted;
    uint64_t seen = 0;
    if (rank == h->count)
        return h->max_ns;
    for (unsigned i = 0; i < h->octaves * HISTOGRAM_STEPS; i++) {
        seen = sum_bounded(seen, h->counts[i]);
        if (seen < rank || h->counts[i] == 0)
            continue;
        unsigned level = i + h->octave * HISTOGRAM_STEPS;
        uint64_t from = histogram_level_from(level), last = histogram_level_to(level) - 1;
        uint64_t middle = from + (last - from) / 2;
        middle = middle < h->min_ns ? h->min_ns : middle;
        return middle > h->max_ns ? h->max_ns : middle;
    }
    return h->max_ns;
}

/* ---- bytes ---- */

void histogram_bytes_put(const struct histogram *h, struct buf *out)
{
    unsigned levels = 0, examples = 0, before = 0;
    for (unsigned i = 0; i < h->octaves * HISTOGRAM_STEPS; i++)
        levels += h->counts[i] > 0;
    for (size_t i = 0; i < HISTOGRAM_EXAMPLES; i++)
        examples += h->examples[i].dur_ns > 0;
    buf_put_uleb(out, levels);
    if (levels == 0)
        return;
    buf_put_uleb(out, h->sum_ns);
    buf_put_uleb(out, h->min_ns);
    buf_put_uleb(out, h->max_ns);
    for (unsigned i = 0; i < h->octaves * HISTOGRAM_STEPS; i++) {
        if (h->counts[i] == 0)
            continue;
        unsigned level = i + h->octave * HISTOGRAM_STEPS;
        buf_put_uleb(out, level - before);
        buf_put_uleb(out, h->counts[i]);
        before = level;
    }
    buf_put_uleb(out, examples);
    for (size_t i = 0; i < HISTOGRAM_EXAMPLES; i++) {
        const struct histogram_example *example = &h->examples[i];
        if (example->dur_ns == 0)
            continue;
        buf_put_uleb(out, example->time_ns);
        buf_put_uleb(out, example->dur_ns);
        buf_put_uleb(out, example->pid);
        buf_put_uleb(out, example->tid);
    }
}

/* The levels, each behind the one before; what they hold agrees with the least and the longest. */
static int levels_get(struct cursor *from, struct histogram *h, uint64_t levels)
{
    uint64_t level = 0;
    for (uint64_t i = 0; i < levels; i++) {
        uint64_t step = cursor_uleb(from), count = cursor_uleb(from);
        if (from->status != SKEIN_OK)
            return from->status;
        if (step >= HISTOGRAM_LEVELS - level || (step == 0 && i > 0) || count == 0)
            return cursor_fail(from, SKEIN_CORRUPT);
        level += step;
        bool first = i == 0, last = i + 1 == levels;
        if ((first && level != histogram_level(h->min_ns)) ||
            (last && level != histogram_level(h->max_ns)) || level > histogram_level(h->max_ns) ||
            count > UINT64_MAX - h->count)
            return cursor_fail(from, SKEIN_CORRUPT);
        h->counts[level - h->octave * HISTOGRAM_STEPS] = count;
        h->count += count;
    }
    return SKEIN_OK;
}

static int examples_get(struct cursor *from, struct histogram *h)
{
    uint64_t examples = cursor_uleb(from);
    if (examples > HISTOGRAM_EXAMPLES)
        return cursor_fail(from, SKEIN_CORRUPT);
    for (uint64_t i = 0; i < examples; i++) {
        uint64_t time_ns = cursor_uleb(from), dur_ns = cursor_uleb(from);
        uint64_t pid = cursor_uleb(from), tid = cursor_uleb(from);
        struct histogram_example example = {.time_ns = time_ns, .dur_ns = dur_ns};
        if (from->status == SKEIN_OK &&
            (example.dur_ns < h->min_ns || example.dur_ns > h->max_ns || example.dur_ns == 0 ||
             pid > UINT32_MAX || tid > UINT32_MAX))
            cursor_fail(from, SKEIN_CORRUPT);
        if (from->status != SKEIN_OK)
            return from->status;
        example.pid = (uint32_t)pid;
        example.tid = (uint32_t)tid;
        example_take(h, &example);
    }
    return SKEIN_OK;
}

int histogram_bytes_get(struct cursor *from, struct histogram *h)
{
    *h = (struct histogram){0};
    uint64_t levels = cursor_uleb(from);
    if (levels > HISTOGRAM_LEVELS)
        return cursor_fail(from, SKEIN_CORRUPT);
    if (levels == 0)
        return from->status;
    h->sum_ns = cursor_uleb(from);
    h->min_ns = cursor_uleb(from);
    h->max_ns = cursor_uleb(from);
    if (from->status == SKEIN_OK && h->min_ns > h->max_ns)
        cursor_fail(from, SKEIN_CORRUPT);
    if (from->status == SKEIN_OK && !octaves_cover(h, histogram_level(h->min_ns) / HISTOGRAM_STEPS,
                                                   histogram_level(h->max_ns) / HISTOGRAM_STEPS))
        cursor_fail(from, SKEIN_NO_MEMORY);
    if (from->status == SKEIN_OK && levels_get(from, h, levels) == SKEIN_OK)
        (void)examples_get(from, h);
    if (from->status != SKEIN_OK)
        histogram_fini(h);
    return from->status;
}
