/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains of cuts; see cut_chain.h. A chain lives while a capture uses it, or while its process
 * remembers it. Its coverage has no holes: a cut goes on where the one before ended. The marks know
 * which bytes of the ring were cut; the times here only decide who joins.
 */
#include "cut_chain.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "skein_check.h"

/* A record may be committed this long after its time, by a thread that was stopped as it wrote. */
#define LATE_NS UINT64_C(1000000000)

struct cut_chain {
    struct process *process;
    struct cut_marks *marks;
    uint64_t from_ns, to_ns;   /* what it covers; before the first cut both are where it begins */
    uint64_t forgotten_to_ns;  /* where the entries that are not kept end; 0: all are kept */
    struct cut_entry *entries; /* in the order of their time */
    size_t count, cap;
    TAILQ_HEAD(, cut_member) members;
};

/*
 *                  place_take, as it is made or cuts
 *   chain_new ──▶ private ────────────────▶ the process's ──── process_chain_free ────▶ freed
 *                  │   ▲                        │    │
 *                  │   │ place_take of another: │    │ place_take of another:
 *                  │   └─ nobody may join it ───┘    └─ nobody uses it ───────────────▶ freed
 *                  │
 *                  └── the last cut_chain_leave ──────────────────────────────────────▶ freed
 *
 * Both are cut and told alike: cut_chain_cut, cut_chain_add.
 */
static void chain_assert(const struct cut_chain *chain)
{
    const struct cut_member *member;
    skein_check(chain->count <= chain->cap && chain->count <= CUT_CHAIN_ENTRIES_MAX);
    skein_check(chain->from_ns <= chain->to_ns);
    TAILQ_FOREACH(member, &chain->members, link) {
        skein_check(member->chain == chain && member->from_ns >= chain->from_ns);
    }
}

/* ---- chains ---- */

static void chain_free(struct cut_chain *chain)
{
    skein_check(TAILQ_EMPTY(&chain->members));
    for (size_t i = 0; i < chain->count; i++)
        free(chain->entries[i].gaps);
    free(chain->entries);
    cut_marks_free(&chain->marks);
    free(chain);
}

/* Called when the process goes; the chain has no members by then. */
static void process_chain_free(struct process *process)
{
    if (process->chain != NULL)
        chain_free(process->chain);
    process->chain = NULL;
}

static bool chain_is_open(const struct cut_chain *chain)
{
    return chain->forgotten_to_ns != UINT64_MAX && cut_marks_are_of(chain->marks, chain->process);
}

/* It becomes the process's, unless captures use the one that is, and others may join that. */
static void place_take(struct cut_chain *chain)
{
    struct process *process = chain->process;
    struct cut_chain *old = process->chain;
    bool used = old != NULL && !TAILQ_EMPTY(&old->members);
    if (old == chain || (used && chain_is_open(old)))
        return;
    process->chain = chain;
    process->chain_free = process_chain_free;
    if (old != NULL && !used)
        chain_free(old);
}

static int chain_new(struct process *process, const struct cut_member *first,
                     struct cut_chain **out)
{
    struct cut_chain *chain = calloc(1, sizeof *chain);
    if (chain == NULL || cut_marks_new(process, &chain->marks) != SKEIN_OK) {
        free(chain);
        return SKEIN_NO_MEMORY;
    }
    chain->process = process;
    chain->from_ns = chain->to_ns = first->from_ns;
    TAILQ_INIT(&chain->members);
    place_take(chain);
    *out = chain;
    return SKEIN_OK;
}

/* ---- joining ---- */

static bool chain_touches(const struct cut_member *member, const struct cut_entry *entry)
{
    if (entry->from_ns <= member->to_ns + LATE_NS && entry->to_ns >= member->from_ns)
        return true;
    for (size_t i = 0; i < entry->gap_count; i++)
        if (entry->gaps[i].from_ns <= member->to_ns && entry->gaps[i].to_ns >= member->from_ns)
            return true;
    return false;
}

