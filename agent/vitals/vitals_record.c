/* SPDX-License-Identifier: Apache-2.0
 *
 * What the recorder does each second; see vitals.h. Its thread alone, or tests.
 */
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "vitals_int.h"

static struct vitals_item *item_find(struct vitals *v, uint32_t pid, uint64_t start_ticks)
{
    struct vitals_item *item;
    TAILQ_FOREACH(item, &v->items, link) {
        if (item->look.pid == pid && item->look.start_ticks == start_ticks)
            return item;
    }
    return NULL;
}

static void item_end(struct vitals *v, struct vitals_item *item)
{
    TAILQ_REMOVE(&v->items, item, link);
    v->kept -= item->look.kept;
    process_look_fini(&item->look);
    free(item);
}

/* A process that attaches anew is the same one. */
static void change_take(struct vitals *v, struct vitals_item *change)
{
    struct vitals_item *item = item_find(v, change->look.pid, change->look.start_ticks);
    if (change->ends || item != NULL) {
        if (change->ends && item != NULL)
            item_end(v, item);
        free(change);
        return;
    }
    change->look.kept = v->kept < v->kept_max;
    v->kept += change->look.kept;
    TAILQ_INSERT_HEAD(&v->items, change, link); /* it is looked at first */
}

void vitals_changes_take(struct vitals *v)
{
    struct vitals_items changes = TAILQ_HEAD_INITIALIZER(changes);
    struct vitals_item *change;
    pthread_mutex_lock(&v->mutex);
    TAILQ_CONCAT(&changes, &v->changes, link);
    pthread_mutex_unlock(&v->mutex);
    while ((change = TAILQ_FIRST(&changes)) != NULL) {
        TAILQ_REMOVE(&changes, change, link);
        change_take(v, change);
    }
}

static uint32_t number_cut(uint64_t number)
{
    return number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
}

static int item_look(struct vitals *v, struct process_look *look, uint64_t now_ns)
{
    struct process_row row;
    struct thread_growth growth;
    int status = process_look(look, &v->roots, now_ns, &row);
    if (status != SKEIN_OK)
        return status;
    store_row_add(v->store, &row);
    for (size_t at = 0; (at = thread_sums_next(look->sums, now_ns, at, &growth)) != 0;) {
        struct thread_row one = {.at_ns = now_ns,
                                 .start_ticks = look->start_ticks,
                                 .pid = look->pid,
                                 .tid = growth.tid,
                                 .over_us = number_cut(growth.over_ns / 1000),
                                 .run_us = number_cut(growth.run_ns / 1000),
                                 .wait_us = number_cut(growth.delay_ns / 1000),
                                 .voluntary = number_cut(growth.voluntary),
                                 .involuntary = number_cut(growth.involuntary)};
        memcpy(one.name, growth.name, sizeof one.name);
        thread_rows_add(v->threads, &one);
    }
    return SKEIN_OK;
}

/* One that was looked at goes to the end of the list, so that all have their turn. Each look has the
 * time at which it is made: where the recorder had no CPU meanwhile, that is later than now_ns, which
 * was when clock_monotonic_ns() said began_ns. */
static void processes_take(struct vitals *v, uint64_t now_ns, uint64_t began_ns)
{
    struct cpu_budget budget = cpu_budget_of(v->settings.budget_ns);
    for (unsigned looks = 0; looks < ROWS_EACH; looks++) {
        struct vitals_item *item = TAILQ_FIRST(&v->items);
        if (item == NULL || item->look.before.at_ns >= now_ns || cpu_budget_is_over(&budget))
            break;
        TAILQ_REMOVE(&v->items, item, link);
        TAILQ_INSERT_TAIL(&v->items, item, link);
        uint64_t at_ns = now_ns + (clock_monotonic_ns() - began_ns);
        if (item_look(v, &item->look, at_ns) != SKEIN_OK)
            item->look.before.at_ns = at_ns; /* it has had its turn */
    }
}

void vitals_sample(struct vitals *v, uint64_t now_ns)
{
    struct top_row top;
    uint64_t began_ns = clock_monotonic_ns();
    if (v->settings.host && now_ns - v->host_ns > NEAR_NS) {
        host_look_take(v->host, v->store, now_ns);
        v->host_ns = now_ns;
    }
    if (v->settings.processes)
        processes_take(v, now_ns, began_ns);
    if (v->settings.top &&
        top_scan_step(v->top, v->roots.proc, now_ns, v->settings.budget_ns, &top))
        store_top_add(v->store, &top);
}

int vitals_look_at(struct vitals *v, uint32_t pid, uint64_t start_ticks, uint64_t now_ns)
{
    struct vitals_item *item = item_find(v, pid, start_ticks);
    struct process_look once;
    if (v->settings.host && now_ns - v->host_ns > NEAR_NS) {
        host_look_take(v->host, v->store, now_ns);
        v->host_ns = now_ns;
    }
    if (!v->settings.processes || (item != NULL && item->look.before.at_ns >= now_ns))
        return SKEIN_OK;
    process_look_init(&once, pid, start_ticks, false);
    int status = item_look(v, item != NULL ? &item->look : &once, now_ns);
    process_look_fini(&once);
    return status;
}
