/* SPDX-License-Identifier: Apache-2.0
 *
 * The worker that sums captures up. Owns its thread, the queue of captures that somebody has touched,
 * the walk over all of them, and analysis.db's upkeep. Any thread touches and asks; the worker alone
 * writes. Never holds its lock while it works.
 */
#include "aggregate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate_int.h"
#include "clock.h"
#include "clock_steps.h"
#include "log.h"
#include "metrics.h"

#define PAGE      64
#define AGAIN_NS  (UINT64_C(30) * 1000000000u)
#define UPKEEP_NS (UINT64_C(60) * 1000000000u)
#define REST_MOST (UINT64_C(10) * 1000000000u)
#define LATE_MS   UINT64_C(3600000)

/* ---- what is to be done ---- */

void aggregate_touch(struct aggregate *a, const struct capture_id *id)
{
    if (a == NULL || a->settings.run == NULL) /* nobody would take it, and the thread never rest */
        return;
    pthread_mutex_lock(&a->thread.lock);
    size_t last = (a->first + a->count + AGGREGATE_QUEUE - 1) % AGGREGATE_QUEUE;
    if (a->count > 0 && capture_id_equal(&a->queue[last], id)) {
        /* it is the last one already */
    } else if (a->count < AGGREGATE_QUEUE) {
        a->queue[(a->first + a->count++) % AGGREGATE_QUEUE] = *id;
    } else {
        a->overflowed = true;
    }
    pthread_cond_broadcast(&a->thread.changed);
    pthread_mutex_unlock(&a->thread.lock);
}

static bool queue_take(struct aggregate *a, struct capture_id *id)
{
    pthread_mutex_lock(&a->thread.lock);
    bool any = a->count > 0;
    if (any) {
        *id = a->queue[a->first];
        a->first = (a->first + 1) % AGGREGATE_QUEUE;
        a->count--;
        a->current = *id;
    }
    if (a->overflowed && !a->walking) {
        a->overflowed = false;
        a->walking = true;
        a->walk = (struct catalog_cursor){0};
    }
    metrics_set(analysis_queue, a->count);
    pthread_mutex_unlock(&a->thread.lock);
    return any;
}

static void current_set(struct aggregate *a, const struct capture_id *id)
{
    pthread_mutex_lock(&a->thread.lock);
    a->current = *id;
    pthread_mutex_unlock(&a->thread.lock);
}

/* Waits at most so long, for something to do or, with `rest`, whatever there is. */
static void aggregate_wait(struct aggregate *a, uint64_t ns, bool rest)
{
    uint64_t until = clock_monotonic_ns() + ns;
    pthread_mutex_lock(&a->thread.lock);
    while (!own_thread_is_stopping(&a->thread) && (rest || (a->count == 0 && !a->overflowed)) &&
           own_thread_wait(&a->thread, until))
        continue;
    pthread_mutex_unlock(&a->thread.lock);
}

bool aggregate_is_stopping(void *context)
{
    return own_thread_is_stopping(&((struct aggregate *)context)->thread);
}

/* ---- upkeep ---- */

static void upkeep(struct aggregate *a)
{
    uint64_t late_ms = a->settings.late_ms > 0 ? a->settings.late_ms : LATE_MS;
    const struct clock_view clock = clock_setting_view();
    const bool steady = clock.steady_ns / 1000000u >= a->settings.keep_ms; /* else not all is old */
    struct series_bounds bounds = {.now_ns = steady ? clock.now_ns : clock.least_ns,
                                   .keep_ms = a->settings.keep_ms,
                                   .max_rows = a->settings.max_rows,
                                   .late_ns = late_ms * 1000000u,
                                   .stop = aggregate_is_stopping,
                                   .context = a};
    int status = series_fold(&a->db, &bounds);
    int64_t gone = status == SKEIN_OK ? aggregate_answers_trim(&a->db, a->settings.max_bytes) : 0;
    if (gone > 0)
        metrics_add(analysis_dropped_total, gone);
    if (status == SKEIN_OK && gone < 0)
        status = (int)gone;
    if (status != SKEIN_OK && status != SKEIN_CLOSED) {
        metrics_add(analysis_failed_total, 1);
        log_warn("analysis", "analysis.db cannot be kept up; this is tried again", "error",
                 skein_status_text(status), NULL);
    }
}

