/* SPDX-License-Identifier: Apache-2.0
 *
 * See import_perf_lives.h.
 */
#include "import_perf_lives.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define PIDS_MAX    4000000u
#define THREADS_MAX 4000000u

void perf_lives_fini(struct perf_lives *l)
{
    free(l->lives);
    free(l->pids);
    import_map_fini(&l->pid_at);
    import_map_fini(&l->threads);
    *l = (struct perf_lives){.count = 0};
}

static struct perf_pid *pid_find(const struct perf_lives *l, uint32_t pid)
{
    uint32_t at = import_map_get(&l->pid_at, pid);
    return at != IMPORT_MAP_NONE ? &l->pids[at] : NULL;
}

/* NULL: there are too many, or no memory. */
static struct perf_pid *pid_get(struct perf_lives *l, uint32_t pid)
{
    struct perf_pid *p = pid_find(l, pid);
    if (p != NULL || l->pid_count >= PIDS_MAX)
        return p;
    if (!array_grow(l->pids, l->pid_count + 1, &l->pid_cap) ||
        !import_map_set(&l->pid_at, pid, (uint32_t)l->pid_count)) {
        l->no_memory = true;
        return NULL;
    }
    p = &l->pids[l->pid_count++];
    *p = (struct perf_pid){.fresh = true};
    return p;
}

static void comm_set(struct perf_pid *p, struct perf_span comm)
{
    size_t n = comm.n < sizeof p->comm - 1 ? comm.n : sizeof p->comm - 1;
    memset(p->comm, 0, sizeof p->comm);
    memcpy(p->comm, comm.text, n);
}

/* perf calls a thread ":TID" whose name it has not seen. */
static bool is_name(struct perf_span comm)
{
    return comm.n > 0 && comm.text[0] != ':';
}

static bool is_called(const struct perf_pid *p, struct perf_span comm)
{
    size_t n = comm.n < sizeof p->comm - 1 ? comm.n : sizeof p->comm - 1;
    return strlen(p->comm) == n && memcmp(p->comm, comm.text, n) == 0;
}

static void life_begin(struct perf_lives *l, struct perf_pid *p, uint32_t pid, uint64_t line,
                       bool sure, bool exec)
{
    if (l->count >= PERF_LIVES_MAX)
        return;
    if (!array_grow(l->lives, l->count + 1, &l->cap)) {
        l->no_memory = true;
        return;
    }
    l->lives[l->count++] = (struct perf_life){.line = line,
                                              .pid = pid,
                                              .before = p->last,
                                              .number = ++p->life,
                                              .sure = sure,
                                              .exec = exec};
    p->last = (uint32_t)l->count;
    p->unsure += !sure;
    p->fresh = true;
    p->ended = false;
    p->comm[0] = '\0';
}

/* A thread of life `of` goes on: what began since was no other process. */
static void lives_join(struct perf_lives *l, const struct perf_pid *p, uint32_t of)
{
    for (uint32_t at = p->last; at > 0 && l->lives[at - 1].number > of;
         at = l->lives[at - 1].before)
        if (l->lives[at - 1].sure)
            return;
        else
            l->lives[at - 1].none = true;
}

static void thread_seen(struct perf_lives *l, const struct perf_pid *p, uint32_t pid, uint32_t tid)
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

void perf_lives_seen(struct perf_lives *l, uint64_t line, uint32_t pid, uint32_t tid,
                     struct perf_span comm)
{
    struct perf_pid *p = tid != 0 ? pid_get(l, pid) : NULL; /* 0: idle, of each CPU */
    if (p == NULL)
        return;
    bool named = tid == pid && is_name(comm);
    bool other = named && p->comm[0] != '\0' && !is_called(p, comm);
    if (p->ended && tid == pid)
        life_begin(l, p, pid, line, true, false);
    else if (other && p->unsure < PERF_LIVES_UNSURE)
        life_begin(l, p, pid, line, false, true);
    if (named)
        comm_set(p, comm);
    p->fresh = false;
    if (tid != pid)
        thread_seen(l, p, pid, tid);
}

void perf_lives_exec(struct perf_lives *l, uint64_t line, uint32_t pid, struct perf_span comm)
{
    struct perf_pid *p = pid_get(l, pid);
    if (p == NULL)
        return;
    if (!p->fresh) /* the kernel may tell the same exec twice */
        life_begin(l, p, pid, line, true, true);
    comm_set(p, comm);
}

void perf_lives_renamed(struct perf_lives *l, uint32_t pid, struct perf_span comm)
{
    struct perf_pid *p = pid_get(l, pid);
    if (p != NULL)
        comm_set(p, comm);
}

void perf_lives_born(struct perf_lives *l, uint64_t line, uint32_t pid)
{
    struct perf_pid *p = pid_get(l, pid);
    if (p == NULL)
        return;
    if (!p->fresh)
        life_begin(l, p, pid, line, true, false);
    p->comm[0] = '\0';
}

void perf_lives_ended(struct perf_lives *l, uint32_t pid)
{
    struct perf_pid *p = pid_find(l, pid);
    if (p != NULL)
        p->ended = true;
}

/* ---- the second pass ---- */

void perf_lives_again(struct perf_lives *l)
{
    l->next = 0;
    for (size_t i = 0; i < l->pid_count; i++)
        l->pids[i].life = 0;
}

const struct perf_life *perf_lives_next(struct perf_lives *l, uint64_t line)
{
    while (l->next < l->count && l->lives[l->next].line <= line) {
        const struct perf_life *life = &l->lives[l->next++];
        struct perf_pid *p = pid_find(l, life->pid);
        if (life->none || p == NULL)
            continue;
        p->life++;
        return life;
    }
    return NULL;
}

uint32_t perf_lives_now(const struct perf_lives *l, uint32_t pid)
{
    const struct perf_pid *p = pid_find(l, pid);
    return p != NULL ? p->life : 0;
}