/* Which entries the member is given: all from the first to the last that touch its window, so that
 * no thread has a hole between them. A member that is still to cut is given all up to the end: its
 * own cut goes on there, and a late one brings much that lies behind the window. */
static void earlier_find(const struct cut_chain *chain, const struct cut_member *member,
                         size_t *first, size_t *end)
{
    *first = 0;
    *end = chain->count;
    while (*first < *end && !chain_touches(member, &chain->entries[*first]))
        ++*first;
    if (chain->to_ns >= member->to_ns + LATE_NS)
        while (*end > *first && !chain_touches(member, &chain->entries[*end - 1]))
            --*end;
}

static bool any_is_lost(const struct cut_chain *chain, struct cut_member *member)
{
    size_t first, end;
    earlier_find(chain, member, &first, &end);
    for (size_t i = first; i < end && member->is_lost != NULL; i++)
        if (chain->entries[i].kept && member->is_lost(member, &chain->entries[i].key))
            return true;
    return false;
}

/* A chain that others use goes on without a hole, so it will reach a window that begins later. */
static bool chain_overlaps(const struct cut_chain *chain, const struct cut_member *member)
{
    return member->from_ns >= chain->from_ns &&
           (member->from_ns <= chain->to_ns || !TAILQ_EMPTY(&chain->members));
}

static bool may_join(const struct cut_chain *chain, struct cut_member *member)
{
    return !member->unshared && chain_is_open(chain) && chain_overlaps(chain, member) &&
           (chain->forgotten_to_ns == 0 || chain->forgotten_to_ns < member->from_ns) &&
           !any_is_lost(chain, member);
}

int cut_chain_join(struct cut_member *member, struct process *process)
{
    int status = SKEIN_OK;
    struct cut_chain *chain = process->chain;
    if (chain == NULL || !may_join(chain, member))
        status = chain_new(process, member, &chain);
    if (status != SKEIN_OK)
        return status;
    TAILQ_INSERT_TAIL(&chain->members, member, link);
    member->chain = chain;
    member->stated = false;
    chain_assert(chain);
    size_t first, end;
    earlier_find(chain, member, &first, &end);
    for (size_t i = first; i < end; i++)
        member->take(member, &chain->entries[i]);
    chain_assert(chain);
    return SKEIN_OK;
}

void cut_chain_leave(struct cut_member *member)
{
    struct cut_chain *chain = member->chain;
    if (chain == NULL)
        return;
    member->chain = NULL;
    TAILQ_REMOVE(&chain->members, member, link);
    chain_assert(chain);
    if (TAILQ_EMPTY(&chain->members) && chain != chain->process->chain)
        chain_free(chain);
}

void cut_chain_others(struct cut_member *member, void (*fn)(struct cut_member *))
{
    struct cut_member *other;
    if (member->chain == NULL)
        return;
    TAILQ_FOREACH(other, &member->chain->members, link) {
        if (other != member)
            fn(other);
    }
}

/* ---- cutting ---- */

bool cut_chain_wants(const struct cut_member *member, uint64_t to_ns)
{
    return member->chain->to_ns < to_ns + LATE_NS;
}

int cut_chain_cut(struct cut_member *member, struct host_page_owner *host,
                  struct cut_request *request, struct cut_result *result)
{
    struct cut_chain *chain = member->chain;
    place_take(chain);
    request->process = chain->process;
    request->marks = chain->marks;
    request->restate = !member->stated;
    request->from_ns = chain->from_ns; /* also where a member that begins later cuts first */
    int status = partition_cut(host, request, result);
    bool cut = status == SKEIN_OK || status == SKEIN_NOT_FOUND;
    member->stated = member->stated || cut;
    if (cut && !result->more && request->to_ns > chain->to_ns)
        chain->to_ns = request->to_ns;
    if (!cut)
        chain->forgotten_to_ns = UINT64_MAX; /* its window may be untried: nobody joins any more */
    chain_assert(chain);
    return status;
}

/* ---- counting ---- */

#define GRID 15 /* times between a chain's begin and a cut's end */

