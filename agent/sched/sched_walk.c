/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_walk.h. One lane a CPU, the lanes in a binary heap by their next record's time.
 */
#include "sched_walk.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "clock.h"
#include "skein/status.h"

#define LOOK_EVERY 4096 /* records between looks at the deadline */

struct lane {
    const struct kept_cpu *cpu;
    size_t page; /* the next, from the cpu's head */
    bool open;
    struct page_cursor cursor;
    struct sched_event next;
};

struct lanes {
    struct lane *lanes;
    struct lane **heap; /* the earliest first */
    size_t count;
};

/* ---- gaps ---- */

static int gap_compare(const void *a, const void *b)
{
    const struct sched_gap *x = a, *y = b;
    return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int gaps_find(struct sched_walk *walk, const struct sched_keep *keep)
{
    size_t cap = 0;
    for (uint32_t number = 0; number < keep->count; number++) {
        const struct kept_cpu *cpu = &keep->cpus[number];
        for (size_t i = 0; i < cpu->count; i++) {
            const struct kept_page *page = &cpu->pages[cpu->head + i];
            if (!page->gap || page->gap_from_ns >= walk->until_ns)
                continue;
            if (!array_grow(walk->gaps, walk->gap_count + 1, &cap))
                return SKEIN_NO_MEMORY;
            walk->gaps[walk->gap_count++] = (struct sched_gap){.cpu = number,
                                                               .from_ns = page->gap_from_ns,
                                                               .to_ns = page->first_ns,
                                                               .records = page->gap_records};
        }
    }
    if (walk->gap_count > 0)
        qsort(walk->gaps, walk->gap_count, sizeof *walk->gaps, gap_compare);
    return SKEIN_OK;
}

void sched_walk_fini(struct sched_walk *walk)
{
    free(walk->gaps);
    walk->gaps = NULL;
    walk->gap_count = 0;
}

/* ---- lanes ---- */

/* The lane's next record that is one of ours. False: it has none. */
static bool lane_next(struct lane *lane, const struct sched_layout *layout,
                      const struct page_shape *shape, struct sched_walk *walk)
{
    for (;;) {
        const uint8_t *record;
        size_t n;
        uint64_t time_ns;
        while (lane->open && page_next(&lane->cursor, &time_ns, &record, &n) == 1) {
            if (sched_layout_decode(layout, record, n, &lane->next)) {
                lane->next.time_ns = time_ns;
                return true;
            }
            walk->foreign++;
        }
        lane->open = false;
        if (lane->page >= lane->cpu->count)
            return false;
        const struct kept_page *page = &lane->cpu->pages[lane->cpu->head + lane->page++];
        lane->open = page_open(&lane->cursor, shape, page->bytes, page->n) == SKEIN_OK;
    }
}

static void heap_sink(struct lanes *lanes, size_t i)
{
    struct lane **heap = lanes->heap;
    for (;;) {
        size_t least = i;
        for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < lanes->count; child++)
            if (heap[child]->next.time_ns < heap[least]->next.time_ns)
                least = child;
        if (least == i)
            return;
        struct lane *lane = heap[i];
        heap[i] = heap[least];
        heap[least] = lane;
        i = least;
    }
}

static int lanes_init(struct lanes *lanes, const struct sched_keep *keep,
                      const struct sched_layout *layout, struct sched_walk *walk)
{
    lanes->lanes = calloc(keep->count + 1, sizeof *lanes->lanes);
    lanes->heap = calloc(keep->count + 1, sizeof *lanes->heap);
    if (lanes->lanes == NULL || lanes->heap == NULL)
        return SKEIN_NO_MEMORY;
    for (uint32_t number = 0; number < keep->count; number++) {
        struct lane *lane = &lanes->lanes[number];
        lane->cpu = &keep->cpus[number];
        if (!lane_next(lane, layout, &keep->shape, walk))
            continue;
        lane->next.cpu = number;
        lanes->heap[lanes->count++] = lane;
    }
    for (size_t i = lanes->count / 2; i-- > 0;)
        heap_sink(lanes, i);
    return SKEIN_OK;
}

/* ---- */

/* Gaps that begin before at_ns. */
static void gaps_give(struct sched_walk *walk, size_t *given, uint64_t at_ns,
                      struct sched_timeline *timeline)
{
    while (*given < walk->gap_count && walk->gaps[*given].from_ns < at_ns) {
        const struct sched_gap *gap = &walk->gaps[(*given)++];
        if (gap->to_ns <= walk->known_ns)
            continue;
        sched_timeline_gap(timeline, gap->from_ns, gap->to_ns);
        walk->known_ns = gap->to_ns;
    }
}

static int lanes_walk(struct sched_walk *walk, struct lanes *lanes, const struct sched_keep *keep,
                      const struct sched_layout *layout, struct sched_timeline *timeline)
{
    size_t given = 0;
    uint64_t looked = 0;
    while (lanes->count > 0 && lanes->heap[0]->next.time_ns <= walk->until_ns) {
        struct lane *lane = lanes->heap[0];
        const struct sched_event event = lane->next;
        gaps_give(walk, &given, event.time_ns, timeline);
        if (event.time_ns >= walk->known_ns && sched_timeline_event(timeline, &event) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
        if (++looked % LOOK_EVERY == 0 && clock_monotonic_ns() > walk->deadline_ns) {
            walk->end_ns = event.time_ns;
            return SKEIN_TIMEOUT;
        }
        if (lane_next(lane, layout, &keep->shape, walk))
            lane->next.cpu = (uint32_t)(lane - lanes->lanes);
        else
            lanes->heap[0] = lanes->heap[--lanes->count];
        heap_sink(lanes, 0);
    }
    gaps_give(walk, &given, walk->until_ns, timeline);
    return SKEIN_OK;
}

int sched_walk_run(struct sched_walk *walk, const struct sched_keep *keep,
                   const struct sched_layout *layout, struct sched_timeline *timeline)
{
    struct lanes lanes = {0};
    walk->known_ns = walk->since_ns;
    walk->end_ns = walk->until_ns;
    int status = gaps_find(walk, keep);
    if (status == SKEIN_OK)
        status = lanes_init(&lanes, keep, layout, walk);
    if (status == SKEIN_OK)
        status = lanes_walk(walk, &lanes, keep, layout, timeline);
    sched_timeline_end(timeline, walk->end_ns);
    free(lanes.lanes);
    free(lanes.heap);
    return status;
}
