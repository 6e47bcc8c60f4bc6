/* SPDX-License-Identifier: Apache-2.0
 *
 * Causal order between the threads of a partition (docs/format.md F-29): a heap of lanes by time,
 * in which a lane whose head must wait for another record sinks below all that need not. Owns the
 * heap and the sorted list of all (resource, number) of the partition. Cost of an event: log of the
 * threads, and for one with sequence arguments the log of their number.
 */
#include <stdlib.h>

#include "array.h"
#include "partition_blocks_int.h"
#include "partition_reader_int.h"

/* ---- heap of lanes ---- */

static bool comes_before(const struct partition_reader *r, uint32_t a, uint32_t b)
{
    const struct lane *x = &r->lanes[a], *y = &r->lanes[b];
    if (x->blocked != y->blocked)
        return !x->blocked;
    return x->key != y->key ? x->key < y->key : a < b;
}

static void heap_set(struct partition_reader *r, size_t at, uint32_t lane)
{
    r->heap[at] = lane;
    r->lanes[lane].heap_at = (uint32_t)at;
}

static void heap_up(struct partition_reader *r, size_t at)
{
    uint32_t lane = r->heap[at];
    while (at > 0 && comes_before(r, lane, r->heap[(at - 1) / 2])) {
        heap_set(r, at, r->heap[(at - 1) / 2]);
        at = (at - 1) / 2;
    }
    heap_set(r, at, lane);
}

static void heap_down(struct partition_reader *r, size_t at)
{
    uint32_t lane = r->heap[at];
    for (;;) {
        size_t child = at * 2 + 1;
        if (child >= r->heap_count)
            break;
        if (child + 1 < r->heap_count && comes_before(r, r->heap[child + 1], r->heap[child]))
            child++;
        if (!comes_before(r, r->heap[child], lane))
            break;
        heap_set(r, at, r->heap[child]);
        at = child;
    }
    heap_set(r, at, lane);
}

/* ---- sequences ---- */

