/* SPDX-License-Identifier: Apache-2.0
 *
 * See sched_sums.h. Arguments are found by their names, so that events of later versions, which may
 * have more of them, are read, too.
 */
#include "sched_sums.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "event_args.h"
#include "intern_table.h"
#include "sched_types.h"

struct sched_sums {
    struct intern_table keys; /* host, pid, tid */
    struct sched_thread_sums *threads;
    struct sched_user *users;
    size_t thread_cap, user_count, user_cap;
    uint64_t lost_ns, lost_records;
};

int sched_sums_new(struct sched_sums **out)
{
    *out = calloc(1, sizeof **out);
    return *out != NULL ? SKEIN_OK : SKEIN_NO_MEMORY;
}

void sched_sums_free(struct sched_sums **sums)
{
    if (*sums == NULL)
        return;
    intern_table_fini(&(*sums)->keys);
    free((*sums)->threads);
    free((*sums)->users);
    free(*sums);
    *sums = NULL;
}

/* ---- arguments ---- */

static void text_of_arg(const struct trace_event *event, const char *name, char *to, size_t bytes)
{
    const struct partition_value *value = arg_find(event, name, SKEIN_T_STR);
    size_t n = value == NULL ? 0 : value->str.len < bytes - 1 ? value->str.len : bytes - 1;
    if (n > 0)
        memcpy(to, value->str.text, n);
    to[n] = '\0';
}

static void name_copy(char to[SCHED_SUMS_COMM], const char *text)
{
    size_t n = strnlen(text, SCHED_SUMS_COMM - 1);
    memcpy(to, text, n);
    to[n] = '\0';
}

/* ---- threads ---- */

static struct sched_thread_sums *thread_get(struct sched_sums *sums,
                                            const struct partition_info *info,
                                            const struct partition_thread *of)
{
    struct buf key = {0};
    bool fresh = false;
    buf_put_u32(&key, info->pid);
    buf_put_u32(&key, of->tid);
    buf_put(&key, info->host, strlen(info->host));
    int64_t at = SKEIN_NO_MEMORY;
    if (key.status == SKEIN_OK &&
        array_grow(sums->threads, sums->keys.count + 1, &sums->thread_cap))
        at = intern_table_put(&sums->keys, key.data, key.len, &fresh);
    buf_fini(&key);
    if (at < 0)
        return NULL;
    struct sched_thread_sums *thread = &sums->threads[at];
    if (fresh) {
        *thread =
            (struct sched_thread_sums){.pid = info->pid, .tid = of->tid, .from_ns = UINT64_MAX};
        name_copy(thread->service, info->service);
        name_copy(thread->host, info->host);
    }
    name_copy(thread->name, of->name);
    return thread;
}

static bool longest_begin(struct sched_longest *longest, const struct trace_event *event)
{
    char cut[16];
    if (event->dur_ns <= longest->dur_ns)
        return false;
    text_of_arg(event, "cut", cut, sizeof cut);
    *longest = (struct sched_longest){
        .time_ns = event->time_ns, .dur_ns = event->dur_ns, .cut = cut[0] != '\0'};
    return true;
}

static void runnable_take(struct sched_thread_sums *thread, const struct trace_event *event)
{
    char why[16];
    text_of_arg(event, "why", why, sizeof why);
    thread->runnable_ns += event->dur_ns;
    thread->preempted += strcmp(why, "preempted") == 0;
    if (!longest_begin(&thread->runnable, event))
        return;
    struct sched_longest *longest = &thread->runnable;
    memcpy(longest->more, why, sizeof longest->more);
    longest->other = (uint32_t)arg_number(event, "instead_tid");
    longest->other_ns = arg_number(event, "instead_ns");
    text_of_arg(event, "instead", longest->other_name, sizeof longest->other_name);
}

static void blocked_take(struct sched_thread_sums *thread, const struct trace_event *event)
{
    char state[16];
    text_of_arg(event, "state", state, sizeof state);
    enum sched_blocked kind = strcmp(state, "S") == 0   ? SCHED_BLOCKED_S
                              : strcmp(state, "D") == 0 ? SCHED_BLOCKED_D
                              : strcmp(state, "T") == 0 || strcmp(state, "t") == 0
                                  ? SCHED_BLOCKED_T
                                  : SCHED_BLOCKED_OTHER;
    thread->blocked_ns[kind] += event->dur_ns;
    if (!longest_begin(&thread->blocked, event))
        return;
    struct sched_longest *longest = &thread->blocked;
    memcpy(longest->more, state, sizeof longest->more);
    longest->other = (uint32_t)arg_number(event, "waker_tid");
    text_of_arg(event, "waker", longest->other_name, sizeof longest->other_name);
    text_of_arg(event, "context", longest->context, sizeof longest->context);
}

