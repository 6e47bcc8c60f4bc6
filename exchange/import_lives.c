/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_lives.h.
 */
#include "import_lives.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define PIDS_MAX    4000000u
#define THREADS_MAX 4000000u

void import_lives_fini(struct import_lives *l)
{
    free(l->lives);
    free(l->pids);
    import_map_fini(&l->pid_at);
    import_map_fini(&l->threads);
    *l = (struct import_lives){.count = 0};
}

static struct lives_pid *pid_find(const struct import_lives *l, uint32_t pid)
{
    uint32_t at = import_map_get(&l->pid_at, pid);
    return at != IMPORT_MAP_NONE ? &l->pids[at] : NULL;
}

/* NULL: there are too many, or no memory. */
static struct lives_pid *pid_get(struct import_lives *l, uint32_t pid)
{
    struct lives_pid *p = pid_find(l, pid);
    if (p != NULL || l->pid_count >= PIDS_MAX)
        return p;
    if (!array_grow(l->pids, l->pid_count + 1, &l->pid_cap) ||
        !import_map_set(&l->pid_at, pid, (uint32_t)l->pid_count)) {
        l->no_memory = true;
        return NULL;
    }
    p = &l->pids[l->pid_count++];
    *p = (struct lives_pid){.fresh = true};
    return p;
}

static void comm_set(struct lives_pid *p, struct import_comm comm)
{
    size_t n = comm.n < sizeof p->comm - 1 ? comm.n : sizeof p->comm - 1;
    memset(p->comm, 0, sizeof p->comm);
    memcpy(p->comm, comm.text, n);
}

/* perf calls a thread ":TID" whose name it has not seen. */
static bool is_name(struct import_comm comm)
{
    return comm.n > 0 && comm.text[0] != ':';
}

static bool is_called(const struct lives_pid *p, struct import_comm comm)
{
    size_t n = comm.n < sizeof p->comm - 1 ? comm.n : sizeof p->comm - 1;
    return strlen(p->comm) == n && memcmp(p->comm, comm.text, n) == 0;
}

static void life_begin(struct import_lives *l, struct lives_pid *p, uint32_t pid, uint64_t at,
                       bool sure, bool exec)
{
    if (l->count >= IMPORT_LIVES_MAX)
        return;
    if (!array_grow(l->lives, l->count + 1, &l->cap)) {
        l->no_memory = true;
        return;
    }
    l->lives[l->count++] = (struct import_life){
        .at = at, .pid = pid, .before = p->last, .number = ++p->life, .sure = sure, .exec = exec};
    p->last = (uint32_t)l->count;
    p->unsure += !sure;
    p->fresh = true;
    p->ended = false;
    p->comm[0] = '\0';
}

/* A thread of life `of` goes on: what began since was no other process. */
static void lives_join(struct import_lives *l, const struct lives_pid *p, uint32_t of)
{
    for (uint32_t k = p->last; k > 0 && l->lives[k - 1].number > of; k = l->lives[k - 1].before)
        if (l->lives[k - 1].sure)
            return;
        else
            l->lives[k - 1].none = true;
}

static void thread_seen(struct import_lives *l, const struct lives_pid *p, uint32_t pid,
                        uint32_t tid)
{
    const uint64_t key = (uint64_t)pid << 32 | tid;
    uint32_t of = import_map_get(&l->threads, key);
    if (of == p->life)
        return;
    if (of != IMPORT_MAP_NONE)
        lives_join(l, p, of);
    if (l->threads.count < THREADS_MAX && !import_map_set(&l->threads, key, p->life))
        l->no_memory = true;
}

void import_lives_seen(struct import_lives *l, uint64_t at, uint32_t pid, uint32_t tid,
                       struct import_comm comm)
{
    struct lives_pid *p = tid != 0 ? pid_get(l, pid) : NULL; /* 0: idle, of each CPU */
    if (p == NULL)
        return;
    bool named = tid == pid && is_name(comm);
    bool other = named && p->comm[0] != '\0' && !is_called(p, comm);
    if (p->ended && tid == pid)
        life_begin(l, p, pid, at, true, false);
    else if (other && p->unsure < IMPORT_LIVES_UNSURE)
        life_begin(l, p, pid, at, false, true);
    else if (other &&
             p->unsure == IMPORT_LIVES_UNSURE) { /* it renames itself: it was one all along */
        lives_join(l, p, 0);
        p->unsure++;
    }
    if (named)
        comm_set(p, comm);
    p->fresh = false;
    if (tid != pid)
        thread_seen(l, p, pid, tid);
}

