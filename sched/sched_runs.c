/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_runs.h.
 */
#include "sched_runs.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define CANDIDATES  64 /* that are told apart; a sum is then at least what it says */
#define JOINED      64 /* runs at a time */
#define JOINED_KEPT 8  /* tasks of these */
#define JOINED_MANY (SCHED_RUNS_KEPT / 2)

void sched_cpus_fini(struct sched_cpus *cpus)
{
    for (size_t i = 0; i < cpus->count; i++)
        free(cpus->cpus[i]);
    free(cpus->cpus);
    *cpus = (struct sched_cpus){0};
}

struct sched_cpu *sched_cpu_find(const struct sched_cpus *cpus, uint32_t number)
{
    return number < cpus->count ? cpus->cpus[number] : NULL;
}

struct sched_cpu *sched_cpu_get(struct sched_cpus *cpus, uint32_t number)
{
    if (number >= SCHED_CPUS_MAX)
        return NULL;
    if (number >= cpus->count) {
        if (!array_grow(cpus->cpus, number + 1, &cpus->cap))
            return NULL;
        memset(cpus->cpus + cpus->count, 0, (number + 1 - cpus->count) * sizeof *cpus->cpus);
        cpus->count = number + 1;
    }
    if (cpus->cpus[number] == NULL)
        cpus->cpus[number] = calloc(1, sizeof *cpus->cpus[number]);
    return cpus->cpus[number];
}

static size_t longest_of(const struct sched_run *list, size_t count)
{
    size_t most = 0;
    for (size_t i = 1; i < count; i++)
        most = list[i].ns > list[most].ns ? i : most;
    return most;
}

/* Sums them up by task: the JOINED_KEPT longest, behind each other at `to`. Returns how many. */
static size_t runs_sum(const struct sched_run *runs, size_t count, struct sched_run *to)
{
    struct sched_run list[JOINED];
    const uint64_t from_ns = runs[0].from_ns, to_ns = runs[count - 1].to_ns;
    size_t tasks = 0, kept = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at = 0;
        while (at < tasks && list[at].tid != runs[i].tid)
            at++;
        if (at == tasks && runs[i].tid != 0)
            list[tasks++] = (struct sched_run){runs[i].tid, from_ns, to_ns, runs[i].ns};
        else if (at < tasks)
            list[at].ns += runs[i].ns;
    }
    while (tasks > 0 && kept < JOINED_KEPT) {
        size_t most = longest_of(list, tasks);
        to[kept++] = list[most];
        list[most] = list[--tasks];
    }
    return kept;
}

/* How many of the runs were joined to two. */
static size_t pair_of(const struct sched_run *runs, size_t count)
{
    size_t n = 0;
    for (int one = 0; one < 2; one++)
        for (uint64_t to_ns = n < count ? runs[n].to_ns : 0; n < count && runs[n].to_ns == to_ns;)
            n++;
    return n;
}

/* Those that were joined are joined again, two to one, where they have become many: the older, the
 * coarser. Then the older half of the rest is joined. */
static void runs_join(struct sched_cpu *cpu)
{
    size_t to = 0, at = 0, n;
    for (; cpu->joined > JOINED_MANY && at < cpu->joined; at += n) {
        n = pair_of(&cpu->runs[at], cpu->joined - at);
        to += runs_sum(&cpu->runs[at], n, &cpu->runs[to]);
    }
    if (at == 0)
        to = at = cpu->joined;
    for (size_t half = at + (cpu->count - at) / 2; at < half; at += n) {
        n = at + JOINED < half ? JOINED : half - at;
        to += runs_sum(&cpu->runs[at], n, &cpu->runs[to]);
    }
    memmove(&cpu->runs[to], &cpu->runs[at], (cpu->count - at) * sizeof *cpu->runs);
    cpu->count -= at - to;
    cpu->joined = to;
}

void sched_cpu_ran(struct sched_cpu *cpu, uint32_t tid, uint64_t from_ns, uint64_t to_ns)
{
    if (cpu->count == SCHED_RUNS_KEPT)
        runs_join(cpu);
    cpu->runs[cpu->count++] =
        (struct sched_run){tid, from_ns, to_ns, to_ns > from_ns ? to_ns - from_ns : 0};
}

void sched_cpu_forget(struct sched_cpu *cpu)
{
    cpu->known = false;
    cpu->count = cpu->joined = 0;
}

/* At least so long it ran in [from, to]: nobody knows when in its time a joined one did. */
static uint64_t overlap_ns(const struct sched_run *run, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t outside = (from_ns > run->from_ns ? from_ns - run->from_ns : 0) +
                       (run->to_ns > to_ns ? run->to_ns - to_ns : 0);
    return run->ns > outside ? run->ns - outside : 0;
}

static size_t candidate_add(struct sched_most *list, size_t count, uint32_t tid, uint64_t ns)
{
    size_t i = 0;
    while (i < count && list[i].tid != tid)
        i++;
    if (i == CANDIDATES)
        return count;
    if (i == count)
        list[count++] = (struct sched_most){.tid = tid};
    list[i].ns += ns;
    return count;
}

struct sched_most sched_cpu_most(const struct sched_cpu *cpu, uint64_t from_ns, uint64_t to_ns,
                                 uint32_t not_tid)
{
    struct sched_most list[CANDIDATES], most = {0};
    size_t count = 0;
    const struct sched_run open = {cpu->tid, cpu->since_ns, to_ns,
                                   to_ns > cpu->since_ns ? to_ns - cpu->since_ns : 0};
    if (cpu->known && open.tid != 0 && open.tid != not_tid && open.from_ns < to_ns)
        count = candidate_add(list, count, open.tid, overlap_ns(&open, from_ns, to_ns));
    for (size_t i = cpu->count; i-- > 0 && cpu->runs[i].to_ns > from_ns;) {
        const struct sched_run *run = &cpu->runs[i];
        if (run->tid != 0 && run->tid != not_tid)
            count = candidate_add(list, count, run->tid, overlap_ns(run, from_ns, to_ns));
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].ns > most.ns)
            most = list[i];
    return most;
}
