/* SPDX-License-Identifier: Apache-2.0
 *
 * The recorder's thread and who talks to it; see vitals.h. The mutex guards lists alone: nobody
 * reads a file with it, so that the loop never waits for one.
 */
#include "vitals.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "clock.h"
#include "cond_until.h"
#include "vitals_int.h"

/* ---- the thread ---- */

/* With the mutex; gives it up while it reads. */
static void wish_serve(struct vitals *v, struct vitals_wish *wish)
{
    TAILQ_REMOVE(&v->wishes, wish, link);
    v->served = wish;
    uint32_t pid = wish->pid;
    uint64_t start_ticks = wish->start_ticks;
    pthread_mutex_unlock(&v->mutex);
    vitals_changes_take(v);
    int status = vitals_look_at(v, pid, start_ticks, clock_monotonic_ns());
    pthread_mutex_lock(&v->mutex);
    if (v->served != NULL) /* else who waited has gone */
        v->served->status = status;
    v->served = NULL;
    pthread_cond_broadcast(&v->done);
}

static void *recorder_run(void *context)
{
    struct vitals *v = context;
    uint64_t due_ns = clock_monotonic_ns();
    prctl(PR_SET_NAME, "vitals");
    pthread_mutex_lock(&v->mutex);
    while (!v->ends) {
        struct vitals_wish *wish = TAILQ_FIRST(&v->wishes);
        uint64_t now_ns = clock_monotonic_ns();
        if (wish != NULL) {
            wish_serve(v, wish);
        } else if (now_ns < due_ns) {
            (void)cond_wait_until(&v->wake, &v->mutex, due_ns);
        } else {
            pthread_mutex_unlock(&v->mutex);
            vitals_changes_take(v);
            vitals_sample(v, now_ns);
            pthread_mutex_lock(&v->mutex);
            due_ns += VITALS_EVERY_NS; /* one that came late does not move the others */
            if (due_ns <= clock_monotonic_ns())
                due_ns = clock_monotonic_ns() + VITALS_EVERY_NS;
        }
    }
    pthread_mutex_unlock(&v->mutex);
    return NULL;
}

/* ---- begin and end ---- */

static int thread_start(struct vitals *v)
{
    pthread_attr_t attr;
    if (v->settings.still)
        return SKEIN_OK;
    if (pthread_attr_init(&attr) != 0)
        return SKEIN_NO_MEMORY;
    v->has_thread = pthread_attr_setstacksize(&attr, 256u << 10) == 0 &&
                    pthread_create(&v->thread, &attr, recorder_run, v) == 0;
    pthread_attr_destroy(&attr);
    return v->has_thread ? SKEIN_OK : SKEIN_NO_MEMORY;
}

static int parts_make(struct vitals *v)
{
    struct stat info;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        v->kept_max = limit.rlim_cur / FILES_SHARE / LOOK_FILES;
    v->settings.budget_ns = v->settings.budget_ns == 0 ? VITALS_BUDGET_NS : v->settings.budget_ns;
    v->roots.proc = v->settings.proc == NULL ? "/proc" : v->settings.proc;
    v->roots.cgroups = v->settings.cgroups == NULL ? "/sys/fs/cgroup" : v->settings.cgroups;
    v->roots.counts_descriptors = stat("/proc/self/fd", &info) == 0 && info.st_size > 0;
    int status = vitals_store_new(&v->store);
    if (status == SKEIN_OK)
        status = thread_rows_new(&v->threads);
    if (status == SKEIN_OK)
        status = host_look_new(v->roots.proc, &v->host);
    if (status == SKEIN_OK)
        status = top_scan_new(&v->top);
    return status;
}