void import_lives_exec(struct import_lives *l, uint64_t at, uint32_t pid, struct import_comm comm)
{
    struct lives_pid *p = pid_get(l, pid);
    if (p == NULL)
        return;
    if (!p->fresh) /* the kernel may tell the same exec twice */
        life_begin(l, p, pid, at, true, true);
    comm_set(p, comm);
}

void import_lives_renamed(struct import_lives *l, uint32_t pid, struct import_comm comm)
{
    struct lives_pid *p = pid_get(l, pid);
    if (p != NULL)
        comm_set(p, comm);
}

void import_lives_born(struct import_lives *l, uint64_t at, uint32_t pid)
{
    struct lives_pid *p = pid_get(l, pid);
    if (p == NULL)
        return;
    if (!p->fresh)
        life_begin(l, p, pid, at, true, false);
    p->comm[0] = '\0';
}

void import_lives_ended(struct import_lives *l, uint32_t pid)
{
    struct lives_pid *p = pid_find(l, pid);
    if (p != NULL)
        p->ended = true;
}

void import_lives_named(struct import_lives *l, uint64_t at, uint32_t pid, unsigned kind,
                        uint64_t name, bool another)
{
    struct lives_pid *p = pid_get(l, pid);
    if (p == NULL || name == 0)
        return;
    bool other = p->said[kind].name != 0 && p->said[kind].name != name;
    if (p->ended)
        life_begin(l, p, pid, at, true, false);
    else if (other && p->said[kind].life == p->life && (another || p->unsure < IMPORT_LIVES_UNSURE))
        life_begin(l, p, pid, at, another, true);
    p->fresh = false;
    p->said[kind].name = name;
    p->said[kind].life = p->life;
}

/* ---- the second pass ---- */

void import_lives_again(struct import_lives *l)
{
    l->next = 0;
    for (size_t i = 0; i < l->pid_count; i++)
        l->pids[i].life = 0;
}

const struct import_life *import_lives_next(struct import_lives *l, uint64_t at)
{
    while (l->next < l->count && l->lives[l->next].at <= at) {
        const struct import_life *life = &l->lives[l->next++];
        struct lives_pid *p = pid_find(l, life->pid);
        if (life->none || p == NULL)
            continue;
        p->life++;
        return life;
    }
    return NULL;
}

uint32_t import_lives_now(const struct import_lives *l, uint32_t pid)
{
    const struct lives_pid *p = pid_find(l, pid);
    return p != NULL ? p->life : 0;
}

static int lives_compare(const void *a, const void *b)
{
    const struct import_life *x = a, *y = b;
    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

void import_lives_sort(struct import_lives *l)
{
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (!l->lives[i].none)
            l->lives[kept++] = l->lives[i];
    l->count = kept;
    if (kept > 0)
        qsort(l->lives, kept, sizeof *l->lives, lives_compare);
    for (size_t i = 0; i < kept; i++)
        l->lives[i].number =
            i > 0 && l->lives[i - 1].pid == l->lives[i].pid ? l->lives[i - 1].number + 1 : 1;
}

/* NULL: it is in its first one. */
static const struct import_life *life_then(const struct import_lives *l, uint32_t pid, uint64_t at)
{
    size_t k;
    array_find(k, 0, l->count,
               l->lives[k].pid < pid || (l->lives[k].pid == pid && l->lives[k].at <= at));
    return k > 0 && l->lives[k - 1].pid == pid ? &l->lives[k - 1] : NULL;
}

uint32_t import_lives_then(const struct import_lives *l, uint32_t pid, uint64_t at)
{
    const struct import_life *life = life_then(l, pid, at);
    return life != NULL ? life->number : 0;
}

uint64_t import_lives_since(const struct import_lives *l, uint32_t pid, uint64_t at)
{
    const struct import_life *life = life_then(l, pid, at);
    return life != NULL ? life->at : UINT64_MAX;
}
