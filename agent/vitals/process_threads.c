/* SPDX-License-Identifier: Apache-2.0
 *
 * The threads of a process, which the kernel tells of each alone: sums, and how each has grown.
 * Remembers the numbers of each, so that threads that end do not make the sum go back.
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
    uint64_t tid, run_ns, delay_ns, voluntary, involuntary;
    char name[THREAD_NAME_BYTES];
    struct thread_growth growth; /* since the sums before */
    bool idle;                   /* then, too: it has no row */
};
struct thread_sums {
    uint64_t at_ns;
    bool grown; /* growths are known */
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

/* The first line of a status: "Name:", a tab and the name. */
static void name_take(const char *status, char name[THREAD_NAME_BYTES])
{
    static const char key[] = "Name:\t";
    if (strncmp(status, key, sizeof key - 1) != 0)
        return;
    status += sizeof key - 1;
    size_t n = strcspn(status, "\n");
    memcpy(name, status, n < THREAD_NAME_BYTES ? n : THREAD_NAME_BYTES - 1);
}

static bool thread_read(const char *tasks, uint64_t tid, struct thread_count *thread)
{
    char name[64], text[4096];
    *thread = (struct thread_count){.tid = tid};
    snprintf(name, sizeof name, "%u/schedstat", (unsigned)tid);
    if (!once_read(tasks, name, text, sizeof text) ||
        proc_parse_schedstat(text, &thread->run_ns, &thread->delay_ns) != SKEIN_OK)
        return false;
    snprintf(name, sizeof name, "%u/status", (unsigned)tid);
    if (!once_read(tasks, name, text, sizeof text))
        return false;
    name_take(text, thread->name);
    return text_value(text, "voluntary_ctxt_switches", &thread->voluntary) &&
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
        uint32_t tid;
        if (!text_id(entry->d_name, &tid))
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

static bool growth_is_none(const struct thread_growth *growth)
{
    return growth->run_ns == 0 && growth->delay_ns == 0 && growth->voluntary == 0 &&
           growth->involuntary == 0;
}

/* What the threads of now have had since then; of one that is new, all. A number that went back is
 * another thread's. */
static void sums_grow(const struct thread_sums *before, struct thread_sums *now)
{
    static const struct thread_count none = {.tid = 0};
    for (size_t i = 0, k = 0; i < now->count; i++) {
        const struct thread_count *old = &none;
        struct thread_count *t = &now->threads[i];
        while (k < before->count && before->threads[k].tid < t->tid)
            k++;
        if (k < before->count && before->threads[k].tid == t->tid)
            old = &before->threads[k];
        if (t->run_ns < old->run_ns || t->delay_ns < old->delay_ns ||
            t->voluntary < old->voluntary || t->involuntary < old->involuntary)
            old = &none;
        t->growth = (struct thread_growth){.tid = (uint32_t)t->tid,
                                           .over_ns = now->at_ns - before->at_ns,
                                           .run_ns = t->run_ns - old->run_ns,
                                           .delay_ns = t->delay_ns - old->delay_ns,
                                           .voluntary = t->voluntary - old->voluntary,
                                           .involuntary = t->involuntary - old->involuntary};
        memcpy(t->growth.name, t->name, sizeof t->name);
        t->idle = old != &none && growth_is_none(&old->growth);
    }
    now->grown = true;
}

static void sums_rate(const struct thread_sums *sums, uint64_t over_ns, struct thread_rates *rates)
{
    double per_s = 1e9 / (double)over_ns;
    *rates = (struct thread_rates){0, 0, 0};
    for (size_t i = 0; i < sums->count; i++) {
        const struct thread_growth *growth = &sums->threads[i].growth;
        rates->delay_ms += (double)growth->delay_ns * per_s / 1e6;
        rates->voluntary += (double)growth->voluntary * per_s;
        rates->involuntary += (double)growth->involuntary * per_s;
    }
}

size_t thread_sums_next(const struct thread_sums *sums, uint64_t at_ns, size_t at,
                        struct thread_growth *growth)
{
    bool known = sums != NULL && sums->grown && sums->at_ns == at_ns;
    for (; known && at < sums->count; at++) {
        *growth = sums->threads[at].growth;
        if (!sums->threads[at].idle || !growth_is_none(growth))
            return at + 1;
    }
    return 0;
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
    if (told) {
        sums_grow(*sums, now);
        sums_rate(now, now_ns - (*sums)->at_ns, rates);
    }
    free(*sums);
    *sums = known ? now : NULL;
    if (!known)
        free(now);
    return told;
}