int vitals_new(const struct vitals_settings *settings, struct vitals **out)
{
    *out = NULL;
    struct vitals *v = calloc(1, sizeof *v);
    if (v == NULL)
        return SKEIN_NO_MEMORY;
    v->settings = *settings;
    TAILQ_INIT(&v->changes);
    TAILQ_INIT(&v->wishes);
    TAILQ_INIT(&v->items);
    pthread_mutex_init(&v->mutex, NULL);
    cond_init(&v->wake);
    cond_init(&v->done);
    int status = parts_make(v);
    if (status == SKEIN_OK)
        status = thread_start(v);
    if (status != SKEIN_OK) {
        vitals_free(&v);
        return status;
    }
    *out = v;
    return SKEIN_OK;
}

void vitals_free(struct vitals **vitals)
{
    struct vitals *v = *vitals;
    struct vitals_item *item;
    *vitals = NULL;
    if (v == NULL)
        return;
    pthread_mutex_lock(&v->mutex);
    v->ends = true;
    pthread_cond_signal(&v->wake);
    pthread_mutex_unlock(&v->mutex);
    if (v->has_thread)
        pthread_join(v->thread, NULL);
    TAILQ_CONCAT(&v->items, &v->changes, link);
    while ((item = TAILQ_FIRST(&v->items)) != NULL) {
        TAILQ_REMOVE(&v->items, item, link);
        process_look_fini(&item->look);
        free(item);
    }
    host_look_free(&v->host);
    top_scan_free(&v->top);
    vitals_store_free(&v->store);
    thread_rows_free(&v->threads);
    pthread_cond_destroy(&v->wake);
    pthread_cond_destroy(&v->done);
    pthread_mutex_destroy(&v->mutex);
    free(v);
}

/* ---- any thread ---- */

static int change_put(struct vitals *v, uint32_t pid, uint64_t start_ticks, bool ends)
{
    struct vitals_item *change = calloc(1, sizeof *change);
    if (change == NULL)
        return SKEIN_NO_MEMORY;
    process_look_init(&change->look, pid, start_ticks, false);
    change->ends = ends;
    pthread_mutex_lock(&v->mutex);
    TAILQ_INSERT_TAIL(&v->changes, change, link);
    pthread_mutex_unlock(&v->mutex);
    return SKEIN_OK;
}

int vitals_attached(struct vitals *v, uint32_t pid, uint64_t start_ticks)
{
    return change_put(v, pid, start_ticks, false);
}

/* Without memory it is looked for in vain for as long as the agent runs. */
void vitals_gone(struct vitals *v, uint32_t pid, uint64_t start_ticks)
{
    (void)change_put(v, pid, start_ticks, true);
}

/* Where there is no thread, who asks does its work. */
static int still_now(struct vitals *v, uint32_t pid, uint64_t start_ticks)
{
    uint64_t now_ns = clock_monotonic_ns();
    vitals_changes_take(v);
    vitals_sample(v, now_ns);
    return vitals_look_at(v, pid, start_ticks, now_ns);
}

int vitals_now(struct vitals *v, uint32_t pid, uint64_t start_ticks, uint64_t deadline_ns)
{
    struct vitals_wish wish = {.pid = pid, .start_ticks = start_ticks, .status = SKEIN_AGAIN};
    if (v->settings.still)
        return still_now(v, pid, start_ticks);
    pthread_mutex_lock(&v->mutex);
    TAILQ_INSERT_TAIL(&v->wishes, &wish, link);
    pthread_cond_signal(&v->wake);
    while (wish.status == SKEIN_AGAIN && clock_monotonic_ns() < deadline_ns)
        (void)cond_wait_until(&v->done, &v->mutex, deadline_ns);
    if (wish.status == SKEIN_AGAIN) {
        if (v->served == &wish)
            v->served = NULL;
        else
            TAILQ_REMOVE(&v->wishes, &wish, link);
        wish.status = SKEIN_TIMEOUT;
    }
    pthread_mutex_unlock(&v->mutex);
    return wish.status;
}

size_t vitals_bytes(struct vitals *v)
{
    return store_bytes(v->store) + thread_rows_bytes(v->threads);
}