static int entry_order(const void *a, const void *b)
{
    const struct sequence_entry *x = a, *y = b;
    if (x->resource != y->resource)
        return x->resource < y->resource ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

static struct sequence_resource *resource_find(const struct partition_reader *r, uint64_t resource)
{
    size_t at;
    array_find(at, 0, r->resource_count, r->resources[at].resource < resource);
    return &r->resources[at]; /* every resource of a record is listed */
}

/* The first entry of the resource from its next on whose number is at least this. */
static size_t entry_find(const struct partition_reader *r, const struct sequence_resource *resource,
                         uint64_t number)
{
    size_t at;
    array_find(at, resource->at, resource->end, r->entries[at].number < number);
    return at;
}

static bool has_sequences(const struct partition_reader *r, const struct lane *lane)
{
    return r->entry_count > 0 && lane->head == LANE_RECORD && lane->code != 0 &&
           r->type_facts[lane->types[lane->code - 1].type].sequences > 0;
}

/* Whether the head of the lane must wait; if so it is noted where its turn will come. */
static bool lane_waits(struct partition_reader *r, struct lane *lane)
{
    if (!has_sequences(r, lane))
        return false;
    const struct partition_event_type *type = lane_type(r, lane);
    for (unsigned i = 0; i < type->nargs; i++) {
        if (type->args[i].type != SKEIN_T_SEQ)
            continue;
        const struct sequence_resource *resource = resource_find(r, lane->args[i].seq.resource);
        if (resource->at == resource->end ||
            r->entries[resource->at].number >= lane->args[i].seq.number)
            continue;
        lane->waits_at = entry_find(r, resource, lane->args[i].seq.number);
        lane->waits_next = r->entries[lane->waits_at].waiting;
        r->entries[lane->waits_at].waiting = (uint32_t)(lane - r->lanes) + 1;
        return true;
    }
    return false;
}

/* A lane that is let go out of turn leaves the list in which it waits. */
static void waiting_leave(struct partition_reader *r, const struct lane *lane)
{
    uint32_t *link = &r->entries[lane->waits_at].waiting;
    while (*link != 0 && &r->lanes[*link - 1] != lane)
        link = &r->lanes[*link - 1].waits_next;
    *link = lane->waits_next;
}

static void waiting_wake(struct partition_reader *r, struct sequence_entry *turn)
{
    uint32_t next = turn->waiting;
    turn->waiting = 0;
    while (next != 0) {
        struct lane *lane = &r->lanes[next - 1];
        next = lane->waits_next;
        if (!lane_waits(r, lane)) {
            lane->blocked = false;
            heap_up(r, lane->heap_at);
        }
    }
}

/* The record of the lane's head has been given: its numbers are done, and who waited for them may
 * go. */
static void sequences_done(struct partition_reader *r, const struct lane *lane)
{
    if (!has_sequences(r, lane))
        return;
    const struct partition_event_type *type = lane_type(r, lane);
    for (unsigned i = 0; i < type->nargs; i++) {
        if (type->args[i].type != SKEIN_T_SEQ)
            continue;
        struct sequence_resource *resource = resource_find(r, lane->args[i].seq.resource);
        uint64_t number = lane->args[i].seq.number;
        if (resource->at == resource->end || r->entries[resource->at].number > number)
            continue;
        size_t from = resource->at;
        /* normally one step; after a circle was cut, over all that it left behind */
        resource->at =
            r->entries[from].number == number ? from + 1 : entry_find(r, resource, number) + 1;
        for (size_t k = from + 1; k < resource->end && k <= resource->at; k++)
            if (r->entries[k].waiting != 0)
                waiting_wake(r, &r->entries[k]);
    }
}

/* ---- listing all sequences ---- */

static int entry_note(struct partition_reader *r, uint64_t resource, uint64_t number,
                      const uint8_t *at)
{
    if (r->entry_count == SEQUENCES_MAX)
        return reader_fail(r, SKEIN_CORRUPT, F_4, at, "more than %u sequence arguments",
                           SEQUENCES_MAX);
    if (!reader_may(r, sizeof *r->entries) ||
        !array_grow(r->entries, r->entry_count + 1, &r->entry_cap))
        return reader_no_memory(r, "sequences");
    r->entries[r->entry_count++] = (struct sequence_entry){resource, number, 0};
    return SKEIN_OK;
}

static int type_sequences(struct partition_reader *r, struct lane *lane,
                          const struct lane_type *place)
{
    const struct partition_event_type *type = &r->types[place->type];
    unsigned column = type->klass == SKEIN_CLASS_SPAN;
    for (unsigned i = 0; i < type->nargs; i++, column++) {
        if (type->args[i].type != SKEIN_T_SEQ)
            continue;
        struct column *resources = &lane->columns[place->column + column];
        struct column *numbers = resources + 1;
        column++;
        for (uint32_t k = 0; k < place->left; k++) {
            uint64_t resource = column_next(resources), number = column_next(numbers);
            if (resources->failed || numbers->failed)
                return reader_fail(r, SKEIN_CORRUPT, F_26,
                                   resources->failed ? resources->pos : numbers->pos,
                                   "a sequence column of event type %u is too short", place->type);
            if (entry_note(r, resource, number, resources->pos) != SKEIN_OK)
                return r->status;
        }
    }
    return SKEIN_OK;
}

static int batches_scan(struct partition_reader *r, struct lane *scratch)
{
    for (size_t i = 0; i < r->batch_count; i++) {
        if (batch_enter(r, scratch, &r->batches[i]) != SKEIN_OK)
            return r->status;
        for (uint32_t k = 0; k < r->batches[i].types; k++)
            if (type_sequences(r, scratch, &scratch->types[k]) != SKEIN_OK)
                return r->status;
    }
    return SKEIN_OK;
}

static int resources_make(struct partition_reader *r)
{
    qsort(r->entries, r->entry_count, sizeof *r->entries, entry_order);
    size_t count = 0;
    for (size_t i = 0; i < r->entry_count; i++)
        count += i == 0 || r->entries[i].resource != r->entries[i - 1].resource;
    if (reader_may(r, count * sizeof *r->resources))
        r->resources = calloc(count, sizeof *r->resources);
    if (r->resources == NULL)
        return reader_no_memory(r, "sequences");
    for (size_t i = 0; i < r->entry_count; i++) {
        if (i == 0 || r->entries[i].resource != r->entries[i - 1].resource)
            r->resources[r->resource_count++] =
                (struct sequence_resource){r->entries[i].resource, i, i};
        r->resources[r->resource_count - 1].end = i + 1;
    }
    return SKEIN_OK;
}

static int sequences_open(struct partition_reader *r)
{
    bool any = false;
    for (size_t i = 0; i < r->type_count; i++)
        any = any || r->type_facts[i].sequences > 0;
    if (!any)
        return SKEIN_OK;
    struct lane scratch = {0};
    int status = batches_scan(r, &scratch);
    free(scratch.types);
    free(scratch.columns);
    free(scratch.values);
    return status == SKEIN_OK && r->entry_count > 0 ? resources_make(r) : status;
}

/* ---- the merge ---- */

/* Of a thread that is left out, only when it was last heard of is known. */
static void lane_pass(struct partition_reader *r, const struct lane *lane)
{
    for (uint32_t i = lane->first_batch; i != NO_BATCH; i = r->batches[i].next)
        if (r->batches[i].last > r->passed)
            r->passed = r->batches[i].last;
}

static void head_judge(struct partition_reader *r, struct lane *lane)
{
    lane->key = lane->ticks;
    lane->blocked = lane_waits(r, lane);
}

void merge_put(struct partition_reader *r, struct lane *lane)
{
    heap_set(r, r->heap_count++, (uint32_t)(lane - r->lanes));
    heap_up(r, r->heap_count - 1);
}

static void heap_remove(struct partition_reader *r, struct lane *lane)
{
    uint32_t last = r->heap[--r->heap_count];
    size_t at = lane->heap_at;
    if (&r->lanes[last] == lane)
        return;
    heap_set(r, at, last);
    heap_up(r, at);
    heap_down(r, r->lanes[last].heap_at);
}

struct lane *merge_take(struct partition_reader *r)
{
    struct lane *lane = &r->lanes[r->heap[0]];
    heap_remove(r, lane);
    return lane;
}

int merge_open(struct partition_reader *r)
{
    int status = sequences_open(r);
    if (status != SKEIN_OK)
        return status;
    r->heap = calloc(r->thread_count + 1, sizeof *r->heap);
    if (r->heap == NULL)
        return reader_no_memory(r, "the merge");
    for (size_t i = 0; i < r->thread_count; i++) {
        struct lane *lane = &r->lanes[i];
        if (r->thread_shown != NULL && !r->thread_shown[i]) {
            lane_pass(r, lane);
            continue;
        }
        status = lane_advance(r, lane);
        if (status != SKEIN_OK)
            return status;
        if (!lane->ready)
            continue;
        head_judge(r, lane);
        merge_put(r, lane);
    }
    return SKEIN_OK;
}

struct lane *merge_top(struct partition_reader *r)
{
    if (r->heap_count == 0)
        return NULL;
    struct lane *lane = &r->lanes[r->heap[0]];
    if (lane->blocked) { /* all wait for each other: F-29 */
        lane->blocked = false;
        waiting_leave(r, lane);
        r->unordered++;
    }
    return lane;
}

int merge_go_on(struct partition_reader *r, struct lane *lane)
{
    int status = lane_advance(r, lane);
    if (status != SKEIN_OK)
        return status;
    if (!lane->ready) {
        heap_remove(r, lane);
        return SKEIN_OK;
    }
    head_judge(r, lane);
    heap_down(r, lane->heap_at);
    return SKEIN_OK;
}

int merge_pop(struct partition_reader *r, struct lane *lane)
{
    sequences_done(r, lane);
    return merge_go_on(r, lane);
}