/* When it is time, also while there is always something to do: what is kept is bounded by this alone. */
static void upkeep_look(struct aggregate *a)
{
    if (clock_monotonic_ns() < a->upkeep_ns)
        return;
    upkeep(a);
    a->upkeep_ns = clock_monotonic_ns() + UPKEEP_NS;
}

/* ---- one after the other ---- */

/* What failed is found again by a walk. */
static void capture_do(struct aggregate *a, const struct capture_id *id, bool walking)
{
    uint64_t took_ns = 0;
    int status = aggregate_capture(a, id, &took_ns);
    if (status != SKEIN_OK && status != SKEIN_CLOSED) {
        metrics_add(analysis_failed_total, 1);
        if (a->again_ns == 0)
            log_warn("analysis", "a capture cannot be summed up; this is tried again", "error",
                     skein_status_text(status), NULL);
        a->again_ns = clock_monotonic_ns() + AGAIN_NS;
    }
    upkeep_look(a);
    if (status == SKEIN_FULL) /* the next one would be read for nothing, too */
        aggregate_wait(a, AGAIN_NS, true);
    /* Captures of long ago can wait: no more than half of a processor goes for them. */
    if (walking && took_ns > 0)
        aggregate_wait(a, took_ns < REST_MOST ? took_ns : REST_MOST, false);
}

struct page {
    struct capture_id ids[PAGE];
    uint64_t created_ns[PAGE];
    size_t count;
};

static int page_take(void *context, const struct catalog_capture *row)
{
    struct page *page = context;
    page->ids[page->count] = row->id;
    page->created_ns[page->count++] = row->created_ns;
    return page->count == PAGE;
}

/* What was deleted while nobody looked, or while the queue had no room. */
static void deleted_forget(struct aggregate *a)
{
    struct capture_id after = {{0}}, ids[PAGE];
    int64_t n = PAGE;
    while (n == PAGE && !own_thread_is_stopping(&a->thread)) {
        n = aggregate_marks(&a->db, &after, ids, PAGE);
        for (int64_t i = 0; i < n; i++)
            if (catalog_is_deleted(a->catalog, &ids[i]))
                (void)aggregate_forget(&a->db, &ids[i]);
    }
}

/* The next page of captures, the newest first. */
static void walk_on(struct aggregate *a)
{
    struct page page = {.count = 0};
    bool begun = a->walk.created_ns != 0;
    struct catalog_capture_query query = {.to_ns = UINT64_MAX, .limit = PAGE, .before = begun};
    query.before_created_ns = a->walk.created_ns;
    query.before_id = a->walk.id;
    int64_t rows = catalog_captures(a->catalog, &query, page_take, &page);
    if (rows < 0) {
        a->again_ns = clock_monotonic_ns() + AGAIN_NS;
        a->walking = false;
        return;
    }
    for (size_t i = 0; i < page.count && !own_thread_is_stopping(&a->thread); i++) {
        struct capture_id id; /* what was touched goes first */
        while (queue_take(a, &id) && !own_thread_is_stopping(&a->thread))
            capture_do(a, &id, false);
        current_set(a, &page.ids[i]);
        capture_do(a, &page.ids[i], true);
    }
    current_set(a, &(struct capture_id){{0}});
    if (page.count < PAGE) {
        a->walking = false;
        deleted_forget(a);
        return;
    }
    a->walk = (struct catalog_cursor){page.created_ns[PAGE - 1], page.ids[PAGE - 1]};
}

static void walk_begin(struct aggregate *a)
{
    a->walking = true;
    a->walk = (struct catalog_cursor){0};
}