static int edges_compare(const void *left, const void *right)
{
    const uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

size_t cut_chain_edges(const struct cut_member *member, uint64_t to_ns,
                       uint64_t edges_ns[PARTITION_EDGES_MAX])
{
    const struct cut_chain *chain = member->chain;
    const struct cut_member *other;
    size_t count = 0, kept = 0;
    uint64_t span_ns = to_ns > chain->from_ns ? to_ns - chain->from_ns : 0;
    edges_ns[count++] = member->from_ns;
    edges_ns[count++] = member->to_ns + 1;
    for (uint64_t i = 1; i <= GRID; i++)
        edges_ns[count++] = chain->from_ns + span_ns / (GRID + 1) * i;
    TAILQ_FOREACH(other, &chain->members, link) {
        if (other == member || count + 2 > PARTITION_EDGES_MAX)
            continue;
        edges_ns[count++] = other->from_ns;
        edges_ns[count++] = other->to_ns + 1;
    }
    qsort(edges_ns, count, sizeof *edges_ns, edges_compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || edges_ns[kept - 1] < edges_ns[i])
            edges_ns[kept++] = edges_ns[i];
    return kept;
}

/* An entry's times may be off by a tick. */
#define TICK_NS 1000

uint64_t cut_entry_within(const struct cut_entry *entry, uint64_t from_ns, uint64_t to_ns,
                          bool *bound)
{
    uint64_t first = 0, end = entry->events;
    bool whole_from = from_ns <= entry->from_ns + TICK_NS, from = whole_from;
    bool whole_to = to_ns + TICK_NS >= entry->to_ns, to = whole_to;
    if (to_ns < entry->from_ns || from_ns > entry->to_ns)
        return 0;
    for (size_t i = 0; i < entry->edge_count; i++) {
        if (!whole_from && entry->edges_ns[i] <= from_ns) {
            first = entry->before[i]; /* the last one that is not later */
            from = entry->edges_ns[i] == from_ns;
        }
        if (!whole_to && end == entry->events && entry->edges_ns[i] > to_ns) {
            end = entry->before[i]; /* the first one that is later */
            to = entry->edges_ns[i] == to_ns + 1;
            whole_to = true;
        }
    }
    *bound = *bound || !from || !to;
    return end > first ? end - first : 0;
}

/* ---- telling ---- */

static void forgotten_reach(struct cut_chain *chain, uint64_t to_ns)
{
    if (to_ns > chain->forgotten_to_ns)
        chain->forgotten_to_ns = to_ns;
}

/* No later cut tells its gaps again, and they may lie behind its last record. */
static void chain_forget(struct cut_chain *chain, struct cut_entry *entry)
{
    forgotten_reach(chain, entry->to_ns);
    for (size_t i = 0; i < entry->gap_count; i++)
        forgotten_reach(chain, entry->gaps[i].to_ns);
    free(entry->gaps);
}

/* A place for one more entry. A full list forgets its oldest. NULL: no memory. */
static struct cut_entry *entry_place(struct cut_chain *chain)
{
    if (chain->count == CUT_CHAIN_ENTRIES_MAX) {
        chain_forget(chain, &chain->entries[0]);
        chain->count--;
        memmove(chain->entries, chain->entries + 1, chain->count * sizeof *chain->entries);
    }
    return array_grow(chain->entries, chain->count + 1, &chain->cap)
               ? &chain->entries[chain->count++]
               : NULL;
}

void cut_chain_add(struct cut_member *member, struct cut_entry *entry)
{
    struct cut_chain *chain = member->chain;
    if (!entry->kept && entry->reason == NULL && entry->gap_count == 0)
        return; /* nothing came, and nothing was lost */
    struct cut_member *other;
    TAILQ_FOREACH(other, &chain->members, link) {
        other->take(other, entry);
    }
    /* What the spool did not take cannot be shared, but the ring may still have it. */
    struct cut_entry *place = entry->reason == NULL ? entry_place(chain) : NULL;
    if (place != NULL)
        *place = *entry;
    else
        chain_forget(chain, entry);
    chain_assert(chain);
    entry->gaps = NULL;
    entry->gap_count = 0;
}