static int thread_take(struct sched_sums *sums, const struct partition_info *info,
                       const struct trace_event *event)
{
    const char *name = event->type->name;
    struct sched_thread_sums *thread = thread_get(sums, info, event->thread);
    if (thread == NULL)
        return SKEIN_NO_MEMORY;
    thread->from_ns = event->time_ns < thread->from_ns ? event->time_ns : thread->from_ns;
    if (event->time_ns + event->dur_ns > thread->to_ns)
        thread->to_ns = event->time_ns + event->dur_ns;
    if (strcmp(name, SCHED_NAME_RUN) == 0) {
        thread->run_ns += event->dur_ns;
        thread->runs++;
    } else if (strcmp(name, SCHED_NAME_RUNNABLE) == 0) {
        runnable_take(thread, event);
    } else if (strcmp(name, SCHED_NAME_BLOCKED) == 0) {
        blocked_take(thread, event);
    } else {
        thread->totals = true;
        thread->run_ns = arg_number(event, "run_ns");
        thread->runnable_ns = arg_number(event, "runnable_ns");
        thread->runs = arg_number(event, "runs");
        thread->preempted = arg_number(event, "preempted");
    }
    return SKEIN_OK;
}

/* ---- the host ---- */

static int user_take(struct sched_sums *sums, const struct partition_info *info,
                     const struct trace_event *event)
{
    if (!array_grow(sums->users, sums->user_count + 1, &sums->user_cap))
        return SKEIN_NO_MEMORY;
    struct sched_user *user = &sums->users[sums->user_count++];
    *user = (struct sched_user){.pid = (uint32_t)arg_number(event, "pid"),
                                .cpu_ns = arg_number(event, "cpu_ns"),
                                .window_ns = arg_number(event, "window_ns"),
                                .threads = arg_number(event, "threads")};
    text_of_arg(event, "comm", user->comm, sizeof user->comm);
    name_copy(user->host, info->host);
    return SKEIN_OK;
}

int sched_sums_add(struct sched_sums *sums, const struct partition_info *info,
                   const struct trace_event *event)
{
    static const char *const of_threads[] = {SCHED_NAME_RUN, SCHED_NAME_RUNNABLE,
                                             SCHED_NAME_BLOCKED, SCHED_NAME_SUMS};
    if (event->type == NULL || event->thread == NULL ||
        (event->kind != TRACE_REGION && event->kind != TRACE_INSTANT))
        return SKEIN_OK;
    if (strcmp(event->type->name, SCHED_NAME_NEIGHBOUR) == 0)
        return user_take(sums, info, event);
    if (strcmp(event->type->name, SCHED_NAME_LOST) == 0) {
        sums->lost_ns += event->dur_ns;
        sums->lost_records += arg_number(event, "records");
        return SKEIN_OK;
    }
    for (size_t i = 0; i < sizeof of_threads / sizeof *of_threads; i++)
        if (strcmp(event->type->name, of_threads[i]) == 0)
            return thread_take(sums, info, event);
    return SKEIN_OK;
}

/* ---- */

static int threads_compare(const void *a, const void *b)
{
    const struct sched_thread_sums *x = a, *y = b;
    if (x->runnable_ns != y->runnable_ns)
        return x->runnable_ns < y->runnable_ns ? 1 : -1;
    return x->run_ns < y->run_ns ? 1 : x->run_ns > y->run_ns ? -1 : 0;
}

size_t sched_sums_threads(struct sched_sums *sums, const struct sched_thread_sums **threads)
{
    size_t count = sums->keys.count;
    if (count > 0)
        qsort(sums->threads, count, sizeof *sums->threads, threads_compare);
    *threads = sums->threads;
    return count;
}

size_t sched_sums_users(const struct sched_sums *sums, const struct sched_user **users)
{
    *users = sums->users;
    return sums->user_count;
}

uint64_t sched_sums_lost(const struct sched_sums *sums, uint64_t *records)
{
    *records = sums->lost_records;
    return sums->lost_ns;
}