static bool is_full(const struct aggregate *a)
{
    return a->settings.is_full != NULL && a->settings.is_full(a->settings.context);
}

/* Does what there is to do; false: nothing. */
static bool aggregate_work(struct aggregate *a)
{
    struct capture_id id;
    if (a->again_ns != 0 && clock_monotonic_ns() >= a->again_ns) {
        a->again_ns = 0;
        walk_begin(a);
    }
    if (aggregate_db_heal(&a->db))
        walk_begin(a);
    if (queue_take(a, &id)) {
        capture_do(a, &id, false);
        current_set(a, &(struct capture_id){{0}});
        return true;
    }
    if (!a->walking)
        return false;
    walk_on(a);
    return true;
}

static void *thread_run(void *argument)
{
    struct aggregate *a = argument;
    deleted_forget(a);
    while (!own_thread_is_stopping(&a->thread)) {
        if (is_full(a)) {
            aggregate_wait(a, AGAIN_NS, true);
            continue;
        }
        bool worked = a->settings.run != NULL && aggregate_work(a);
        if (!worked)
            upkeep_look(a);
        if (!worked && a->settings.idle != NULL)
            a->settings.idle(a->settings.context);
        if (!worked)
            aggregate_wait(a, a->again_ns != 0 ? AGAIN_NS / 30 : UPKEEP_NS, false);
    }
    return NULL;
}

/* ---- what there is ---- */

const char *aggregate_state_text(enum aggregate_state state)
{
    static const char *const texts[] = {"pending", "done", "refused"};
    return texts[state];
}

/* Waiting in the queue, or worked at. */
static bool is_queued(struct aggregate *a, const struct capture_id *id)
{
    pthread_mutex_lock(&a->thread.lock);
    bool queued = capture_id_equal(&a->current, id);
    for (size_t i = 0; i < a->count && !queued; i++)
        queued = capture_id_equal(&a->queue[(a->first + i) % AGGREGATE_QUEUE], id);
    pthread_mutex_unlock(&a->thread.lock);
    return queued;
}

enum aggregate_state aggregate_state(struct aggregate *a, const struct capture_id *id,
                                     char reason[AGGREGATE_REASON_BYTES])
{
    struct aggregate_mark mark;
    reason[0] = '\0';
    if (is_queued(a, id) || aggregate_mark_get(a->db.read, id, &mark) <= 0)
        return AGGREGATE_PENDING;
    snprintf(reason, AGGREGATE_REASON_BYTES, "%s", mark.reason);
    return mark.state;
}

int aggregate_answer(struct aggregate *a, const struct capture_id *id, enum analyst_kind kind,
                     struct buf *out)
{
    return aggregate_answer_get(&a->db, id, (int)kind, out);
}

/* ---- start and stop ---- */

int aggregate_start(const struct aggregate_settings *settings, struct capture_engine *captures,
                    struct catalog *catalog, struct index *index, struct aggregate **out,
                    char *error, size_t error_bytes)
{
    *out = NULL;
    struct aggregate *a = calloc(1, sizeof *a);
    if (a == NULL)
        return SKEIN_NO_MEMORY;
    a->settings = *settings;
    a->captures = captures;
    a->catalog = catalog;
    a->index = index;
    own_thread_init(&a->thread);
    walk_begin(a);
    int status = aggregate_db_open(settings->folder, &a->db, error, error_bytes);
    if (status == SKEIN_OK && (status = own_thread_start(&a->thread, thread_run, a)) != SKEIN_OK)
        snprintf(error, error_bytes, "no thread to sum captures up");
    *out = a;
    if (status != SKEIN_OK)
        aggregate_stop(out);
    return status;
}

void aggregate_stop(struct aggregate **aggregate)
{
    struct aggregate *a = *aggregate;
    if (a == NULL)
        return;
    *aggregate = NULL;
    own_thread_end(&a->thread);
    aggregate_db_close(&a->db);
    free(a);
}
