/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums over the threads of a process, which the kernel tells of each thread alone. Remembers the
 * numbers of each, so that threads that end do not make the sum go back.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kept_file.h"
#include "proc_host.h"
#include "proc_text.h"
#include "process_look.h"

struct thread_count {
    uint64_t tid, delay_ns, voluntary, involuntary;
};
struct thread_sums {
    uint64_t at_ns;
    size_t count;
    struct thread_count threads[LOOK_THREADS_MAX]; /* by tid */
};

void thread_sums_free(struct thread_sums **sums)
{
    free(*sums);
    *sums = NULL;
}

static int threads_compare(const void *a, const void *b)
{
    const struct thread_count *x = a, *y = b;
    return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static bool thread_read(const char *tasks, uint64_t tid, struct thread_count *thread)
{
    char name[64], text[4096];
    *thread = (struct thread_count){.tid = tid};
    snprintf(name, sizeof name, "%u/schedstat", (unsigned)tid);
    if (!once_read(tasks, name, text, sizeof text) ||
        proc_parse_schedstat(text, &thread->delay_ns) != SKEIN_OK)
        return false;
    snprintf(name, sizeof name, "%u/status", (unsigned)tid);
    return once_read(tasks, name, text, sizeof text) &&
           text_value(text, "voluntary_ctxt_switches", &thread->voluntary) &&
           text_value(text, "nonvoluntary_ctxt_switches", &thread->involuntary);
}

static bool threads_read(const char *proc_pid, struct thread_sums *sums, bool *too_many)
{
    char tasks[4200];
    snprintf(tasks, sizeof tasks, "%.4096s/task", proc_pid);
    DIR *folder = opendir(tasks);
    const struct dirent *entry;
    *too_many = false;
    if (folder == NULL)
        return false;
    while (!*too_many && (entry = readdir(folder)) != NULL) {
        const char *at = entry->d_name;
        uint64_t tid;
        if (!text_number(&at, &tid) || *at != '\0' || tid > UINT32_MAX)
            continue;
        if (sums->count == LOOK_THREADS_MAX)
            *too_many = true;
        else
            sums->count += thread_read(tasks, tid, &sums->threads[sums->count]);
    }
    closedir(folder);
    qsort(sums->threads, sums->count, sizeof *sums->threads, threads_compare);
    return !*too_many && sums->count > 0;
}

/* What the threads of now have had since then; of one that is new, all. A number that went back is
 * another thread's. */
static void sums_rate(const struct thread_sums *before, const struct thread_sums *now,
                      struct thread_rates *rates)
{
    static const struct thread_count none = {.tid = 0};
    double per_s = 1e9 / (double)(now->at_ns - before->at_ns);
    *rates = (struct thread_rates){0, 0, 0};
    for (size_t i = 0, k = 0; i < now->count; i++) {
        const struct thread_count *t = &now->threads[i], *old = &none;
        while (k < before->count && before->threads[k].tid < t->tid)
            k++;
        if (k < before->count && before->threads[k].tid == t->tid)
            old = &before->threads[k];
        if (t->delay_ns < old->delay_ns || t->voluntary < old->voluntary ||
            t->involuntary < old->involuntary)
            old = &none;
        rates->delay_ms += (double)(t->delay_ns - old->delay_ns) * per_s / 1e6;
        rates->voluntary += (double)(t->voluntary - old->voluntary) * per_s;
        rates->involuntary += (double)(t->involuntary - old->involuntary) * per_s;
    }
}

bool thread_sums_take(struct thread_sums **sums, const char *proc_pid, uint64_t now_ns,
                      struct thread_rates *rates, bool *too_many)
{
    struct thread_sums *now = calloc(1, sizeof *now);
    *too_many = false;
    if (now == NULL)
        return false;
    now->at_ns = now_ns;
    bool known = threads_read(proc_pid, now, too_many);
    bool told = known && *sums != NULL && now_ns > (*sums)->at_ns;
    if (told)
        sums_rate(*sums, now, rates);
    free(*sums);
    *sums = known ? now : NULL;
    if (!known)
        free(now);
    return told;
}
