/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the times of all regions, and keeps the N greatest lengths, in a heap with the least at its
 * root: what is shorter is left out where it is decoded. Owns the greatest length of each partition.
 * One thread.
 */
#include "longest_places.h"

#include <stdlib.h>

#include "array.h"

struct longest_places {
    const struct trace_entry *first; /* of the file */
    size_t count;
    uint64_t *longest; /* of each partition, + 1; 0: there is none */
    uint64_t least_ns; /* that can still be among the longest */
    uint64_t wanted;
    uint64_t *heap;
    size_t kept, room;
};

void longest_places_free(struct longest_places **places)
{
    struct longest_places *p = *places;
    *places = NULL;
    if (p == NULL)
        return;
    free(p->longest);
    free(p->heap);
    free(p);
}

static void heap_sink(uint64_t *heap, size_t count, uint64_t value)
{
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < count; i = child) {
        child += child + 1 < count && heap[child + 1] < heap[child];
        if (heap[child] >= value)
            break;
        heap[i] = heap[child];
    }
    heap[i] = value;
}

/* false: no memory. */
static bool length_note(struct longest_places *p, uint64_t ns)
{
    if (p->kept == p->wanted) {
        if (ns > p->heap[0])
            heap_sink(p->heap, p->kept, ns);
    } else {
        if (!array_grow(p->heap, p->kept + 1, &p->room))
            return false;
        size_t i = p->kept++;
        for (; i > 0 && p->heap[(i - 1) / 2] > ns; i = (i - 1) / 2)
            p->heap[i] = p->heap[(i - 1) / 2];
        p->heap[i] = ns;
    }
    if (p->kept == p->wanted && p->heap[0] > p->least_ns)
        p->least_ns = p->heap[0];
    return true;
}

static bool batch_note(struct longest_places *p, const struct skein_cursor *cursor,
                       const struct skein_batch *batch)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        uint64_t ns = batch->dur_ns[i];
        if (ns < p->least_ns)
            continue;
        size_t at = (size_t)(trace_cursor_entry(cursor, i) - p->first);
        if (ns >= p->longest[at])
            p->longest[at] = ns < UINT64_MAX ? ns + 1 : ns;
        if (!length_note(p, ns))
            return false;
    }
    return true;
}

static bool is_broken(const struct skein_cursor *cursor)
{
    const struct skein_gap *gaps;
    size_t count = skein_cursor_gaps(cursor, &gaps);
    for (size_t i = 0; i < count; i++)
        if (gaps[i].reason == SKEIN_GAP_BROKEN)
            return true;
    return false;
}

int longest_places_find(struct skein_trace *trace, const struct skein_query *query, uint64_t wanted,
                        uint64_t least_ns, struct longest_places **out)
{
    struct skein_query times = *query;
    struct skein_cursor *cursor = NULL;
    struct skein_batch batch;
    struct longest_places *p = *out = calloc(1, sizeof *p);
    int more = SKEIN_NO_MEMORY;
    if (p == NULL)
        return SKEIN_NO_MEMORY;
    p->first = trace_file_entry(trace_first_file(trace), 0);
    p->count = trace_file_count(trace_first_file(trace));
    p->least_ns = least_ns;
    p->wanted = wanted;
    p->longest = calloc(p->count + 1, sizeof *p->longest);
    times.size = sizeof times;
    times.columns = SKEIN_COLUMN_TIME | SKEIN_COLUMN_STACK; /* by which a row knows its partition */
    times.no_evidence = times.by_process = true;
    if (p->longest != NULL)
        more = trace_cursor_least_new(trace, &times, &p->least_ns, &cursor);
    if (more == SKEIN_OK)
        while ((more = skein_cursor_next(cursor, &batch)) > 0)
            if (!batch_note(p, cursor, &batch)) {
                more = SKEIN_NO_MEMORY;
                break;
            }
    if (more != SKEIN_OK || is_broken(cursor))
        longest_places_free(out);
    skein_cursor_free(&cursor);
    return more;
}

bool longest_places_has(const struct longest_places *places, const struct trace_entry *entry)
{
    size_t at = (size_t)(entry - places->first);
    return at >= places->count || places->longest[at] > places->least_ns;
}
