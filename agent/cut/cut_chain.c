/* SPDX-License-Identifier: Apache-2.0
 *
 * Chains of cuts; see cut_chain.h. A chain lives while a capture uses it, or while its process
 * remembers it. Its coverage has no holes: a cut goes on where the one before ended, or ends where
 * the first began. Which bytes of the ring that is, the marks know; the times here only decide who
 * joins.
 */
#include "cut_chain.h"

#include <stdlib.h>
#include <string.h>

#include "skein_check.h"

/* Chains of a process that nobody uses. */
#define IDLE_MAX 3
/* A record may be committed this long after its time, by a thread that was stopped as it wrote. */
#define LATE_NS UINT64_C(1000000000)

struct cut_chain {
    TAILQ_ENTRY(cut_chain) link;
    struct cut_chain_list *chains; /* of the process; the one that was joined last is the first */
    struct process *process;
    uint64_t groups;
    struct cut_marks *marks;
    bool begun; /* its window was tried: */
    uint64_t from_ns, to_ns;
    uint64_t forgotten_to_ns;  /* an entry that ends here is not there any more; 0: all are */
    struct cut_entry *entries; /* in the order of their time */
    size_t count, cap;
    struct cut_marks *row; /* of cuts before the window that are under way: nobody joins; or NULL */
    size_t row_count;      /* entries of it; they are the first */
    uint64_t row_from_ns, row_to_ns; /* its window, whoever goes on with it */
    TAILQ_HEAD(, cut_member) members;
};
TAILQ_HEAD(cut_chain_list, cut_chain);

/*
 *    chain_new          cut_chain_cut_after                cut_chain_cut_before: begins a row
 *   ───────────▶ NEW ──────────────────────▶ OPEN ──────────────────────────────────────▶ ROW
 *                                            │  ▲                                         │
 *                cut_chain_cut_after, _add ──┘  └── cut_chain_cut_before: it is cut whole ─┘
 *
 *   NEW   nothing is cut: no entry, no row, no window
 *   OPEN  from_ns to to_ns is cut, the entries say what came of it
 *   ROW   so is it, and a row of cuts up to from_ns is under way: nobody joins
 *
 *   In each: cut_chain_join adds a member, cut_chain_leave takes one; the last one's leaves it
 * idle, and idle_bound or cut_chains_free frees it.
 */
static void chain_assert(const struct cut_chain *chain)
{
    const struct cut_member *member;
    skein_check(chain->count <= chain->cap && chain->count <= CUT_CHAIN_ENTRIES_MAX);
    skein_check(chain->row_count <= chain->count && chain->from_ns <= chain->to_ns);
    if (!chain->begun)
        skein_check(chain->count == 0 && chain->row == NULL && chain->to_ns == 0);
    if (chain->row != NULL)
        skein_check(chain->row_from_ns < chain->row_to_ns && chain->row_to_ns == chain->from_ns);
    TAILQ_FOREACH(member, &chain->members, link)
    skein_check(member->chain == chain && member->groups == chain->groups);
}

/* ---- chains ---- */

static void chain_free(struct cut_chain *chain)
{
    for (size_t i = 0; i < chain->count; i++)
        free(chain->entries[i].gaps);
    free(chain->entries);
    cut_marks_free(&chain->marks);
    cut_marks_free(&chain->row);
    free(chain);
}

/* With the process. It has no members any more. */
static void cut_chains_free(struct process *process)
{
    struct cut_chain *chain;
    while (process->chains != NULL && (chain = TAILQ_FIRST(process->chains)) != NULL) {
        skein_check(TAILQ_EMPTY(&chain->members));
        TAILQ_REMOVE(process->chains, chain, link);
        chain_free(chain);
    }
    free(process->chains);
    process->chains = NULL;
}

static int chain_new(struct process *process, uint64_t groups, struct cut_chain **out)
{
    if (process->chains == NULL) {
        process->chains = malloc(sizeof(*process->chains));
        if (process->chains == NULL)
            return SKEIN_NO_MEMORY;
        TAILQ_INIT(process->chains);
        process->chains_free = cut_chains_free;
    }
    struct cut_chain *chain = calloc(1, sizeof(*chain));
    if (chain == NULL || cut_marks_new(process, &chain->marks) != SKEIN_OK) {
        free(chain);
        return SKEIN_NO_MEMORY;
    }
    chain->process = process;
    chain->chains = process->chains;
    chain->groups = groups;
    TAILQ_INIT(&chain->members);
    TAILQ_INSERT_HEAD(chain->chains, chain, link);
    *out = chain;
    return SKEIN_OK;
}

