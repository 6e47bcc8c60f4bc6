/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_runs.h.
 */
#include "sched_runs.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define CANDIDATES 32 /* that are told apart; a sum is then at least what it says */

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

void sched_cpu_ran(struct sched_cpu *cpu, const struct sched_run *run)
{
    cpu->runs[cpu->count++ % SCHED_RUNS_KEPT] = *run;
}

void sched_cpu_forget(struct sched_cpu *cpu)
{
    cpu->known = false;
    cpu->count = 0;
}

static uint64_t overlap_ns(const struct sched_run *run, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t from = run->from_ns > from_ns ? run->from_ns : from_ns;
    uint64_t to = run->to_ns < to_ns ? run->to_ns : to_ns;
    return to > from ? to - from : 0;
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
    uint64_t kept = cpu->count < SCHED_RUNS_KEPT ? cpu->count : SCHED_RUNS_KEPT;
    const struct sched_run open = {.tid = cpu->tid, .from_ns = cpu->since_ns, .to_ns = to_ns};
    if (cpu->known && open.tid != 0 && open.tid != not_tid && open.from_ns < to_ns)
        count = candidate_add(list, count, open.tid, overlap_ns(&open, from_ns, to_ns));
    for (uint64_t i = 1; i <= kept; i++) {
        const struct sched_run *run = &cpu->runs[(cpu->count - i) % SCHED_RUNS_KEPT];
        if (run->to_ns <= from_ns)
            break;
        if (run->tid != 0 && run->tid != not_tid)
            count = candidate_add(list, count, run->tid, overlap_ns(run, from_ns, to_ns));
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].ns > most.ns)
            most = list[i];
    return most;
}