/* The latest that are idle stay. */
static void idle_bound(struct cut_chain_list *chains)
{
    size_t idle = 0;
    struct cut_chain *chain, *next;
    for (chain = TAILQ_FIRST(chains); chain != NULL; chain = next) {
        next = TAILQ_NEXT(chain, link);
        idle += TAILQ_EMPTY(&chain->members);
        if (TAILQ_EMPTY(&chain->members) && idle > IDLE_MAX) {
            TAILQ_REMOVE(chains, chain, link);
            chain_free(chain);
        }
    }
}

/* ---- joining ---- */

static bool touches(const struct cut_member *member, const struct cut_entry *entry)
{
    if (entry->from_ns <= member->to_ns + LATE_NS && entry->to_ns >= member->from_ns)
        return true;
    for (size_t i = 0; i < entry->gap_count; i++)
        if (entry->gaps[i].from_ns <= member->to_ns && entry->gaps[i].to_ns >= member->from_ns)
            return true;
    return false;
}

/* All from the first to the last that touch its window, and where it cuts before or after them all
 * up to there, so that none of its threads has a hole: a late cut brings much that lies behind. */
static void earlier_find(const struct cut_chain *chain, const struct cut_member *member,
                         size_t *first, size_t *end)
{
    *first = 0;
    *end = chain->count;
    if (member->from_ns >= chain->from_ns)
        while (*first < *end && !touches(member, &chain->entries[*first]))
            ++*first;
    if (chain->to_ns >= member->to_ns + LATE_NS)
        while (*end > *first && !touches(member, &chain->entries[*end - 1]))
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

static bool overlaps(const struct cut_chain *chain, const struct cut_member *member)
{
    if (!chain->begun)
        return true;
    /* What is used goes on without a hole to where the later window begins. */
    return member->to_ns >= chain->from_ns &&
           (member->from_ns <= chain->to_ns || !TAILQ_EMPTY(&chain->members));
}

static bool may_join(const struct cut_chain *chain, struct cut_member *member)
{
    return !member->unshared && chain->groups == member->groups && chain->row == NULL &&
           cut_marks_are_of(chain->marks, chain->process) && overlaps(chain, member) &&
           (chain->forgotten_to_ns == 0 || chain->forgotten_to_ns < member->from_ns) &&
           !any_is_lost(chain, member);
}

int cut_chain_join(struct cut_member *member, struct process *process)
{
    struct cut_chain *chain = process->chains != NULL ? TAILQ_FIRST(process->chains) : NULL;
    while (chain != NULL && !may_join(chain, member))
        chain = TAILQ_NEXT(chain, link);
    int status = chain == NULL ? chain_new(process, member->groups, &chain) : SKEIN_OK;
    if (status != SKEIN_OK)
        return status;
    TAILQ_REMOVE(chain->chains, chain, link);
    TAILQ_INSERT_HEAD(chain->chains, chain, link);
    TAILQ_INSERT_TAIL(&chain->members, member, link);
    member->chain = chain;
    member->stated = false;
    chain_assert(chain);
    size_t first, end;
    earlier_find(chain, member, &first, &end);
    for (size_t i = first; i < end; i++)
        member->take(member, &chain->entries[i]);
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
    idle_bound(chain->chains);
}

void cut_chain_others(struct cut_member *member, void (*fn)(struct cut_member *))
{
    struct cut_member *other;
    if (member->chain == NULL)
        return;
    TAILQ_FOREACH(other, &member->chain->members, link)
    {
        if (other != member)
            fn(other);
    }
}

/* ---- cutting ---- */

bool cut_chain_wants_after(const struct cut_member *member, uint64_t to_ns)
{
    return !member->chain->begun || member->chain->to_ns < to_ns + LATE_NS;
}

bool cut_chain_wants_before(const struct cut_member *member)
{
    return member->from_ns < member->chain->from_ns;
}

static int cut_once(const struct cut_member *member, struct host_page_owner *host,
                    struct cut_request *request, struct cut_result *result)
{
    request->process = member->chain->process;
    request->groups = member->groups;
    return partition_cut(host, request, result);
}

static bool is_whole(int status, const struct cut_result *result)
{
    return (status == SKEIN_OK || status == SKEIN_NOT_FOUND) && !result->more;
}

int cut_chain_cut_after(struct cut_member *member, struct host_page_owner *host,
                        struct cut_request *request, struct cut_result *result)
{
    struct cut_chain *chain = member->chain;
    request->marks = chain->marks;
    request->until = NULL;
    request->restate = !member->stated;
    request->from_ns = member->from_ns;
    if (!chain->begun)
        chain->from_ns = chain->to_ns = member->from_ns;
    chain->begun = true;
    int status = cut_once(member, host, request, result);
    member->stated = member->stated || status == SKEIN_OK || status == SKEIN_NOT_FOUND;
    if (is_whole(status, result) && request->to_ns > chain->to_ns)
        chain->to_ns = request->to_ns;
    if (status != SKEIN_OK && status != SKEIN_NOT_FOUND)
        chain->forgotten_to_ns = UINT64_MAX; /* perhaps its window is not tried: nobody joins */
    chain_assert(chain);
    return status;
}

int cut_chain_cut_before(struct cut_member *member, struct host_page_owner *host,
                         struct cut_request *request, struct cut_result *result)
{
    struct cut_chain *chain = member->chain;
    if (chain->row == NULL) {
        chain->row_count = 0;
        chain->row_from_ns = member->from_ns;
        chain->row_to_ns = chain->from_ns;
        if (cut_marks_new(chain->process, &chain->row) != SKEIN_OK)
            return SKEIN_NO_MEMORY;
    }
    request->marks = chain->row;
    request->until = chain->marks;
    request->restate = false;
    request->from_ns = chain->row_from_ns;
    int status = cut_once(member, host, request, result);
    if (is_whole(status, result)) {
        cut_marks_reach(chain->marks, chain->row);
        cut_marks_free(&chain->row);
        chain->from_ns = chain->row_from_ns;
    }
    chain_assert(chain);
    return status;
}

/* ---- telling ---- */

static void forget(struct cut_chain *chain, struct cut_entry *entry)
{
    if (entry->to_ns > chain->forgotten_to_ns)
        chain->forgotten_to_ns = entry->to_ns;
    free(entry->gaps);
}

/* A place for one more at index `at`, or NULL. The oldest goes where there are many. */
static struct cut_entry *entry_place(struct cut_chain *chain, size_t at)
{
    if (chain->count == CUT_CHAIN_ENTRIES_MAX) {
        forget(chain, &chain->entries[0]);
        chain->count--;
        memmove(chain->entries, chain->entries + 1, chain->count * sizeof(*chain->entries));
        chain->row_count -= chain->row_count > 0;
        at -= at > 0;
    }
    if (chain->count == chain->cap) {
        size_t cap = chain->cap == 0 ? 8 : 2 * chain->cap;
        struct cut_entry *entries = realloc(chain->entries, cap * sizeof(*entries));
        if (entries == NULL)
            return NULL;
        chain->entries = entries;
        chain->cap = cap;
    }
    memmove(chain->entries + at + 1, chain->entries + at,
            (chain->count - at) * sizeof(*chain->entries));
    chain->count++;
    return &chain->entries[at];
}

void cut_chain_add(struct cut_member *member, struct cut_entry *entry)
{
    struct cut_chain *chain = member->chain;
    if (!entry->kept && entry->reason == NULL && entry->gap_count == 0)
        return; /* nothing came, and nothing was lost */
    struct cut_member *other;
    TAILQ_FOREACH(other, &chain->members, link)
    {
        /* Of a row also to those that had joined before it, and begin before the chain did. */
        if (other == member || !entry->before || other->from_ns < chain->row_to_ns)
            other->take(other, entry);
    }
    struct cut_entry *place = NULL;
    /* What is not there to be shared may be in the ring still. */
    if (entry->reason == NULL)
        place = entry_place(chain, entry->before ? chain->row_count : chain->count);
    if (place != NULL) {
        *place = *entry;
        chain->row_count += entry->before;
    } else {
        forget(chain, entry);
    }
    chain_assert(chain);
    entry->gaps = NULL;
    entry->gap_count = 0;
}
